//! The family of safe bandits with many agents: `environment.kind = "agents"`.
//!
//! | file | contents |
//! | --- | --- |
//! | `coordinator` | `kind = "ofu"` and `kind = "roful"`, and their simulation |
//! | `joint_ball` | exploration as paper 3 prints it |
//! | `sup_norm` | line 18 of Algorithm 1 as Appendix E computes it |
//! | `planner` | what safety and privacy cost before anything runs, by the theorems of paper 3 |
//! | `plan` | `reticent plan`: the lines of a plan file, and the plan in words |

mod coordinator;
mod joint_ball;
mod plan;
mod planner;
mod sup_norm;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Result,
    algorithm::{Family, RunnableAlgorithm},
};

pub use crate::environment::safe::agents::{AgentsToml, SafeEnvironment};
pub use crate::environment::safe::feeder::Feeder;
pub use crate::environment::safe::polytope::SafeSetToml;
pub use coordinator::{
    Budget, CoordinatorToml, ExplorationSet, Optimism, SafeAlgorithm, Sensitivity,
};
pub use plan::{PlanFile, plan_text};
pub use planner::{AgentPrivacy, Plan, PlanParams, SimplexPlan, UnilateralChange};

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

    type Checked = (SafeEnvironment, u64);

    fn check(
        rounds: u64,
        Environment::Agents(lines): &Environment,
    ) -> Result<(SafeEnvironment, u64)> {
        Ok((lines.environment()?, rounds))
    }

    fn prepare(
        (environment, rounds): &(SafeEnvironment, u64),
        algorithm: &Algorithm,
    ) -> Result<Box<dyn RunnableAlgorithm>> {
        Ok(Box::new(SafeAlgorithm::new(algorithm, environment, *rounds)?))
    }
}
