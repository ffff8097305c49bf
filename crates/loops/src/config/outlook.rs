//! Sample size estimate of a loop: the core's estimate of the visits that it needs, from its parameters alone (`bandit/outlook.rs` of the core).

use std::fmt;

use serde::Serialize;

use super::{CentralPlan, ReportsPlan, Span};
use crate::{Result, learner::LearnerPlan};

/// Approximate number of visits until what is learnt is more than noise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LoopOutlook {
    /// Contributions, of one person or of several, that bring the error of a predicted reward down to the difference of rewards.
    pub useful_from: u64,
    /// Unit of the number: visits, or reports of devices.
    pub unit: &'static str,
    /// Time after which a visit counts half.
    pub forget: Option<Span>,
}

impl fmt::Display for LoopOutlook {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LoopOutlook { useful_from, unit, forget } = self;
        write!(formatter, "about {useful_from} {unit} ")?;
        if let Some(half_life) = forget {
            write!(formatter, "that are not forgotten (they count half after {half_life}) ")?;
        }
        write!(
            formatter,
            "until a predicted reward is more than noise (if features fill their ranges in all directions; otherwise it takes more)"
        )
    }
}

impl CentralPlan {
    /// Sample size estimate; none if no estimate can be given.
    pub fn outlook(&self) -> Result<Option<LoopOutlook>> {
        let forget = self.params.forget();
        let outlook = |useful_from| LoopOutlook { useful_from, unit: "visits", forget };
        match &self.learner {
            LearnerPlan::Sums(plan) => Ok(plan.useful_from()?.map(outlook)),
            LearnerPlan::Episodes(_) => Ok(None),
        }
    }
}

impl ReportsPlan {
    /// Sample size estimate.
    pub fn outlook(&self) -> LoopOutlook {
        // The number of reports needed does not depend on the number expected.
        let useful_from = self.local().outlook(0).useful_from;
        LoopOutlook { useful_from, unit: "reports", forget: None }
    }
}
