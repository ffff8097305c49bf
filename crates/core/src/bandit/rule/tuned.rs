//! Policies from a ridge and a width that no theorem gives.
//!
//! With `G~ = G + N` and `u~`, s the deviation of N off its diagonal, for features of norm at most 1 and rewards in [-1, 1]:
//!
//! ```text
//! tuned   V = G~ + lambda I,  lambda = 1 + ridge s,   width^2 = bonus^2 ridge s + (width max(sigma_y, 1))^2
//! fixed   V = G~ + ridge I,                           width
//! ```
//!
//! With blocks of parameters `ridge` is three times what is given. No eigenvalue of V is below lambda/2 (`factors`). sigma_y is the deviation
//! of a noisy reward where only rewards are noisy; rewards in [-1, 1] have a deviation of at most 1 of their own, which remains when the
//! noise that protects people vanishes: without it trials settle on a wrong arm.

use super::RulePlan;
use crate::{Result, bandit::Policy, release::Release, special::square};

/// Found by simulation on tables of 2 to 26 classes.
const BLOCK_RIDGE: f64 = 3.0;

impl RulePlan {
    pub(super) fn tuned(
        &self,
        release: &Release,
        ridge: f64,
        bonus: f64,
        width: f64,
    ) -> Result<Policy> {
        let deviation = release.matrix_deviation();
        let accumulated = self.ridge_of(ridge) * deviation / square(self.feature_bound);
        let width = libm::hypot(bonus * accumulated.sqrt(), width * self.reward_deviation.max(1.0));
        self.fixed(release, 1.0 + accumulated, width)
    }

    /// The ridge in units of the accumulated noise: with blocks of parameters three times as much. There a release is shared by many blocks
    /// of which each has seen few people, and with a shared part the noise of all blocks meets in it (`docs/reference/real-data.md` has the figures).
    pub(super) fn ridge_of(&self, ridge: f64) -> f64 {
        if self.structure.is_dense() { ridge } else { BLOCK_RIDGE * ridge }
    }

    /// `theta = V^-1 u~`.
    pub(super) fn fixed(&self, release: &Release, ridge: f64, width: f64) -> Result<Policy> {
        let factors = self.factors(release, ridge)?;
        let width = self.reward_bound * width;
        Ok(self.policy_of(factors.theta(), factors.whitening(), width, 0.0))
    }
}
