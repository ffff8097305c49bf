//! Interface of all randomisers of gradients: clip, add symmetric noise on a grid, and state the event.

use super::{Gradient, GradientReport};
use crate::{
    Result,
    noise::Noise,
    privacy::{Event, Guarantee, TrustModel},
};

/// A local randomiser of gradients. People may use different ones, at different levels, and keep their choice to themselves.
pub trait Randomizer {
    /// The gradient, clipped, plus noise: what may leave the person's device.
    fn report<N: Noise + ?Sized>(
        &self,
        gradient: Gradient<'_>,
        noise: &mut N,
    ) -> Result<GradientReport>;

    /// The privacy event of one report.
    fn event(&self) -> Result<Event>;

    /// Guarantee of one report.
    fn guarantee(&self, delta: f64) -> Result<Guarantee> {
        Ok(with_conditions(Guarantee::of(&self.event()?, TrustModel::Local, delta)?))
    }

    /// Guarantee for a person who sends at most `reports` of them, all by this randomiser.
    fn guarantee_of_person(&self, reports: u64, delta: f64) -> Result<Guarantee> {
        let event = self.event()?;
        Ok(with_conditions(Guarantee::of_person(&event, reports, TrustModel::Local, delta)?))
    }
}

fn with_conditions(guarantee: Guarantee) -> Guarantee {
    guarantee
        .with_condition("the randomiser, and with it the level and which attributes are sent, does not depend on the person's data")
        .with_condition("a report's size shows roughly which level its sender chose: the level itself is not protected")
        .with_condition("that and when a person reports is public; gradients are finite numbers, which are never refused; others are an error on the device, and silence shows")
}
