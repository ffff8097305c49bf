//! What is known of a linear bandit before it starts.

use serde::{Deserialize, Serialize};

use crate::{Result, error::positive, release::Domain};

/// Rewards are `y = <theta*, x> + noise`; these are the bounds everything rests on.
///
/// ```
/// use reticent::bandit::Problem;
/// let problem = Problem::unit(5);
/// assert!(problem.check().is_ok());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// Features of an arm.
    pub dimension: usize,
    /// L: the largest Euclidean norm of an arm.
    #[serde(default = "one")]
    pub feature_bound: f64,
    /// B~: the largest absolute reward.
    #[serde(default = "one")]
    pub reward_bound: f64,
    /// S: the largest Euclidean norm of theta*.
    #[serde(default = "one")]
    pub parameter_bound: f64,
    /// sigma: the subgaussian scale of the reward's noise. Rewards in [-B~, B~] have at most B~.
    #[serde(default = "one")]
    pub noise: f64,
}

fn one() -> f64 {
    1.0
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
        crate::linalg::check_dimension(self.dimension)?;
        positive("feature_bound", self.feature_bound)?;
        positive("reward_bound", self.reward_bound)?;
        positive("parameter_bound", self.parameter_bound)?;
        positive("noise", self.noise).map(drop)
    }

    /// What one interaction contributes to the sums, with the default split of the noise.
    pub fn domain(&self) -> Domain {
        Domain::regression(self.dimension, self.feature_bound, self.reward_bound)
    }
}
