//! Fixed arms with rewards 0 and 1, many people at a time.
//!
//! Between two releases a learner plays one arm, so that the rewards of all people until the next one are a binomial draw: ten million people
//! take as long as their releases.

use std::sync::Arc;

use reticent::{
    bandit::{Arms, Curator, JointPlan},
    privacy::Guarantee,
};

use crate::{
    FastNoise, Result,
    algorithm::{Card, RunnableAlgorithm, bandit::trial_seeds, sealed::Sealed},
    environment::{Environment, blocks::binomial},
    play::{
        Learner,
        trial::{Checkpoint, Trial, mix},
    },
};

/// A learner that plays one arm for many people.
pub trait BlockLearner {
    /// The arm from this round on, and for how many people it stays the same.
    fn next(&mut self, arms: &Arms, round: u64) -> Result<(usize, u64)>;

    /// Learns that this number of people, at most as many as announced, were shown this arm, and that `ones` of them had reward 1.
    fn learn(&mut self, arms: &Arms, arm: usize, people: u64, ones: u64) -> Result<()>;
}

/// Makes the environment of one trial.
pub type DrawEnvironment = Arc<dyn Fn(u64) -> Result<Box<dyn Environment>> + Send + Sync>;
type Start = Box<dyn Fn(u64) -> Result<Box<dyn BlockLearner>> + Send + Sync>;

/// An algorithm made of a [`BlockLearner`].
pub struct InBlocks {
    card: Card,
    draw: DrawEnvironment,
    start: Start,
}

impl InBlocks {
    /// A learner with a guarantee of the caller's: shown as stated and not checked.
    pub fn promising(
        name: String,
        guarantee: Guarantee,
        draw: &DrawEnvironment,
        start: impl Fn(u64) -> Result<Box<dyn BlockLearner>> + Send + Sync + 'static,
    ) -> Self {
        InBlocks::certified(name, guarantee.stated(), draw, start)
    }

    fn certified(
        name: String,
        guarantee: Guarantee,
        draw: &DrawEnvironment,
        start: impl Fn(u64) -> Result<Box<dyn BlockLearner>> + Send + Sync + 'static,
    ) -> Self {
        let card = Card { name, guarantee: Some(guarantee), ..Card::default() };
        InBlocks { card, draw: draw.clone(), start: Box::new(start) }
    }

    /// Core's joint learner.
    pub fn joint(name: String, plan: JointPlan, draw: &DrawEnvironment) -> Result<Self> {
        let guarantee = plan.guarantee()?.simulated();
        Ok(InBlocks::certified(name, guarantee, draw, move |seed| {
            Ok(Box::new(plan.clone().curator(FastNoise::seeded(seed))))
        }))
    }
}

impl Sealed for InBlocks {}

impl RunnableAlgorithm for InBlocks {
    fn card(&self) -> &Card {
        &self.card
    }

    fn trial(&self, seed: u64, trial: u64, checkpoints: &[u64]) -> Result<Trial> {
        let (people, own) = trial_seeds(seed, trial, self.name());
        let mut environment = (self.draw)(people)?;
        let mut learner = (self.start)(own)?;
        let mut rewards = FastNoise::seeded(mix(own, 1));
        let arms = environment.arms().clone();
        let (means, best) = (environment.means(), environment.best_mean());
        let (mut round, mut regret, mut curve) = (0, 0.0, Vec::with_capacity(checkpoints.len()));
        for &checkpoint in checkpoints {
            while round < checkpoint {
                let (arm, most) = learner.next(&arms, round + 1)?;
                let people = most.clamp(1, checkpoint - round);
                let ones = binomial(people, means[arm], &mut rewards);
                learner.learn(&arms, arm, people, ones)?;
                regret += people as f64 * (best - means[arm]);
                round += people;
            }
            curve.push(Checkpoint { round, regret });
        }
        Ok(curve.into())
    }
}

impl BlockLearner for Curator<FastNoise> {
    fn next(&mut self, arms: &Arms, round: u64) -> Result<(usize, u64)> {
        let arm = Learner::choose(self, arms, round)?;
        // A policy that knows nothing breaks its ties anew in every round.
        let knows = self.policy().theta().iter().any(|theta| *theta != 0.0);
        let most = if knows { self.until_release().unwrap_or(u64::MAX) } else { 1 };
        Ok((arm, most))
    }

    fn learn(&mut self, arms: &Arms, arm: usize, people: u64, ones: u64) -> Result<()> {
        let bounds = self.params().bounds;
        let (block, x) = (arms.block(arm), arms.arm(arm));
        let count = people as f64;
        let reward = ones as f64 - bounds.centre() * count;
        let (triangle, d) = (x.len() * (x.len() + 1) / 2, x.len());
        let blocks = bounds.structure.blocks;
        let mut sums = vec![0.0; blocks * (triangle + d)];
        let (matrix, vector) = sums.split_at_mut(blocks * triangle);
        let mut entries = matrix[block * triangle..].iter_mut();
        for (i, one) in x.iter().enumerate() {
            vector[block * d + i] = one * reward;
            for (two, entry) in x[i..].iter().zip(&mut entries) {
                *entry = count * one * two;
            }
        }
        self.absorb_simulated(&sums, people)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use reticent::{bandit::JointParams, randomize::Bounds, release::Structure};

    use super::*;

    /// With the same noise, a block of people brings the release that the same people bring one by one.
    #[test]
    fn a_block_is_the_sum_of_its_people() {
        let rewards = (0.0, 1.0);
        let dense = Bounds { rewards, intercept: Some(0.6), ..Bounds::unit(3) };
        let structure = Structure { blocks: 4, shared: 0 };
        let blocks = Bounds { rewards, structure, ..Bounds::unit(2) };
        let one = Arms::from_rows(3, &[[0.3, -0.5, 0.6], [0.7, 0.1, 0.6]]).unwrap();
        let two = Arms::in_blocks(2, &[(0, [1.0, 0.0]), (3, [-0.6, 0.7])]).unwrap();
        for (bounds, arms) in [(dense, one), (blocks, two)] {
            let plan = JointParams::new(bounds, 1.0, 1e-6, Some(1000)).check().unwrap();
            let start = || plan.clone().curator(FastNoise::seeded(3));
            let (mut singly, mut at_once) = (start(), start());
            let people = at_once.until_release().unwrap();
            let (block, x) = (arms.block(1), arms.arm(1));
            for person in 0..people {
                let reward = f64::from(u8::from(person < 5));
                Curator::observe_in_block(&mut singly, block, &x, reward).unwrap();
            }
            at_once.learn(&arms, 1, people, 5).unwrap();
            let sums = [&singly, &at_once].map(|c| c.release().unwrap().sums().to_vec());
            let difference = sums[0].iter().zip(&sums[1]).map(|(a, b)| (a - b).abs());
            // One by one, each person's features are rounded towards zero on a grid of about 2^-20.
            let rounding = people as f64 * 2_f64.powi(-20);
            assert!(difference.fold(0.0, f64::max) < rounding, "{sums:?}");
        }
    }
}
