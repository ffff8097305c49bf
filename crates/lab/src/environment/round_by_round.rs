//! An environment that is played round by round: its start, the way of its rewards, and the mean reward of a trial.

use std::sync::Arc;

use reticent::bandit::Arms;

use super::{Environment, bandit::TrialEnvironment, modifiers::Modifiers};
use crate::{
    Result,
    play::{
        Feedback, Learner, play_with,
        trial::{Checkpoint, Measure, Trial, mix},
    },
};

/// Starts the environment of one trial from its seed.
type Start = Box<dyn Fn(u64) -> Result<Box<dyn Environment>> + Send + Sync>;

/// An environment that is played round by round.
pub(crate) struct RoundByRound {
    pub(crate) start: Start,
    pub(crate) modifiers: Modifiers,
    pub(crate) remarks: Vec<String>,
    pub(crate) data_hash: u64,
    /// Name of the mean reward of a round, if it stands first.
    pub(crate) headline: Option<&'static str>,
}

/// Sums over the rounds of a trial, taken whatever becomes of the rewards afterwards.
pub(super) trait Sums {
    /// Before the arms of a round are shown.
    fn begin(&mut self) {}

    /// After an arm is chosen, before its reward is drawn.
    fn choice(&mut self, _environment: &dyn Environment, _arm: usize) {}

    /// The reward of that arm.
    fn reward(&mut self, _reward: f64) {}
}

/// An environment whose rounds are summed.
struct Summed<'a, S> {
    environment: &'a mut dyn Environment,
    sums: S,
}

impl<S: Sums> Environment for Summed<'_, S> {
    fn arms(&mut self) -> &Arms {
        self.sums.begin();
        self.environment.arms()
    }

    fn means(&self) -> &[f64] {
        self.environment.means()
    }

    fn best_mean(&self) -> f64 {
        self.environment.best_mean()
    }

    fn reward(&mut self, arm: usize) -> f64 {
        self.sums.choice(&*self.environment, arm);
        let reward = self.environment.reward(arm);
        self.sums.reward(reward);
        reward
    }

    fn person(&self) -> Option<u64> {
        self.environment.person()
    }

    fn fault(&mut self) -> Option<crate::Error> {
        self.environment.fault()
    }
}

/// The mean reward of a round.
#[derive(Default)]
struct MeanReward {
    rounds: u64,
    rewards: f64,
}

impl Sums for MeanReward {
    fn reward(&mut self, reward: f64) {
        self.rounds += 1;
        self.rewards += reward;
    }
}

impl RoundByRound {
    /// The environment of one trial, and the way of its rewards.
    pub(crate) fn begin(
        &self,
        seed: u64,
        trial: u64,
    ) -> Result<(Box<dyn Environment>, Option<Feedback>)> {
        // Every algorithm meets the same people in the same trial; its own noise is its own.
        let people = mix(seed, trial);
        let environment = match self.modifiers.population {
            None => (self.start)(people)?,
            Some(population) => {
                let mut environment = (self.start)(mix(population, trial))?;
                environment.other_people(people);
                environment
            }
        };
        let environment = self.modifiers.around(environment, mix(people, 1))?;
        Ok((environment, self.modifiers.feedback(mix(people, 2))))
    }

    /// One trial of a learner, with sums over its rounds.
    pub(super) fn summed<S: Sums>(
        &self,
        (seed, trial): (u64, u64),
        learner: &mut dyn Learner,
        checkpoints: &[u64],
        sums: S,
    ) -> Result<(Vec<Checkpoint>, S)> {
        let (mut environment, feedback) = self.begin(seed, trial)?;
        let mut summed = Summed { environment: environment.as_mut(), sums };
        let curve = play_with(&mut summed, learner, feedback, checkpoints)?;
        Ok((curve, summed.sums))
    }
}

impl TrialEnvironment for RoundByRound {
    fn run(
        &self,
        seed: u64,
        trial: u64,
        learner: &mut dyn Learner,
        checkpoints: &[u64],
    ) -> Result<Trial> {
        let sums = MeanReward::default();
        let (curve, sums) = self.summed((seed, trial), learner, checkpoints, sums)?;
        let value = sums.rewards / sums.rounds.max(1) as f64;
        let measures = self.headline.iter().map(|what| Measure { what, value }).collect();
        Ok(Trial { curve, measures })
    }

    fn headline(&self) -> Option<&'static str> {
        self.headline
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
    }

    fn data_hash(&self) -> u64 {
        self.data_hash
    }
}

/// An environment without files.
pub(super) fn round_by_round(
    modifiers: Modifiers,
    start: impl Fn(u64) -> Result<Box<dyn Environment>> + Send + Sync + 'static,
) -> Arc<dyn TrialEnvironment> {
    let start = Box::new(start);
    Arc::new(RoundByRound { start, modifiers, remarks: Vec::new(), data_hash: 0, headline: None })
}
