//! Privacy-loss distributions: the numerical composition of any mixture of mechanisms.
//!
//! For outputs `P` and `Q` of a mechanism on neighbouring inputs, the privacy loss is
//! `L = ln(P(Y)/Q(Y))` with `Y ~ P`, and
//!
//! ```text
//! delta(epsilon) = P(L = infinity) + E[(1 - exp(epsilon - L))_+]
//! ```
//!
//! Losses of composed mechanisms add up, so their distributions convolve (also when each mechanism is chosen
//! after seeing the results before it).
//!
//! Guarantee: pessimistic. The stored measure dominates the true pair, so
//! [`delta`](PrivacyLossDistribution::delta) is never below the truth; discretisation (`dots`),
//! truncation, aliasing and the rounding errors of the Fourier transform (`convolve`) are all charged
//! upwards.
//!
//! References: Koskela, Jälkö and Honkela, AISTATS 2020; Doroshenko, Ghazi, Kamath, Kumar and Manurangsi,
//! "Connect the dots", PoPETs 2022; Zhu, Dong and Wang, AISTATS 2022 (dominating pairs compose).

mod convolve;
mod dots;
mod k_norm;
mod mechanisms;
mod shuffled;
#[cfg(test)]
mod tests;

use crate::{Result, error::positive, privacy::Event, special::square};

/// A measure of the privacy loss on the grid `index * interval`, plus a mass at infinity.
///
/// One direction is stored: every supported pair is symmetric, that is `(P, Q)` and `(Q, P)` are images of
/// each other under a relabelling of the outputs, and compositions of symmetric pairs are symmetric.
///
/// ```
/// use reticent::privacy::{Event, PrivacyLossDistribution};
/// let laplace = Event::Laplace { sensitivity: 1.0, scale: 10.0 };
/// let thousand = PrivacyLossDistribution::of_composition(&[(laplace, 1000)])?;
/// assert!(thousand.epsilon(1e-6) < 20.0); // basic composition: 100
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PrivacyLossDistribution {
    interval: f64,
    /// Index of the first entry of `masses`.
    lowest: i64,
    /// Never empty, never negative.
    masses: Vec<f64>,
    infinity: f64,
}

/// Cells per standard deviation of an average event: the discretisation then adds about `1/(6 * 200^2)` of
/// the variance, which changes delta = 1e-12 by 0.02 %.
const RESOLUTION: f64 = 200.0;

impl PrivacyLossDistribution {
    /// The loss of releasing nothing: zero.
    pub fn nothing(interval: f64) -> Result<Self> {
        positive("interval", interval)?;
        Ok(Self { interval, lowest: 0, masses: vec![1.0], infinity: 0.0 })
    }

    /// The distribution of one event on a grid of the given interval.
    ///
    /// [`Error::Unsupported`](crate::Error::Unsupported) for composed events (compose their parts) and for events without a known
    /// one-dimensional dominating pair.
    pub fn of(event: &Event, interval: f64) -> Result<Self> {
        positive("interval", interval)?;
        event.check()?;
        mechanisms::discretize(event, interval)
    }

    /// The distribution of several events, each happening the given number of times to the same person,
    /// on a grid fine enough for 1 % of delta.
    pub fn of_composition(parts: &[(Event, u64)]) -> Result<Self> {
        let interval = Self::interval_for(parts)?;
        let single = parts
            .iter()
            .map(|(event, times)| Ok((Self::of(event, interval)?, *times)))
            .collect::<Result<Vec<_>>>()?;
        convolve::convolve(&single.iter().map(|(one, times)| (one, *times)).collect::<Vec<_>>())
    }

    /// The grid interval that [`of_composition`](Self::of_composition) uses.
    ///
    /// The discretisation error is a variance of at most `interval^2/4` per event; the interval makes it
    /// small against the variance of the whole, and then divides the lattice of the coarsest event exactly,
    /// so that randomised response keeps its atoms.
    pub fn interval_for(parts: &[(Event, u64)]) -> Result<f64> {
        let (mut variance, mut count, mut least, mut lattice) = (0.0, 0.0, 0.0f64, 0.0f64);
        for (event, times) in parts.iter().filter(|(_, times)| *times > 0) {
            event.check()?;
            let largest = mechanisms::largest_loss(event)?;
            if largest > 0.0 {
                let coarse = Self::of(event, (largest / 2048.0).max(1e-15))?;
                variance += *times as f64 * coarse.variance();
                count += *times as f64;
                least = least.max(largest / f64::from(1 << 17));
                lattice = lattice.max(mechanisms::lattice(event));
            }
        }
        if count == 0.0 {
            return Ok(1.0);
        }
        let interval = ((variance / count).sqrt() / RESOLUTION).max(least).max(1e-12);
        Ok(if lattice > interval { lattice / (lattice / interval).ceil() } else { interval })
    }

