//! Linear bandits: one LinUCB, many privacies. A learner is an aggregator (exact sums, private sums, sums of reports), a [`Rule`] and
//! [`Bounds`](crate::randomize::Bounds).
//!
//! ```text
//! arms -> policy -> choice -> reward -> contribution -> release -> policy
//! ```
//!
//! | file | contents |
//! | --- | --- |
//! | `arms` | a decision set, stored by coordinate |
//! | `policy` | the upper confidence bound and the choice; all it knows came out of a release |
//! | `score` | scores of all arms at once, the choice, and its ties |
//! | `ensemble` | Thompson sampling: draws that are published with a policy, and exact propensities |
//! | `regression` | the ridge regression behind a policy that learns every round |
//! | `linucb` | the learner without privacy, exact sums: the yardstick of all others |
//! | `rule` | from a release to a policy: certified, tuned, thompson, fixed |
//! | `joint` | the learner under joint differential privacy, private sums |
//! | `episodes` | the learner for fixed public actions: one arm for many people, then one noisy sum |
//! | `outlook` | the noise of a plan against the signal of its people: whether it can work |
//! | `tickets` | tickets, and the decisions that wait for their rewards |
//! | `local` | the learner under local differential privacy: sums of reports by [`Person`](crate::randomize::Person) |
//! | `shuffle` | the same behind a shuffler: amplified reports or vector sums |
//! | `online_ucb` | the learner under local differential privacy whose set comes from an online learner |
//! | `online_confidence` | what is proved of that set, with every constant |
//! | `anytime` | the same without a horizon |
//! | `combiner` | the same without knowing how well the features are spread |
//! | `online_linucb` | that set without privacy |

mod anytime;
mod arms;
#[cfg(test)]
mod block_tests;
mod combiner;
mod ensemble;
mod episodes;
#[cfg(test)]
mod honest;
mod joint;
mod linucb;
mod local;
mod online_confidence;
mod online_linucb;
mod online_ucb;
mod outlook;
mod outlook_parts;
mod policy;
mod regression;
mod rule;
mod score;
mod shuffle;
mod tickets;

pub use anytime::{Anytime, AnytimeParams};
pub use arms::{Arms, clip_to_ball};
pub use combiner::{Combiner, CombinerParams};
pub use ensemble::Ensemble;
pub use episodes::{Episode, EpisodeDecision, EpisodeSums, Episodes, EpisodesParams, EpisodesPlan};
pub use joint::{
    Closed, Curator, Decision, JointLinUcb, JointParams, JointPlan, Legacy, Observation,
    RewardWindow,
};
pub use linucb::{LinUcb, LinUcbParams};
pub use local::{Absorbed, Guide, LocalParams, LocalPlan, Model, Server};
pub use online_confidence::OnlineConfidence;
pub use online_linucb::{OnlineLinUcb, OnlineLinUcbParams};
pub use online_ucb::{Assumptions, LearnerParams, OnlineUcb, OnlineUcbParams, Width};
pub use outlook::Outlook;
pub use outlook_parts::{CROSS, Gains, MAIN, Pace, PartOutlook, PartsModel, PartsOutlook};
pub use policy::Policy;
pub use rule::{Regularizer, Rule, RulePlan};
pub use score::Choice;
pub use shuffle::shuffled_event;
pub use shuffle::{
    Aggregation, Batch, ShuffleParams, ShufflePlan, ShuffleServer, Shuffled, Shuffler, permute,
};
pub use tickets::{Answer, OpenDecisions, Ticket};
