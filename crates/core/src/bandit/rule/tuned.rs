//! Policies from a ridge and a width that no theorem gives.
//!
//! With `G~ = G + N` and `u~`, s the deviation of N off its diagonal, for features of norm at most 1 and rewards in [-1, 1]:
//!
//! ```text
//! tuned   V = G~ + lambda I,  lambda = 1 + ridge s,   width^2 = bonus^2 ridge s + (width max(sigma_y, 1))^2
//! fixed   V = G~ + ridge I,                           width
//! ```
//!
//! No eigenvalue of V is below lambda/2. sigma_y is the deviation of a noisy reward where only rewards are noisy; rewards in [-1, 1] have a
//! deviation of at most 1 of their own, which remains when the noise that protects people vanishes: without it trials settle on a wrong arm.

use super::RulePlan;
use crate::{
    Error, Result,
    bandit::Policy,
    linalg::{Cholesky, SymmetricEigen},
    release::Release,
};

impl RulePlan {
    pub(super) fn tuned(
        &self,
        release: &Release,
        ridge: f64,
        bonus: f64,
        width: f64,
    ) -> Result<Policy> {
        let deviation = release.deviations()[0] / std::f64::consts::SQRT_2;
        let accumulated = ridge * deviation / self.feature_bound.powi(2);
        let width = libm::hypot(bonus * accumulated.sqrt(), width * self.reward_deviation.max(1.0));
        self.fixed(release, 1.0 + accumulated, width)
    }

    /// `theta = V^-1 u~`.
    pub(super) fn fixed(&self, release: &Release, ridge: f64, width: f64) -> Result<Policy> {
        let factor = self.shifted(release, ridge)?;
        super::certified::policy_of(&factor, release.vector(), self.reward_bound * width, 0.0)
    }

    /// V with no eigenvalue below half the ridge, which is for features of norm at most 1.
    pub(super) fn shifted(&self, release: &Release, ridge: f64) -> Result<Cholesky> {
        let ridge = ridge * self.feature_bound.powi(2);
        let (d, gram) = (self.dimension, release.upper_triangle());
        // If G~ + ridge/2 is positive definite, nothing has to be floored.
        let factor = match Cholesky::of(d, gram, 0.5 * ridge) {
            Some(_) => Cholesky::of(d, gram, ridge),
            None => {
                let eigen = SymmetricEigen::of(d, gram)?;
                let mut floored = Vec::with_capacity(gram.len());
                for row in 0..d {
                    for column in row..d {
                        let parts = eigen.values().iter().zip(eigen.vectors());
                        let entry = |(value, vector): (&f64, &Vec<f64>)| {
                            (value + ridge).max(0.5 * ridge) * vector[row] * vector[column]
                        };
                        floored.push(parts.map(entry).sum());
                    }
                }
                Cholesky::of(d, &floored, 0.0)
            }
        };
        factor.ok_or_else(|| {
            Error::invalid("ridge", ridge, "it is lost in the rounding of the sums: give more")
        })
    }
}
