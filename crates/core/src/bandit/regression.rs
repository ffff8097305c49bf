//! The ridge regression behind a policy that learns every round.
//!
//! ```text
//! V_t = rho I + sum x x^T,   u_t = sum y x,   theta_t = V_t^-1 u_t
//! ```
//!
//! A round costs `O(d^2)`: `W` with `W^T W = V^-1` follows each observation, and so does theta, by recursive least
//! squares. Their rounding errors would add up over millions of rounds, so both are made anew from the sums once
//! in [`REFRESH`] rounds.

use serde::{Deserialize, Serialize};

use super::Policy;
use crate::{
    Error, Result,
    error::{finite_vector, not_negative},
    linalg::{Cholesky, least_squares::LeastSquares, triangle},
};

/// Rounds between two factorisations from the sums.
pub(super) const REFRESH: u64 = 1024;

/// Sums, and the policy made from them; whoever owns it keeps the policy's width.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Regression {
    /// rho.
    regularizer: f64,
    /// Upper triangle of `sum x x^T`, row by row.
    gram: Vec<f64>,
    /// `sum y x`.
    moment: Vec<f64>,
    rounds: u64,
    /// `ln det V - d ln rho`.
    ln_growth: f64,
    policy: Policy,
    /// Room for `V^-1 x`.
    #[serde(skip)]
    direction: Vec<f64>,
}

impl Regression {
    /// Nothing observed. The regulariser is above 0 and neither it nor its inverse above 1e50.
    pub(super) fn new(dimension: usize, regularizer: f64, width: f64) -> Self {
        let mut whitening = vec![0.0; triangle(dimension)];
        for i in 0..dimension {
            whitening[triangle(i) + i] = 1.0 / regularizer.sqrt();
        }
        Regression {
            regularizer,
            gram: vec![0.0; triangle(dimension)],
            moment: vec![0.0; dimension],
            rounds: 0,
            ln_growth: 0.0,
            policy: Policy::new(vec![0.0; dimension], whitening, width, 0.0),
            direction: vec![0.0; dimension],
        }
    }

    /// Learns that features `x`, not above 1e50 in size, were answered by `y`.
    pub(super) fn observe(&mut self, x: &[f64], y: f64) {
        let state = LeastSquares {
            gram: &mut self.gram,
            moment: &mut self.moment,
            whitening: &mut self.policy.whitening,
            theta: &mut self.policy.theta,
            direction: &mut self.direction,
        };
        self.ln_growth += libm::log(state.observe(x, y));
        self.rounds += 1;
        if self.rounds.is_multiple_of(REFRESH) {
            self.refresh();
        }
    }

    /// Takes sums of many observations, upper triangle by rows and vector, without a new policy: [`Regression::refresh`] makes it.
    pub(super) fn add(&mut self, gram: &[f64], moment: &[f64], rounds: u64) {
        self.gram.iter_mut().zip(gram).for_each(|(sum, more)| *sum += more);
        self.moment.iter_mut().zip(moment).for_each(|(sum, more)| *sum += more);
        self.rounds += rounds;
    }

    /// As [`Regression::observe`], without a new policy.
    pub(super) fn accumulate(&mut self, x: &[f64], y: f64) {
        let mut entries = self.gram.iter_mut();
        for (row, first) in x.iter().enumerate() {
            x[row..].iter().zip(entries.by_ref()).for_each(|(second, sum)| *sum += first * second);
        }
        self.moment.iter_mut().zip(x).for_each(|(sum, x)| *sum += x * y);
        self.rounds += 1;
    }

    /// Makes the policy anew from the sums.
    pub(super) fn refresh(&mut self) {
        let dimension = self.moment.len();
        let factor = Cholesky::of(dimension, &self.gram, self.regularizer);
        // Where the sums have drowned the regulariser, what was followed step by step is the better one.
        let Some(factor) = factor else { return };
        let Ok(theta) = factor.solve(&self.moment) else { return };
        self.policy.theta = theta;
        self.policy.whitening = factor.inverse_factor();
        let ln_growth = factor.ln_determinant() - dimension as f64 * libm::log(self.regularizer);
        self.ln_growth = ln_growth.max(0.0);
    }

    pub(super) fn policy(&self) -> &Policy {
        &self.policy
    }

    pub(super) fn set_width(&mut self, width: f64) {
        self.policy.width = width;
    }

    pub(super) fn rounds(&self) -> u64 {
        self.rounds
    }

    pub(super) fn ln_growth(&self) -> f64 {
        self.ln_growth
    }

    /// `sum y x`.
    pub(super) fn moment(&self) -> &[f64] {
        &self.moment
    }

    /// Upper triangle of `sum x x^T`, row by row.
    #[cfg(test)]
    pub(super) fn gram(&self) -> &[f64] {
        &self.gram
    }

    /// Makes a deserialised regression whole, or refuses one that does not fit.
    pub(super) fn revive(&mut self, dimension: usize, regularizer: f64) -> Result<()> {
        if self.regularizer != regularizer || self.policy.drift() != 0.0 {
            let remedy = format!("the parameters say {regularizer}; restore another copy");
            return Err(Error::invalid("saved regularizer", self.regularizer, remedy));
        }
        if self.policy.dimension() != dimension {
            let found = self.policy.dimension();
            return Err(Error::Dimension { field: "saved policy", expected: dimension, found });
        }
        finite_vector("saved gram", &self.gram, triangle(dimension))?;
        finite_vector("saved moment", &self.moment, dimension)?;
        finite_vector("saved theta", &self.policy.theta, dimension)?;
        finite_vector("saved whitening", &self.policy.whitening, triangle(dimension))?;
        not_negative("saved width", self.policy.width)?;
        not_negative("saved ln_growth", self.ln_growth)?;
        self.direction = vec![0.0; dimension];
        Ok(())
    }
}
