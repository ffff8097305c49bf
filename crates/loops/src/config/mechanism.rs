//! A checked loop by its mechanism.
//!
//! | step | central | reports: local, or behind a shuffler |
//! | --- | --- | --- |
//! | calibrated for | visits of a person, or one decision | reports of one installation |
//! | a model | released by the central private sum | made from noised reports |
//! | sample size estimate | visits | reports |

use std::sync::Arc;

use reticent::{features::FeaturesPlan, privacy::TrustModel, release::GenerationCost};

use super::{CentralPlan, LoopOutlook, LoopParams, Predecessor, ReportsPlan, Trust};
use crate::{Result, generations::generation_cost, time::Time};

/// A checked loop of a file.
#[derive(Debug, Clone)]
pub enum Plan {
    /// The service decides, and sums clipped contributions under a private release.
    Central(Arc<CentralPlan>),
    /// Devices decide and add the noise, and the service sums their reports.
    Reports(Arc<ReportsPlan>),
}

impl LoopParams {
    /// Calibrates the loop of this name, or says which field stands in the way.
    pub fn check(&self, name: &str) -> Result<Plan> {
        self.check_fixed(name)?;
        match self.trust {
            Trust::Curator => self.check_central(name).map(Plan::from),
            Trust::Device | Trust::Shuffler => self.check_reports(name).map(Plan::from),
        }
    }
}

impl From<CentralPlan> for Plan {
    fn from(plan: CentralPlan) -> Self {
        Plan::Central(Arc::new(plan))
    }
}

impl From<ReportsPlan> for Plan {
    fn from(plan: ReportsPlan) -> Self {
        Plan::Reports(Arc::new(plan))
    }
}

impl Plan {
    /// The plan, if the loop is central.
    pub fn central(&self) -> Option<&Arc<CentralPlan>> {
        match self {
            Plan::Central(plan) => Some(plan),
            Plan::Reports(_) => None,
        }
    }

    /// The plan, if devices report to the loop.
    pub fn reports(&self) -> Option<&Arc<ReportsPlan>> {
        match self {
            Plan::Central(_) => None,
            Plan::Reports(plan) => Some(plan),
        }
    }

    /// The same over the coordinates of a stored generation with these parameters and this hash, where the file continues it with other lists of words; else
    /// the plan as it is.
    pub fn continuing_generation(&self, stored: &LoopParams, params_hash: u64, now: Time) -> Self {
        let continued = match self {
            Plan::Central(plan) => plan.continuing_generation(stored, params_hash, now),
            Plan::Reports(_) => None,
        };
        continued.map_or_else(|| self.clone(), Plan::from)
    }

    /// The same, beginning with the last release of the generation before it where that knows something of its features.
    pub fn following(&self, before: Predecessor<'_>) -> Result<Self> {
        match self {
            Plan::Central(plan) => Ok(plan.following(before)?.into()),
            Plan::Reports(_) => Ok(self.clone()),
        }
    }

    /// Name of the loop.
    pub fn name(&self) -> &str {
        match self {
            Plan::Central(plan) => &plan.name,
            Plan::Reports(plan) => &plan.name,
        }
    }

    /// Parameters of the loop.
    pub fn params(&self) -> &LoopParams {
        match self {
            Plan::Central(plan) => &plan.params,
            Plan::Reports(plan) => &plan.params,
        }
    }

    /// Rule from records to vectors.
    pub fn features(&self) -> &FeaturesPlan {
        match self {
            Plan::Central(plan) => &plan.features,
            Plan::Reports(plan) => &plan.features,
        }
    }

    /// Coordinates of the vector that is learnt on: those of the features, and a constant of the hold-out's where there is one.
    pub fn coordinates(&self) -> usize {
        match self {
            Plan::Central(plan) => plan.learner_params.bounds.dimension,
            Plan::Reports(plan) => plan.features.dimension(),
        }
    }

    /// Time between two releases, in milliseconds.
    pub fn tick(&self) -> u64 {
        match self {
            Plan::Central(plan) => plan.tick,
            Plan::Reports(plan) => plan.tick,
        }
    }

    /// The hash of everything that a generation is.
    pub fn params_hash(&self) -> u64 {
        match self {
            Plan::Central(plan) => plan.params_hash(),
            Plan::Reports(plan) => plan.params_hash(),
        }
    }

    /// Trust model of the loop's guarantee.
    pub fn trust_model(&self) -> TrustModel {
        self.params().trust.model()
    }

    /// Privacy cost of the loop as a generation, for one unit.
    pub fn cost(&self) -> Result<GenerationCost> {
        match self {
            Plan::Central(plan) => generation_cost(&plan.begin()?),
            Plan::Reports(plan) => {
                Ok(GenerationCost { event: plan.event()?, at_most: plan.visits(), replays: 0 })
            }
        }
    }

    /// Sample size estimate; none if no estimate can be given.
    pub fn outlook(&self) -> Result<Option<LoopOutlook>> {
        match self {
            Plan::Central(plan) => plan.outlook(),
            Plan::Reports(plan) => Ok(Some(plan.outlook())),
        }
    }
}
