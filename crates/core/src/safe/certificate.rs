//! Certificate of safety: its promise, its conditions, and the evidence against it.
//!
//! **Clipping.** A response that is clipped is biased towards the range, the estimate with it, and a confidence set around a biased estimate
//! proves nothing. So the range an agent clips to must be what Y allows on its axis, and six deviations of the response's own noise
//! on either side: two responses in a billion are clipped then, if the noise is Gaussian. Where responses cannot leave a narrower
//! range in the first place nothing is clipped either, but the program cannot know that: it is a doubt, and it names the agent.

use std::fmt;

use serde::Serialize;

use super::CoordinatorParams;
use crate::Result;

/// Deviations of the response's own noise on either side of what Y allows.
pub(super) const DEVIATIONS: f64 = 6.0;
/// Rounding of a range, relative to it.
const ROUNDING: f64 = 1e-9;

/// The promise of a [`super::Coordinator`]: mean responses stay in Y in all rounds, unless with probability `failure`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SafetyCertificate {
    failure: f64,
    conditions: Vec<String>,
    doubts: Vec<String>,
}

impl SafetyCertificate {
    pub(super) fn of(params: &CoordinatorParams) -> Result<Self> {
        let mut doubts = Vec::new();
        if !params.confidence.certified() {
            doubts.push("the widths are scaled by hand: no theorem has them".into());
        }
        for (index, agent) in params.agents.iter().enumerate() {
            let (low, high) = params.polytope.range(index)?;
            let wider = DEVIATIONS * agent.response_noise;
            let (needed_low, needed_high) = (low - wider, high + wider);
            let rounding = ROUNDING * (needed_high - needed_low);
            if agent.lower > needed_low + rounding || agent.upper < needed_high - rounding {
                doubts.push(format!(
                    "agent {index} clips responses to {}..{}, but safe ones with their noise need {needed_low}..{needed_high}: clipping would bias what is learnt, unless its responses cannot leave the narrower range",
                    agent.lower, agent.upper
                ));
            }
        }
        let conditions = vec![
            "S and R are as stated".into(),
            "whether and when a report comes does not depend on its noise".into(),
        ];
        Ok(SafetyCertificate { failure: params.failure, conditions, doubts })
    }

    /// Returns whether nothing stands against the promise.
    pub fn holds(&self) -> bool {
        self.doubts.is_empty()
    }

    /// delta': the probability with which safety may fail in any round.
    pub fn failure(&self) -> f64 {
        self.failure
    }

    /// Conditions of the promise.
    pub fn conditions(&self) -> &[String] {
        &self.conditions
    }

    /// Reason why it is not given; empty if it is.
    pub fn doubts(&self) -> &[String] {
        &self.doubts
    }
}

impl fmt::Display for SafetyCertificate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.holds() {
            let sure = 1.0 - self.failure;
            write!(
                formatter,
                "Mean responses are safe in all rounds together with probability at least {sure}, if {}",
                self.conditions.join(", and ")
            )
        } else {
            write!(formatter, "Safety is NOT certified: {}", self.doubts.join("; "))
        }
    }
}
