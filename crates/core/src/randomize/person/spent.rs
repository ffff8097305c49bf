//! Record of the reports that a person has sent: their number at each level.
//!
//! A count of reports alone cannot say what a person has spent: one report at epsilon = 8 and one at epsilon = 1 are two reports, and so are
//! two at epsilon = 1. A device stores this value beside its other state, and starts again with
//! [`ReportPlan::person_after`]; the guarantee of that device composes what was sent with what may still be sent.

use super::ReportPlan;
use crate::{Error, Result, wire};

/// Remedies for a device that has lost what it spent, or holds something else.
const REMEDY: &str = "expected the bytes that this device saved last: without them nothing more may be sent under this plan";

/// Reports made so far under one plan, by level. Made by [`Person::spent`](super::Person::spent); a device stores it as bytes.
///
/// ```
/// use reticent::{noise::SecureNoise, randomize::{Bounds, ReportParams, Spent}};
/// let plan = ReportParams::new(Bounds::unit(2), 1.0, 1e-6).check()?;
/// let stored = plan.person(0, SecureNoise::from_system()?)?.spent().save();
/// let again = plan.person_after(0, &Spent::load(&stored)?, SecureNoise::from_system()?)?;
/// assert_eq!(again.reports_left(), 1);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spent {
    protocol: u64,
    /// Number of reports that were made at each level.
    reports: Vec<u64>,
}

impl Spent {
    /// Record of a person who has sent no report under this plan.
    pub fn nothing(plan: &ReportPlan) -> Self {
        Spent { protocol: plan.protocol(), reports: vec![0; plan.randomizers().len()] }
    }

    /// Returns whether it was spent under this plan.
    pub fn is_of(&self, plan: &ReportPlan) -> bool {
        self.protocol == plan.protocol() && self.reports.len() == plan.randomizers().len()
    }

    /// Reports made so far, at all levels together.
    pub fn reports(&self) -> u64 {
        self.reports.iter().fold(0, |sum, reports| sum.saturating_add(*reports))
    }

    /// As bytes, with a version and a checksum. A device stores them before the report leaves it.
    pub fn save(&self) -> Vec<u8> {
        wire::save(wire::kinds::SPENT, &(self.protocol, &self.reports))
    }

    /// Reads what [`Spent::save`] wrote, and refuses everything else.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        let (protocol, reports) =
            wire::load(wire::kinds::SPENT, bytes).map_err(|error| match error {
                Error::CorruptState { size, reason, .. } => {
                    Error::invalid("spent", format!("{size} bytes"), format!("{reason}: {REMEDY}"))
                }
                other => other,
            })?;
        Ok(Spent { protocol, reports })
    }

    pub(super) fn add(&mut self, level: usize) {
        self.reports[level] += 1;
    }

    /// Number of reports that may still be made, or why this was not spent under `plan`.
    pub(super) fn left(&self, plan: &ReportPlan) -> Result<u64> {
        if !self.is_of(plan) {
            let remedy = "it was spent under a plan with other parameters; expected that of this plan's device; what was sent under another plan is not in this one's guarantee";
            return Err(Error::invalid("spent", format!("protocol {:x}", self.protocol), remedy));
        }
        let most = plan.params().contributions_per_person;
        most.checked_sub(self.reports()).ok_or_else(|| {
            let remedy = format!("the guarantee is for {most} reports of one person");
            Error::invalid("spent", format!("{} reports", self.reports()), remedy)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        randomize::{Bounds, ReportParams},
        release::testing::Seeded,
    };

    #[test]
    fn a_device_that_starts_again_goes_on_from_the_bytes_it_stored() -> Result<()> {
        let params = ReportParams {
            contributions_per_person: 2,
            ..ReportParams::new(Bounds::unit(2), 1.0, 1e-5)
        };
        let plan = params.check()?;
        let mut person = plan.person(0, Seeded(1))?;
        person.report_under(0, 0, &[0.6, 0.8], 0.5)?;
        let stored = person.spent().save();
        let spent = Spent::load(&stored)?;
        assert_eq!((&spent, spent.reports()), (person.spent(), 1));
        assert_eq!(plan.person_after(0, &spent, Seeded(2))?.reports_left(), 1);
        // Truncated, edited and foreign bytes are refused by name.
        let refused = |bytes: &[u8]| {
            let error = Spent::load(bytes).unwrap_err().to_string();
            assert!(error.starts_with("spent: got") && error.contains("saved last"), "{error}");
        };
        (0..stored.len()).for_each(|length| refused(&stored[..length]));
        for at in 0..stored.len() {
            let mut edited = stored.clone();
            edited[at] ^= 4;
            refused(&edited);
        }
        refused(b"{\"protocol\":1,\"reports\":[0]}");
        refused(&wire::save(wire::kinds::LINUCB, &(spent.protocol, &spent.reports)));
        refused(&wire::save(wire::kinds::SPENT.of_version(2), &(spent.protocol, &spent.reports)));
        // So is what was spent under another plan, or more than this one allows.
        let other = ReportParams { delta: 2e-5, ..params }.check()?;
        for (plan, spent, words) in [
            (&other, spent.clone(), "a plan with other parameters"),
            (&plan, Spent { reports: vec![0, 1], ..spent.clone() }, "a plan with other parameters"),
            (&plan, Spent { reports: vec![3], ..spent.clone() }, "for 2 reports of one person"),
            (&plan, Spent { reports: vec![u64::MAX], ..spent }, "for 2 reports of one person"),
        ] {
            let error = plan.person_after(0, &spent, Seeded(3)).unwrap_err().to_string();
            assert!(error.starts_with("spent: got") && error.contains(words), "{error}");
        }
        Ok(())
    }
}
