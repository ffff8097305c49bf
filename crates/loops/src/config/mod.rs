//! The file of loops: decisions, features, rewards and privacy.
//!
//! | file | contents |
//! | --- | --- |
//! | `limits` | limits on requests |
//! | `span` | spans of time as people write them |
//! | `params` | the file as it is written |
//! | `plan` | a checked loop: its features, its learner, its clock, its generation |
//! | `changes` | changed parts of a file, where a new generation begins |
//! | `outlook` | sample size estimate |
//! | `storage` | storage that its releases take |
//! | `warm` | warm start: a released model, or public examples |
//! | `device` | the same where people's devices add the noise, with or without a shuffler |

mod changes;
mod device;
#[cfg(test)]
mod docs;
mod limits;
mod outlook;
mod params;
mod plan;
mod span;
mod storage;
mod warm;

pub use device::{
    BATCH_BODY_TIME, DeviceLearner, DeviceParams, DevicePlan, MOST_BATCH_BYTES, MOST_SEALED,
    ShuffleMode, ShuffleTable,
};
pub use limits::LimitParams;
pub use outlook::LoopOutlook;
pub use params::person_path;
pub use params::{
    Baseline, Combine, LearnerParams, LoopMode, LoopParams, Period, PrivacyParams, RewardParams,
    ServiceFile, Trust, UnitName,
};
pub use plan::check_name;
pub use plan::{Ledger, LoopPlan, REMEMBERED, set_group};
pub use span::Span;
pub use storage::{HASH_BYTES, StorageOutlook};
pub use warm::{ModelFile, Origin, WarmStart};
