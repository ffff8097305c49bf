//! Online learning: predict, see a gradient, predict better.
//!
//! | file | what it is |
//! | --- | --- |
//! | `gradient_descent` | projected gradient descent on a ball |
//! | `maler` | Maler: one learner for convex, exp-concave and strongly convex losses |

mod gradient_descent;
mod maler;

pub use gradient_descent::{GradientDescent, GradientDescentParams, Step};
pub use maler::{Influence, Maler, MalerParams};

use crate::Result;

/// A learner that predicts a point of a ball and is told the loss's gradient there.
///
/// Two learners plug into [`OnlineUcb`](crate::bandit): that is what the trait is for.
pub trait OnlineLearner {
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
            let remedy = format!("give at most {LARGEST:e} in size, by rescaling the loss");
            Err(crate::Error::invalid("gradient", entry, remedy))
        }
    }
}
