//! The ridge regression behind a policy that learns every round: [`Ridge`] with its solution in the policy.

use serde::{Deserialize, Serialize};

use super::{Ensemble, Policy};
use crate::{
    Error, Result,
    linalg::ridge::{Ridge, Solution},
};

/// Sums, and the policy made from them; whoever owns it keeps the policy's width.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Regression {
    ridge: Ridge,
    policy: Policy,
    /// Room for `V^-1 x`.
    #[serde(skip)]
    direction: Vec<f64>,
}

impl Regression {
    /// Nothing observed. The regulariser is above 0 and neither it nor its inverse above 1e50.
    pub(super) fn new(
        dimension: usize,
        regularizer: f64,
        width: f64,
        ensemble: Option<Ensemble>,
    ) -> Self {
        let ridge = Ridge::new(dimension, regularizer);
        let (theta, whitening) = ridge.cold();
        let mut policy = Policy::new(theta, whitening, width, 0.0);
        if let Some(ensemble) = ensemble {
            policy = policy.with_ensemble(ensemble);
        }
        Regression { ridge, policy, direction: vec![0.0; dimension] }
    }

    /// Learns that features `x`, not above 1e50 in size, were answered by `y`.
    pub(super) fn observe(&mut self, x: &[f64], y: f64) {
        let Policy { theta, whitening, .. } = &mut self.policy;
        self.ridge.observe(x, y, Solution { theta, whitening, direction: &mut self.direction });
    }

    /// Takes sums of many observations without a new policy: [`Regression::refresh`] makes it.
    pub(super) fn add(&mut self, gram: &[f64], moment: &[f64], rounds: u64) {
        self.ridge.add(gram, moment, rounds);
    }

    /// As [`Regression::observe`], without a new policy.
    pub(super) fn accumulate(&mut self, x: &[f64], y: f64) {
        self.ridge.accumulate(x, y);
    }

    /// Multiplies the sums by `kept`, from 0 to 1, and leaves the policy as it is.
    pub(super) fn forget(&mut self, kept: f64) {
        self.ridge.forget(kept);
    }

    /// Makes the policy anew from the sums.
    pub(super) fn refresh(&mut self) {
        self.ridge.refresh(&mut self.policy.theta, &mut self.policy.whitening);
    }

    pub(super) fn policy(&self) -> &Policy {
        &self.policy
    }

    pub(super) fn set_width(&mut self, width: f64) {
        self.policy.width = width;
    }

    /// Draws another ensemble, where there is one.
    pub(super) fn reseed(&mut self, seed: u64) {
        self.policy.reseed(seed);
    }

    pub(super) fn rounds(&self) -> u64 {
        self.ridge.rounds()
    }

    pub(super) fn ln_growth(&self) -> f64 {
        self.ridge.ln_growth()
    }

    /// `sum y x`.
    pub(super) fn moment(&self) -> &[f64] {
        self.ridge.moment()
    }

    /// Upper triangle of `sum x x^T`, row by row.
    #[cfg(test)]
    pub(super) fn gram(&self) -> &[f64] {
        self.ridge.gram()
    }

    /// Makes a deserialised regression whole, or refuses one that does not fit.
    pub(super) fn revive(&mut self, dimension: usize, regularizer: f64) -> Result<()> {
        let found = self.ridge.regularizer();
        if found != regularizer || self.policy.drift() != 0.0 {
            let remedy = format!("the parameters say {regularizer}; restore another copy");
            return Err(Error::invalid("saved regularizer", found, remedy));
        }
        self.ridge.check(dimension, &self.policy.theta, &self.policy.whitening)?;
        self.policy.check_parts(dimension)?;
        self.direction = vec![0.0; dimension];
        Ok(())
    }
}
