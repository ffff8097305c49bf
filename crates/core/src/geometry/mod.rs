//! Bounded polytopes `{y : A y <= b}`: the safe sets of [`safe`](crate::safe) and the decision sets of [`convex`](crate::convex).
//!
//! | file | contents |
//! | --- | --- |
//! | `linear_program` | small dense linear programs by the simplex method, with certificates |
//! | `polytope` | feasibility, extent, redundancy; a set that is empty or unbounded is refused with the reason |
//! | `vertices` | all corners |

mod linear_program;
mod polytope;
mod vertices;

pub(crate) use linear_program::{Dictionary, Outcome, Status, maximize};
pub use polytope::Polytope;
pub(crate) use polytope::{couples, stalled};
