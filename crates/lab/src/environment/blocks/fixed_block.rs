//! Many rounds of a [`Gap`] with fixed arms under one policy: one choice, and its rewards counted.
//!
//! ```text
//! sum x x^T = n x x^T,   sum x y = x Y,   Y = 2 B - n or B with B binomial, or normal with mean n m, variance n
//! ```

use reticent::{Result, bandit::Policy, noise::Noise};

use super::{Blocks, Sums, binomial::binomial, same_dimension};
use crate::environment::{BEST, Environment, Gap, Rewards};

/// A [`Gap`] with fixed arms, played in blocks. Until it follows a policy, it plays the first arm.
///
/// Among equal bounds the first arm is chosen, as in the round-by-round simulation.
#[derive(Debug, Clone)]
pub struct FixedBlocks {
    environment: Gap,
    arm: usize,
    features: Vec<f64>,
    /// Rewards are clipped to plus or minus this.
    reward_bound: f64,
}

impl FixedBlocks {
    /// The rounds that an environment made by [`GapPlan::fixed`](crate::environment::GapPlan::fixed) would play next, in law.
    pub fn new(environment: Gap) -> Self {
        let features = environment.current().arm(0);
        FixedBlocks { features, arm: 0, environment, reward_bound: f64::INFINITY }
    }

    /// The arm that is played.
    pub fn arm(&self) -> usize {
        self.arm
    }
}

impl Blocks for FixedBlocks {
    fn clip_rewards(&mut self, bound: f64) {
        self.reward_bound = bound.max(1.0);
    }

    fn follow(&mut self, policy: &Policy) -> Result<()> {
        let set = self.environment.current();
        same_dimension(policy, set.dimension())?;
        let mut best = f64::NEG_INFINITY;
        for arm in 0..set.count() {
            let features = set.arm(arm);
            let bound = policy.bound(&features);
            if bound > best {
                (best, self.arm, self.features) = (bound, arm, features);
            }
        }
        Ok(())
    }

    fn advance(&mut self, rounds: u64, sums: &mut Sums) {
        assert_eq!(sums.moment.len(), self.features.len(), "sums of another dimension");
        let count = rounds as f64;
        let mean = self.environment.products()[self.arm];
        let rewards = self.environment.plan().params().rewards;
        let noise = self.environment.noise();
        let reward = match rewards {
            Rewards::Sign => 2.0 * binomial(rounds, 0.5 + 0.5 * mean, noise) as f64 - count,
            Rewards::Bernoulli => binomial(rounds, 0.5 + 0.5 * mean, noise) as f64,
            Rewards::Gaussian if self.reward_bound == f64::INFINITY => {
                count * mean + count.sqrt() * noise.standard_normal()
            }
            // The sum of clipped rewards has no simple law, so they are drawn one by one.
            Rewards::Gaussian => {
                let bound = self.reward_bound;
                (0..rounds).map(|_| (mean + noise.standard_normal()).clamp(-bound, bound)).sum()
            }
        };
        let mut gram = sums.gram.iter_mut();
        for (i, x) in self.features.iter().enumerate() {
            sums.moment[i] += x * reward;
            for (other, sum) in self.features[i..].iter().zip(&mut gram) {
                *sum += count * x * other;
            }
        }
        sums.rounds += rounds;
        sums.regret += count * (rewards.mean(BEST) - self.environment.means()[self.arm]);
    }
}
