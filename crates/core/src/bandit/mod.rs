//! Linear bandits: one LinUCB, many privacies.
//!
//! ```text
//! arms -> policy -> choice -> reward -> contribution -> release -> policy
//! ```
//!
//! | file | what it is |
//! | --- | --- |
//! | `arms` | a decision set, stored by coordinate |
//! | `policy` | the upper confidence bound and the choice; all it knows came out of a release |
//! | `score` | scores of all arms at once, the choice, and its ties |
//! | `linucb` | the learner without privacy: the yardstick of all others |

mod arms;
mod linucb;
mod policy;
mod score;

pub use arms::Arms;
pub use linucb::{LinUcb, LinUcbParams};
pub use policy::Policy;
