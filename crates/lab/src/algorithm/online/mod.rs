//! The family of online learning from gradients: in each round a person sends the gradient of their loss at the current linear model, with
//! noise of their choice.
//!
//! | file | contents |
//! | --- | --- |
//! | `people` | the people who ask for privacy, their levels and randomisers |
//! | `learn` | a model from such a file in one pass, with cryptographic noise |
//! | `method` | the learning algorithm: Algorithms 2 and 3, their sum, and the baselines |
//! | `learner` | the algorithms, played for all rounds |

mod learn;
mod learner;
mod method;
mod people;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Result,
    algorithm::{Family, RunnableAlgorithm},
};

pub(crate) use crate::environment::online::Source;
pub use crate::environment::online::gradients::{Features, GradientToml};
pub use crate::environment::online::records::RecordToml;
pub use crate::environment::online::scaling::{Column, Ranges};
pub use learn::{LearnFile, Learnt, Test, Weight};
pub use learner::{Algorithm, OnlineLearnerToml, ZeroToml};
pub(crate) use method::instead_of_kind;
pub use method::{KnownNoiseToml, MethodToml};
pub use people::{Privacy, RandomizerName};

/// Environments `gradients` and `records`; algorithms [`Algorithm`].
#[derive(Debug)]
pub enum OnlineGradients {}

/// The `[environment]` table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum GradientEnvironment {
    /// People drawn from a law.
    Gradients(GradientToml),
    /// People read from a file.
    Records(RecordToml),
}

/// Knowledge of all algorithms.
pub struct OnlineEnvironment {
    source: Arc<dyn Source>,
    rounds: u64,
}

impl Family for OnlineGradients {
    type Environment = GradientEnvironment;
    type Algorithm = Algorithm;

    type Checked = OnlineEnvironment;

    fn check(rounds: u64, environment: &GradientEnvironment) -> Result<Self::Checked> {
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
        Ok(OnlineEnvironment { source, rounds })
    }

    fn prepare(
        OnlineEnvironment { source, rounds }: &OnlineEnvironment,
        algorithm: &Algorithm,
    ) -> Result<Box<dyn RunnableAlgorithm>> {
        Ok(Box::new(learner::OnlineAlgorithm::new(algorithm, source.clone(), *rounds)?))
    }
}
