//! The discrete Laplace `P(z) ~ exp(-|z| / b)` on the integers, sampled exactly for rational `b`.
//!
//! Reference: Canonne, Kamath and Steinke (2020), Algorithm 2, for the law; the sampler rejects from blocks
//! as [`super::DiscreteGaussian`] does.
//!
//! **Proposal.** `|z| = j s + r` with `s = floor(7 b / 10) + 1`, `r` uniform below `s`, and block `j` with
//! probability `2^-(j+1)`. **Acceptance** with probability `2^j exp(-|z| / b)`, at most 1 because
//! `|z| >= j s > j b ln 2`. Proposing and accepting `z` has probability `exp(-|z| / b) / (2 s)`: the law.
//! The sign is a fair coin and a negative zero is refused.
//!
//! **Guarantee.** Exact for `|z| < 512 b`; what lies beyond has mass below `2^-738` and is never drawn.

use serde::{Deserialize, Serialize};

use super::{
    Noise,
    bernoulli::{Bracket, exp_coin},
    exact_exp::{Ceiling, Exponent},
};
use crate::{Error, Result, privacy::Event, refuse_if, special::square};

/// Blocks from this index on lie beyond `512 b` and are rejected without further computation.
const LAST_BLOCK: u64 = 1000;

/// A discrete Laplace law of rational scale, in grid units.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "(u64, u64)", into = "(u64, u64)")]
pub struct DiscreteLaplace {
    numerator: u64,
    denominator: u64,
    block_length: u64,
    inverse_scale: f64,
}

impl DiscreteLaplace {
    /// The largest numerator and denominator of a scale.
    pub const LARGEST: u64 = 1 << 48;

    /// The law of scale `numerator / denominator`, each from 1 to [`DiscreteLaplace::LARGEST`].
    pub fn new(numerator: u64, denominator: u64) -> Result<Self> {
        for (field, value) in [("numerator", numerator), ("denominator", denominator)] {
            let remedy = "expected a whole number from 1 to 2^48, by choosing another grid";
            refuse_if(!(1..=DiscreteLaplace::LARGEST).contains(&value), field, value, remedy)?;
        }
        Ok(DiscreteLaplace {
            numerator,
            denominator,
            block_length: 7 * numerator / (10 * denominator) + 1,
            inverse_scale: denominator as f64 / numerator as f64,
        })
    }

    /// The scale `b`, in grid units, as the nearest double.
    pub fn scale(&self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// The scale as numerator and denominator.
    pub fn scale_ratio(&self) -> (u64, u64) {
        (self.numerator, self.denominator)
    }

    /// The variance `2 e^(1/b) / (e^(1/b) - 1)^2`.
    pub fn variance(&self) -> f64 {
        // The same as 1 / (2 sinh(1/(2b))^2), which does not overflow to infinity over infinity.
        0.5 / square(libm::sinh(0.5 * self.inverse_scale))
    }

    /// The event for the accountant: one draw added to an integer of this sensitivity (in grid units).
    pub fn event(&self, sensitivity: u64) -> Event {
        Event::DiscreteLaplace { sensitivity, scale: self.scale() }
    }

    /// One exact draw, even if the source overrides the method of the trait; mechanisms call
    /// [`Noise::discrete_laplace`], which a simulation may make faster.
    #[inline]
    pub fn sample_exactly<N: Noise + ?Sized>(&self, noise: &mut N) -> i64 {
        self.sample_with(exp_coin, noise)
    }

    /// One draw with the given acceptance coin: tests pass one that never takes the floating-point path.
    #[inline(always)]
    fn sample_with<N: Noise + ?Sized>(
        &self,
        coin: impl Fn((Exponent, f64), (Ceiling, f64), Bracket, &mut N) -> bool,
        noise: &mut N,
    ) -> i64 {
        loop {
            let block = noise.coin_run();
            if block >= LAST_BLOCK {
                continue;
            }
            let offset = noise.below(2 * self.block_length);
            let negative = offset & 1 != 0;
            let size = block * self.block_length + offset / 2;
            if size == 0 && negative {
                continue;
            }
            let exponent = Exponent {
                numerators: [size, self.denominator],
                denominators: [self.numerator, 1],
            };
            let ceiling = Ceiling { numerator: 1, denominator: 1, halvings: block as u32 };
            let a = f64::from_bits((1023 - block) << 52);
            let exponent = (exponent, size as f64 * self.inverse_scale);
            if coin(exponent, (ceiling, a), Bracket::NONE, noise) {
                return if negative { -(size as i64) } else { size as i64 };
            }
        }
    }
}

impl TryFrom<(u64, u64)> for DiscreteLaplace {
    type Error = Error;

