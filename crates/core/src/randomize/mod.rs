//! Randomisers that run on a person's own device before a report leaves it: one file per local randomiser, and the device's state (`person`).
//!
//! | file | what leaves | for | guarantee |
//! | --- | --- | --- | --- |
//! | `interaction` | nothing yet: clips to the unit ball and [-1, 1] | every randomiser below | |
//! | `gradient` | nothing yet: a gradient, dense or sparse, and what is sent of it | the randomisers of gradients | |
//! | `cap_randomizer` | nothing by itself: a point near a unit vector, or near its axis | PrivUnit and everything on it | pure, exactly calibrated |
//! | `priv_unit` | a point of the sphere | a unit vector, least variance | pure, exactly calibrated |
//! | `gram_gaussian` | `x x^T + GOE`, `x z + N` | private arms, small epsilon with a delta | Gaussian on a grid |
//! | `triangle_gaussian` | the same with equal noise on the triangle (Zheng et al. 2020) | comparison | Gaussian on a grid |
//! | `feature_reward` | `x + N`, `y + N` | OnlineUCB | Gaussian on a grid, joint sensitivity |
//! | `additive_pair` | the same, with closed-form debiasing | comparison | Gaussian on a grid |
//! | `unit_gram` | PrivUnit on `(a svec(x x^T), b x z)` | private arms, small epsilon | pure |
//! | `unit_pair` | PrivUnit on `(a x, b z)`, debiased by its second moment | private arms, large epsilon, an intercept; without one as `unit_axis`, which hides the side of the sphere too and saves noise | pure |
//! | `unit_moment` | PrivUnit on `x z` | exploration with a known Gram matrix | pure |
//! | `reward_gaussian` | `z + N` | public arms | Gaussian on a grid |
//! | `reward_response` | one bit | public arms | pure |
//! | `value_gaussian` | `y + N` | one number of a range: an agent's response | Gaussian on a grid |
//! | `grid_laplace` | nothing by itself: Laplace noise on one number of a symmetric interval, on a dyadic grid | the Laplace randomisers | |
//! | `value_laplace` | `v + Laplace` | one number of a range: the value of a loss | pure |
//! | `k_norm` | `g + K-norm noise` | a gradient in a Euclidean ball | pure |
//! | `local_laplace` | `g_j + Laplace` for the attributes that are sent | a gradient with a level for every attribute | pure, each attribute its own |
//! | `l1_laplace` | `g + Laplace` | a gradient with few large entries | pure |
//! | `staircase` | `g_j + staircase noise` for the attributes that are sent | levels above 2 | pure, each attribute its own |
//! | `randomizer` | nothing: what the four randomisers of gradients share, and what they may promise | | |
//! | `intercept` | nothing: how files and Python write a constant last feature | | |
//! | `second_moment` | nothing: how reports of one round become least squares | | |
//! | `person` | the report of one device, which clips, randomises and counts | the local and the shuffle protocol | that of its randomiser, composed over reports |
//!
//! Every randomiser is built once from public parameters, names its cost with `event()`, turns one clipped interaction
//! into one report with `randomize`, and says with `estimate` what the report tells of `x x^T` and `x z` without bias.
//! Randomisers of gradients share the trait [`Randomizer`]: they clip first, and their noise is symmetric, which the learners of
//! [`online`](crate::online) need (PrivUnit's is not).

mod additive_pair;
mod cap_randomizer;
mod feature_reward;
mod gradient;
mod gram_gaussian;
mod grid_laplace;
mod interaction;
mod intercept;
mod k_norm;
mod l1_laplace;
mod local_laplace;
mod person;
mod priv_unit;
mod randomizer;
mod reward_gaussian;
mod reward_response;
mod second_moment;
mod staircase;
#[cfg(test)]
pub(crate) mod testing;
mod triangle_gaussian;
mod unit_gram;
mod unit_moment;
mod unit_pair;
mod value_gaussian;
mod value_laplace;

pub use additive_pair::AdditivePair;
pub use feature_reward::{FeatureReward, FeatureRewardParams, FeatureRewardReport};
pub use gradient::{Gradient, GradientReport};
pub use gram_gaussian::GramGaussian;
pub use interaction::{Bounds, Interaction};
pub use intercept::Intercept;
pub use k_norm::KNormRandomizer;
pub use l1_laplace::L1Laplace;
pub use local_laplace::LocalLaplace;
pub(crate) use person::{CONDITIONS, CalibratedMethod};
pub use person::{Levels, Method, Person, Report, ReportParams, ReportPlan, Spent};
pub use priv_unit::PrivUnit;
pub use randomizer::Randomizer;
pub use reward_gaussian::RewardGaussian;
pub use reward_response::RewardResponse;
pub(crate) use second_moment::exact as exact_sums;
pub use second_moment::{Correlation, Precision};
pub use staircase::StaircaseRandomizer;
pub use unit_gram::UnitGram;
pub use unit_moment::UnitMoment;
pub use unit_pair::UnitPair;
pub(crate) use value_gaussian::value_report_number;
pub use value_gaussian::{ValueGaussian, ValueReport};
pub use value_laplace::ValueLaplace;
