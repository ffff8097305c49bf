//! Bandit convex optimisation over sets known through a linear oracle, each loss private.
//!
//! ```text
//! point -> play -> loss's value -> clip -> batch gradient -> private running sum -> mirror map -> point
//! ```
//!
//! | file | what it is |
//! | --- | --- |
//! | `set`, `hull` | a set, its oracle and its shape; a new set implements one method |
//! | [`oracle`] | the sets: balls, boxes, matroids, flows, assignments, low-rank matrices, any polytope |
//! | `conditional_gradient` | the nearest point of a set through its oracle, and its mixture of vertices |

mod conditional_gradient;
mod hull;
pub mod oracle;
mod set;

pub use conditional_gradient::{Descent, Mixture, nearest_point};
pub use hull::Hull;
pub use set::{AnySet, DecisionSet, LinearOracle, Shape};