    fn try_from((numerator, denominator): (u64, u64)) -> Result<Self> {
        DiscreteLaplace::new(numerator, denominator)
    }
}

impl From<DiscreteLaplace> for (u64, u64) {
    fn from(law: DiscreteLaplace) -> (u64, u64) {
        law.scale_ratio()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::noise::{SecureNoise, check};

    /// Chi-square of half a million draws against the exact probabilities, tails pooled from `edge` on.
    fn alarm(scale: f64, edge: i64, draw: impl FnMut() -> i64) -> bool {
        alarm_after(500_000, scale, edge, draw)
    }

    fn alarm_after(draws: u64, scale: f64, edge: i64, mut draw: impl FnMut() -> i64) -> bool {
        let ratio = (-1.0 / scale).exp();
        let peak = (1.0 - ratio) / (1.0 + ratio);
        let mut probabilities: Vec<f64> =
            (-edge..=edge).map(|z| peak * ratio.powi(z.abs() as i32)).collect();
        for end in [0, 2 * edge as usize] {
            probabilities[end] /= 1.0 - ratio;
        }
        let mut counts = vec![0; probabilities.len()];
        (0..draws).for_each(|_| counts[(draw().clamp(-edge, edge) + edge) as usize] += 1);
        check::chi_square_alarm(&counts, &probabilities)
    }

    #[test]
    fn frequencies_are_those_of_the_law() {
        let mut noise = SecureNoise::seeded(13);
        for (numerator, denominator, edge) in [(1, 3, 2), (1, 1, 5), (10, 7, 6), (20, 3, 30)] {
            let law = DiscreteLaplace::new(numerator, denominator).unwrap();
            assert!(!alarm(law.scale(), edge, || noise.discrete_laplace(&law)));
        }
    }

    /// Integer arithmetic alone gives the same law, and the doubles given to the coin equal the rationals.
    #[test]
    fn the_exact_path_alone_gives_the_law() {
        let mut noise = SecureNoise::seeded(17);
        let law = DiscreteLaplace::new(20, 3).unwrap();
        let draw = || law.sample_with(check::exact_coin, &mut noise);
        assert!(!alarm_after(50_000, law.scale(), 20, draw));
    }

    #[test]
    fn planted_flaws_are_found_by_the_same_check() {
        let mut noise = SecureNoise::seeded(14);
        let law = DiscreteLaplace::new(20, 3).unwrap();
        // Zero counted twice: half of the zeros come again.
        let zero_twice = |noise: &mut SecureNoise| loop {
            let draw = noise.discrete_laplace(&law);
            if draw == 0 || noise.bits() & 1 == 0 {
                return draw;
            }
        };
        assert!(alarm(law.scale(), 30, || zero_twice(&mut noise)));
        // A geometric that starts at 1 on one side.
        assert!(alarm(law.scale(), 30, || {
            let draw = noise.discrete_laplace(&law);
            if draw > 0 { draw + 1 } else { draw }
        }));
        // The inverse of the scale, and a scale wrong by three percent.
        for wrong in [(3, 20), (206, 30)] {
            let wrong = DiscreteLaplace::new(wrong.0, wrong.1).unwrap();
            assert!(alarm(law.scale(), 30, || noise.discrete_laplace(&wrong)));
        }
    }

    #[test]
    fn moments_at_large_scale() {
        let mut noise = SecureNoise::seeded(15);
        for (numerator, denominator) in [(300, 1), (1 << 46, 3), (DiscreteLaplace::LARGEST, 1)] {
            let law = DiscreteLaplace::new(numerator, denominator).unwrap();
            let deviation = law.variance().sqrt();
            let values: Vec<f64> =
                (0..300_000).map(|_| noise.discrete_laplace(&law) as f64 / deviation).collect();
            assert!(!check::mean_alarm(values.iter().copied(), 0.0, 1.0));
            // The fourth moment of a Laplace law is 6 variances squared.
            assert!(!check::mean_alarm(values.iter().map(|v| v * v), 1.0, 5f64.sqrt()));
            assert!(check::mean_alarm(values.iter().map(|v| 1.03 * v * v), 1.0, 5f64.sqrt()));
        }
    }

    #[test]
    fn parameters_outside_the_range_are_refused_and_saved_laws_are_checked() {
        for (numerator, denominator) in [(0, 1), (1, 0), ((1 << 48) + 1, 1), (1, u64::MAX)] {
            assert!(DiscreteLaplace::new(numerator, denominator).is_err());
        }
        assert!(serde_json::from_str::<DiscreteLaplace>("[0,1]").is_err());
        let law = DiscreteLaplace::new(20, 3).unwrap();
        assert_eq!(serde_json::from_str::<DiscreteLaplace>("[20,3]").unwrap(), law);
    }

    proptest! {
        #[test]
        fn draws_never_overflow(
            numerator in 1..=DiscreteLaplace::LARGEST,
            denominator in 1..=DiscreteLaplace::LARGEST,
            seed: u64,
        ) {
            let law = DiscreteLaplace::new(numerator, denominator).unwrap();
            let mut noise = SecureNoise::seeded(seed);
            for _ in 0..20 {
                let size = law.sample_exactly(&mut noise).unsigned_abs();
                prop_assert!(u128::from(size) * u128::from(denominator) < 512 * u128::from(numerator));
            }
        }
    }
}
