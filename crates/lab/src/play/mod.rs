//! Play: one trial of an algorithm in an environment, and the threads that run many.
//!
//! | file | holds |
//! | --- | --- |
//! | [`trial`] | a trial: its seeds, checkpoints and results |
//! | [`environment`] | an environment as a learner meets it |
//! | `plain` | simulation round by round: the reference for every faster path |
//! | `feedback` | rewards that are late, in batches or lost |
//! | [`parallel`] | jobs on all cores |
//! | `watch` | progress and interruption |

pub mod environment;
mod feedback;
pub mod parallel;
mod plain;
pub mod trial;
pub(crate) mod watch;

pub use feedback::{Delay, Feedback, Way};
pub use plain::{Knowledge, Learner, play, play_with};
