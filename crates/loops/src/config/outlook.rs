//! Whether a loop can work: the core's estimate of how many visits it takes, from its parameters alone (`bandit/outlook.rs` of the core).

use std::fmt;

use serde::Serialize;

use super::{DevicePlan, LoopPlan, Span};
use crate::Result;

/// How many visits it takes until what is learnt is more than noise, about.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LoopOutlook {
    /// So many contributions, of one person or of several, bring the error of a predicted reward down to what rewards differ by.
    pub useful_from: u64,
    /// What counts: visits, or reports of devices.
    pub unit: &'static str,
    /// After this time a visit counts half.
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

impl LoopPlan {
    /// Whether it can work; none if no estimate can be given.
    pub fn outlook(&self) -> Result<Option<LoopOutlook>> {
        let forget = self.params.forget();
        let outlook = |useful_from| LoopOutlook { useful_from, unit: "visits", forget };
        Ok(self.learner.useful_from()?.map(outlook))
    }
}

impl DevicePlan {
    /// Whether it can work.
    pub fn outlook(&self) -> LoopOutlook {
        // How many reports it takes does not depend on how many there will be.
        let useful_from = self.local().outlook(0).useful_from;
        LoopOutlook { useful_from, unit: "reports", forget: None }
    }
}
