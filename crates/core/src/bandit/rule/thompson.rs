//! Thompson sampling on a release, with the noise that protects people in its covariance.
//!
//! A release holds `G~ = G + N` and `u~ = G theta* + X^T eta + h`. With `A = G~ + lambda I` and `theta^ = A^-1 u~`,
//!
//! ```text
//! theta^ - theta* = A^-1 (X^T eta + h - N theta* - lambda theta*)
//! S = sigma^2 A^-1 + A^-1 V A^-1,   V = (s_G^2 |theta|^2 + s_u^2) I
//! theta ~ N(theta^, width^2 S),   lambda = 1 + ridge s_G
//! ```
//!
//! The first term is the posterior of ridge regression on rewards of deviation sigma; V is the covariance of `h - N theta` at the largest
//! |theta| that bounds allow, 1 in units where features have norm 1 and rewards lie in [-1, 1], without its part along theta. No
//! eigenvalue of A is below lambda/2. The width is found by simulation: nothing is certified.
//!
//! With blocks N is zero between them, and V the same: |theta| is that of all blocks together.
//!
//! With no noise V is zero, and S is what exact sums have.

use super::RulePlan;
use crate::{
    Error, Result,
    bandit::{Ensemble, Policy},
    release::Release,
    special::square,
};

impl RulePlan {
    pub(super) fn thompson(
        &self,
        release: &Release,
        ridge: f64,
        width: f64,
        ensemble: Ensemble,
    ) -> Result<Policy> {
        let (l, b) = (self.feature_bound, self.reward_bound);
        let s_g = release.matrix_deviation();
        let s_u = release.deviations()[release.domain().matrix_coordinates()];
        let factors = self.factors(release, 1.0 + self.ridge_of(ridge) * s_g / (l * l))?;
        // In units of the rewards' deviation.
        let sigma = b * self.reward_deviation.max(1.0);
        let noise = (square(s_g * b / l) + s_u * s_u) / (sigma * sigma);
        let whitening = factors.noisy_whitening(noise).ok_or_else(|| {
            Error::invalid("ridge", ridge, "it is lost in rounding; expected more")
        })?;
        let policy = self.policy_of(factors.theta(), whitening, width * sigma, 0.0);
        Ok(policy.with_ensemble(ensemble))
    }
}
