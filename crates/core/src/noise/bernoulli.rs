//! Coins with exactly the stated probability.
//!
//! [`Bernoulli`] compares a uniform real `U`, drawn 64 bits at a time, with the binary digits of its
//! probability. [`exp_coin`] decides `U a < exp(-x)`, the acceptance step of both discrete laws: almost
//! always in floating point, and by exact integer arithmetic when the two sides are too close for doubles.
//!
//! **Why the floating-point path does not change the law.** The caller gives `x` in floating point to
//! a relative error of 2^-50, and `a <= 1` to 2^-51. As `x exp(-x) < 1/2`, the computed `exp(-x)` is off by
//! less than 2^-50 plus the error of `exp` itself, a few units of 2^-53 in every mathematical library; the
//! computed `U a` is off by less than 2^-50 (rounding) plus 2^-64 (the bits of `U` not yet drawn). Together
//! that is below 2^-48, so a difference of 2^-40 or more has the sign of the exact one, with a factor 256
//! to spare. Closer calls, about 2^-34 of all, go to integer arithmetic with the same 64 bits. Either way
//! the answer is the exact one, whatever mathematical library is linked.

use serde::{Deserialize, Serialize};

use super::{
    Noise,
    exact_exp::{Ceiling, Exponent, is_below_exp},
};
use crate::{Error, Result, refuse_if};

/// Smaller differences are decided by integer arithmetic.
const TOO_CLOSE: f64 = 1.0 / (1_u64 << 40) as f64;

/// A coin that shows heads with exactly the given probability.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Bernoulli {
    probability: f64,
}

impl Bernoulli {
    /// A coin with this probability of heads, 0 and 1 included.
    pub fn new(probability: f64) -> Result<Self> {
        let remedy = "expected a number from 0 to 1";
        refuse_if(!(0.0..=1.0).contains(&probability), "probability", probability, remedy)?;
        Ok(Bernoulli { probability })
    }

    /// The probability of heads.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// Tosses the coin.
    pub fn sample<N: Noise + ?Sized>(&self, noise: &mut N) -> bool {
        let mut rest = self.probability;
        while rest > 0.0 && rest < 1.0 {
            // Multiplying by a power of two and taking off the integer part are both exact.
            let digits = rest * (1_u128 << 64) as f64;
            let word = noise.bits();
            if word != digits as u64 {
                return word < digits as u64;
            }
            rest = digits - digits.floor();
        }
        rest == 1.0
    }
}

impl TryFrom<f64> for Bernoulli {
    type Error = Error;

    fn try_from(probability: f64) -> Result<Self> {
        Bernoulli::new(probability)
    }
}

impl From<Bernoulli> for f64 {
    fn from(coin: Bernoulli) -> f64 {
        coin.probability
    }
}

/// Bounds on a probability that cost little to compute: `least <= 2^64 p <= most`. Most coins are decided by them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bracket {
    pub(super) least: u64,
    pub(super) most: u64,
}

impl Bracket {
    /// Nothing is known.
    pub(super) const NONE: Bracket = Bracket { least: 0, most: u64::MAX };

    /// Answer to `U < p` from the first 64 bits of U, if they decide it.
    #[inline(always)]
    fn decide(self, first: u64) -> Option<bool> {
        // U lies in [first, first + 1) 2^-64.
        match first {
            _ if first < self.least => Some(true),
            _ if first > self.most => Some(false),
            _ => None,
        }
    }
}

/// Heads with probability `min(1, exp(-x) / a)` exactly, where `x` is `exponent` and `a` is `ceiling`; the
/// two doubles are the same numbers, to the accuracy the header asks for. The answer does not depend on `bracket`.
#[inline(always)]
pub(super) fn exp_coin<N: Noise + ?Sized>(
    (exponent, x): (Exponent, f64),
    (ceiling, a): (Ceiling, f64),
    bracket: Bracket,
    noise: &mut N,
) -> bool {
    let first = noise.bits();
    if let Some(answer) = bracket.decide(first) {
        return answer;
    }
    match decide_in_floating_point(first, x, a) {
        Some(answer) => answer,
        None => is_below_exp(first, ceiling, exponent, noise),
    }
}

