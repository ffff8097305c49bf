//! Mistakes of learners: a guarantee is stated for code that does something else with people's data.
//!
//! The parameters of these learners are correct, so only running them reveals the mistake.

use std::sync::Arc;

use reticent::{
    bandit::{Arms, EpisodesParams, LinUcbParams},
    noise::Noise,
    privacy::{Guarantee, TrustModel, gaussian},
    randomize::Bounds,
};

use super::{DELTA, EPSILON, Entry, gaussian_promise};
use crate::{
    FastNoise, Result,
    algorithm::bandit::{Algorithm, BanditEnvironment, Budget, JointToml},
    audit::attack::{
        Attack, AuditNoise, DataSet, Test, View, episodes,
        learner::{self, Maker, Stage},
    },
    environment::GapParams,
    play::Learner,
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
        Entry {
            mistake: "fixed actions: the sum of an episode has no noise",
            right: "optimism in episodes, discrete Laplace noise on each sum",
            wrong_way: of_episode(TrustModel::None)?,
            right_way: of_episode(TrustModel::Joint)?,
        },
        Entry {
            mistake: "fixed actions by the clock: noise on rewards, and none on counts",
            right: "optimism in episodes, noise on counts too",
            wrong_way: of_counts(true)?,
            right_way: of_counts(false)?,
        },
    ])
}

/// Two actions.
fn fixed_actions() -> EpisodesParams {
    EpisodesParams::new(vec![vec![1.0, 0.0], vec![0.0, 1.0]], EPSILON, DELTA)
}

/// The release of the first episode of the deployed learner with this trust, under the certificate of a curator.
fn of_episode(trust: TrustModel) -> Result<Attack> {
    let guarantee = fixed_actions().check()?.guarantee()?;
    let plan = EpisodesParams { trust, ..fixed_actions() }.check()?;
    Ok(episodes::attack(&plan, &guarantee))
}

/// People of one tick besides the person, who came or did not: the release has their number.
const CROWD: usize = 400;

/// The number of people in the release of a tick.
fn of_counts(exact: bool) -> Result<Attack> {
    let plan = EpisodesParams { clock: true, ..fixed_actions() }.check()?;
    let guarantee = plan.guarantee()?;
    let adversary = "sees the number of people in the release of a tick; the person came, or no one in their place";
    Ok(Attack::new(adversary, &guarantee, 30_000, move || {
        let plan = plan.clone();
        let view: View = Box::new(move |data: DataSet, noise: AuditNoise| {
            let mut learner = plan.clone().start(noise);
            let mut sums = learner.no_sums();
            let came = *data.pick((&0, &1));
            (0..CROWD + came).try_for_each(|_| learner.contribute(&[1.0, 0.0], 0.5, &mut sums))?;
            let count = sums.count() as f64;
            learner.tick(&mut sums)?;
            // Effective people grow with the count, so that they tell it.
            let shown = learner.release()?.upper_triangle()[0];
            Ok(vec![if exact { count } else { shown }])
        });
        Ok((view, Test::Scores))
    }))
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
        reticent::refuse_if(self.refuses && reward > 0.9, "reward", reward, "expected less")?;
        Ok(())
    }
}
