//! Use of a model by a device: it chooses by the model, and reports under it.
//!
//! Nothing here depends on the model being fresh or even honest: a report is private whatever arm was chosen and why. What a
//! false model can do is to make a person play a bad arm.

use super::Model;
use crate::{
    Result,
    bandit::Arms,
    noise::Noise,
    randomize::{Person, Report},
};

impl<N: Noise> Person<N> {
    /// The arm to play, as the model has it. An error changes nothing but the generator.
    pub fn choose(&mut self, model: &Model, arms: &Arms) -> Result<usize> {
        model.expect(self.plan().protocol())?;
        let bounds = self.plan().params().bounds;
        model.choose(arms, &bounds, self.noise())
    }

    /// The report of an arm played under `model` and its reward. An error makes no report and uses up none; finite numbers are never
    /// refused but brought into the declared form, and [`Person::clipped`] counts that.
    pub fn report(&mut self, model: &Model, features: &[f64], reward: f64) -> Result<Report> {
        let block = self.plan().params().bounds.structure.only_block("report_in_block")?;
        self.report_in_block(model, block, features, reward)
    }

    /// The same for an arm of this block of parameters, which the report does not tell: it covers all blocks.
    pub fn report_in_block(
        &mut self,
        model: &Model,
        block: usize,
        features: &[f64],
        reward: f64,
    ) -> Result<Report> {
        model.expect(self.plan().protocol())?;
        self.report_under(model.sequence(), block, features, reward)
    }
}