#[inline]
fn decide_in_floating_point(first: u64, x: f64, a: f64) -> Option<bool> {
    const WORD: f64 = 1.0 / 18_446_744_073_709_551_616.0;
    let difference = first as f64 * (a * WORD) - libm::exp(-x);
    (difference.abs() >= TOO_CLOSE).then_some(difference < 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{
        SecureNoise,
        check::{Script, chi_square_alarm},
    };

    fn tally(tosses: u64, mut toss: impl FnMut() -> bool) -> [u64; 2] {
        let heads = (0..tosses).filter(|_| toss()).count() as u64;
        [heads, tosses - heads]
    }

    #[test]
    fn a_coin_falls_as_often_as_it_should() {
        let mut noise = SecureNoise::seeded(7);
        for probability in [0.5, 0.1, 2f64.powi(-10), 1.0 - 2f64.powi(-10)] {
            let coin = Bernoulli::new(probability).unwrap();
            let counts = tally(200_000, || coin.sample(&mut noise));
            assert!(!chi_square_alarm(&counts, &[probability, 1.0 - probability]));
        }
        let biased = Bernoulli::new(0.51).unwrap();
        let counts = tally(200_000, || biased.sample(&mut noise));
        assert!(chi_square_alarm(&counts, &[0.5, 0.5]));
    }

    /// A probability far below 2^-64 is still used with all its bits.
    #[test]
    fn tiny_probabilities_are_not_rounded_away() {
        let coin = Bernoulli::new(2f64.powi(-100)).unwrap();
        assert!(coin.sample(&mut Script(vec![0, (1 << 28) - 1])));
        assert!(!coin.sample(&mut Script(vec![0, 1 << 28])));
        assert!(!coin.sample(&mut Script(vec![1])));
        assert!(Bernoulli::new(f64::NAN).is_err());
        assert!(serde_json::from_str::<Bernoulli>("1.5").is_err());
    }

    /// The floating-point path must agree with the integers wherever it decides, also just outside the margin, where a wrong error bound
    /// would show first.
    #[test]
    fn floating_point_never_contradicts_the_integers() {
        let mut noise = SecureNoise::seeded(8);
        let mut close = 0;
        for _ in 0..20_000 {
            let denominator = 1 + noise.below(1 << 48);
            let numerator = noise.below(8 * denominator);
            let exponent = Exponent { numerators: [numerator, 1], denominators: [denominator, 1] };
            let x = numerator as f64 / denominator as f64;
            let ceiling = Ceiling { numerator: 51, denominator: 84, halvings: 0 };
            let a = 51.0 / 84.0;
            // A word whose U a lies within about 2^-36 of exp(-x), on either side.
            let near = ((-x).exp() / a * 2f64.powi(64)) as u64;
            let word = near.saturating_add(noise.below(1 << 29)).saturating_sub(1 << 28);
            match decide_in_floating_point(word, x, a) {
                Some(answer) => {
                    assert_eq!(answer, is_below_exp(word, ceiling, exponent, &mut noise))
                }
                None => close += 1,
            }
        }
        assert!((200..10_000).contains(&close), "{close} close calls");
    }

    #[test]
    fn the_exponential_coin_has_the_right_chance_on_both_paths() {
        let mut noise = SecureNoise::seeded(9);
        let exponent = Exponent { numerators: [2, 3], denominators: [4, 5] };
        let ceiling = Ceiling { numerator: 7, denominator: 4, halvings: 1 };
        let chance = (-0.3_f64).exp() * 8.0 / 7.0;
        let fast = tally(200_000, || {
            exp_coin((exponent, 0.3), (ceiling, 0.875), Bracket::NONE, &mut noise)
        });
        let exact = tally(20_000, || {
            let first = noise.bits();
            is_below_exp(first, ceiling, exponent, &mut noise)
        });
        for counts in [fast, exact] {
            assert!(!chi_square_alarm(&counts, &[chance, 1.0 - chance]));
            let planted = chance * 7.0 / 8.0;
            assert!(chi_square_alarm(&counts, &[planted, 1.0 - planted]));
        }
    }
}
