//! `kind = "linucb"`: no privacy, the yardstick of every private variant.

use reticent::{
    bandit::{Arms, LinUcb, LinUcbParams},
    release::Schedule,
};
use serde::{Deserialize, Serialize};

use super::{Learner, Setting, Stepped};
use crate::{
    Result,
    contest::{Checkpoint, Contestant, Trial, mix},
    environment::EnvironmentParams,
    simulate::{GapSteps, Player, largest_variance},
};

/// What `kind = "linucb"` takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinUcbLines {
    /// What the report calls it.
    #[serde(default)]
    pub name: Option<String>,
    /// rho: the constant regulariser.
    #[serde(default = "one")]
    pub regularizer: f64,
    /// When the policy learns. `every_round` is the textbook's LinUCB; the default is as good and far faster to simulate.
    #[serde(default)]
    pub schedule: Schedule,
}

fn one() -> f64 {
    1.0
}

impl LinUcbLines {
    /// The defaults, under a name.
    pub fn named(name: &str) -> Self {
        LinUcbLines { name: Some(name.into()), regularizer: 1.0, schedule: Schedule::default() }
    }

    /// The learner, or what stands in its way.
    pub fn contestant(&self, setting: &Setting) -> Result<Box<dyn Contestant>> {
        let name = self.name.clone().unwrap_or_else(|| "LinUCB, not private".into());
        if self.schedule != Schedule::EveryRound {
            let learner = Learner::not_private(name, self.regularizer, self.schedule, setting)?;
            return Ok(Box::new(learner));
        }
        let params = self.params(setting);
        params.check()?;
        let EnvironmentParams::Gap(gap) = setting.environment;
        if gap.fresh_arms && gap.dimension >= 3 {
            return Ok(Box::new(EveryRound { name, setting: *setting, params }));
        }
        Ok(Box::new(self.stepped(name, setting)))
    }

    /// The textbook's learner in any environment.
    pub(super) fn stepped(&self, name: String, setting: &Setting) -> Stepped {
        let params = self.params(setting);
        let start = move |_| Ok(Box::new(params.check()?) as Box<dyn Player>);
        let start = Box::new(start);
        Stepped { name, guarantee: None, remarks: Vec::new(), setting: *setting, start }
    }

    fn params(&self, setting: &Setting) -> LinUcbParams {
        LinUcbParams {
            regularizer: self.regularizer,
            // Proposition 4 leaves half of alpha to the privacy noise, and has it here too.
            confidence: 0.5 * setting.alpha(),
            ..LinUcbParams::new(setting.problem.dimension)
        }
    }
}

impl Player for LinUcb {
    fn choose(&mut self, arms: &Arms, _: u64) -> Result<usize> {
        Ok(LinUcb::choose(self, arms)?)
    }

    fn observe(&mut self, features: &[f64], reward: f64) -> Result<()> {
        Ok(self.update(features, reward)?)
    }
}

/// LinUCB that learns every round, on decision sets of which only the arms that may win are drawn.
struct EveryRound {
    name: String,
    setting: Setting,
    params: LinUcbParams,
}

impl Contestant for EveryRound {
    fn name(&self) -> &str {
        &self.name
    }

    fn guarantee(&self) -> Option<&reticent::privacy::Guarantee> {
        None
    }

    fn trial(&self, seed: u64, trial: u64, checkpoints: &[u64]) -> Result<Trial> {
        let EnvironmentParams::Gap(gap) = self.setting.environment;
        let mut steps = GapSteps::new(gap.check()?.fresh(mix(seed, trial)))?;
        let mut learner = self.params.check()?;
        let (mut round, mut regret, mut next, mut largest) = (0, 0.0, 0, 0.0);
        let mut curve = Vec::with_capacity(checkpoints.len());
        let best = gap.rewards.mean(crate::environment::BEST);
        for &checkpoint in checkpoints {
            while round < checkpoint {
                if round == next {
                    largest = largest_variance(learner.policy())?;
                    next = round + (round / 50).max(8);
                }
                round += 1;
                let choice = steps.choose(learner.policy(), largest)?;
                regret += best - gap.rewards.mean(choice.product);
                let reward = gap.rewards.draw(choice.product, steps.noise());
                learner.update(&choice.features, reward)?;
            }
            curve.push(Checkpoint { round, regret });
        }
        Ok(curve.into())
    }
}
