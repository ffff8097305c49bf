//! From releases to an upper confidence bound for each arm.
//!
//! ```text
//! V = I + sum_a W_a a a^T,   theta = V^-1 sum_a P_a a,   bound(a) = <theta, a> + w ||a||_{V^-1}
//! W_a = sum w,   P_a = sum w (m - 1/2)     over the released means m of arm a, of variance 1/w
//! ```

use serde::{Deserialize, Serialize};

use crate::{Error, Result, linalg::Cholesky};

/// Everything that was released about one arm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ArmEstimate {
    /// W: the precision of its mean.
    pub(super) weight: f64,
    /// P.
    pub(super) pull: f64,
}

impl ArmEstimate {
    /// With one more released mean, as a share of the range.
    pub(super) fn add(&mut self, weight: f64, mean: f64) {
        self.weight += weight;
        self.pull += weight * (mean - 0.5);
    }

    /// With what is left of it.
    pub(super) fn keep(&mut self, share: f64) {
        self.weight *= share;
        self.pull *= share;
    }
}

/// Least squares on everything that was released.
pub(super) struct Fit {
    pub(super) factor: Cholesky,
    pub(super) theta: Vec<f64>,
}

/// The arm with the largest upper bound.
#[derive(Debug, Clone, Copy)]
pub(super) struct Best {
    pub(super) arm: usize,
    /// `||a||^2` in the norm of `V^-1`.
    pub(super) variance: f64,
}

impl Fit {
    pub(super) fn of(arms: &[Vec<f64>], estimates: &[ArmEstimate]) -> Result<Self> {
        let dimension = arms[0].len();
        let mut upper = vec![0.0; dimension * (dimension + 1) / 2];
        let mut moment = vec![0.0; dimension];
        for (arm, ArmEstimate { weight, pull }) in arms.iter().zip(estimates) {
            if *weight == 0.0 {
                continue;
            }
            let mut entries = upper.iter_mut();
            for (i, one) in arm.iter().enumerate() {
                moment[i] += pull * one;
                for (two, entry) in arm[i..].iter().zip(&mut entries) {
                    *entry += weight * one * two;
                }
            }
        }
        let factor = Cholesky::of(dimension, &upper, 1.0).ok_or_else(|| {
            Error::invalid("arms", "a matrix that has no factor", "scale them to norms near 1")
        })?;
        let theta = factor.solve(&moment)?;
        Ok(Fit { factor, theta })
    }

    /// The arm with the largest upper bound at this width, the first of several.
    pub(super) fn best(&self, arms: &[Vec<f64>], width: f64) -> Result<Best> {
        let (mut best, mut highest) = (Best { arm: 0, variance: 1.0 }, f64::NEG_INFINITY);
        for (arm, x) in arms.iter().enumerate() {
            let variance = self.factor.forward(x)?.iter().map(|v| v * v).sum::<f64>();
            let value: f64 = x.iter().zip(&self.theta).map(|(x, t)| x * t).sum();
            let bound = value + width * variance.sqrt();
            if bound > highest {
                (best, highest) = (Best { arm, variance }, bound);
            }
        }
        Ok(best)
    }
}
