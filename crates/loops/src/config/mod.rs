//! The file of loops: decisions, features, rewards and privacy.
//!
//! | file | contents |
//! | --- | --- |
//! | `limits` | limits on requests |
//! | `span` | spans of time as people write them |
//! | `file` | the file as it is written, and its check |
//! | `params` | the parameters of a loop as its file has them |
//! | `mechanism` | a checked loop by its mechanism |
//! | `central` | a checked central loop: its features, its learner, its clock, its generation |
//! | `reports` | a checked loop to which devices report: local, or behind a shuffler |
//! | `fixed` | actions that are declared fixed, the same for all people |
//! | `refusal` | errors about a loop of a file |
//! | `changes` | changed parts of a file, where a new generation begins |
//! | `carried` | a new generation that begins with the last release of the one before it |
//! | `continued` | a later file with other lists of words, which continues the generation |
//! | `outlook` | sample size estimate |
//! | `storage` | storage that its releases take |
//! | `warm` | warm start: a released model, or public examples |

#[cfg(test)]
mod bad_features;
mod carried;
mod central;
mod changes;
mod continued;
#[cfg(test)]
mod docs;
mod file;
mod fixed;
mod limits;
mod mechanism;
mod outlook;
mod params;
mod refusal;
mod reports;
mod span;
mod storage;
mod warm;

pub use carried::Predecessor;
pub use central::{CentralPlan, Ledger, REMEMBERED, set_group};
pub use continued::{Appended, Continuation};
pub use file::ServiceFile;
pub use fixed::FixedAction;
pub use limits::LimitParams;
pub use mechanism::Plan;
pub use outlook::{LoopOutlook, PartNeeds, part_in_words, rounded};
pub use params::person_path;
pub use params::{
    Baseline, Combine, LearnerParams, LoopMode, LoopParams, Period, PrivacyParams, RewardParams,
    Trust, UnitName,
};
pub use refusal::check_name;
pub use reports::{
    BATCH_BODY_TIME, DeviceLearner, DeviceParams, MOST_BATCH_BYTES, MOST_SEALED, ReportsPlan,
    ShuffleMode, ShuffleTable,
};
pub use span::Span;
pub use storage::{HASH_BYTES, StorageOutlook};
pub use warm::{ModelFile, Origin, WarmStart};
