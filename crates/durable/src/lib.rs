//! # reticent-durable
//!
//! The core does no I/O. This package keeps a [`JointLinUcb`](reticent::bandit::JointLinUcb) in files, so that a process may be killed at any
//! moment and no release is ever made twice without being charged for.
//!
//! ```text
//! release made (held) -> state written, synced, renamed -> log appended, synced -> release used
//! ```
//!
//! | file | what it is |
//! | --- | --- |
//! | `log` | how many releases have left: one line each, with a checksum |
//! | `journal` | the state file beside the log, in the order above |
//! | `bandit` | a learner with its journal |
//!
//! **Why this order is right.** A release is used only after both files are on disk. (1) Killed before the state is renamed: the old
//! state and the old log agree, and the release that was made is known to nobody; the next life draws fresh noise. (2) Killed between state
//! and log: the state is one release ahead of the log. It is not stale: the next life goes on from it, notes the release and then uses
//! it. (3) Killed after the log: both agree. In none of them is a release made from a state that the log is ahead of.
//! (4) An older copy of the state file put back: the log is ahead of it. That is refused, or charged as a replay.
//!
//! What cannot be noticed is an older copy of both files; keep the log on another file system, outside of what is backed up and
//! restored ([`Options::log`]).

mod bandit;
mod error;
mod journal;
mod log;

pub use bandit::DurableBandit;
pub use error::{Error, Result};
pub use journal::{Journal, Options, Rollback};
pub use log::{Record, ReleaseLog};
