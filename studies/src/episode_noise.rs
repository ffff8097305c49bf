//! The noise of an episode: one sum of the rewards of people who were shown the same public arm.
//!
//! **Privacy, with a curator.** Neighbours differ in the reward of one person. Which arm this person is shown, which episode they are in and how long it is
//! follow from releases of earlier episodes, in which they have no part. Their reward is clipped to its range and rounded to [`GRID`]
//! steps, so that the sum of their episode moves by at most [`GRID`] steps, and it has one draw of a discrete Laplace law: `Event::DiscreteLaplace`. Every
//! later episode has other people and fresh noise, and depends on this person through that release only. So all releases together cost one
//! person what one release costs (adaptive parallel composition). Choices follow from releases alone, so that even all choices together are
//! protected, which is more than joint privacy asks for.
//!
//! **Privacy, with a shuffler.** A person's reward is rounded to a bit at random, in proportion, and the bit is sent by randomised response. The n bits of an
//! episode are seen shuffled: `Event::Shuffled` with `binary`. The local epsilon is the largest, for this n, whose shuffled price is within the
//! budget; the certificate is that of the dearest size that an episode can have. The same argument holds from there on.

use reticent::{
    noise::{Bernoulli, DiscreteLaplace, Noise},
    privacy::{Event, Guarantee, TrustModel, shuffle},
};

use reticent_lab::{FastNoise, Result, algorithm::bandit::Budget, environment::blocks::binomial};

/// Steps of the grid on which rewards are summed.
const GRID: u64 = 1 << 20;
/// Least number of people of an episode with a shuffler.
const LEAST_BATCH: u64 = 16;
/// The largest variance of a reward, in units of its squared range.
const VARIANCE: f64 = 0.25;

/// A number of people that an episode may have, with the noise of their sum.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) people: u64,
    /// 1 / Var of the released mean, in units of the range.
    pub(super) weight: f64,
    protection: Protection,
}

/// Protection of a sum.
#[derive(Debug, Clone, Copy)]
enum Protection {
    Curator(DiscreteLaplace),
    /// Each bit is sent as it is with this probability, and otherwise turned.
    Shuffler {
        keep: Bernoulli,
        epsilon: f64,
    },
}

/// The noise of every size of episodes, and its guarantee.
#[derive(Debug)]
pub(super) struct EpisodeNoise {
    /// Ascending, two an octave.
    sizes: Vec<Size>,
    guarantee: Guarantee,
}

impl EpisodeNoise {
    /// Calibrated for a curator ([`TrustModel::Joint`]) or a shuffler, for episodes of at most this number of people.
    pub(super) fn new(trust: TrustModel, privacy: Budget, most: u64) -> Result<Self> {
        let people = (0..).flat_map(|octave| [2_u64 << octave, 3 << octave]);
        let people = std::iter::once(1).chain(people).take_while(|people| *people < most);
        let Budget { epsilon, delta } = privacy;
        let (sizes, event) = match trust {
            TrustModel::Shuffle => {
                let people = people.filter(|people| *people >= LEAST_BATCH);
                let batches = people.map(|people| batch(people, privacy));
                let sizes = batches.collect::<Result<Vec<_>>>()?;
                let event = dearest(&sizes, epsilon)?;
                (sizes, event)
            }
            _ => {
                let law = DiscreteLaplace::new((GRID as f64 / epsilon).ceil() as u64, 1)?;
                let variance = law.variance() / (GRID as f64 * GRID as f64);
                let size = |people: u64| {
                    let n = people as f64;
                    let weight = n * n / (VARIANCE * n + variance);
                    Size { people, weight, protection: Protection::Curator(law) }
                };
                (people.map(size).collect(), law.event(GRID))
            }
        };
        let remedy = "there is no episode of so few people; expected more";
        reticent::refuse_if(sizes.is_empty(), "rounds", most, remedy)?;
        let person =
            "every round is another person, whose reward comes at once or, as is public, never";
        let guarantee = Guarantee::of(&event, trust, delta)?
            .with_condition("arms are fixed and public, the same for all people")
            .with_condition(person);
        Ok(EpisodeNoise { sizes, guarantee: guarantee.simulated() })
    }

    pub(super) fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// The least size that `fits`, or the largest there is.
    pub(super) fn least(&self, fits: impl Fn(&Size) -> bool) -> Size {
        let found = self.sizes.iter().find(|size| fits(size));
        *found.or(self.sizes.last()).expect("there are sizes")
    }
}

/// Largest local epsilon within the budget for this number of people.
fn batch(people: u64, Budget { epsilon, delta }: Budget) -> Result<Size> {
    let (mut low, mut high) = (epsilon, epsilon + 5.0 + (people as f64).ln());
    while high - low > 1e-3 {
        let middle = 0.5 * (low + high);
        match shuffle::delta(middle, people, epsilon, true)? <= delta {
            true => low = middle,
            false => high = middle,
        }
    }
    let keep = 1.0 / (1.0 + (-low).exp());
    let weight = people as f64 * (2.0 * keep - 1.0).powi(2) / VARIANCE;
    let protection = Protection::Shuffler { keep: Bernoulli::new(keep)?, epsilon: low };
    Ok(Size { people, weight, protection })
}

