//! The family of linear bandits: arms with features, one chosen a round, a reward for it.
//!
//! | file | what it is |
//! | --- | --- |
//! | `linucb` | `kind = "linucb"`, on a schedule or every round |
//! | `joint` | `kind = "joint"`: learners whose policy changes at releases only |
//! | `trial` | how they are simulated: whole blocks between releases |
//! | `stepped` | learners that must be stepped round by round |
//!
//! A new algorithm is one variant of [`Algorithm`] and one file beside these.

mod joint;
mod linucb;
mod stepped;
#[cfg(test)]
mod tests;
mod trial;

use reticent::bandit::Problem;
use serde::{Deserialize, Serialize};

use crate::{
    Result,
    contest::{Contestant, Family},
    environment::EnvironmentParams,
};

pub use joint::{Budget, ConfidenceName, JointLines, Learner, MechanismName};
pub use linucb::LinUcbLines;
pub use stepped::Stepped;
pub use trial::run as run_learner;

/// Environments `gap`; algorithms [`Algorithm`].
#[derive(Debug)]
pub enum LinearBandits {}

/// One `[[algorithm]]` of an experiment with a linear bandit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Algorithm {
    /// LinUCB without privacy (Abbasi-Yadkori, Pal and Szepesvari 2011).
    Linucb(LinUcbLines),
    /// LinUCB under joint differential privacy (Shariff and Sheffet 2018, and beyond).
    Joint(JointLines),
}

/// What every algorithm of an experiment is told.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Where arms and rewards come from.
    pub environment: EnvironmentParams,
    /// What is known of them in advance.
    pub problem: Problem,
    /// Rounds of a trial.
    pub rounds: u64,
}

impl Setting {
    /// The environment with what may be known of it, or what is wrong with it.
    pub fn new(environment: EnvironmentParams, rounds: u64) -> Result<Self> {
        environment.blocks(0)?;
        let problem = environment.problem(rounds);
        problem.check()?;
        Ok(Setting { environment, problem, rounds })
    }

    /// alpha: the probability with which confidence sets may fail.
    pub fn alpha(&self) -> f64 {
        1.0 / self.rounds.max(2) as f64
    }
}

impl Algorithm {
    /// The algorithm in its setting, or what stands in its way.
    pub fn contestant(&self, setting: &Setting) -> Result<Box<dyn Contestant>> {
        match self {
            Algorithm::Linucb(lines) => lines.contestant(setting),
            Algorithm::Joint(lines) => Ok(Box::new(lines.learner(setting)?)),
        }
    }
}

impl Family for LinearBandits {
    type Environment = EnvironmentParams;
    type Algorithm = Algorithm;

    type Setting = Setting;

    fn setting(rounds: u64, environment: &EnvironmentParams) -> Result<Setting> {
        Setting::new(*environment, rounds)
    }

    fn contestant(setting: &Setting, algorithm: &Algorithm) -> Result<Box<dyn Contestant>> {
        algorithm.contestant(setting)
    }
}
