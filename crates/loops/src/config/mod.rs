//! The file of loops: what is decided, from which features, for which reward, under which privacy.
//!
//! | file | what it is |
//! | --- | --- |
//! | `limits` | limits on requests |
//! | `span` | spans of time as people write them |
//! | `params` | the file as it is written |
//! | `plan` | a checked loop: its features, its learner, its clock, its generation |
//! | `changes` | which of its parts have changed, where a new generation begins |
//! | `outlook` | whether it can work |
//! | `storage` | how much its releases take |
//! | `warm` | what a loop begins with: a released model, or public examples |
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
