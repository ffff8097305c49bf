//! Events: the description of a release that a mechanism gives to the accountant.
//!
//! An event says nothing about cost. [`Accountant`](super::Accountant) prices events and refuses what it
//! does not know. Sensitivities are for replacing one person's data (replace-one neighbours).

use serde::{Deserialize, Serialize};

#[cfg(feature = "schema")]
use crate::schema::{Count, Delta, NotNegative, Positive, Probability};
use crate::{
    Error, Result,
    error::{not_negative, positive},
    refuse_if,
};

/// One release, or several put together, as seen by one person.
///
/// ```
/// use reticent::privacy::Event;
/// let once = Event::Gaussian { sensitivity: 1.0, sigma: 4.0 };
/// let daily = Event::Repeated { event: Box::new(once), times: 30 };
/// assert!(daily.check().is_ok());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Event {
    /// Nothing that depends on the person is released.
    // serde looks at no other key of a variant without fields.
    #[cfg_attr(feature = "schema", schemars(extend("additionalProperties" = true)))]
    Nothing,
    /// Gaussian noise of standard deviation `sigma` on something of l2 sensitivity `sensitivity`.
    Gaussian {
        /// Largest l2 distance between neighbouring values, attained by some pair; if only an upper bound is known, wrap the event in
        /// [`Event::AtMost`].
        #[cfg_attr(feature = "schema", schemars(with = "NotNegative"))]
        sensitivity: f64,
        /// Standard deviation of the noise in every coordinate.
        #[cfg_attr(feature = "schema", schemars(with = "Positive"))]
        sigma: f64,
    },
    /// Integers plus independent discrete Gaussians, in any number of coordinates, chosen adaptively.
    GridGaussian {
        /// Largest l2 distance between neighbouring values, each coordinate in units of its own sigma.
        #[cfg_attr(feature = "schema", schemars(with = "NotNegative"))]
        mu: f64,
        /// The smallest sigma among the coordinates, in grid units.
        #[cfg_attr(feature = "schema", schemars(with = "Positive"))]
        sigma: f64,
        /// Number of noise coordinates drawn in all.
        #[cfg_attr(feature = "schema", schemars(with = "Positive"))]
        coordinates: f64,
    },
    /// As `GridGaussian`, but `people` people add such noise to their reports and only the sum is seen, coordinate by coordinate.
    GridSum {
        /// Largest l2 distance between neighbouring reports before noise, each coordinate in units of its own sigma.
        #[cfg_attr(feature = "schema", schemars(with = "NotNegative"))]
        mu: f64,
        /// The smallest sigma among the coordinates of one report, in grid units; 64 or more.
        #[cfg_attr(feature = "schema", schemars(range(min = super::grid::LEAST_SUMMED)))]
        sigma: f64,
        /// Number of noise coordinates one report has.
        #[cfg_attr(feature = "schema", schemars(with = "Positive"))]
        coordinates: f64,
        /// Number of people who add their noise honestly.
        #[cfg_attr(feature = "schema", schemars(with = "Count"))]
        people: u64,
    },
    /// A discrete Gaussian of parameter `sigma` on one integer.
    DiscreteGaussian {
        /// Largest distance between neighbouring integers.
        sensitivity: u64,
        /// Parameter of the discrete Gaussian, in grid units.
        #[cfg_attr(feature = "schema", schemars(with = "Positive"))]
        sigma: f64,
    },
    /// Laplace noise of scale `scale` on one number.
    Laplace {
        /// Largest distance between neighbouring values.
        #[cfg_attr(feature = "schema", schemars(with = "NotNegative"))]
        sensitivity: f64,
        /// Scale b of the density `exp(-|z|/b)/(2b)`.
        #[cfg_attr(feature = "schema", schemars(with = "Positive"))]
        scale: f64,
    },
    /// Discrete Laplace noise, `P(z) ~ exp(-|z|/scale)`, on one integer.
    DiscreteLaplace {
        /// Largest distance between neighbouring integers.
        sensitivity: u64,
        /// Scale in grid units.
        #[cfg_attr(feature = "schema", schemars(with = "Positive"))]
        scale: f64,
    },
    /// Randomised response among `categories`: the truth is `exp(epsilon)` times likelier than any other.
    RandomizedResponse {
        /// Number of answers, at least 2.
        #[cfg_attr(feature = "schema", schemars(range(min = 2)))]
        categories: u64,
        /// Log-ratio between the truth and each other answer.
        #[cfg_attr(feature = "schema", schemars(with = "NotNegative"))]
        epsilon: f64,
    },
    /// PrivUnit: a point of a spherical cap, or of two opposite ones, of probability `cap` with probability `inside`, else of the rest of the sphere. Sets of two truths differ by at most
    /// `min(cap, 1 - cap)` on each side, which opposite truths with one cap attain.
    PrivUnit {
        /// Probability of the cap, or of both, under the uniform law on the sphere.
        #[cfg_attr(feature = "schema", schemars(with = "Probability"))]
        cap: f64,
        /// Probability that the report lies in the cap around the truth.
        #[cfg_attr(feature = "schema", schemars(with = "Probability"))]
        inside: f64,
    },
    /// Noise of density `~ exp(-epsilon |z| / sensitivity)`, Euclidean norm, on a vector of that l2 sensitivity.
    KNorm {
        /// Entries of the vector, at most 2^20.
        #[cfg_attr(feature = "schema", schemars(range(min = 1, max = MOST_K_NORM_DIMENSION)))]
        dimension: u64,
        /// The mechanism's epsilon.
        #[cfg_attr(feature = "schema", schemars(with = "NotNegative"))]
        epsilon: f64,
    },
    /// Any mechanism known to be `epsilon`-DP and nothing more (staircase, ...).
    Pure {
        /// The mechanism's epsilon.
        #[cfg_attr(feature = "schema", schemars(with = "NotNegative"))]
        epsilon: f64,
    },
    /// Any mechanism known to be (`epsilon`, `delta`)-DP and nothing more (Wishart noise by its theorem, ...).
    Approximate {
        /// The mechanism's epsilon.
        #[cfg_attr(feature = "schema", schemars(with = "NotNegative"))]
        epsilon: f64,
        /// The mechanism's delta, below 1.
        #[cfg_attr(feature = "schema", schemars(with = "Delta"))]
        delta: f64,
    },
    /// `people` reports of an `epsilon`-DP local randomiser, seen only after a uniformly random shuffle.
    Shuffled {
        /// The local randomiser's epsilon.
        #[cfg_attr(feature = "schema", schemars(with = "NotNegative"))]
        epsilon: f64,
        /// Number of people who report honestly in the batch.
        #[cfg_attr(feature = "schema", schemars(with = "Count"))]
        people: u64,
        /// The randomiser is binary randomised response, for which a sharper analysis holds.
        #[serde(default)]
        binary: bool,
    },
    /// `people` reports of one PrivUnit randomiser, seen only after a uniformly random shuffle.
    ShuffledPrivUnit {
        /// Probability of the cap under the uniform law on the sphere.
        #[cfg_attr(feature = "schema", schemars(with = "Probability"))]
        cap: f64,
        /// Probability that a report lies in the cap around the truth.
        #[cfg_attr(feature = "schema", schemars(with = "Probability"))]
        inside: f64,
        /// Number of people who report honestly in the batch.
        #[cfg_attr(feature = "schema", schemars(with = "Count"))]
        people: u64,
    },
    /// `people` Gaussian reports of which only the sum is seen.
    SecureSum {
        /// Largest l2 distance between neighbouring reports before noise, attained by some pair.
        #[cfg_attr(feature = "schema", schemars(with = "NotNegative"))]
        sensitivity: f64,
        /// Standard deviation of the noise each person adds.
        #[cfg_attr(feature = "schema", schemars(with = "Positive"))]
        sigma: f64,
        /// Number of people who add their noise honestly.
        #[cfg_attr(feature = "schema", schemars(with = "Count"))]
        people: u64,
    },
    /// A release that costs at most as much as this event: the sensitivity is an upper bound that no pair of neighbours is known to attain.
    AtMost {
        /// The event that is an upper bound.
        event: Box<Event>,
    },
    /// All of these happen to the same person, each possibly chosen after seeing the earlier ones.
    Composed {
        /// The parts.
        events: Vec<Event>,
    },
    /// The same kind of event happens to the same person `times` times.
    Repeated {
        /// The part.
        event: Box<Event>,
        /// Number of repetitions.
        #[cfg_attr(feature = "schema", schemars(with = "Count"))]
        times: u64,
    },
}

