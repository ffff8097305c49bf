//! One person's device of the local and of the shuffle protocol, made from public parameters alone: clip, randomise, send, keep count.
//!
//! | file | contents |
//! | --- | --- |
//! | `params` | public parameters, and the levels of epsilon that people bring |
//! | `method`, `choice` | the randomiser, and the sentence that says why |
//! | `promise` | the guarantee of people |
//! | `report` | the message: plain, checked when read |
//! | `spent` | the reports sent so far, as they are stored |
//!
//! The choice of an arm belongs to the learner whose model is followed ([`bandit`](crate::bandit)).

mod choice;
mod method;
mod params;
mod promise;
mod report;
mod spent;

pub(crate) use method::CalibratedMethod;
pub use method::Method;
pub use params::{Levels, ReportParams, ReportPlan};
pub(crate) use promise::CONDITIONS;
pub use report::Report;
pub use spent::Spent;

use crate::{Result, noise::Noise, privacy::Guarantee, refuse_if};

/// One person's device, with a generator of its own.
#[derive(Debug)]
pub struct Person<N> {
    plan: ReportPlan,
    level: usize,
    spent: Spent,
    /// Reports that may still be made.
    left: u64,
    /// Reports whose data were changed to fit the declared form.
    clipped: u64,
    noise: N,
}

impl<N: Noise> Person<N> {
    fn new(plan: &ReportPlan, level: usize, spent: Spent, noise: N) -> Result<Self> {
        let left = spent.left(plan)?;
        Ok(Person { plan: plan.clone(), level, spent, left, clipped: 0, noise })
    }

    /// The report of an interaction under the model of this number.
    pub fn report_under(
        &mut self,
        model: u64,
        block: usize,
        features: &[f64],
        reward: f64,
    ) -> Result<Report> {
        let remedy = "this person has reported as often as the guarantee allows: raise contributions_per_person";
        refuse_if(self.left == 0, "reports left", 0, remedy)?;
        let plan = &self.plan;
        let interaction = plan.params().bounds.clip_in_block(block, features, reward)?;
        self.noise.rekey()?;
        let values = plan.randomizers()[self.level].randomize(&interaction, &mut self.noise)?;
        // The name of the report and choices among arms are seen by others: they are not drawn under the key of the noise.
        self.noise.rekey()?;
        self.left -= 1;
        self.spent.add(self.level);
        self.clipped += u64::from(interaction.clipped());
        let features = plan.method().shows_arms().then(|| interaction.features().to_vec());
        let level = match plan.params().levels {
            Levels::Public(_) => Some(self.level as u16),
            Levels::Hidden { .. } => None,
        };
        let id = [self.noise.bits(), self.noise.bits()];
        Ok(Report::new((plan.protocol(), model, id), level, features, values))
    }

    /// Plan that it was made from.
    pub fn plan(&self) -> &ReportPlan {
        &self.plan
    }

    /// Reports from now on are made at this level.
    pub fn set_level(&mut self, level: usize) -> Result<()> {
        self.level = self.plan.level(level)?;
        Ok(())
    }

    /// The level of the next report.
    pub fn level(&self) -> usize {
        self.level
    }

    /// Goes on after the reports of another device of the same person, where several share one count.
    pub fn continue_after(&mut self, spent: &Spent) -> Result<()> {
        self.left = spent.left(&self.plan)?;
        self.spent = spent.clone();
        Ok(())
    }

    /// The generator, for a choice among arms.
    pub(crate) fn noise(&mut self) -> &mut N {
        &mut self.noise
    }

    /// Reports that may still be made.
    pub fn reports_left(&self) -> u64 {
        self.left
    }

    /// Reports sent until now: store it before the report leaves the device, and start this device again with [`ReportPlan::person_after`].
    pub fn spent(&self) -> &Spent {
        &self.spent
    }

    /// Number of reports of this device that were made from features or a reward outside the declared bounds, which were changed to fit. The count
    /// is for the person's own device: no report carries it, and it has no noise.
    pub fn clipped(&self) -> u64 {
        self.clipped
    }

    /// Guarantee of all reports of this person together: those made so far, at the levels they were made at, and those
    /// that are left, at this device's level.
    pub fn guarantee(&self) -> Result<Guarantee> {
        let guarantee = self.plan.guarantee_after(&self.spent, self.level, self.left)?;
        Ok(if N::PROTECTS_PEOPLE { guarantee } else { guarantee.simulated() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        randomize::Bounds,
        release::testing::Seeded,
        wire::{from_json, to_json},
    };

    /// A device needs the public parameters of reports and nothing of the server's: they travel as text, and give the same device.
    #[test]
    fn a_device_is_made_from_public_parameters_alone() -> Result<()> {
        let params = ReportParams {
            contributions_per_person: 2,
            levels: Levels::Public(vec![1.0, 8.0]),
            ..ReportParams::new(Bounds::unit(2), 1.0, 0.001)
        };
        let plan = params.check()?;
        let text = to_json(&plan);
        let read: ReportPlan = from_json(&text)?;
        assert_eq!((read.protocol(), read.method()), (plan.protocol(), plan.method()));
        let report = |plan: &ReportPlan| {
            plan.person(1, Seeded(1))?
                .report_under(3, 0, &[0.6, 0.8], 0.5)
                .map(|report| report.values)
        };
        assert_eq!(report(&read)?, report(&plan)?);
        assert_eq!(read.guarantee(1)?.epsilon(), plan.guarantee(1)?.epsilon());
        // What a text says is checked as any parameters are.
        for (from, to) in [("0.001", "0.7"), ("[1.0,8.0]", "[]"), ("\"delta\"", "\"other\"")] {
            assert!(text.contains(from), "{text}");
            assert!(from_json::<ReportPlan>(text.replace(from, to)).is_err());
        }
        Ok(())
    }
}
