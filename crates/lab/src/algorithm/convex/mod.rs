//! The family of losses: a point of a convex set is played, and only the value of a loss there is seen.
//!
//! | file | contents |
//! | --- | --- |
//! | `private_bandit` | the algorithms: the private bandit as it is, as printed, and the two it descends from |

mod private_bandit;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Result,
    algorithm::{Family, RunnableAlgorithm},
};

pub use crate::environment::convex::losses::{LossEnvironment, LossKind, LossToml, TrialLosses};
pub use crate::environment::convex::sets::SetToml;
pub use private_bandit::{BanditToml, BaselineToml, Budget, Settings, Trust};

/// Environments `losses`; algorithms [`Algorithm`].
#[derive(Debug)]
pub enum ConvexBandits {}

/// One `[[algorithm]]` of an experiment with losses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Algorithm {
    /// Ene, Nguyen and Vladu, corrected and exactly calibrated; or as printed.
    PrivateBandit(BanditToml),
    /// Garber and Kretzu (2020): projection-free, not private.
    GarberKretzu(BaselineToml),
    /// Smith and Thakurta (2013): private, with projections.
    SmithThakurta(BaselineToml),
}

impl Family for ConvexBandits {
    type Environment = LossEnvironment;
    type Algorithm = Algorithm;

    type Checked = (LossToml, u64);

    fn check(
        rounds: u64,
        LossEnvironment::Losses(lines): &LossEnvironment,
    ) -> Result<(LossToml, u64)> {
        lines.check()?;
        Ok((lines.clone(), rounds))
    }

    fn prepare(
        (lines, rounds): &(LossToml, u64),
        algorithm: &Algorithm,
    ) -> Result<Box<dyn RunnableAlgorithm>> {
        Ok(Box::new(private_bandit::ConvexAlgorithm::new(algorithm, lines, *rounds)?))
    }
}
