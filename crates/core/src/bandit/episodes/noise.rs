//! The noise of an episode, with proofs: one sum of the rewards of people who were shown the same public arm.
//!
//! **Central.** Neighbours differ in the reward of one person. Which arm this person is shown, which episode they are in and how long it is
//! follow from releases of earlier episodes, in which they have no part. Their reward is clipped to its range and rounded to [`GRID`] steps, so that the
//! sum of their episode moves by at most [`GRID`] steps, and it has one draw of a discrete Laplace law of scale b: `Event::DiscreteLaplace`. Every
//! later episode has other people and fresh noise, and depends on this person through that release only. So all releases together cost one
//! person what one release costs (adaptive parallel composition). Arms follow from releases alone, so that even all choices together are
//! protected, which is more than joint privacy asks for. With k rewards of a person, in any episodes, the sums move by at most k [`GRID`] steps in l1,
//! and the log-ratio of the releases is at most `k GRID / b`: `Event::Pure`.
//!
//! **Central, by the clock.** Each tick may have any number of people, and a person of any arm may be replaced by one of any other arm and tick, or by
//! none: the arm shown is not assumed to be public. An episode releases for every arm the count and the sum of `2 y - 1` (y the reward as a share of
//! its range), both in [`GRID`] steps, with one draw each. A contribution moves one count and one sum by at most [`GRID`] steps; replacing it by another
//! moves two of each, in the same episode or in two. So k contributions move all counts and sums of all episodes by at most `4 k GRID` in l1,
//! and the log-ratio is at most `4 k GRID / b`: `Event::Pure`. The length of an episode follows from earlier releases and the clock.
//!
//! **Shuffle.** A person's reward is rounded to a bit at random, in proportion, and the bit is sent by randomised response. The n bits of an
//! episode are seen shuffled: `Event::Shuffled` with `binary`. The local epsilon is the largest, for this n, whose shuffled price is within the
//! budget. Which n a person meets follows from earlier releases, and the curve of no size is above those of all others: at large deltas small batches cost
//! more, at small ones large batches, whose local epsilons are larger. What holds for every size is (epsilon, delta), the largest delta
//! of a size at the requested epsilon: `Event::Approximate`. The same argument holds from there on. It claims no epsilon at delta = 0.
//!
//! **Rollback.** Each replay draws fresh noise and reveals about a person at most one more such event: they compose (`Event::Repeated`; Kairouz, Oh and
//! Viswanath 2017, Theorem 3.3, for adaptive choices). With a shuffler deltas add up too, and the certificate is stated at their sum: at a smaller delta the
//! epsilon of some sizes rises steeply. The state of a half-finished batch holds bits, which fresh noise does not protect: a replay drops them and its open
//! decisions, so that no bit is in two batches.

use super::EpisodesParams;
use crate::{
    Result,
    noise::{Bernoulli, DiscreteLaplace},
    privacy::{Event, TrustModel, shuffle},
    special::square,
};

/// Steps of the grid on which rewards are summed.
pub(super) const GRID: u64 = 1 << 20;
/// Least number of people of an episode with a shuffler.
pub(super) const LEAST_BATCH: u64 = 16;
/// Largest number of people of an episode: 2^24.
const OCTAVES: u32 = 24;
/// The largest variance of a reward, in units of its squared range.
pub(super) const VARIANCE: f64 = 0.25;

/// A number of people that an episode may have, with the noise of their sum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Size {
    pub(super) people: u64,
    /// 1 / Var of the released mean, in units of the range.
    pub(super) weight: f64,
    /// Local epsilon of the bits, with a shuffler.
    pub(super) local: f64,
}

impl Size {
    /// Probability with which a bit is sent as it is.
    pub(super) fn probability(&self) -> f64 {
        1.0 / (1.0 + libm::exp(-self.local))
    }

    /// The coin of that probability.
    pub(super) fn keep(&self) -> Result<Bernoulli> {
        Bernoulli::new(self.probability())
    }
}

/// The noise of every size of episodes, and its event.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct EpisodeNoise {
    /// Ascending, two an octave.
    sizes: Vec<Size>,
    /// Law of the noise on a curator's sums.
    pub(super) law: Option<DiscreteLaplace>,
    event: Event,
}