/// Largest depth of nested compositions.
const MOST_NESTING: u32 = 64;

/// The largest dimension in which K-norm noise is priced by its own loss.
pub(crate) const MOST_K_NORM_DIMENSION: u64 = 1 << 20;

impl Event {
    /// Refuses parameters that describe no mechanism; the error names field and value.
    pub fn check(&self) -> Result<()> {
        self.check_within(MOST_NESTING)
    }

    fn check_within(&self, nesting: u32) -> Result<()> {
        refuse_if(nesting == 0, "event", "nested too deep", "flatten the composition")?;
        let at_least = |field, value: u64, least: u64| {
            let remedy = format_args!("expected a whole number, {least} or above");
            refuse_if(value < least, field, value, remedy)
        };
        match *self {
            Event::Nothing => Ok(()),
            Event::Gaussian { sensitivity, sigma } => {
                not_negative("sensitivity", sensitivity)?;
                positive("sigma", sigma).map(drop)
            }
            Event::GridSum { mu, sigma, coordinates, people } => {
                at_least("people", people, 1)?;
                let remedy = "sums of noise this coarse are not priced: choose a finer grid";
                refuse_if(sigma < super::grid::LEAST_SUMMED, "sigma", sigma, remedy)?;
                Event::GridGaussian { mu, sigma, coordinates }.check()
            }
            Event::GridGaussian { mu, sigma, coordinates } => {
                not_negative("mu", mu)?;
                positive("sigma", sigma)?;
                positive("coordinates", coordinates)?;
                if sigma > 1e100 || coordinates > 1e100 {
                    let value = format!("{sigma}, {coordinates}");
                    return Err(Error::invalid(
                        "sigma, coordinates",
                        value,
                        "expected at most 1e100",
                    ));
                }
                Ok(())
            }
            Event::DiscreteGaussian { sigma, .. } => positive("sigma", sigma).map(drop),
            Event::Laplace { sensitivity, scale } => {
                not_negative("sensitivity", sensitivity)?;
                positive("scale", scale).map(drop)
            }
            Event::DiscreteLaplace { scale, .. } => positive("scale", scale).map(drop),
            Event::RandomizedResponse { categories, epsilon } => {
                at_least("categories", categories, 2)?;
                not_negative("epsilon", epsilon).map(drop)
            }
            Event::PrivUnit { cap, inside } => {
                crate::error::probability("cap", cap)?;
                crate::error::probability("inside", inside)?;
                if inside >= cap {
                    Ok(())
                } else {
                    Err(Error::invalid("inside", inside, format!("expected at least cap = {cap}")))
                }
            }
            Event::KNorm { dimension, epsilon } => {
                if !(1..=MOST_K_NORM_DIMENSION).contains(&dimension) {
                    let remedy =
                        format!("expected 1 to {MOST_K_NORM_DIMENSION}, or a `pure` event");
                    return Err(Error::invalid("dimension", dimension, remedy));
                }
                not_negative("epsilon", epsilon).map(drop)
            }
            Event::ShuffledPrivUnit { cap, inside, people } => {
                at_least("people", people, 1)?;
                Event::PrivUnit { cap, inside }.check()
            }
            Event::Pure { epsilon } => not_negative("epsilon", epsilon).map(drop),
            Event::Approximate { epsilon, delta } => {
                not_negative("epsilon", epsilon)?;
                let remedy = "expected a number from 0 to below 1";
                refuse_if(!(0.0..1.0).contains(&delta), "delta", delta, remedy)
            }
            Event::Shuffled { epsilon, people, .. } => {
                not_negative("epsilon", epsilon)?;
                at_least("people", people, 1)
            }
            Event::SecureSum { sensitivity, sigma, people } => {
                not_negative("sensitivity", sensitivity)?;
                positive("sigma", sigma)?;
                at_least("people", people, 1)
            }
            Event::Composed { ref events } => {
                events.iter().try_for_each(|event| event.check_within(nesting - 1))
            }
            Event::AtMost { ref event } => event.check_within(nesting - 1),
            Event::Repeated { ref event, times } => {
                at_least("times", times, 1)?;
                event.check_within(nesting - 1)
            }
        }
    }

