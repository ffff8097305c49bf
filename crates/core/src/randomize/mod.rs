//! What a person's own device does to a report before it leaves: one file per local randomiser.
//!
//! | randomiser | for | guarantee |
//! | --- | --- | --- |
//! | [`PrivUnit`] | a unit vector, least variance | pure, exactly calibrated |
//! | [`FeatureReward`] | features and reward of one decision | Gaussian, joint sensitivity |
//!
//! Every randomiser is built once from public parameters, names its cost with `event()`, and turns one input
//! into one report with `randomize(input, noise)`.

mod feature_reward;
mod priv_unit;

pub use feature_reward::{FeatureReward, FeatureRewardParams, FeatureRewardReport};
pub use priv_unit::PrivUnit;
