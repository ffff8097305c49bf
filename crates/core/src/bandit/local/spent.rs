//! What a person has sent so far: how many reports at which level.
//!
//! A count of reports alone cannot say what a person has spent: one report at epsilon = 8 and one at epsilon = 1 are two reports, and so are
//! two at epsilon = 1. A device stores this value beside its other state, and starts its half again with
//! [`LocalPlan::person_after`]; the guarantee of that half composes what was sent with what may still be sent.

use serde::{Deserialize, Serialize};

use super::LocalPlan;
use crate::{Error, Result};

/// Reports made so far under one plan, by level. Made by [`Person::spent`](super::Person::spent); it can be stored and read back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spent {
    protocol: u64,
    /// How many reports were made at each level.
    reports: Vec<u64>,
}

impl Spent {
    pub(super) fn nothing(plan: &LocalPlan) -> Self {
        Spent { protocol: plan.inner.protocol, reports: vec![0; plan.inner.randomizers.len()] }
    }

    /// Reports made so far, at all levels together.
    pub fn reports(&self) -> u64 {
        self.reports.iter().fold(0, |sum, reports| sum.saturating_add(*reports))
    }

    pub(super) fn add(&mut self, level: usize) {
        self.reports[level] += 1;
    }

    /// How many reports may still be made, or why this was not spent under `plan`.
    pub(super) fn left(&self, plan: &LocalPlan) -> Result<u64> {
        if self.protocol != plan.inner.protocol
            || self.reports.len() != plan.inner.randomizers.len()
        {
            let remedy = "it was spent under a plan with other parameters: give what this plan's half said, or start without it";
            return Err(Error::invalid("spent", format!("protocol {:x}", self.protocol), remedy));
        }
        let most = plan.inner.params.contributions_per_person;
        most.checked_sub(self.reports()).ok_or_else(|| {
            let remedy = format!("the guarantee is for {most} reports of one person");
            Error::invalid("reports", self.reports(), remedy)
        })
    }

    /// Reports by level if the `left` that are left are all made at `level`.
    pub(super) fn with_rest_at(&self, level: usize, left: u64) -> Vec<(usize, u64)> {
        let mut all: Vec<(usize, u64)> = self.reports.iter().copied().enumerate().collect();
        all[level].1 += left;
        all.retain(|(_, reports)| *reports > 0);
        all
    }
}