    /// The epsilon of this single event at delta = 0, if it is finite.
    pub(super) fn pure_epsilon(&self) -> Option<f64> {
        match *self {
            Event::Nothing => Some(0.0),
            Event::Laplace { sensitivity, scale } => Some(sensitivity / scale),
            Event::DiscreteLaplace { sensitivity, scale } => Some(sensitivity as f64 / scale),
            Event::PrivUnit { cap, inside } | Event::ShuffledPrivUnit { cap, inside, .. } => {
                Some(libm::log(inside * (1.0 - cap) / ((1.0 - inside) * cap)))
            }
            Event::RandomizedResponse { epsilon, .. }
            | Event::KNorm { epsilon, .. }
            | Event::Pure { epsilon }
            | Event::Approximate { epsilon, delta: 0.0 }
            | Event::Shuffled { epsilon, .. } => Some(epsilon),
            _ => None,
        }
    }

    /// The epsilon of the whole event at delta = 0, if it is finite: the sum of the epsilons of its parts.
    pub(crate) fn total_pure_epsilon(&self) -> Option<f64> {
        match self {
            Event::Composed { events } => events.iter().map(Event::total_pure_epsilon).sum(),
            Event::Repeated { event, times } => Some(event.total_pure_epsilon()? * *times as f64),
            Event::AtMost { event } => event.total_pure_epsilon(),
            single => single.pure_epsilon(),
        }
    }
}
