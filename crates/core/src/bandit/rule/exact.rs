//! Rules on sums without noise: what LinUCB without privacy follows.
//!
//! `V = rho I + G` is kept up to date round by round (`regression`), so a rule gives two numbers: rho, and the width from the growth of V's
//! determinant. For features of norm at most 1 and rewards in [-1, 1]:
//!
//! ```text
//! certified   rho is given,   beta = scale (sigma sqrt(2 ln(1/alpha) + ln det V - d ln rho) + S sqrt(rho))
//! tuned       rho = 1,        beta = width        (both are those of `tuned` and `thompson` at noise 0)
//! thompson    rho = 1,        beta = width
//! fixed       rho = ridge,    beta = width
//! ```
//!
//! Certified is Theorem 2 of Abbasi-Yadkori, Pal and Szepesvari (2011), which holds for any features, blocks and shared ones included: no noise
//! has to be bounded. Sums that forget pay at the i-th policy with `alpha/(i (i + 1))` for alpha (`certified` has the proof).

use super::{Rule, RulePlan};
use crate::{Error, Result, randomize::Bounds};

impl Rule {
    /// The rule for exact sums of data within these bounds.
    pub(in crate::bandit) fn plan_without_noise(&self, bounds: &Bounds) -> Result<RulePlan> {
        if let Rule::Regularized { .. } = self {
            let remedy = "it is for sums with noise: give certified, tuned, thompson or fixed";
            return Err(Error::invalid("rule", "regularized", remedy));
        }
        self.check()?;
        let Bounds { dimension, structure, feature_bound, .. } = *bounds;
        let sums = (dimension, structure, feature_bound, bounds.half_range());
        Ok(RulePlan::new(*self, sums, None, None))
    }
}

impl RulePlan {
    /// rho, in the units of the sums; the certified rule is given it for features of norm at most 1.
    pub(in crate::bandit) fn ridge_without_noise(&self, regularizer: f64) -> f64 {
        let ridge = match self.rule {
            Rule::Certified { .. } => regularizer,
            Rule::Fixed { ridge, .. } => ridge,
            Rule::Tuned { .. } | Rule::Thompson { .. } | Rule::Regularized { .. } => 1.0,
        };
        ridge * self.feature_bound.powi(2)
    }

    /// beta of the policy of this number, in the units of rewards; `ln_growth` is `ln det V - d ln rho`.
    pub(in crate::bandit) fn width_without_noise(
        &self,
        regularizer: f64,
        ln_growth: f64,
        policy: u64,
    ) -> f64 {
        let width = match self.rule {
            Rule::Certified { parameter_bound, reward_noise, scale, .. } => {
                let policy = policy as f64;
                let share = if self.weighted { (policy * (policy + 1.0)).max(1.0) } else { 1.0 };
                let logarithm = 2.0 * libm::log(share / self.failure_probability);
                let (s, sigma) = (parameter_bound.unwrap_or(1.0), reward_noise.unwrap_or(1.0));
                scale * (sigma * (logarithm + ln_growth).sqrt() + s * regularizer.sqrt())
            }
            Rule::Tuned { width, .. }
            | Rule::Thompson { width, .. }
            | Rule::Fixed { width, .. } => width,
            // Refused by `plan_without_noise`.
            Rule::Regularized { parameter_bound, .. } => parameter_bound,
        };
        self.reward_bound * width
    }
}
