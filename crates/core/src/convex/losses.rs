//! Losses with a declared Lipschitz constant: linear, Euclidean distance, and anything a user writes.
//!
//! A learner never sees a loss, only its value at the point played, clipped to the declared range. These are for
//! simulations, for [`NoisyOco`](super::NoisyOco), and for whoever has the function at hand.

use crate::{
    Result,
    error::{finite_vector, positive},
    linalg::dot,
};

/// A convex function with a Lipschitz constant that somebody vouches for.
pub trait Loss {
    /// The value at a point.
    fn value(&self, point: &[f64]) -> f64;

    /// L, at least the steepest slope.
    fn lipschitz(&self) -> f64;
}

/// `<slope, x> + offset`.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearLoss {
    slope: Vec<f64>,
    offset: f64,
}

impl LinearLoss {
    /// The linear function; choose the offset such that it is not negative on the set.
    pub fn new(slope: Vec<f64>, offset: f64) -> Result<Self> {
        finite_vector("slope", &slope, slope.len())?;
        finite_vector("offset", &[offset], 1)?;
        Ok(LinearLoss { slope, offset })
    }
}

impl Loss for LinearLoss {
    fn value(&self, point: &[f64]) -> f64 {
        dot(&self.slope, point) + self.offset
    }

    fn lipschitz(&self) -> f64 {
        dot(&self.slope, &self.slope).sqrt()
    }
}

/// `steepness |x - target|`.
#[derive(Debug, Clone, PartialEq)]
pub struct DistanceLoss {
    target: Vec<f64>,
    steepness: f64,
}

impl DistanceLoss {
    /// The distance from a target, times a constant.
    pub fn new(target: Vec<f64>, steepness: f64) -> Result<Self> {
        finite_vector("target", &target, target.len())?;
        Ok(DistanceLoss { target, steepness: positive("steepness", steepness)? })
    }
}

impl Loss for DistanceLoss {
    #[inline]
    fn value(&self, point: &[f64]) -> f64 {
        self.steepness * super::set::distance(point, &self.target)
    }

    fn lipschitz(&self) -> f64 {
        self.steepness
    }
}

/// A function of the user's, with the Lipschitz constant they declare.
///
/// ```
/// use reticent::convex::{DeclaredLoss, Loss};
/// let worst = DeclaredLoss::new(1.0, |x: &[f64]| x.iter().fold(0.0, |m: f64, v| m.max(v.abs())))?;
/// assert_eq!((worst.value(&[0.5, -2.0]), worst.lipschitz()), (2.0, 1.0));
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct DeclaredLoss<F> {
    lipschitz: f64,
    function: F,
}

impl<F: Fn(&[f64]) -> f64> DeclaredLoss<F> {
    /// `function`, declared to be no steeper than `lipschitz`.
    pub fn new(lipschitz: f64, function: F) -> Result<Self> {
        Ok(DeclaredLoss { lipschitz: positive("lipschitz", lipschitz)?, function })
    }
}

impl<F: Fn(&[f64]) -> f64> Loss for DeclaredLoss<F> {
    fn value(&self, point: &[f64]) -> f64 {
        (self.function)(point)
    }

    fn lipschitz(&self) -> f64 {
        self.lipschitz
    }
}
