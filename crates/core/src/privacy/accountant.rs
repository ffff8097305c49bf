//! The accountant: takes events, returns the privacy curve of their composition.
//!
//! Gaussian releases compose exactly by adding mu^2; everything else goes through privacy-loss distributions
//! whose rounding is always upwards. An event that neither can bound is refused.

use crate::{Error, Result, special::square};

use super::{
    Curve, Event, PrivacyLossDistribution, Tightness,
    curve::Base,
    gaussian,
    grid::GridNoise,
    shuffle::{self, Crowd},
};

/// Records every event that one person's data went into, and prices their composition.
///
/// ```
/// use reticent::privacy::{Accountant, Event};
/// let mut accountant = Accountant::new();
/// accountant.spend(Event::Gaussian { sensitivity: 1.0, sigma: 4.0 })?;
/// accountant.spend(Event::Gaussian { sensitivity: 1.0, sigma: 3.0 })?;
/// // (1/4)^2 + (1/3)^2 = (1/2.4)^2
/// let curve = accountant.curve()?;
/// assert!((curve.mu().unwrap() - 1.0 / 2.4).abs() < 1e-15);
/// assert!(curve.epsilon(1e-6)? < 2.0);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Accountant {
    events: Vec<Event>,
}

impl Accountant {
    /// An accountant without events.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records an event. A malformed event is refused and changes nothing.
    pub fn spend(&mut self, event: Event) -> Result<()> {
        event.check()?;
        self.events.push(event);
        Ok(())
    }

    /// Everything recorded so far.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The curve of everything recorded so far.
    pub fn curve(&self) -> Result<Curve> {
        Self::price(&Event::Composed { events: self.events.clone() })
    }

    /// The curve of one event, simple or composed.
    pub fn price(event: &Event) -> Result<Curve> {
        event.check()?;
        let mut bill = Bill::default();
        bill.add(event, 1)?;
        bill.settle()
    }
}

/// The parts of a composition, sorted by how they are priced.
#[derive(Default)]
struct Bill {
    mu_squared: f64,
    grid: Option<GridNoise>,
    /// Every event that is not Gaussian, with the number of times it happens.
    others: Vec<(Event, u64)>,
    /// At least one part is a bound, or not known to be attained together with the others.
    bounded: bool,
}

impl Bill {
    fn add(&mut self, event: &Event, times: u64) -> Result<()> {
        match event {
            Event::Nothing => {}
            Event::Gaussian { sensitivity, sigma } => {
                self.mu_squared += square(gaussian::mu_of(*sensitivity, *sigma, times)?);
            }
            // Only the sum is seen: the honest people's noises add up to one of variance people sigma^2.
            Event::SecureSum { sensitivity, sigma, people } => {
                let sigma = sigma * (*people as f64).sqrt();
                self.mu_squared += square(gaussian::mu_of(*sensitivity, sigma, times)?);
            }
            Event::GridGaussian { mu, sigma, coordinates } => {
                let noise = GridNoise { coordinates: *coordinates, sigma: *sigma, mu: *mu };
                self.add_grid(noise.repeat(times));
            }
            Event::GridSum { mu, sigma, coordinates, people } => {
                let noise = GridNoise { coordinates: *coordinates, sigma: *sigma, mu: *mu };
                self.add_grid(noise.summed(*people).repeat(times));
            }
            Event::AtMost { event } => {
                self.bounded = true;
                self.add(event, times)?;
            }
            Event::Composed { events } => {
                // Each part's sensitivity may be attained by another pair of neighbours: x x^T and x z of one person are an example.
                let parts = events.iter().filter(|event| **event != Event::Nothing).count();
                self.bounded |= parts > 1;
                events.iter().try_for_each(|event| self.add(event, times))?;
            }
            Event::Repeated { event, times: again } => {
                let times = times.checked_mul(*again).ok_or_else(|| {
                    Error::invalid("times", format!("{times} x {again}"), "repeat less often")
                })?;
                self.add(event, times)?;
            }
            other => match self.others.iter_mut().find(|(known, _)| known == other) {
                Some((_, count)) => *count = count.saturating_add(times),
                None => self.others.push((other.clone(), times)),
            },
        }
        Ok(())
    }

    fn add_grid(&mut self, noise: GridNoise) {
        self.mu_squared += noise.mu * noise.mu;
        self.grid = Some(self.grid.map_or(noise, |grid| grid.join(noise)));
    }

