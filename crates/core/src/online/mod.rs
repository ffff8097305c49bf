//! Online convex optimisation.

mod closed_form;
mod potential;
mod quadrature;
mod signed_log;

pub use potential::{Potential, Prior, Statistics};
pub use signed_log::{LARGEST_PREDICTION, SignedLog};
