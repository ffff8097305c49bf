//! The family of safe bandits with many agents: `environment.kind = "agents"`.
//!
//! | file | contents |
//! | --- | --- |
//! | `polytope` | safe sets as they are written: rows, a file, the paper's simplex |
//! | `setting` | the `[environment]`: safe set, objective, true parameters; the setups of paper 3, Appendix E |
//! | `feeder` | a low-voltage feeder with households that respond to incentives |
//! | `player` | `kind = "ofu"` and `kind = "roful"`, and their simulation |
//! | `joint_ball` | exploration as paper 3 prints it |
//! | `sup_norm` | line 18 of Algorithm 1 as Appendix E computes it |
//! | `planner` | what safety and privacy cost before anything runs, by the theorems of paper 3 |
//! | `plan` | `reticent plan`: the lines of a plan file, and the plan in words |

mod joint_ball;
mod plan;
mod planner;
mod player;
mod sup_norm;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Result,
    algorithm::{Family, RunnableAlgorithm},
};

pub use crate::environment::safe::feeder::Feeder;
pub use crate::environment::safe::polytope::SafeSetToml;
pub use crate::environment::safe::setting::{AgentsToml, Setting};
pub use plan::{PlanFile, plan_text};
pub use planner::{AgentPrivacy, Plan, PlanParams, SimplexPlan, UnilateralChange};
pub use player::{Budget, CoordinatorToml, ExplorationSet, Optimism, SafePlayer, Sensitivity};

/// Environments `agents`; algorithms [`Algorithm`].
#[derive(Debug)]
pub enum SafeBandits {}

/// The `[environment]` of an experiment with agents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Environment {
    /// Agents coupled by a safe set.
    Agents(Box<AgentsToml>),
}

/// One `[[algorithm]]` of an experiment with agents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Algorithm {
    /// Safe-Private Lin-UCB: the best optimistic value among actions known to be safe.
    Ofu(CoordinatorToml),
    /// The best optimistic target, scaled back until it is safe.
    Roful(CoordinatorToml),
}

impl Family for SafeBandits {
    type Environment = Environment;
    type Algorithm = Algorithm;

    type Setting = (Setting, u64);

    fn setting(rounds: u64, Environment::Agents(lines): &Environment) -> Result<(Setting, u64)> {
        Ok((lines.setting()?, rounds))
    }

    fn prepare(
        (setting, rounds): &(Setting, u64),
        algorithm: &Algorithm,
    ) -> Result<Box<dyn RunnableAlgorithm>> {
        Ok(Box::new(SafePlayer::new(algorithm, setting, *rounds)?))
    }
}
