//! A rule for sums of one domain: the cold policy, and the policy of each release.

use serde::{Deserialize, Serialize};

use super::{Regularizer, Rule};
use crate::{
    Error, Result,
    bandit::{Ensemble, Policy},
    error::{not_negative, probability},
    release::{Domain, Release, Structure},
};

/// A rule with everything it depends on: turns releases into policies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RulePlan {
    pub(super) rule: Rule,
    /// n: features of an arm.
    pub(super) dimension: usize,
    pub(super) structure: Structure,
    /// L and B of the sums.
    pub(super) feature_bound: f64,
    pub(super) reward_bound: f64,
    pub(super) failure_probability: f64,
    /// n: how many releases there are at most; without it, release i gets the share 1/(i (i + 1)) of the failure probability.
    pub(super) releases: Option<u64>,
    /// sigma_y: the deviation of a noisy reward where only rewards are noisy, else 0; for rewards in [-1, 1].
    pub(super) reward_deviation: f64,
    /// Sums weigh contributions by their age: the certified set then pays for the rewards' noise at each release by itself.
    pub(super) weighted: bool,
}

impl RulePlan {
    /// A rule that has been checked, for sums of this dimension, structure, feature bound and reward bound.
    pub(super) fn new(
        rule: Rule,
        (dimension, structure, feature_bound, reward_bound): (usize, Structure, f64, f64),
        horizon: Option<u64>,
        releases: Option<u64>,
    ) -> Self {
        let given = match rule {
            Rule::Certified { failure_probability, .. }
            | Rule::Regularized { failure_probability, .. } => failure_probability,
            _ => None,
        };
        let default = 1.0 / horizon.unwrap_or(1_000_000).max(2) as f64;
        RulePlan {
            rule,
            dimension,
            structure,
            feature_bound,
            reward_bound,
            failure_probability: given.unwrap_or(default),
            releases,
            reward_deviation: 0.0,
            weighted: false,
        }
    }

    /// The rule.
    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    /// The bounds on the regulariser, if this is the set of Proposition 4: what its theorems speak of.
    pub fn regularizer(&self) -> Option<&Regularizer> {
        match &self.rule {
            Rule::Regularized { regularizer, .. } => Some(regularizer),
            _ => None,
        }
    }

    /// The same for sums of exact features and noisy rewards of this deviation.
    pub(in crate::bandit) fn with_reward_deviation(mut self, deviation: f64) -> Self {
        self.reward_deviation = deviation;
        self
    }

    /// The same for sums that forget.
    pub(in crate::bandit) fn weighted(mut self) -> Self {
        self.weighted = true;
        self
    }

    /// The same with a share of the failure probability for one more release, which comes before the others.
    pub(in crate::bandit) fn with_one_more_release(mut self) -> Self {
        self.releases = self.releases.map(|releases| releases.saturating_add(1));
        self
    }

    /// The same for one of this many streams, whose failures add up.
    pub(in crate::bandit) fn shared_by(mut self, streams: u64) -> Self {
        self.failure_probability /= streams.max(1) as f64;
        self
    }

    /// Refuses a plan that was read and could not have been made, or is for another dimension.
    pub(in crate::bandit) fn check(&self, dimension: usize, structure: Structure) -> Result<()> {
        self.rule.check()?;
        let domain = Domain::regression(self.dimension, self.feature_bound, self.reward_bound);
        self.rule.plan(domain.structured(self.structure), None, self.releases)?;
        probability("failure_probability", self.failure_probability)?;
        not_negative("reward_deviation", self.reward_deviation)?;
        if self.structure != structure {
            let remedy = format!("the learner's are {structure}; restore another copy");
            return Err(Error::invalid("blocks of the rule", self.structure, remedy));
        }
        if self.dimension == dimension {
            return Ok(());
        }
        Err(Error::Dimension { field: "rule", expected: dimension, found: self.dimension })
    }

    /// The policy before anything is released.
    pub fn cold_policy(&self) -> Policy {
        let (scale, d) = (1.0 / self.feature_bound, self.dimension);
        let mut whitening = vec![0.0; d * (d + 1) / 2];
        (0..d).for_each(|row| whitening[row * (row + 3) / 2] = scale);
        let width = match self.rule {
            // Every direction is as uncertain as S allows.
            Rule::Certified { parameter_bound, .. } => parameter_bound.unwrap_or(1.0),
            Rule::Regularized { parameter_bound, .. } => parameter_bound,
            Rule::Tuned { width, .. } => width * self.reward_deviation.max(1.0),
            Rule::Thompson { width, .. } | Rule::TwoLevel { width, .. } => {
                width * self.reward_deviation.max(1.0)
            }
            Rule::Fixed { ridge, width } => width / ridge.sqrt(),
            // Refused by `Rule::plan`.
            Rule::Episodes { .. } => 0.0,
        };
        let whitening = whitening.repeat(self.structure.blocks);
        let policy = self.policy_of(
            vec![0.0; self.structure.blocks * d],
            whitening,
            self.reward_bound * width,
            0.0,
        );
        match self.rule.ensemble() {
            Some(ensemble) => policy.with_ensemble(ensemble),
            None => policy,
        }
    }

    /// The policy that a release supports, or the cold one if its numbers cannot be computed with: when this is called the release
    /// has been made, and an error would be seen with the next one. Also whether it is the cold one, which a rule gives by itself where
    /// noise is far beyond its bounds.
    pub(in crate::bandit) fn policy_or_cold(&self, release: &Release) -> (Policy, bool) {
        let cold = self.cold_policy();
        match self.policy(release) {
            Ok(policy) if policy.check_parts(self.dimension, self.structure).is_ok() => {
                let is_cold = policy == cold;
                (policy, is_cold)
            }
            _ => (cold, true),
        }
    }

    pub(super) fn policy_of(
        &self,
        theta: Vec<f64>,
        whitening: Vec<f64>,
        width: f64,
        drift: f64,
    ) -> Policy {
        Policy::new(self.dimension, self.structure, theta, whitening, width, drift)
    }

    /// The policy that a release supports.
    pub fn policy(&self, release: &Release) -> Result<Policy> {
        let expected = self.structure.parameters(self.dimension);
        let domain = release.domain();
        let fits = domain.dimension() == self.dimension && domain.structure() == self.structure;
        if !fits || release.vector().len() != expected {
            let found = release.vector().len();
            return Err(Error::Dimension { field: "release", expected, found });
        }
        self.rule.check_merged(domain)?;
        match self.rule {
            Rule::Certified { parameter_bound, reward_noise, scale, .. } => {
                let (s, sigma) = (parameter_bound.unwrap_or(1.0), reward_noise.unwrap_or(1.0));
                self.certified(release, s, sigma, scale)
            }
            Rule::Tuned { ridge, bonus, width } => self.tuned(release, ridge, bonus, width),
            Rule::Thompson { ridge, width, members, minimum_probability } => {
                let ensemble = Ensemble::new(members, minimum_probability)?;
                self.thompson(release, ridge, width, ensemble)
            }
            Rule::Fixed { ridge, width } => self.fixed(release, ridge, width),
            Rule::Regularized { regularizer, parameter_bound, reward_noise, .. } => {
                self.regularized(release, regularizer, parameter_bound, reward_noise)
            }
            Rule::Episodes { .. } => {
                self.rule.check_any_arms()?;
                Ok(self.cold_policy())
            }
            Rule::TwoLevel { ref levels, width, members, minimum_probability } => {
                let ensemble = Ensemble::new(members, minimum_probability)?;
                self.two_level(release, levels.as_ref(), width, ensemble)
            }
        }
    }
}