    fn settle(self) -> Result<Curve> {
        let mu = self.mu_squared.sqrt();
        let base = match self.others.as_slice() {
            [] => Base::Gaussian { mu },
            [(event @ (Event::Shuffled { .. } | Event::ShuffledPrivUnit { .. }), 1)]
                if mu == 0.0 =>
            {
                Base::Shuffled(Box::new(Crowd::of_event(event, shuffle::GROUPS)?))
            }
            others => {
                let pure =
                    |(event, times): &(Event, u64)| Some(event.pure_epsilon()? * *times as f64);
                let pure = others.iter().map(pure).sum::<Option<f64>>().filter(|_| mu == 0.0);
                let mut parts = others.to_vec();
                if mu > 0.0 {
                    parts.push((Event::Gaussian { sensitivity: mu, sigma: 1.0 }, 1));
                }
                let distribution = Box::new(PrivacyLossDistribution::of_composition(&parts)?);
                Base::Loss { distribution, pure }
            }
        };
        let exact = matches!(base, Base::Gaussian { .. }) && self.grid.is_none() && !self.bounded;
        let tightness = if exact { Tightness::Exact } else { Tightness::UpperBound };
        Ok(Curve { base, grid: self.grid, tightness })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn gaussian_composition_is_exact_and_says_so() {
        let once = Event::Gaussian { sensitivity: 2.0, sigma: 10.0 };
        let curve = Accountant::price(&Event::Repeated { event: once.into(), times: 9 }).unwrap();
        assert!((curve.mu().unwrap() - 0.6).abs() < 1e-15);
        assert_eq!(curve.tightness(), Tightness::Exact);
        assert_eq!(curve.delta(1.0).unwrap(), gaussian::delta(1.0, curve.mu().unwrap()).unwrap());
    }

    #[test]
    fn only_a_sensitivity_that_is_attained_is_called_exact() {
        let tightness = |event: &Event| Accountant::price(event).unwrap().tightness();
        let once = Event::Gaussian { sensitivity: 1.0, sigma: 4.0 };
        let bound = Event::AtMost { event: Box::new(once.clone()) };
        assert_eq!(tightness(&once), Tightness::Exact);
        assert_eq!(tightness(&bound), Tightness::UpperBound);
        let twice = Event::Repeated { event: Box::new(bound.clone()), times: 2 };
        assert_eq!(tightness(&twice), Tightness::UpperBound);
        let curve = |event: &Event| Accountant::price(event).unwrap().delta(1.0).unwrap();
        assert_eq!(curve(&once), curve(&bound));
        // Parts of one person's data that no pair of neighbours moves as far as both can go: x x^T by 1 and x z by 2 sqrt r have a
        // joint sensitivity of 1 + r for r <= 1, and two sensitivities composed give sqrt(1 + 4 r).
        let alone = Event::Composed { events: vec![Event::Nothing, once.clone()] };
        assert_eq!(tightness(&alone), Tightness::Exact);
        let parts = Event::Composed { events: vec![once.clone(), once] };
        assert_eq!(tightness(&parts), Tightness::UpperBound);
        let json = serde_json::to_string(&bound).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&json).unwrap(), bound);
    }

    #[test]
    fn a_sum_on_the_grid_is_one_discrete_gaussian_of_everybodys_variance() {
        let (mu, sigma, coordinates) = (3.0, 2f64.powi(30), 5.0);
        let sum = Event::GridSum { mu, sigma, coordinates, people: 400 };
        let one = Event::GridGaussian { mu: mu / 20.0, sigma: sigma * 20.0, coordinates };
        let (sum, one) = (Accountant::price(&sum).unwrap(), Accountant::price(&one).unwrap());
        assert_eq!(sum.epsilon(1e-6).unwrap(), one.epsilon(1e-6).unwrap());
        assert_eq!(sum.tightness(), Tightness::UpperBound);
        let coarse = Event::GridSum { mu, sigma: 63.0, coordinates, people: 400 };
        assert!(Accountant::price(&coarse).is_err());
    }

    #[test]
    fn a_budget_split_over_two_releases_is_counted_twice() {
        // The known-bad variant counts it once: the exact curve must be strictly above that.
        let half = Event::Gaussian { sensitivity: 1.0, sigma: 4.0 };
        let both = Event::Composed { events: vec![half.clone(), half.clone()] };
        let (once, twice) = (Accountant::price(&half).unwrap(), Accountant::price(&both).unwrap());
        assert!(twice.epsilon(1e-6).unwrap() > 1.3 * once.epsilon(1e-6).unwrap());
    }

    #[test]
    fn pure_mechanisms_never_cost_more_than_the_sum_of_their_epsilons() {
        let coin = Event::RandomizedResponse { categories: 2, epsilon: 0.1 };
        let curve = Accountant::price(&Event::Repeated { event: coin.into(), times: 50 }).unwrap();
        assert!(curve.epsilon(1e-300).unwrap() <= 5.0 + 1e-12);
        assert_eq!(curve.delta(5.0 + 1e-12).unwrap(), 0.0);
        let laplace = Event::Laplace { sensitivity: 1.0, scale: 2.0 };
        let gaussian = Event::Gaussian { sensitivity: 1.0, sigma: 3.0 };
        let mixed =
            Accountant::price(&Event::Composed { events: vec![laplace, gaussian] }).unwrap();
        assert!(mixed.delta(0.6).unwrap() > 0.0);
    }

    #[test]
    fn secure_sum_divides_mu_by_the_root_of_the_people() {
        let event = Event::SecureSum { sensitivity: 1.0, sigma: 1.0, people: 400 };
        assert!((Accountant::price(&event).unwrap().mu().unwrap() - 0.05).abs() < 1e-16);
    }

    #[test]
    fn a_fine_grid_agrees_with_the_real_line_to_nine_digits_from_above() {
        let event = Event::GridGaussian { mu: 0.5, sigma: 2f64.powi(44), coordinates: 1e6 };
        let curve = Accountant::price(&event).unwrap();
        assert_eq!(curve.tightness(), Tightness::UpperBound);
        let (grid, real) = (curve.epsilon(1e-6).unwrap(), gaussian::epsilon(1e-6, 0.5).unwrap());
        assert!(grid >= real && grid - real < 1e-9, "{grid} {real}");
        let (grid, real) = (curve.delta(1.0).unwrap(), gaussian::delta(1.0, 0.5).unwrap());
        assert!(grid >= real && grid / real - 1.0 < 1e-9, "{grid} {real}");
    }

    #[test]
    fn what_the_grid_theorem_cannot_promise_is_infinite_not_a_number_too_small() {
        let price = |mu, sigma, coordinates| {
            Accountant::price(&Event::GridGaussian { mu, sigma, coordinates })
        };
        assert_eq!(
            price(1.0, 2f64.powi(44), 10.0).unwrap().epsilon(1e-310).unwrap(),
            f64::INFINITY
        );
        assert_eq!(price(1.0, 1.0, 1e6).unwrap().epsilon(1e-6).unwrap(), f64::INFINITY);
        assert!(price(1.0, 1e300, 1e308).is_err());
    }

    #[test]
    fn compositions_nested_without_end_are_refused() {
        let nest = |depth| {
            (0..depth).fold(Event::Nothing, |event, _| Event::Composed { events: vec![event] })
        };
        assert!(nest(60).check().is_ok());
        assert!(nest(100).check().is_err());
    }

    proptest! {
        #[test]
        fn malformed_events_change_nothing(bad in prop_oneof![Just(f64::NAN), Just(f64::INFINITY), -1e9..-1e-9]) {
            let mut accountant = Accountant::new();
            let malformed = [
                Event::Gaussian { sensitivity: 1.0, sigma: bad },
                Event::Gaussian { sensitivity: bad, sigma: 1.0 },
                Event::GridGaussian { mu: bad, sigma: 9.0, coordinates: 1.0 },
                Event::DiscreteGaussian { sensitivity: 1, sigma: bad },
                Event::Laplace { sensitivity: bad, scale: 1.0 },
                Event::Laplace { sensitivity: 1.0, scale: bad },
                Event::DiscreteLaplace { sensitivity: 1, scale: bad },
                Event::RandomizedResponse { categories: 2, epsilon: bad },
                Event::RandomizedResponse { categories: 1, epsilon: 1.0 },
                Event::PrivUnit { cap: bad, inside: 0.5 },
                Event::PrivUnit { cap: 0.5, inside: 0.4 },
                Event::Pure { epsilon: bad },
                Event::Approximate { epsilon: bad, delta: 0.1 },
                Event::Approximate { epsilon: 1.0, delta: bad },
                Event::Approximate { epsilon: 1.0, delta: 1.0 },
                Event::Shuffled { epsilon: bad, people: 10, binary: false },
                Event::Shuffled { epsilon: 1.0, people: 0, binary: false },
                Event::ShuffledPrivUnit { cap: bad, inside: 0.5, people: 10 },
                Event::ShuffledPrivUnit { cap: 0.2, inside: 0.5, people: 0 },
                Event::KNorm { dimension: 3, epsilon: bad },
                Event::KNorm { dimension: 0, epsilon: 1.0 },
                Event::KNorm { dimension: u64::MAX, epsilon: 1.0 },
                Event::SecureSum { sensitivity: 1.0, sigma: bad, people: 10 },
                Event::Repeated { event: Box::new(Event::Nothing), times: 0 },
                Event::Composed { events: vec![Event::Nothing, Event::Pure { epsilon: bad }] },
            ];
            for event in malformed {
                let refused = accountant.spend(event.clone());
                prop_assert!(refused.is_err(), "{:?}", event);
            }
            prop_assert!(accountant.events().is_empty());
        }
    }
}
