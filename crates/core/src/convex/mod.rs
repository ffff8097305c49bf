//! Bandit convex optimisation over sets known through a linear oracle, each loss private.
//!
//! ```text
//! point -> play -> loss's value -> clip -> batch gradient -> private running sum -> mirror map -> point
//! ```
//!
//! | file | contents |
//! | --- | --- |
//! | `set`, `hull` | a set, its oracle and its shape; a new set implements one method |
//! | [`oracle`] | the sets: balls, boxes, matroids, flows, assignments, low-rank matrices, any polytope |
//! | `conditional_gradient` | the nearest point of a set through its oracle, and its mixture of vertices |
//! | `mirror` | Euclidean and entropic maps from sums of gradients to points |
//! | `protection` | one clipped value: its sensitivity, proven, and the running sums that protect it |
//! | `noisy_oco` | the general framework: any noisy gradient, any noisy map |
//! | `bandit_params`, `private_bandit` | the learner: parameters with public defaults, and one step a call |
//! | `doubling` | an unknown horizon |

mod bandit_params;
mod conditional_gradient;
mod doubling;
mod hull;
mod mirror;
mod noisy_oco;
pub mod oracle;
mod private_bandit;
mod protection;
mod set;

pub use bandit_params::{
    Baseline, Play, PrivateBanditParams, PrivateBanditPlan, Territory, Tuning,
};
pub use conditional_gradient::{Descent, Mixture, nearest_point};
pub use doubling::DoublingBandit;
pub use hull::Hull;
pub use mirror::{Map, MapCounts, MirrorMap};
pub use noisy_oco::{NoisyAccess, NoisyOco};
pub use private_bandit::{BanditCounts, PlayDecision, PlayTicket, PrivateBandit, ValueObservation};
pub use protection::Protection;
pub use set::{AnySet, DecisionSet, LinearOracle, Shape};
