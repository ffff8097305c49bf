//! One trial of one learner: play a block, release, learn, and again.
//!
//! Between two releases the policy stands still, so the environment plays whole blocks at full speed; the noise of the
//! mechanism is added to the exact sums of the block's rounds.

use reticent::release::Release;

use super::Learner;
use crate::{
    FastNoise, Result,
    contest::{Checkpoint, mix, name_hash},
    environment::EnvironmentParams,
    simulate::Sums,
};

/// Runs `learner` against trial number `trial` and records its regret after each of the rising `checkpoints`.
pub fn run(
    environment: &EnvironmentParams,
    learner: &Learner,
    seed: u64,
    trial: u64,
    checkpoints: &[u64],
) -> Result<Vec<Checkpoint>> {
    // Every learner meets the same people in the same trial; its own noise is its own.
    let world = mix(seed, trial);
    let mut blocks = environment.blocks(world)?;
    blocks.clip_rewards(learner.reward_bound());
    let mut noise = learner.noise(FastNoise::seeded(mix(world, name_hash(&learner.name))))?;
    let mut sums = Sums::new(learner.domain.dimension());
    let mut curve = Vec::with_capacity(checkpoints.len());
    blocks.follow(&learner.rule.cold_policy())?;
    let (mut round, mut index, mut next) = (0, 0, learner.schedule.first());
    for &checkpoint in checkpoints {
        while round < checkpoint {
            let stop = next.min(checkpoint);
            blocks.advance(stop - round, &mut sums);
            round = stop;
            if round == next {
                index += 1;
                let (mut estimate, deviations) = noise.next(round, &learner.domain)?;
                let exact = sums.gram.iter().chain(&sums.moment);
                estimate.iter_mut().zip(exact).for_each(|(noisy, exact)| *noisy += exact);
                let release = Release::simulated::<FastNoise>(
                    learner.domain,
                    round,
                    index,
                    estimate,
                    deviations,
                )?;
                blocks.follow(&learner.rule.policy(&release)?)?;
                next = learner.schedule.next(round);
            }
        }
        curve.push(Checkpoint { round, regret: sums.regret });
    }
    Ok(curve)
}
