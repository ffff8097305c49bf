//! Whole blocks of rounds at a time, of the law of the rounds in [`crate::play`].
//!
//! | file | contents |
//! | --- | --- |
//! | `gap_block` | a whole block of fresh decision sets under one policy, vectorised and pruned |
//! | `fixed_block` | the same for fixed arms, where the block has one choice and rewards are counted |
//! | `gap_steps` | fresh decision sets under a policy that changes every round, pruned |
//! | `race` | the inner loops of `gap_block` |
//! | `turned` | a policy in the coordinates of theta*, and upper bounds on its scores |
//! | `lanes` | uniform numbers, directions and elementary functions, many at a time |
//! | `binomial` | binomial draws |
//!
//! A policy changes only at releases. Between two of them the rounds are independent and a learner needs only sums, so a block returns
//! [`Sums`] and does not store rounds.

mod binomial;
mod fixed_block;
mod gap_block;
mod gap_steps;
mod lanes;
mod race;
#[cfg(test)]
mod tests;
mod turned;

use reticent::{Result, bandit::Policy};

use crate::environment::GapParams;

pub use binomial::binomial;
pub use fixed_block::FixedBlocks;
pub use gap_block::GapBlocks;
pub use gap_steps::{Choice, GapSteps, largest_variance};

/// The sums over many rounds that a learner needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Sums {
    /// Number of rounds.
    pub rounds: u64,
    /// The sum of `x x^T` of the chosen arms: the upper triangle, row by row.
    pub gram: Vec<f64>,
    /// The sum of `x y`.
    pub moment: Vec<f64>,
    /// The pseudo-regret: the best mean minus the chosen one's, summed.
    pub regret: f64,
}

impl Sums {
    /// No rounds yet.
    pub fn new(dimension: usize) -> Self {
        Sums {
            rounds: 0,
            gram: vec![0.0; dimension * (dimension + 1) / 2],
            moment: vec![0.0; dimension],
            regret: 0.0,
        }
    }

    /// Adds the rounds of another.
    pub fn add(&mut self, other: &Sums) {
        self.rounds += other.rounds;
        self.gram.iter_mut().zip(&other.gram).for_each(|(sum, more)| *sum += more);
        self.moment.iter_mut().zip(&other.moment).for_each(|(sum, more)| *sum += more);
        self.regret += other.regret;
    }

    /// Forgets all rounds.
    pub fn clear(&mut self) {
        self.rounds = 0;
        self.gram.fill(0.0);
        self.moment.fill(0.0);
        self.regret = 0.0;
    }
}

/// An environment that plays many rounds of one policy at a time.
///
/// To read the regret at a checkpoint inside a block, advance to the checkpoint first and then further: the law is the same.
pub trait Blocks {
    /// From now on rewards enter the sums clipped to `[-bound, bound]`, as a private learner clips them; the bound is at
    /// least 1.
    fn clip_rewards(&mut self, bound: f64);

    /// Uses this policy for the following rounds.
    fn follow(&mut self, policy: &Policy) -> Result<()>;

    /// Plays this number of rounds and adds them to the sums.
    ///
    /// # Panics
    ///
    /// If the sums have another dimension than the arms.
    fn advance(&mut self, rounds: u64, sums: &mut Sums);
}

/// An error unless the policy is for arms of this dimension.
fn same_dimension(policy: &Policy, dimension: usize) -> Result<()> {
    if policy.dimension() == dimension {
        Ok(())
    } else {
        let remedy =
            format!("the environment's arms have {dimension} features; expected a policy for them");
        Err(reticent::Error::invalid("policy dimension", policy.dimension(), remedy))
    }
}

impl GapParams {
    /// The environment of one trial, played many rounds at a time.
    pub fn blocks(&self, seed: u64) -> Result<Box<dyn Blocks>> {
        let plan = self.check()?;
        Ok(if self.fresh_arms {
            Box::new(GapBlocks::new(plan.fresh(seed)))
        } else {
            Box::new(FixedBlocks::new(plan.fixed(seed)))
        })
    }
}
