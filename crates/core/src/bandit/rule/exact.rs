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
use crate::{Error, Result, error::positive, randomize::Bounds, refuse_if, special::square};

/// rho of the certified rule where none is given.
pub(in crate::bandit) const REGULARIZER: f64 = 1.0;

/// A rule with everything that its ridge and its width depend on, for sums without noise.
#[derive(Debug, Clone, Copy)]
pub(in crate::bandit) struct ExactRule {
    plan: RulePlan,
    /// rho of the certified rule, for features of norm at most 1, and its root.
    regularizer: f64,
    root: f64,
    /// `2 ln(1/alpha)`: a logarithm each round would show at d = 5.
    logarithm: f64,
}

impl Rule {
    /// The rule for exact sums of data within these bounds, which may forget; only the certified one has a regulariser, by default 1.
    pub(in crate::bandit) fn without_noise(
        &self,
        bounds: &Bounds,
        regularizer: Option<f64>,
        forgets: bool,
    ) -> Result<ExactRule> {
        if let Rule::Regularized { .. } = self {
            let remedy = "it is for sums with noise: give certified, tuned, thompson or fixed";
            return Err(Error::invalid("rule", "regularized", remedy));
        }
        self.check()?;
        if let Some(regularizer) = regularizer {
            positive("regularizer", regularizer)?;
            let certified = matches!(self, Rule::Certified { .. });
            let remedy = format_args!(
                "rule = {self} does not use it: leave it out, or give rule = certified"
            );
            refuse_if(!certified, "regularizer", regularizer, remedy)?;
        }
        let Bounds { dimension, structure, feature_bound, .. } = *bounds;
        let sums = (dimension, structure, feature_bound, bounds.half_range());
        let plan = RulePlan::new(*self, sums, None, None);
        let plan = if forgets { plan.weighted() } else { plan };
        let regularizer = regularizer.unwrap_or(REGULARIZER);
        let (root, logarithm) = (regularizer.sqrt(), -2.0 * libm::log(plan.failure_probability));
        Ok(ExactRule { plan, regularizer, root, logarithm })
    }
}

impl ExactRule {
    /// rho, in the units of the sums.
    pub(in crate::bandit) fn ridge(&self) -> f64 {
        let ridge = match self.plan.rule {
            Rule::Certified { .. } => self.regularizer,
            Rule::Fixed { ridge, .. } => ridge,
            Rule::Tuned { .. } | Rule::Thompson { .. } | Rule::Regularized { .. } => 1.0,
        };
        ridge * square(self.plan.feature_bound)
    }

    /// beta, in the units of rewards; `ln_growth` is `ln det V - d ln rho`, and `policy` counts the policies of sums that forget.
    pub(in crate::bandit) fn width(&self, ln_growth: f64, policy: impl FnOnce() -> u64) -> f64 {
        let width = match self.plan.rule {
            Rule::Certified { parameter_bound, reward_noise, scale, .. } => {
                let share = match self.plan.weighted {
                    true => {
                        let policy = policy() as f64;
                        2.0 * libm::log((policy * (policy + 1.0)).max(1.0))
                    }
                    false => 0.0,
                };
                let (s, sigma) = (parameter_bound.unwrap_or(1.0), reward_noise.unwrap_or(1.0));
                scale * (sigma * (self.logarithm + share + ln_growth).sqrt() + s * self.root)
            }
            Rule::Tuned { width, .. }
            | Rule::Thompson { width, .. }
            | Rule::Fixed { width, .. } => width,
            // Refused by `without_noise`.
            Rule::Regularized { parameter_bound, .. } => parameter_bound,
        };
        self.plan.reward_bound * width
    }
}
