//! The confidence set of Shariff and Sheffet (2018), Proposition 4.
//!
//! A release holds `G~ = G + N` and `u~ = G theta* + X^T eta + h`. With `H = N + shift I`, `rho_min I <= H <= rho_max I` and
//! `||h||_{H^-1} <= gamma` for all rounds, and `theta~ = V^-1 u~`, `V = G~ + shift I`: `||theta~ - theta*||_V <= beta`,
//!
//! ```text
//! beta = sigma sqrt(2 ln(2/alpha) + ln det V - d ln rho_min) + S sqrt(rho_max) + gamma.
//! ```
//!
//! Without noise, `H = rho I` and gamma = 0, it is the set of Abbasi-Yadkori, Pal and Szepesvari (2011).

use serde::{Deserialize, Serialize};

use super::RulePlan;
#[cfg(feature = "schema")]
use crate::schema::{NotNegative, Positive};
use crate::{
    Result,
    bandit::Policy,
    error::{finite_vector, not_negative, positive},
    linalg::Cholesky,
    release::Release,
};

/// Definition 3 of Shariff and Sheffet: what holds for `H = N + shift I` and h in all rounds, in the units of the sums.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Regularizer {
    /// Number added to the released matrix's diagonal; negative for a shifted Wishart.
    pub shift: f64,
    /// rho_min.
    #[cfg_attr(feature = "schema", schemars(with = "Positive"))]
    pub minimum: f64,
    /// rho_max.
    #[cfg_attr(feature = "schema", schemars(with = "Positive"))]
    pub maximum: f64,
    /// gamma.
    #[cfg_attr(feature = "schema", schemars(with = "NotNegative"))]
    pub vector: f64,
}

impl Regularizer {
    /// Refuses bounds that bound nothing.
    pub(super) fn check(&self) -> Result<()> {
        finite_vector("shift", &[self.shift], 1)?;
        positive("minimum", self.minimum)?;
        positive("maximum", self.maximum)?;
        not_negative("vector", self.vector).map(drop)
    }

    /// A constant multiple of the identity: no noise.
    pub fn constant(rho: f64) -> Self {
        Regularizer { shift: rho, minimum: rho, maximum: rho, vector: 0.0 }
    }

    /// The same noise shifted until its lower bound is `minimum`; `||h||_{H^-1}` changes as `1/sqrt(minimum)`.
    pub fn shifted_to(self, minimum: f64) -> Self {
        let by = minimum - self.minimum;
        Regularizer {
            shift: self.shift + by,
            minimum,
            maximum: self.maximum + by,
            vector: self.vector * (self.minimum / minimum).sqrt(),
        }
    }
}

impl RulePlan {
    /// If the noise broke its bounds (probability alpha at most), the shift is raised until V is positive definite, so that there
    /// is a policy to follow; if it is not after many doublings, nothing is known.
    pub(super) fn regularized(
        &self,
        release: &Release,
        regularizer: Regularizer,
        parameter_bound: f64,
        reward_noise: f64,
    ) -> Result<Policy> {
        let Regularizer { shift, minimum, maximum, vector } = regularizer;
        let ridges = (0..1100).map(|raised| shift + minimum * (libm::ldexp(1.0, raised) - 1.0));
        let gram = release.upper_triangle();
        let mut ridges = ridges.take_while(|ridge| ridge.is_finite());
        let Some(factor) = ridges.find_map(|ridge| Cholesky::of(self.dimension, gram, ridge))
        else {
            return Ok(self.cold_policy());
        };
        let log_terms = 2.0 * libm::log(2.0 / self.failure_probability) + factor.ln_determinant()
            - self.dimension as f64 * libm::log(minimum);
        let (norm, reward) = (self.feature_bound, self.reward_bound);
        let beta = reward * reward_noise * log_terms.max(0.0).sqrt()
            + parameter_bound * (reward / norm) * maximum.sqrt()
            + vector;
        let theta = factor.solve(release.vector())?;
        Ok(self.policy_of(theta, factor.inverse_factor(), beta, 0.0))
    }
}
