//! The upper confidence bound: all that LinUCB is, once the statistics are given.
//!
//! ```text
//! UCB(x) = <theta, x> + width ||x||_{V^-1} + drift ||V^-1 x||_2
//! ```
//!
//! With `V = L L^T` and `W = L^-1`, `||x||_{V^-1} = ||W x||` and `V^-1 x = W^T (W x)`. The last term is zero in the
//! textbook policy; with noisy statistics it pays for what the noise may have done to theta.
//!
//! Under Thompson sampling (`ensemble`) parameters are drawn from `N(theta, width^2 W^T W)` instead.

use serde::{Deserialize, Serialize};

use super::Ensemble;
use crate::{
    Error, Result,
    error::{finite_vector, not_negative},
    refuse_if,
};

/// A fixed rule for choosing arms; it holds nothing that was not released.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    dimension: usize,
    pub(super) theta: Vec<f64>,
    /// `W = L^-1`, lower triangular, row by row: row i has i + 1 entries.
    pub(super) whitening: Vec<f64>,
    pub(super) width: f64,
    drift: f64,
    /// Thompson sampling in place of the upper confidence bound.
    ensemble: Option<Ensemble>,
}

impl Policy {
    /// The policy with these parts; `whitening` is `W`, lower triangular, row by row.
    pub(crate) fn new(theta: Vec<f64>, whitening: Vec<f64>, width: f64, drift: f64) -> Self {
        debug_assert_eq!(whitening.len(), theta.len() * (theta.len() + 1) / 2);
        Policy { dimension: theta.len(), theta, whitening, width, drift, ensemble: None }
    }

    /// The same by Thompson sampling: the width and `W` are those of the law that parameters are drawn from.
    pub(super) fn with_ensemble(mut self, ensemble: Ensemble) -> Self {
        self.ensemble = Some(ensemble);
        self
    }

    /// Draws another ensemble, if there is one, from a public seed.
    pub(super) fn reseed(&mut self, seed: u64) {
        if let Some(ensemble) = &mut self.ensemble {
            ensemble.reseed(seed);
        }
    }

    /// How parameters are drawn, under Thompson sampling.
    pub fn ensemble(&self) -> Option<&Ensemble> {
        self.ensemble.as_ref()
    }

    /// The policy with these parts, from outside a learner: for simulations and for replaying saved policies.
    /// `whitening` is `W`, lower triangular, row by row.
    ///
    /// ```
    /// use reticent::bandit::Policy;
    /// let policy = Policy::from_parts(vec![0.5, 0.0], vec![0.1, 0.0, 0.2], 2.0, 0.0)?;
    /// assert_eq!(policy.bound(&[1.0, 0.0]), 0.7);
    /// assert!(Policy::from_parts(vec![0.5, 0.0], vec![0.1, 0.2], 2.0, 0.0).is_err());
    /// assert!(Policy::from_parts(vec![0.5, f64::NAN], vec![0.1, 0.0, 0.2], 2.0, 0.0).is_err());
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn from_parts(
        theta: Vec<f64>,
        whitening: Vec<f64>,
        width: f64,
        drift: f64,
    ) -> Result<Self> {
        refuse_if(theta.is_empty(), "theta", "empty", "give at least one entry")?;
        finite_vector("theta", &theta, theta.len())?;
        finite_vector("whitening", &whitening, theta.len() * (theta.len() + 1) / 2)?;
        not_negative("width", width)?;
        not_negative("drift", drift)?;
        Ok(Policy::new(theta, whitening, width, drift))
    }

    /// The same policy for arms that are `bound` times as long as those it was made for.
    pub(super) fn for_features_divided_by(self, bound: f64) -> Result<Self> {
        let scale = |values: Vec<f64>| values.iter().map(|v| v / bound).collect();
        let (theta, whitening) = (scale(self.theta), scale(self.whitening));
        let policy = Policy::from_parts(theta, whitening, self.width, self.drift / bound)?;
        Ok(Policy { ensemble: self.ensemble, ..policy })
    }

    /// Refuses a policy that was read and could not have been made, or is for another dimension.
    pub(super) fn check_parts(&self, dimension: usize) -> Result<()> {
        Policy::from_parts(self.theta.clone(), self.whitening.clone(), self.width, self.drift)?;
        self.ensemble.iter().try_for_each(Ensemble::check)?;
        if self.dimension == dimension && self.theta.len() == dimension {
            return Ok(());
        }
        let found = self.dimension;
        Err(Error::Dimension { field: "policy", expected: dimension, found })
    }

    /// How many features an arm has.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The estimate of the unknown parameter.
    pub fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// `W = L^-1` where `V = L L^T`, lower triangular, row by row.
    pub fn whitening(&self) -> &[f64] {
        &self.whitening
    }

    /// The factor of `||x||_{V^-1}`.
    pub fn width(&self) -> f64 {
        self.width
    }

    /// The factor of `||V^-1 x||_2`.
    pub fn drift(&self) -> f64 {
        self.drift
    }

    /// The upper confidence bound of one arm: the plain form of what [`Policy::scores`] computes for many.
    /// Missing features count as zero, and surplus ones not at all.
    pub fn bound(&self, features: &[f64]) -> f64 {
        // Fused in ascending order, as in `linalg::lanes`, for the same bits.
        let mut back = vec![0.0_f64; self.dimension];
        let mut white = 0.0_f64;
        let mut rest = self.whitening.as_slice();
        for i in 0..self.dimension {
            let (row, below) = rest.split_at(i + 1);
            rest = below;
            let z = fused(row, features);
            white = z.mul_add(z, white);
            for (back, w) in back.iter_mut().zip(row) {
                *back = w.mul_add(z, *back);
            }
        }
        let bound = self.width.mul_add(white.sqrt(), fused(&self.theta, features));
        if self.drift == 0.0 {
            return bound;
        }
        self.drift.mul_add(fused(&back, &back).sqrt(), bound)
    }
}

fn fused(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).fold(0.0, |sum, (a, b)| a.mul_add(*b, sum))
}
