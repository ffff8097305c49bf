//! The half on a person's device: choose, clip, randomise, send.
//!
//! Nothing here depends on the model being fresh or even honest: a report is private whatever arm was chosen and why. What a
//! false model can do is to make a person play a bad arm.

use super::{LocalPlan, Model, Report, Spent, params::Levels};
use crate::{Error, Result, bandit::Arms, noise::Noise, privacy::Guarantee};

/// One person's half of the protocol, with a generator of its own.
#[derive(Debug)]
pub struct Person<N> {
    plan: LocalPlan,
    level: usize,
    spent: Spent,
    /// Reports that may still be made.
    left: u64,
    /// Reports whose data were changed to fit the declared form.
    clipped: u64,
    noise: N,
}

impl<N: Noise> Person<N> {
    pub(super) fn new(plan: &LocalPlan, level: usize, spent: Spent, noise: N) -> Result<Self> {
        let left = spent.left(plan)?;
        Ok(Person { plan: plan.clone(), level, spent, left, clipped: 0, noise })
    }

    /// The arm to play, as the model has it. An error changes nothing but the generator.
    pub fn choose(&mut self, model: &Model, arms: &Arms) -> Result<usize> {
        model.expect(self.plan.inner.protocol)?;
        model.choose(arms, self.plan.inner.params.bounds.dimension, &mut self.noise)
    }

    /// The report of an arm played under `model` and its reward. An error makes no report and uses up none; finite numbers are never
    /// refused but brought into the declared form, and [`Person::clipped`] counts that.
    pub fn report(&mut self, model: &Model, features: &[f64], reward: f64) -> Result<Report> {
        model.expect(self.plan.inner.protocol)?;
        if self.left == 0 {
            let remedy = "this person has reported as often as the guarantee allows: raise contributions_per_person";
            return Err(Error::invalid("reports left", 0, remedy));
        }
        let agreed = &*self.plan.inner;
        let interaction = agreed.params.bounds.clip(features, reward)?;
        let values = agreed.randomizers[self.level].randomize(&interaction, &mut self.noise)?;
        self.left -= 1;
        self.spent.add(self.level);
        self.clipped += u64::from(interaction.clipped());
        let features = agreed.method.shows_arms().then(|| interaction.features().to_vec());
        let level = match agreed.params.levels {
            Levels::Public(_) => Some(self.level as u16),
            Levels::Hidden { .. } => None,
        };
        let id = [self.noise.bits(), self.noise.bits()];
        Ok(Report::new((agreed.protocol, model.sequence(), id), level, features, values))
    }

    /// Reports that may still be made.
    pub fn reports_left(&self) -> u64 {
        self.left
    }

    /// What was sent so far: store it before the report leaves the device, and start this half again with [`LocalPlan::person_after`].
    pub fn spent(&self) -> &Spent {
        &self.spent
    }

    /// How many reports of this half were made from features or a reward outside the declared bounds, which were changed to fit. The count
    /// is for the person's own device: no report carries it, and it has no noise.
    pub fn clipped(&self) -> u64 {
        self.clipped
    }

    /// What this person may be promised of all their reports together: those made so far, at the levels they were made at, and those
    /// that are left, at this half's level.
    pub fn guarantee(&self) -> Result<Guarantee> {
        let guarantee = self.plan.guarantee_after(&self.spent, self.level, self.left)?;
        Ok(if N::PROTECTS_PEOPLE { guarantee } else { guarantee.simulated() })
    }
}
