//! Where arms and rewards come from.
//!
//! | file | what it is |
//! | --- | --- |
//! | `gap` | the instances of Shariff and Sheffet, Appendix D: a fresh decision set every round |
//! | `fixed_arms` | the same sets drawn once and kept: the only ones that show whether a policy explores |
//! | `slice` | the law of `<x, theta*>` for a suboptimal arm |
//! | `frame` | the reflection that turns theta* into the first axis |
//! | `rewards` | sign, Gaussian and Bernoulli rewards |
//! | `sphere` | section 5 of paper 0: arms and theta* on a sphere, means that are probabilities |

mod fixed_arms;
mod frame;
mod gap;
mod rewards;
mod slice;
mod sphere;

use reticent::{
    Result,
    bandit::{Arms, Problem},
};
use serde::{Deserialize, Serialize};

use crate::simulate::{Blocks, FixedBlocks, GapBlocks};

pub use fixed_arms::FixedArms;
pub(crate) use frame::Frame;
pub(crate) use gap::BEST;
pub use gap::{Gap, GapParams, GapPlan};
pub use rewards::Rewards;
pub(crate) use slice::Slice;
pub use sphere::{Sphere, SphereParams};

/// A bandit problem, round by round.
///
/// [`Environment::arms`] opens a round; the means and the rewards are those of the round it opened.
pub trait Environment {
    /// The arms of the next round.
    fn arms(&mut self) -> &Arms;

    /// The expected reward of every arm of this round.
    fn means(&self) -> &[f64];

    /// The largest of [`Environment::means`]. Pseudo-regret is this minus the chosen arm's mean.
    fn best_mean(&self) -> f64;

    /// A reward of one arm of this round; `arm` is below the number of arms.
    fn reward(&mut self, arm: usize) -> f64;
}

/// The `[environment]` table of an experiment.
///
/// ```
/// use reticent_lab::environment::{EnvironmentParams, GapParams};
/// let gap = GapParams { gap: 0.1, ..GapParams::new(5, 25) };
/// let mut environment = EnvironmentParams::Gap(gap).environment(7)?;
/// assert_eq!(environment.arms().count(), 25);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EnvironmentParams {
    /// Appendix D of Shariff and Sheffet, with fresh or with fixed arms.
    Gap(GapParams),
}

impl EnvironmentParams {
    /// The environment of one trial, or which parameter stands in the way.
    pub fn environment(&self, seed: u64) -> Result<Box<dyn Environment>> {
        let EnvironmentParams::Gap(params) = self;
        let plan = params.check()?;
        Ok(if params.fresh_arms { Box::new(plan.fresh(seed)) } else { Box::new(plan.fixed(seed)) })
    }

    /// The environment of one trial, played many rounds at a time.
    pub fn blocks(&self, seed: u64) -> Result<Box<dyn Blocks>> {
        let EnvironmentParams::Gap(params) = self;
        let plan = params.check()?;
        Ok(if params.fresh_arms {
            Box::new(GapBlocks::new(plan.fresh(seed)))
        } else {
            Box::new(FixedBlocks::new(plan.fixed(seed)))
        })
    }

    /// What may be known in advance to a learner that plays so many rounds.
    pub fn problem(&self, rounds: u64) -> Problem {
        let EnvironmentParams::Gap(params) = self;
        let problem = Problem::unit(params.dimension);
        match params.rewards {
            Rewards::Gaussian => Problem {
                // A mean in [-1, 1] plus standard noise leaves this with probability 1/n in all n rounds together.
                reward_bound: 1.0 + (4.0 * (rounds.max(2) as f64).ln()).sqrt(),
                ..problem
            },
            Rewards::Sign | Rewards::Bernoulli => problem,
        }
    }

    /// The smallest difference between the best mean and any other, if the environment promises one.
    pub fn gap(&self) -> f64 {
        let EnvironmentParams::Gap(params) = self;
        params.gap
    }

    /// How many arms there are in a round.
    pub fn arms(&self) -> usize {
        let EnvironmentParams::Gap(params) = self;
        params.arms
    }

    /// Features of an arm.
    pub fn dimension(&self) -> usize {
        let EnvironmentParams::Gap(params) = self;
        params.dimension
    }
}
