//! The family of gradients: a linear model is played, a person answers with the gradient of their loss, noisy as they please.
//!
//! | file | what it is |
//! | --- | --- |
//! | `world` | `kind = "gradients"`: people drawn from a law, both scenarios of section 3.4 of van der Hoeven (2019) |
//! | `records` | `kind = "records"`: people read from a file of numbers, one pass or several |
//! | `table`, `scaling` | such a file, read strictly; from its rows to features and labels |
//! | `people` | who asks for privacy, how much, and by which randomiser |
//! | `learn` | a model from such a file in one pass, with noise that protects |
//! | `learner` | the algorithms: Algorithms 2 and 3, their sum, and the baselines |

mod learn;
mod learner;
mod people;
mod records;
mod scaling;
#[cfg(test)]
mod tests;
mod world;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    Result,
    contest::{Contestant, Family},
};

pub use learn::{LearnFile, Learnt, Test, Weight};
pub use learner::{Algorithm, DescentToml, KnownNoiseToml, PotentialToml, PriorName};
pub use people::{Privacy, RandomizerName};
pub use records::RecordToml;
pub use scaling::{Column, Ranges};
pub use world::{Features, GradientToml};

/// Environments `gradients` and `records`; algorithms [`Algorithm`].
#[derive(Debug)]
pub enum OnlineGradients {}

/// The `[environment]` table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum GradientEnvironment {
    /// People drawn from a law.
    Gradients(GradientToml),
    /// People read from a file.
    Records(RecordToml),
}

/// One person: features that are not zero, and a label.
pub(crate) type Person = (Vec<(usize, f64)>, f64);

/// The people of one trial, in their order.
pub(crate) struct Crowd {
    /// Those who teach.
    pub people: Vec<Person>,
    /// Whose turn it is in each round, as indices of `people`.
    pub who: Vec<usize>,
    /// The competitor u, and what it loses to them in each round is counted against.
    pub competitor: Vec<f64>,
    /// Those who are held out to see what was learnt.
    pub held_out: Vec<Person>,
}

/// An environment that has been checked.
pub(crate) trait Source: Send + Sync {
    /// d.
    fn dimension(&self) -> usize;
    /// The loss people have.
    fn loss(&self) -> reticent::online::Loss;
    /// The largest Euclidean norm of anybody's gradient.
    fn gradient_bound(&self) -> f64;
    /// The largest l1 norm of anybody's gradient.
    fn l1_bound(&self) -> f64;
    /// The largest size of any entry of anybody's gradient.
    fn coordinate_bound(&self) -> f64;
    /// How many different people take part.
    fn population(&self, rounds: u64) -> u64;
    /// How often one of them does, at most.
    fn takes_part(&self, rounds: u64) -> u64 {
        rounds.div_ceil(self.population(rounds).max(1))
    }
    /// What a guarantee rests on besides its randomiser.
    fn conditions(&self) -> Vec<String> {
        Vec::new()
    }
    /// What a careful reader must know of the people.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
    /// Of people that were read from elsewhere.
    fn data_hash(&self) -> u64 {
        0
    }
    /// The people of a trial.
    fn crowd(&self, rounds: u64, seed: u64) -> Result<Crowd>;
}

/// What all algorithms are told.
pub struct Setting {
    source: Arc<dyn Source>,
    rounds: u64,
}

impl Family for OnlineGradients {
    type Environment = GradientEnvironment;
    type Algorithm = Algorithm;

    type Setting = Setting;

    fn setting(rounds: u64, environment: &GradientEnvironment) -> Result<Self::Setting> {
        let source: Arc<dyn Source> = match environment {
            GradientEnvironment::Gradients(lines) => {
                let checked = lines.check()?;
                lines.check_size(rounds)?;
                Arc::new(checked)
            }
            GradientEnvironment::Records(lines) => {
                lines.check_size(rounds)?;
                Arc::new(lines.read()?.in_hindsight()?)
            }
        };
        Ok(Setting { source, rounds })
    }

    fn contestant(
        Setting { source, rounds }: &Setting,
        algorithm: &Algorithm,
    ) -> Result<Box<dyn Contestant>> {
        Ok(Box::new(learner::Learner::new(algorithm, source.clone(), *rounds)?))
    }
}
