//! Trials of a catalogue, with what else could have been earned beside what the learner earned.
//!
//! All are means of *mean* rewards, without the noise of the rewards themselves, so that few trials tell learners apart:
//!
//! | measure | of each round |
//! | --- | --- |
//! | [`MEAN`], [`LATE`] | the action that the learner chose; the same in the last quarter of the rounds |
//! | [`RANDOM`] | an action drawn uniformly |
//! | [`FIXED`], [`FIXED_LATE`] | the one action that is best for all rounds together, in hindsight; where actions are replaced, for the rounds between two replacements |
//! | [`ORACLE`] | the best action for the context |

use super::super::{
    bandit::TrialEnvironment,
    round_by_round::{RoundByRound, Sums},
};
use crate::{
    Result,
    environment::Environment,
    play::{
        Learner,
        trial::{Measure, Trial},
    },
};

pub(super) const MEAN: &str = "mean reward";
pub(super) const LATE: &str = "mean reward, last quarter";
pub(super) const RANDOM: &str = "mean reward of a random action";
pub(super) const FIXED: &str = "mean reward of the best fixed action";
pub(super) const FIXED_LATE: &str = "mean reward of the best fixed action, last quarter";
pub(super) const ORACLE: &str = "mean reward of the best action for each context";

/// The environment of trials.
pub(super) struct Played {
    pub(super) rounds: RoundByRound,
    pub(super) replace_every: Option<u64>,
}

/// Mean rewards, added up.
#[derive(Default)]
struct MeanRewards {
    round: u64,
    replace_every: Option<u64>,
    /// Rounds before the last quarter.
    early: u64,
    whole: Interval,
    late: Interval,
    oracle: f64,
    random: f64,
}

/// Mean rewards of the learner and of each action, summed.
#[derive(Default)]
struct Interval {
    chosen: f64,
    /// Those of the best action between earlier replacements.
    fixed: f64,
    /// By action since the last replacement; empty where actions come and go.
    actions: Vec<f64>,
}

impl Interval {
    fn add(&mut self, means: &[f64], arm: usize) {
        self.chosen += means[arm];
        self.actions.resize(means.len(), 0.0);
        self.actions.iter_mut().zip(means).for_each(|(sum, mean)| *sum += mean);
    }

    fn close(&mut self) {
        self.fixed += self.actions.iter().copied().fold(0.0, f64::max);
        self.actions.clear();
    }
}

impl Sums for MeanRewards {
    fn begin(&mut self) {
        if self.replace_every.is_some_and(|every| self.round.is_multiple_of(every)) {
            self.whole.close();
            self.late.close();
        }
    }

    fn choice(&mut self, environment: &dyn Environment, arm: usize) {
        self.round += 1;
        let means = environment.means();
        self.whole.add(means, arm);
        if self.round > self.early {
            self.late.add(means, arm);
        }
        self.random += means.iter().sum::<f64>() / means.len() as f64;
        self.oracle += environment.best_mean();
    }
}

impl MeanRewards {
    fn measures(mut self, comparable: bool) -> Vec<Measure> {
        self.whole.close();
        self.late.close();
        let rounds = self.round.max(1) as f64;
        let late = self.round.saturating_sub(self.early).max(1) as f64;
        let measure = |what, sum: f64, rounds: f64| Measure { what, value: sum / rounds };
        let mut measures = vec![
            measure(MEAN, self.whole.chosen, rounds),
            measure(LATE, self.late.chosen, late),
            measure(RANDOM, self.random, rounds),
            measure(ORACLE, self.oracle, rounds),
        ];
        if comparable {
            measures.push(measure(FIXED, self.whole.fixed, rounds));
            measures.push(measure(FIXED_LATE, self.late.fixed, late));
        }
        measures
    }
}

impl TrialEnvironment for Played {
    fn run(
        &self,
        seed: u64,
        trial: u64,
        learner: &mut dyn Learner,
        checkpoints: &[u64],
    ) -> Result<Trial> {
        let rounds = checkpoints.last().copied().unwrap_or(0);
        let sums = MeanRewards {
            replace_every: self.replace_every,
            early: rounds - rounds / 4,
            ..MeanRewards::default()
        };
        let (curve, sums) = self.rounds.summed((seed, trial), learner, checkpoints, sums)?;
        // Where actions are absent at random, the same place is another action each round.
        let comparable = self.rounds.modifiers.availability.is_none_or(|share| share >= 1.0);
        Ok(Trial { curve, measures: sums.measures(comparable) })
    }

    fn headline(&self) -> Option<&'static str> {
        self.rounds.headline()
    }

    fn remarks(&self) -> Vec<String> {
        self.rounds.remarks()
    }
}
