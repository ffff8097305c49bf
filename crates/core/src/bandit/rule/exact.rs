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
//! `two_level` solves anew from the sums at each policy, as it does from a release, whose noise is none here.
//!
//! Certified is Theorem 2 of Abbasi-Yadkori, Pal and Szepesvari (2011), which holds for any features, blocks and shared ones included: no noise
//! has to be bounded. Sums that forget pay at the i-th policy with `alpha/(i (i + 1))` for alpha (`certified` has the proof).

use super::{Rule, RulePlan};
use crate::{
    Error, Result,
    bandit::Policy,
    error::positive,
    randomize::Bounds,
    refuse_if,
    release::{Domain, Release},
    special::square,
};

/// rho of the certified rule where none is given.
pub(in crate::bandit) const REGULARIZER: f64 = 1.0;

/// A rule with everything that its ridge and its width depend on, for sums without noise.
#[derive(Debug, Clone)]
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
            let remedy = "it is for sums with noise; expected certified, tuned, thompson, fixed or two_level";
            return Err(Error::invalid("rule", "regularized", remedy));
        }
        self.check()?;
        self.check_any_arms()?;
        if let Some(regularizer) = regularizer {
            positive("regularizer", regularizer)?;
            let certified = matches!(self, Rule::Certified { .. });
            let remedy = format_args!(
                "rule = {self} does not use it: leave it out, or give rule = certified"
            );
            refuse_if(!certified, "regularizer", regularizer, remedy)?;
        }
        let Bounds { dimension, structure, feature_bound, .. } = *bounds;
        self.check_levels(dimension, structure)?;
        let sums = (dimension, structure, feature_bound, bounds.half_range());
        let plan = RulePlan::new(self.clone(), sums, None, None);
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
            Rule::Tuned { .. }
            | Rule::Thompson { .. }
            | Rule::TwoLevel { .. }
            | Rule::Episodes { .. }
            | Rule::Regularized { .. } => 1.0,
        };
        ridge * square(self.plan.feature_bound)
    }

    /// The policy of these sums, upper triangle by rows and vector, where it is not the solution of the ridge regression with this width.
    pub(in crate::bandit) fn policy(
        &self,
        gram: &[f64],
        moment: &[f64],
        rounds: u64,
    ) -> Option<Policy> {
        let RulePlan {
            rule: Rule::TwoLevel { .. }, dimension, feature_bound, reward_bound, ..
        } = self.plan
        else {
            return None;
        };
        let domain = Domain::regression(dimension, feature_bound, reward_bound);
        let sums = [gram, moment].concat();
        let deviations = vec![0.0; sums.len()];
        let release = Release::new(domain, rounds, 1, sums, deviations);
        Some(self.plan.policy_or_cold(&release).0)
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
            | Rule::TwoLevel { width, .. }
            | Rule::Episodes { width, .. }
            | Rule::Fixed { width, .. } => width,
            // Refused by `without_noise`.
            Rule::Regularized { parameter_bound, .. } => parameter_bound,
        };
        self.plan.reward_bound * width
    }
}