impl EpisodeNoise {
    /// Calibrated for parameters that were checked.
    pub(super) fn new(params: &EpisodesParams) -> Result<Self> {
        let &EpisodesParams { epsilon, delta, contributions_per_person: k, clock, .. } = params;
        let people = (0..OCTAVES).flat_map(|octave| [2_u64 << octave, 3 << octave]);
        let people = std::iter::once(1).chain(people);
        let exact = |noise: f64| {
            move |people: u64| {
                let n = people as f64;
                Size { people, weight: square(n) / (VARIANCE * n + noise), local: 0.0 }
            }
        };
        Ok(match params.trust {
            TrustModel::Shuffle => {
                let people = people.filter(|people| *people >= LEAST_BATCH);
                let sizes = people.map(|people| batch(people, epsilon, delta));
                let sizes = sizes.collect::<Result<Vec<_>>>()?;
                let delta = dearest(&sizes, epsilon)?;
                let event = Event::Approximate { epsilon, delta };
                EpisodeNoise { sizes, law: None, event }
            }
            TrustModel::None => {
                let sizes = people.map(exact(0.0)).collect();
                EpisodeNoise { sizes, law: None, event: Event::Nothing }
            }
            _ => {
                // Of one person, in steps; the conversion is exact below 2^47, which was checked.
                let moved = if clock { 4 * k } else { k } * GRID;
                let law = DiscreteLaplace::new((moved as f64 / epsilon).ceil() as u64, 1)?;
                let event = match (clock, k) {
                    (false, 1) => law.event(GRID),
                    _ => Event::Pure { epsilon: moved as f64 / law.scale() },
                };
                let noise = mean_variance(&law, clock);
                EpisodeNoise { sizes: people.map(exact(noise)).collect(), law: Some(law), event }
            }
        })
    }

    /// Event of everything that is released about a person.
    pub(super) fn event(&self) -> &Event {
        &self.event
    }

    /// The number of the least size that `fits`, or of the largest there is.
    pub(super) fn least(&self, fits: impl Fn(&Size) -> bool) -> usize {
        self.sizes.iter().position(fits).unwrap_or(self.sizes.len() - 1)
    }

    /// The size of this number, or the largest there is.
    pub(super) fn size(&self, index: usize) -> Size {
        self.sizes[index.min(self.sizes.len() - 1)]
    }

    /// The largest local epsilon of a bit.
    pub(super) fn most_local(&self) -> f64 {
        self.sizes.iter().map(|size| size.local).fold(0.0, f64::max)
    }

    /// Number of sizes.
    pub(super) fn sizes(&self) -> usize {
        self.sizes.len()
    }

    /// Deviation of the noise of a count by the clock, in people.
    pub(super) fn count_deviation(&self) -> f64 {
        self.law.map_or(0.0, |law| law.variance().sqrt() / GRID as f64)
    }

    /// Variance of the noise of n times a released mean, in squared ranges.
    pub(super) fn noise_variance(&self, clock: bool) -> f64 {
        self.law.map_or(0.0, |law| mean_variance(&law, clock))
    }
}

/// Variance of the noise of n times a released mean, in squared ranges.
fn mean_variance(law: &DiscreteLaplace, clock: bool) -> f64 {
    let variance = law.variance() / square(GRID as f64);
    match clock {
        false => variance,
        // The sum is of 2 y - 1; the noise of the count moves the mean by at most half of its own size.
        true => 0.25 * variance + 0.25 * variance,
    }
}

/// Largest local epsilon within the budget for this number of people.
fn batch(people: u64, epsilon: f64, delta: f64) -> Result<Size> {
    let (mut low, mut high) = (epsilon, epsilon + 5.0 + libm::log(people as f64));
    while high - low > 1e-3 {
        let middle = 0.5 * (low + high);
        match shuffle::delta(middle, people, epsilon, true)? <= delta {
            true => low = middle,
            false => high = middle,
        }
    }
    let size = Size { people, weight: 0.0, local: low };
    let keep = size.probability();
    Ok(Size { weight: people as f64 * square(2.0 * keep - 1.0) / VARIANCE, ..size })
}

/// The largest delta of a size at this epsilon.
fn dearest(sizes: &[Size], epsilon: f64) -> Result<f64> {
    sizes.iter().try_fold(0.0, |most: f64, size| {
        Ok(most.max(shuffle::delta(size.local, size.people, epsilon, true)?))
    })
}
