//! Online convex optimisation: learners that receive one gradient at a time.
//!
//! ```text
//! weights -> loss of one person -> gradient -> clip -> randomiser -> learner -> weights
//! ```
//!
//! Van der Hoeven, "User-Specified Local Differential Privacy in Unconstrained Adaptive Online Learning" (2019): every person chooses their
//! own noise level and does not disclose it; the learner needs no tuning and no bound on the competitor.
//!
//! | file | contents |
//! | --- | --- |
//! | `potential` | Algorithm 1: one dimension, four priors |
//! | `quadrature`, `closed_form`, `signed_log` | its stable evaluation |
//! | `mirror_descent` | directions on a ball or a box, and the baselines built on them |
//! | `reduction` | Algorithm 2: a direction and a length |
//! | `coordinatewise` | Algorithm 3: every coordinate separately |
//! | `learner` | the learner that callers use: Algorithm 2, 3 or their sum, saved and resumed |
//! | `evidence` | detection of a broken gradient bound under any noise |
//! | `loss`, `linear` | losses, and linear models in one pass |
//! | `gradient_descent` | projected gradient descent on a ball of known radius |
//! | `maler` | Maler: one learner for convex, exp-concave and strongly convex losses on a ball |
//! | [`bounds`] | regret bounds: numeric, corrected, as printed |

pub mod bounds;
mod closed_form;
mod coordinatewise;
mod evidence;
mod gradient_descent;
mod learner;
mod linear;
mod loss;
mod maler;
mod mirror_descent;
mod potential;
mod quadrature;
mod reduction;
mod signed_log;

pub use evidence::{BoundBroken, FALSE_ALARM};
pub use gradient_descent::{GradientDescent, GradientDescentParams, Step};
pub use learner::{Absorbed, Method, OnlineLearner, OnlineParams, OnlinePlan};
pub use linear::{Lesson, LinearModel};
pub use loss::Loss;
pub use maler::{Maler, MalerParams};
pub use mirror_descent::Geometry;
pub use potential::{Potential, Prior, Statistics};
pub use signed_log::{LARGEST_PREDICTION, SignedLog};

use crate::Result;

/// A learner that predicts a point of a ball and observes the loss's gradient there.
///
/// [`OnlineUcb`](crate::bandit) works with any such learner.
pub trait BallLearner {
    /// The point the next gradient is to be taken at.
    fn prediction(&self) -> &[f64];

    /// Learns the gradient of this round's loss at the prediction. An error changes nothing.
    fn absorb(&mut self, gradient: &[f64]) -> Result<()>;
}

/// Beyond this, squares and products of squares could overflow.
const LARGEST: f64 = 1e100;

/// A gradient of this dimension whose square does not overflow.
fn check_gradient(gradient: &[f64], dimension: usize) -> Result<()> {
    crate::error::finite_vector("gradient", gradient, dimension)?;
    match gradient.iter().find(|entry| entry.abs() > LARGEST) {
        None => Ok(()),
        Some(entry) => {
            let remedy = format!("expected at most {LARGEST:e} in size, by rescaling the loss");
            Err(crate::Error::invalid("gradient", entry, remedy))
        }
    }
}
