//! What the theorems on a linear bandit speak of: its bounds, and what is known of theta* and of the noise in rewards.

use reticent::{Result, error::positive, randomize::Bounds};
use serde::{Deserialize, Serialize};

/// Rewards are `y = <theta*, x> + noise`; these are the bounds everything rests on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// Features of an arm.
    pub dimension: usize,
    /// L: the largest Euclidean norm of an arm.
    #[serde(default = "crate::lines::one")]
    pub feature_bound: f64,
    /// B~: the largest absolute reward.
    #[serde(default = "crate::lines::one")]
    pub reward_bound: f64,
    /// S: the largest Euclidean norm of theta*.
    #[serde(default = "crate::lines::one")]
    pub parameter_bound: f64,
    /// sigma: the subgaussian scale of the reward's noise. Rewards in [-B~, B~] have at most B~.
    #[serde(default = "crate::lines::one")]
    pub noise: f64,
}

impl Problem {
    /// All bounds one.
    pub fn unit(dimension: usize) -> Self {
        Problem {
            dimension,
            feature_bound: 1.0,
            reward_bound: 1.0,
            parameter_bound: 1.0,
            noise: 1.0,
        }
    }

    /// Refuses bounds that bound nothing.
    pub fn check(&self) -> Result<()> {
        self.bounds().check()?;
        positive("parameter_bound", self.parameter_bound)?;
        positive("noise", self.noise).map(drop)
    }

    /// The problem that bounds and a certified rule speak of; S and sigma are for features of norm 1 and rewards in [-1, 1].
    pub fn of(bounds: &Bounds, parameter_bound: f64, reward_noise: f64) -> Self {
        let (feature_bound, reward_bound) = (bounds.feature_bound, bounds.half_range());
        Problem {
            dimension: bounds.dimension,
            feature_bound,
            reward_bound,
            parameter_bound: parameter_bound * (reward_bound / feature_bound),
            noise: reward_noise * reward_bound,
        }
    }

    /// The bounds, for rewards that are not centred.
    pub fn bounds(&self) -> Bounds {
        let Problem { dimension, feature_bound, reward_bound, .. } = *self;
        let rewards = (-reward_bound, reward_bound);
        Bounds { feature_bound, rewards, ..Bounds::unit(dimension) }
    }
}