/// The batch with the largest delta at this epsilon.
fn dearest(sizes: &[Size], epsilon: f64) -> Result<Event> {
    let (mut event, mut most) = (Event::Nothing, -1.0);
    for &Size { people, protection, .. } in sizes {
        if let Protection::Shuffler { epsilon: local, .. } = protection {
            let delta = shuffle::delta(local, people, epsilon, true)?;
            if delta > most {
                most = delta;
                event = Event::Shuffled { epsilon: local, people, binary: true };
            }
        }
    }
    Ok(event)
}

/// The sum of an episode so far: steps of the grid, or bits that were sent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EpisodeSum {
    pub(super) people: u64,
    sum: i64,
}

impl EpisodeSum {
    /// Adds one person's reward, given as a share of its range, from 0 to 1.
    pub(super) fn add(&mut self, size: &Size, share: f64, noise: &mut impl Noise) {
        let steps = (share.clamp(0.0, 1.0) * GRID as f64).round() as u64;
        self.people += 1;
        self.sum += match size.protection {
            Protection::Curator(_) => steps as i64,
            Protection::Shuffler { keep, .. } => {
                let bit = noise.below(GRID) < steps;
                i64::from(bit == keep.sample(noise))
            }
        };
    }

    /// Adds many simulated people at once, of whom `highest` have the highest reward and the others the lowest.
    pub(super) fn add_simulated(
        &mut self,
        size: &Size,
        people: u64,
        highest: u64,
        noise: &mut FastNoise,
    ) {
        self.people += people;
        self.sum += match size.protection {
            Protection::Curator(_) => (highest * GRID) as i64,
            Protection::Shuffler { keep, .. } => {
                let keep = keep.probability();
                let (true_ones, turned) = (highest, people - highest);
                (binomial(true_ones, keep, noise) + binomial(turned, 1.0 - keep, noise)) as i64
            }
        };
    }

    /// The mean of the episode as it is released, as a share of the range.
    pub(super) fn release(self, size: &Size, noise: &mut impl Noise) -> Result<f64> {
        let people = size.people as f64;
        Ok(match size.protection {
            Protection::Curator(law) => {
                noise.rekey()?;
                let noisy = self.sum + noise.discrete_laplace(&law);
                // From here on, post-processing.
                noisy as f64 / (people * GRID as f64)
            }
            Protection::Shuffler { keep, .. } => {
                let keep = keep.probability();
                (self.sum as f64 / people - (1.0 - keep)) / (2.0 * keep - 1.0)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Budget = Budget { epsilon: 1.0, delta: 1e-6 };

    /// Released means are unbiased with the stated variance, person by person and all at once.
    #[test]
    fn released_means_have_the_stated_variance() {
        for trust in [TrustModel::Joint, TrustModel::Shuffle] {
            let plan = EpisodeNoise::new(trust, BUDGET, 1000).unwrap();
            let size = plan.least(|size| size.people >= 64);
            let mut noise = FastNoise::seeded(3);
            let (mut sums, mut squares) = ([0.0; 2], [0.0; 2]);
            let repeats = 20_000;
            for _ in 0..repeats {
                let (mut one_by_one, mut at_once) = (EpisodeSum::default(), EpisodeSum::default());
                for _ in 0..size.people {
                    let share = f64::from(u8::from(noise.uniform() < 0.5));
                    one_by_one.add(&size, share, &mut noise);
                }
                let highest = binomial(size.people, 0.5, &mut noise);
                at_once.add_simulated(&size, size.people, highest, &mut noise);
                for (way, sum) in [one_by_one, at_once].into_iter().enumerate() {
                    assert_eq!(sum.people, size.people);
                    let off = sum.release(&size, &mut noise).unwrap() - 0.5;
                    sums[way] += off;
                    squares[way] += off * off;
                }
            }
            let n = f64::from(repeats);
            for way in 0..2 {
                // 5.3 standard errors; the fourth moment of these laws is below 6 squared variances.
                assert!((sums[way] / n).abs() < 5.3 / (size.weight * n).sqrt(), "{trust} {way}");
                let ratio = squares[way] / n * size.weight;
                assert!((ratio - 1.0).abs() < 5.3 * (5.0 / n).sqrt(), "{trust} {way}: {ratio}");
            }
        }
    }

    #[test]
    fn certificates_are_within_the_budget_and_use_it_up() {
        for trust in [TrustModel::Joint, TrustModel::Shuffle] {
            let plan = EpisodeNoise::new(trust, BUDGET, 5000).unwrap();
            let epsilon = plan.guarantee().epsilon();
            assert!((0.99..=1.0).contains(&epsilon), "{trust}: {epsilon}");
            // Larger crowds hide more: reports are less noisy.
            let weight = |people| plan.least(|size| size.people >= people).weight;
            assert!(weight(2048) / 2048.0 > weight(16) / 16.0);
        }
        assert!(EpisodeNoise::new(TrustModel::Shuffle, BUDGET, 16).is_err());
    }

    /// Replacing a person moves the sum by at most the sensitivity that is priced, whatever the reward.
    #[test]
    fn a_reward_moves_a_sum_by_no_more_than_the_grid() {
        let plan = EpisodeNoise::new(TrustModel::Joint, BUDGET, 100).unwrap();
        let size = plan.least(|_| true);
        let mut noise = FastNoise::seeded(1);
        for share in [-1e300, -1.0, 0.0, 0.3, 1.0, 7.0, 1e300] {
            let mut sum = EpisodeSum::default();
            sum.add(&size, share, &mut noise);
            assert!((0..=GRID as i64).contains(&sum.sum), "{share}");
        }
    }
}
