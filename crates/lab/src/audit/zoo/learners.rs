//! Mistakes of learners: a guarantee is stated for code that does something else with people's data.
//!
//! The parameters of these learners are correct, so only running them reveals the mistake.

use std::sync::Arc;

use reticent::{
    bandit::{Arms, LinUcbParams},
    noise::Noise,
    privacy::{Guarantee, gaussian},
    randomize::Bounds,
};

use super::{DELTA, EPSILON, Entry, gaussian_promise};
use crate::{
    FastNoise, Result,
    algorithm::bandit::{Algorithm, BanditEnvironment, Budget, JointToml},
    audit::attack::{
        Attack,
        learner::{self, Maker, Stage},
    },
    environment::{GapParams, blocks::Learner},
};

pub(super) fn entries() -> Result<Vec<Entry>> {
    let bounds = Bounds { rewards: (0.0, 1.0), ..Bounds::unit(2) };
    let stage = Stage { bounds, arms: 2, rounds: 1000, public_arms: false };
    let promise = gaussian_promise(gaussian::mu(EPSILON, DELTA)?, DELTA)?.stated();
    let attack = |make: Maker| attack(&stage, &promise, make);
    Ok(vec![
        Entry {
            mistake: "a learner whose every action shows the last reward",
            right: "actions that depend on a release only",
            wrong_way: attack(Arc::new(|_| Ok(Box::new(LastReward::default()))))?,
            right_way: curator()?,
        },
        Entry {
            mistake: "a learner that adds no noise",
            right: "sums released by the aggregator that certifies them",
            wrong_way: attack(Arc::new(|_| {
                Ok(Box::new(LinUcbParams::new(Bounds::unit(2)).check()?))
            }))?,
            right_way: curator()?,
        },
        Entry {
            mistake: "a learner that refuses a reward it does not like",
            right: "a reward is clipped, whatever it is",
            wrong_way: attack(Arc::new(|seed| Ok(Box::new(Coin::new(seed, true)))))?,
            right_way: attack(Arc::new(|seed| Ok(Box::new(Coin::new(seed, false)))))?,
        },
    ])
}

fn attack(stage: &Stage, promise: &Guarantee, make: Maker) -> Result<Attack> {
    Ok(learner::attacks(stage, None, promise, &make).swap_remove(0))
}

/// The deployed curator, with the certificate of the sums it owns.
fn curator() -> Result<Attack> {
    let environment = BanditEnvironment::new(&GapParams::new(2, 2).into(), 1000)?;
    // The restart never happens, but it makes the simulation step round by round instead of in blocks.
    let lines = JointToml {
        restart_every: Some(1000),
        ..JointToml::new(Budget { epsilon: EPSILON, delta: DELTA })
    };
    Ok(Algorithm::Joint(lines).prepare(&environment)?.learner_attacks()?.swap_remove(0))
}

/// The planted leak: each action reveals the previous reward.
#[derive(Debug, Default)]
pub struct LastReward(f64);

impl Learner for LastReward {
    fn choose(&mut self, arms: &Arms, _: u64) -> Result<usize> {
        let most = arms.count() - 1;
        Ok(((self.0.clamp(0.0, 1.0) * most as f64).round() as usize).min(most))
    }

    fn observe(&mut self, _: u64, _: &[f64], reward: f64) -> Result<()> {
        self.0 = reward;
        Ok(())
    }
}

/// Chooses by coin; one of the two kinds refuses rewards near the top.
struct Coin {
    noise: FastNoise,
    refuses: bool,
}

impl Coin {
    fn new(seed: u64, refuses: bool) -> Self {
        Coin { noise: FastNoise::seeded(seed), refuses }
    }
}

impl Learner for Coin {
    fn choose(&mut self, arms: &Arms, _: u64) -> Result<usize> {
        Ok(self.noise.below(arms.count() as u64) as usize)
    }

    fn observe(&mut self, _: u64, _: &[f64], reward: f64) -> Result<()> {
        reticent::refuse_if(self.refuses && reward > 0.9, "reward", reward, "give less")?;
        Ok(())
    }
}
