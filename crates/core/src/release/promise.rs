//! The promise of a stream: the cost for one person, and the guarantee after replays.

use serde::{Deserialize, Serialize};

use crate::{
    Result,
    privacy::{Event, Guarantee, TrustModel, Unit},
};

/// The cost of the stream for one person, and how often that person takes part.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Promise {
    pub(super) price: Price,
    pub(super) contributions_per_person: u64,
    /// True if neighbours may also differ in the ticks and the number of a person's visits.
    pub(super) by_the_clock: bool,
}

/// The numbers of the stream's event.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) enum Price {
    /// An [`Event::GridGaussian`].
    Gaussian { mu: f64, sigma: f64, coordinates: f64 },
    /// An [`Event::DiscreteLaplace`].
    Laplace { sensitivity: u64, scale: f64 },
    /// An [`Event::Approximate`] on every level of a tree.
    Nodes { epsilon: f64, delta: f64, levels: u32 },
    /// An [`Event::PrivUnit`] for every contribution.
    PrivUnit { cap: f64, inside: f64 },
}

impl Promise {
    /// The guarantee after this number of replays.
    pub(super) fn guarantee(&self, replays: u64, delta: f64, people: u64) -> Result<Guarantee> {
        let guarantee = Guarantee::of(&self.after(replays), TrustModel::Joint, delta)?
            .with_unit(Unit::Person { at_most: self.contributions_per_person })
            .with_people(people)
            .with_condition("saved states resumed with the true number of releases made, by one process at a time");
        let guarantee = match self.by_the_clock {
            true => guarantee.with_condition(format!(
                "a person's at most {} visits may be replaced by any others, at any times, or by none; the times of the ticks do not depend on the data",
                self.contributions_per_person
            )),
            false => guarantee,
        };
        let guarantee = match self.price {
            Price::Gaussian { .. } | Price::Laplace { .. } | Price::PrivUnit { .. } => guarantee,
            Price::Nodes { .. } => guarantee.with_condition(
                "Sheffet (2015), Theorem 4.1: the privacy of one node under Wishart noise",
            ),
        };
        Ok(if replays == 0 {
            guarantee
        } else {
            guarantee.with_condition(format!("replays from old states: {replays}, each counted"))
        })
    }

    /// The same with this much more mu, and this many times the draws.
    pub(super) fn with_more(mut self, more: f64, times: f64) -> Self {
        if let Price::Gaussian { mu, coordinates, .. } = &mut self.price {
            *mu += more;
            *coordinates *= times;
        }
        self
    }

    /// The event after this number of replays: each repeats at most every release, with independent noise.
    pub(crate) fn after(&self, replays: u64) -> Event {
        match self.price {
            Price::Gaussian { mu, sigma, coordinates } => {
                let times = 1.0 + replays as f64;
                let (mu, coordinates) = (mu * times.sqrt(), coordinates * times);
                Event::GridGaussian { mu, sigma, coordinates }
            }
            // Shifts of independent noises add up: see `calibration`.
            Price::Laplace { sensitivity, scale } => Event::DiscreteLaplace {
                sensitivity: sensitivity.saturating_mul(replays.saturating_add(1)),
                scale,
            },
            Price::Nodes { epsilon, delta, levels } => Event::Repeated {
                event: Box::new(Event::Approximate { epsilon, delta }),
                times: replays.saturating_add(1).saturating_mul(levels.into()),
            },
            // A replay makes another report of a contribution that came after the saved state.
            Price::PrivUnit { cap, inside } => {
                let event = Event::PrivUnit { cap, inside };
                match replays.saturating_add(1).saturating_mul(self.contributions_per_person) {
                    1 => event,
                    times => Event::Repeated { event: Box::new(event), times },
                }
            }
        }
    }
}
