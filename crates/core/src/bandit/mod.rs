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
//! | `problem` | what is known before the start |
//! | `confidence` | from a release to a policy: the paper's set and the tight one, proved |
//! | `published` | the constants of Shariff and Sheffet: `paper` mode |
//! | `joint` | the learner under joint differential privacy |
//! | [`bounds`] | what theory says of regret, as numbers |

mod arms;
pub mod bounds;
mod confidence;
mod joint;
mod linucb;
mod policy;
mod problem;
mod published;
mod score;

pub use arms::Arms;
pub use confidence::{Confidence, ConfidenceRule, Regularizer};
pub use joint::{Decision, JointLinUcb, JointParams, JointPlan, Observation, Ticket};
pub use linucb::{LinUcb, LinUcbParams};
pub use policy::Policy;
pub use problem::Problem;
pub use published::{Published, PublishedNoise};