    /// The loss of both mechanisms, the second possibly chosen after seeing the first's result.
    ///
    /// On the coarser of the two grids, or a still coarser one if the result would be too long.
    pub fn compose(&self, other: &Self) -> Result<Self> {
        convolve::convolve(&[(self, 1), (other, 1)])
    }

    /// The loss of the mechanism used `times` times, by one Fourier transform.
    pub fn repeat(&self, times: u64) -> Result<Self> {
        convolve::convolve(&[(self, times)])
    }

    /// The distance of the grid points.
    pub fn interval(&self) -> f64 {
        self.interval
    }

    /// The atoms `(loss, mass)` of the finite part, from the lowest loss to the highest.
    pub fn atoms(&self) -> impl DoubleEndedIterator<Item = (f64, f64)> + '_ {
        self.masses.iter().enumerate().map(|(i, &mass)| (self.loss(i), mass))
    }

    /// Least `delta` with which `(epsilon, delta)`-DP is proven. NaN gives 1.
    pub fn delta(&self, epsilon: f64) -> f64 {
        if epsilon.is_nan() {
            return 1.0;
        }
        let delta = match self.steps().find(|step| step.next <= epsilon) {
            Some(step) if step.loss > epsilon => {
                step.delta - step.slope * libm::expm1(epsilon - step.loss)
            }
            _ => self.infinity,
        };
        self.rounded_up(delta)
    }

    /// Least `epsilon` with which `(epsilon, delta)`-DP is proven; infinite if `delta` is below the mass at
    /// infinity, which every truncated tail adds to.
    ///
    /// ```
    /// use reticent::privacy::{Event, PrivacyLossDistribution};
    /// let gaussian = Event::Gaussian { sensitivity: 1.0, sigma: 4.0 };
    /// let loss = PrivacyLossDistribution::of_composition(&[(gaussian, 16)])?;
    /// assert!((loss.epsilon(1e-6) / 4.8867 - 1.0).abs() < 1e-3); // exactly mu-GDP with mu = 1
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn epsilon(&self, delta: f64) -> f64 {
        let delta = delta / self.rounded_up(1.0);
        if delta.is_nan() || delta < self.infinity {
            return f64::INFINITY;
        }
        let mut epsilon = f64::NEG_INFINITY;
        for step in self.steps() {
            let share = (delta - step.delta) / step.slope;
            // Above the highest loss delta is flat, so that the first step already has delta >= step.delta.
            epsilon = step.loss + if share < 1.0 { libm::log1p(-share) } else { f64::NEG_INFINITY };
            if epsilon >= step.next {
                break;
            }
        }
        epsilon.max(0.0)
    }

    /// Walks down the grid. Between `next` and `loss`,
    /// `delta(epsilon) = delta + slope (1 - e^(epsilon - loss))`; every step adds a positive number, so
    /// nothing cancels.
    fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        let (decay, rise) = (libm::exp(-self.interval), -libm::expm1(-self.interval));
        let (mut delta, mut slope) = (self.infinity, 0.0);
        (0..self.masses.len()).rev().filter_map(move |i| {
            delta += slope * rise;
            slope = slope * decay + self.masses[i];
            let next = if i == 0 { f64::NEG_INFINITY } else { self.loss(i - 1) };
            (slope > 0.0).then_some(Step { loss: self.loss(i), next, delta, slope })
        })
    }

    fn loss(&self, position: usize) -> f64 {
        (self.lowest + position as i64) as f64 * self.interval
    }

    /// Charges the roundings of the walk.
    fn rounded_up(&self, delta: f64) -> f64 {
        (delta * (1.0 + 4.0 * f64::EPSILON * self.masses.len() as f64)).min(1.0)
    }

    fn finite_mass(&self) -> f64 {
        self.masses.iter().sum()
    }

    fn variance(&self) -> f64 {
        let total = self.finite_mass();
        let mean = self.atoms().map(|(loss, mass)| loss * mass).sum::<f64>() / total;
        self.atoms().map(|(loss, mass)| square(loss - mean) * mass).sum::<f64>() / total
    }
}

/// One grid point of the walk of [`PrivacyLossDistribution::steps`].
struct Step {
    loss: f64,
    next: f64,
    delta: f64,
    slope: f64,
}
