//! Ridge regression from sums, used by the policies of `bandit` and the estimates of agents in `safe`, which keep the solution.
//!
//! ```text
//! V = rho I + sum x x^T,   u = sum y x,   theta = V^-1 u,   W^T W = V^-1
//! ```
//!
//! A round takes `O(d^2)` operations: `W` and theta are updated after each observation by recursive least squares. Rounding errors would
//! add up over millions of rounds, so both are recomputed from the sums every [`REFRESH`] rounds.

use serde::{Deserialize, Serialize};

use super::{Cholesky, least_squares::LeastSquares, triangle};
use crate::{
    Result,
    error::{finite_vector, not_negative},
    refuse_if,
};

/// Rounds between two factorisations from the sums.
pub(crate) const REFRESH: u64 = 1024;

/// The sums of a ridge regression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ridge {
    /// rho.
    regularizer: f64,
    /// Upper triangle of `sum x x^T`, row by row.
    gram: Vec<f64>,
    /// u.
    moment: Vec<f64>,
    rounds: u64,
    /// `ln det V - d ln rho`.
    ln_growth: f64,
}

/// References to theta and the lower triangle of W, and scratch space for `V^-1 x`.
pub(crate) struct Solution<'a> {
    pub(crate) theta: &'a mut [f64],
    pub(crate) whitening: &'a mut [f64],
    pub(crate) direction: &'a mut [f64],
}

impl Ridge {
    /// A regression without observations. The regulariser is above 0, and neither it nor its inverse is above 1e50.
    pub(crate) fn new(dimension: usize, regularizer: f64) -> Self {
        let (gram, moment) = (vec![0.0; triangle(dimension)], vec![0.0; dimension]);
        Ridge { regularizer, gram, moment, rounds: 0, ln_growth: 0.0 }
    }

    /// theta and W before anything is observed.
    pub(crate) fn cold(&self) -> (Vec<f64>, Vec<f64>) {
        let mut whitening = vec![0.0; self.gram.len()];
        for row in 0..self.moment.len() {
            whitening[triangle(row) + row] = 1.0 / self.regularizer.sqrt();
        }
        (vec![0.0; self.moment.len()], whitening)
    }

    /// Learns that features `x`, not above 1e50 in size, were answered by `y`.
    pub(crate) fn observe(&mut self, x: &[f64], y: f64, solution: Solution<'_>) {
        let Solution { theta, whitening, direction } = solution;
        let state = LeastSquares {
            gram: &mut self.gram,
            moment: &mut self.moment,
            whitening,
            theta,
            direction,
        };
        self.ln_growth += libm::log(state.observe(x, y));
        self.rounds += 1;
        if self.rounds.is_multiple_of(REFRESH) {
            self.refresh(theta, whitening);
        }
    }

    /// Takes sums of many observations, upper triangle by rows and vector, without a new solution; call [`Ridge::refresh`] afterwards.
    pub(crate) fn add(&mut self, gram: &[f64], moment: &[f64], rounds: u64) {
        self.gram.iter_mut().zip(gram).for_each(|(sum, more)| *sum += more);
        self.moment.iter_mut().zip(moment).for_each(|(sum, more)| *sum += more);
        self.rounds += rounds;
    }

    /// As [`Ridge::observe`], without a new solution.
    pub(crate) fn accumulate(&mut self, x: &[f64], y: f64) {
        let mut entries = self.gram.iter_mut();
        for (row, first) in x.iter().enumerate() {
            x[row..].iter().zip(entries.by_ref()).for_each(|(second, sum)| *sum += first * second);
        }
        self.moment.iter_mut().zip(x).for_each(|(sum, x)| *sum += x * y);
        self.rounds += 1;
    }

    /// Multiplies the sums by `kept`, from 0 to 1, without a new solution.
    pub(crate) fn forget(&mut self, kept: f64) {
        self.gram.iter_mut().chain(&mut self.moment).for_each(|sum| *sum *= kept);
    }

    /// Recomputes theta and W from the sums.
    pub(crate) fn refresh(&mut self, theta: &mut [f64], whitening: &mut [f64]) {
        let dimension = self.moment.len();
        let factor = Cholesky::of(dimension, &self.gram, self.regularizer);
        // If the regulariser is lost to rounding beside the sums, the factorisation fails and the step-by-step solution is kept.
        let Some(factor) = factor else { return };
        let Ok(solved) = factor.solve(&self.moment) else { return };
        theta.copy_from_slice(&solved);
        whitening.copy_from_slice(&factor.inverse_factor());
        let ln_growth = factor.ln_determinant() - dimension as f64 * libm::log(self.regularizer);
        self.ln_growth = ln_growth.max(0.0);
    }

    /// rho.
    pub(crate) fn regularizer(&self) -> f64 {
        self.regularizer
    }

    pub(crate) fn rounds(&self) -> u64 {
        self.rounds
    }

    pub(crate) fn ln_growth(&self) -> f64 {
        self.ln_growth
    }

    /// `u = V theta`.
    pub(crate) fn moment(&self) -> &[f64] {
        &self.moment
    }

    /// Upper triangle of `sum x x^T`, row by row.
    pub(crate) fn gram(&self) -> &[f64] {
        &self.gram
    }

    /// Refuses deserialised sums whose sizes disagree with each other or with the deserialised solution.
    pub(crate) fn check(&self, dimension: usize, theta: &[f64], whitening: &[f64]) -> Result<()> {
        let refused = !(self.regularizer > 0.0 && self.regularizer.is_finite());
        let remedy = "it cannot be a regulariser: restore another copy";
        refuse_if(refused, "saved regularizer", self.regularizer, remedy)?;
        finite_vector("saved gram", &self.gram, triangle(dimension))?;
        finite_vector("saved moment", &self.moment, dimension)?;
        finite_vector("saved theta", theta, dimension)?;
        finite_vector("saved whitening", whitening, triangle(dimension))?;
        not_negative("saved ln_growth", self.ln_growth).map(drop)
    }
}
