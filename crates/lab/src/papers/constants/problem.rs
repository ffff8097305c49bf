//! The problem of theorems on a linear bandit: its bounds, and the knowledge of theta* and of the noise in rewards.

use reticent::{Result, error::positive, randomize::Bounds};
use serde::{Deserialize, Serialize};

/// Rewards are `y = <theta*, x> + noise`; these are the bounds everything rests on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// d, L, and rewards within [-B~, B~], which are not centred.
    pub bounds: Bounds,
    /// S: the largest Euclidean norm of theta*.
    pub parameter_bound: f64,
    /// sigma: the subgaussian scale of the reward's noise. Rewards in [-B~, B~] have at most B~.
    pub reward_noise: f64,
}

impl Problem {
    /// All bounds one.
    pub fn unit(dimension: usize) -> Self {
        Problem { bounds: Bounds::unit(dimension), parameter_bound: 1.0, reward_noise: 1.0 }
    }

    /// The same with arms of at most this norm and rewards of at most this size.
    pub fn within(self, feature_bound: f64, reward_bound: f64) -> Self {
        let rewards = (-reward_bound, reward_bound);
        Problem { bounds: Bounds { feature_bound, rewards, ..self.bounds }, ..self }
    }

    /// Refuses bounds that bound nothing.
    pub fn check(&self) -> Result<()> {
        self.bounds.check()?;
        positive("parameter_bound", self.parameter_bound)?;
        positive("reward_noise", self.reward_noise).map(drop)
    }

    /// The problem that bounds and a certified rule speak of; S and sigma are for features of norm 1 and rewards in [-1, 1].
    pub fn of(bounds: &Bounds, parameter_bound: f64, reward_noise: f64) -> Self {
        let (feature_bound, reward_bound) = (bounds.feature_bound, bounds.half_range());
        Problem {
            parameter_bound: parameter_bound * (reward_bound / feature_bound),
            reward_noise: reward_noise * reward_bound,
            ..Problem::unit(bounds.dimension).within(feature_bound, reward_bound)
        }
    }

    /// L.
    pub fn feature_bound(&self) -> f64 {
        self.bounds.feature_bound
    }

    /// B~: the largest absolute reward.
    pub fn reward_bound(&self) -> f64 {
        self.bounds.half_range()
    }

    /// S and sigma for features of norm at most 1 and rewards in [-1, 1], as rules take them.
    pub fn in_units(&self) -> (f64, f64) {
        let (feature_bound, reward_bound) = (self.feature_bound(), self.reward_bound());
        (self.parameter_bound * (feature_bound / reward_bound), self.reward_noise / reward_bound)
    }
}
