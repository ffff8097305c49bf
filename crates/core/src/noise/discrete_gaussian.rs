//! The discrete Gaussian `P(z) ~ exp(-z^2 / (2 sigma^2))` on the integers, sampled exactly.
//!
//! Reference: Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020). The law is theirs. The sampler differs:
//! like theirs it rejects from a proposal with rational probabilities, but it needs two random words per try and accepts 82 tries in 100.
//!
//! **Proposal.** `|z| = j s + r` with block length `s = ceil(sigma / 2)`, `r` uniform below `s`, and block
//! `j` with probability `c_j / 256`, the `c_j` being 84, 75, 51, 28, 12, 4, 1, then 1 shared by the blocks
//! from 7 on in the proportions 1/2, 1/4, 1/8, ...
//!
//! **Acceptance.** With probability `exp(-z^2 / (2 sigma^2)) / (c_j / 84)`, which is at most 1: in block `j`
//! `|z| >= j s >= j sigma / 2`, and `84 exp(-j^2 / 8) <= c_j` for every `j` (a test checks all of them). The
//! probability of proposing and accepting `z` is then `84 / (256 s)` times `exp(-z^2 / (2 sigma^2))`: exactly
//! the law, because proposal and acceptance are both exact (integers, and [`super::bernoulli`]). The sign is
//! a fair coin and a negative zero is refused, or zero would count twice.
//!
//! **Speed.** Block and sixteenth of a block bound `|z| / sigma`, and with it the acceptance: a table of these bounds ([`Bracket`]) decides 98
//! tries in 100 without an exponential. It changes no decision, so the draws are the same with and without it (a test compares them).
//!
//! **Guarantee.** Exact for `|z| < 32 sigma`. What lies beyond has mass below `2^-738` and is never drawn:
//! some cut is unavoidable in 64 bits, and this mass is far below any delta in use. The time a
//! draw takes depends on what is drawn; do not let an adversary measure it.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::{
    Noise,
    bernoulli::{Bracket, exp_coin},
    exact_exp::{Ceiling, Exponent},
};
use crate::{Error, Result, privacy::Event, refuse_if};

/// The peak `c_0`, and with it the height of the envelope.
const PEAK: u64 = 84;
/// Number of of 256 equally likely table entries lead to each block; the last stands for all blocks from 7 on.
const COUNTS: [u64; 8] = [PEAK, 75, 51, 28, 12, 4, 1, 1];
/// The entry that stands for the tail.
const TAIL: u64 = 7;
/// Block by table entry.
const BLOCKS: [u8; 256] = {
    let mut blocks = [0; 256];
    let (mut block, mut entry) = (0, 0);
    while block < COUNTS.len() {
        let end = entry + COUNTS[block] as usize;
        while entry < end {
            blocks[entry] = block as u8;
            entry += 1;
        }
        block += 1;
    }
    blocks
};
/// `c_j / 84` by block.
const CEILINGS: [f64; 8] = {
    let mut ceilings = [0.0; 8];
    let mut block = 0;
    while block < COUNTS.len() {
        ceilings[block] = COUNTS[block] as f64 / PEAK as f64;
        block += 1;
    }
    ceilings
};

/// Parts of a block, distinguished by the leading bits of the word that an offset is made from.
const PARTS: usize = 16;
/// Brackets hold for this sigma and larger ones, where the rounding of block length and offset hardly moves `|z| / sigma`.
const LEAST_BRACKETED: u64 = 1 << 20;
/// Bounds of the acceptance by block and part; none for the blocks of the tail.
static BRACKETS: LazyLock<[[Bracket; PARTS]; 8]> =
    LazyLock::new(|| std::array::from_fn(|block| std::array::from_fn(|part| bracket(block, part))));

/// `s / sigma` lies in [1/2, 1/2 + 2^-21] and the offset in `[floor(part s / 16), (part + 1) s / 16)`.
fn bracket(block: usize, part: usize) -> Bracket {
    if block as u64 >= TAIL {
        return Bracket::NONE;
    }
    let margin = 1.0 / LEAST_BRACKETED as f64;
    let blocks = |part: usize| block as f64 + part as f64 / PARTS as f64;
    let (low, high) = (0.5 * blocks(part) - margin, (0.5 + margin) * blocks(part + 1));
    // The exponential and the products err by less than 2^-40 of the result.
    let acceptance = |ratio: f64, factor: f64| {
        let ratio = ratio.max(0.0);
        libm::exp(-0.5 * ratio * ratio) / CEILINGS[block] * factor * (1_u128 << 64) as f64
    };
    let slack = libm::ldexp(1.0, -40);
    // The conversions saturate.
    Bracket {
        least: acceptance(high, 1.0 - slack) as u64,
        most: acceptance(low, 1.0 + slack).ceil() as u64,
    }
}

/// Bits of a word left for `r` after 8 for the block and 1 for the sign.
const OFFSET_BITS: u32 = 64 - 9;

/// A discrete Gaussian whose parameter is a whole number of grid units.
///
/// ```
/// use reticent::noise::{DiscreteGaussian, Noise, SecureNoise};
/// let law = DiscreteGaussian::new(300)?;
/// let mut noise = SecureNoise::from_system()?;
/// let draw: i64 = noise.discrete_gaussian(&law);
/// assert!(draw.abs() < 32 * 300);
/// assert!(DiscreteGaussian::new(0).is_err());
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct DiscreteGaussian {
    sigma: u64,
    block_length: u64,
    /// `2^55 mod block_length`: products with a smaller low part would favour some offsets (Lemire 2019).
    refused_below: u64,
    inverse_sigma: f64,
}

impl DiscreteGaussian {
    /// The largest parameter: draws stay below `2^53`, so they are exact as doubles too.
    pub const LARGEST_SIGMA: u64 = 1 << 48;

    /// The law with parameter `sigma`, from 1 to [`DiscreteGaussian::LARGEST_SIGMA`].
    pub fn new(sigma: u64) -> Result<Self> {
        let remedy =
            "expected a whole number of grid units from 1 to 2^48, by choosing another grid";
        refuse_if(!(1..=DiscreteGaussian::LARGEST_SIGMA).contains(&sigma), "sigma", sigma, remedy)?;
        let block_length = sigma.div_ceil(2);
        Ok(DiscreteGaussian {
            sigma,
            block_length,
            refused_below: (1 << OFFSET_BITS) % block_length,
            inverse_sigma: 1.0 / sigma as f64,
        })
    }

    /// The parameter, in grid units. The standard deviation is smaller by less than one part in 10^6 at 1,
    /// and equal to it in double precision from 2 on.
    pub fn sigma(&self) -> u64 {
        self.sigma
    }

    /// The event for the accountant: one draw added to an integer of this sensitivity (in grid units).
    pub fn event(&self, sensitivity: u64) -> Event {
        Event::DiscreteGaussian { sensitivity, sigma: self.sigma as f64 }
    }

    /// One exact draw, even if the source overrides the method of the trait; mechanisms call
    /// [`Noise::discrete_gaussian`], which a simulation may make faster.
    #[inline]
    pub fn sample_exactly<N: Noise + ?Sized>(&self, noise: &mut N) -> i64 {
        // A closure is inlined, and a function that is passed by name is not.
        self.sample_with(
            |exponent, ceiling, bracket, noise| exp_coin(exponent, ceiling, bracket, noise),
            noise,
        )
    }

    /// One draw with the given acceptance coin: tests pass one that never takes the floating-point path.
    #[inline(always)]
    fn sample_with<N: Noise + ?Sized>(
        &self,
        coin: impl Fn((Exponent, f64), (Ceiling, f64), Bracket, &mut N) -> bool,
        noise: &mut N,
    ) -> i64 {
        let brackets = (self.sigma >= LEAST_BRACKETED).then(|| &*BRACKETS);
        loop {
            let word = noise.bits();
            let product = u128::from(word >> 9) * u128::from(self.block_length);
            let low = product as u64 & ((1 << OFFSET_BITS) - 1);
            if low < self.refused_below {
                continue;
            }
            let offset = (product >> OFFSET_BITS) as u64;
            let mut block = u64::from(BLOCKS[(word & 0xff) as usize]);
            let part = (word >> (64 - PARTS.ilog2())) as usize;
            let bracket = brackets.map_or(Bracket::NONE, |all| all[block as usize][part]);
            let mut a = CEILINGS[block as usize];
            let mut ceiling =
                Ceiling { numerator: COUNTS[block as usize], denominator: PEAK, halvings: 0 };
            if block == TAIL {
                // A run of 64 stands for all longer ones: those blocks lie beyond 32 sigma and are refused.
                let run = noise.bits().trailing_zeros();
                block += u64::from(run);
                ceiling.halvings = run + 1;
                a *= f64::from_bits(u64::from(1023 - ceiling.halvings) << 52);
            }
            let size = block * self.block_length + offset;
            let negative = word & 0x100 != 0;
            if size == 0 && negative {
                continue;
            }
            let exponent =
                Exponent { numerators: [size, size], denominators: [self.sigma, 2 * self.sigma] };
            let ratio = size as f64 * self.inverse_sigma;
            if coin((exponent, 0.5 * ratio * ratio), (ceiling, a), bracket, noise) {
                return if negative { -(size as i64) } else { size as i64 };
            }
        }
    }
}

impl TryFrom<u64> for DiscreteGaussian {
    type Error = Error;

    fn try_from(sigma: u64) -> Result<Self> {
        DiscreteGaussian::new(sigma)
    }
}

impl From<DiscreteGaussian> for u64 {
    fn from(law: DiscreteGaussian) -> u64 {
        law.sigma
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::noise::{SecureNoise, check};
    use crate::special::normal_cdf;

    /// Mistakes that are planted to test the check.
    #[derive(Clone, Copy, PartialEq)]
    enum Flaw {
        None,
        ZeroCountedTwice,
        OffsetReachesBlockLength,
        TailStartsOneBlockLate,
        SizesStartAtOne,
        CeilingOfTheNextBlock,
    }

    /// The sampler in plain floating point, with an optional planted flaw.
    fn sample_with(flaw: Flaw, sigma: u64, noise: &mut SecureNoise) -> i64 {
        let length = sigma.div_ceil(2);
        loop {
            let mut block = u64::from(BLOCKS[noise.below(256) as usize]);
            let mut a = CEILINGS[block as usize];
            if flaw == Flaw::CeilingOfTheNextBlock {
                a = CEILINGS[(block as usize + 1).min(7)];
            }
            if block == TAIL {
                let run = noise.coin_run();
                block += run + u64::from(flaw == Flaw::TailStartsOneBlockLate);
                a *= 0.5_f64.powi(run as i32 + 1);
            }
            let reach = length + u64::from(flaw == Flaw::OffsetReachesBlockLength);
            let size =
                block * length + noise.below(reach) + u64::from(flaw == Flaw::SizesStartAtOne);
            let negative = noise.bits() & 1 != 0;
            if size == 0 && negative && flaw != Flaw::ZeroCountedTwice {
                continue;
            }
            if noise.uniform() * a < (-0.5 * (size as f64 / sigma as f64).powi(2)).exp() {
                return if negative { -(size as i64) } else { size as i64 };
            }
        }
    }

    /// Chi-square of a million draws against the exact probabilities, in bins of `width` integers from -4
    /// sigma to 4 sigma and two bins for the tails: the check that every sampler here has to pass.
    fn alarm(sigma: u64, width: i64, draw: impl FnMut() -> i64) -> bool {
        alarm_after(1_000_000, sigma, width, draw)
    }

    fn alarm_after(draws: u64, sigma: u64, width: i64, mut draw: impl FnMut() -> i64) -> bool {
        let weight = |z: i64| (-0.5 * (z as f64 / sigma as f64).powi(2)).exp();
        let (reach, half) = (40 * sigma as i64, (4 * sigma as i64).div_euclid(width));
        let bin = |z: i64| (z.div_euclid(width).clamp(-half, half) + half) as usize;
        let mut probabilities = vec![0.0; 2 * half as usize + 1];
        (-reach..=reach).for_each(|z| probabilities[bin(z)] += weight(z));
        let total: f64 = probabilities.iter().sum();
        probabilities.iter_mut().for_each(|p| *p /= total);
        let mut counts = vec![0; probabilities.len()];
        (0..draws).for_each(|_| counts[bin(draw())] += 1);
        check::chi_square_alarm(&counts, &probabilities)
    }

    #[test]
    fn frequencies_are_those_of_the_law() {
        let mut noise = SecureNoise::seeded(10);
        for (sigma, width) in [(1, 1), (2, 1), (3, 1), (7, 1), (300, 20), (300, 33)] {
            let law = DiscreteGaussian::new(sigma).unwrap();
            assert!(!alarm(sigma, width, || law.sample_exactly(&mut noise)), "sigma {sigma}");
        }
    }

    /// Integer arithmetic alone gives the same law, and the doubles given to the coin equal the rationals.
    #[test]
    fn the_exact_path_alone_gives_the_law() {
        let mut noise = SecureNoise::seeded(16);
        for (sigma, width) in [(2, 1), (300, 100)] {
            let law = DiscreteGaussian::new(sigma).unwrap();
            let draw = || law.sample_with(check::exact_coin, &mut noise);
            assert!(!alarm_after(50_000, sigma, width, draw), "sigma {sigma}");
        }
    }

    /// Planted: lower bounds that are too high by a quarter of a bracket.
    #[test]
    fn brackets_change_no_draw() {
        for sigma in [1, 7, LEAST_BRACKETED - 1, LEAST_BRACKETED, (1 << 44) + 1, 1 << 48] {
            let law = DiscreteGaussian::new(sigma).unwrap();
            let draws = |change: fn(Bracket) -> Bracket| {
                let mut noise = SecureNoise::seeded(13);
                let draw = |_| {
                    let coin = |exponent, ceiling, bracket, noise: &mut SecureNoise| {
                        exp_coin(exponent, ceiling, change(bracket), noise)
                    };
                    law.sample_with(coin, &mut noise)
                };
                (0..100_000).map(draw).collect::<Vec<_>>()
            };
            let plain = draws(|_| Bracket::NONE);
            assert!(draws(|bracket| bracket) == plain, "{sigma}");
            let wrong = draws(|bracket| match bracket {
                Bracket::NONE => bracket,
                Bracket { least, most } => Bracket { least: least + (most - least) / 4, most },
            });
            assert_eq!(wrong != plain, sigma >= LEAST_BRACKETED, "{sigma}");
        }
        let undecided = |bracket: &Bracket| (bracket.most - bracket.least) as f64 / 2f64.powi(64);
        let share = |(brackets, count): (&[Bracket; PARTS], u64)| {
            brackets.iter().map(undecided).sum::<f64>() / PARTS as f64 * count as f64 / 256.0
        };
        let undecided: f64 = BRACKETS.iter().zip(COUNTS).map(share).sum();
        assert!(undecided < 0.025, "{undecided}");
    }

    #[test]
    fn planted_flaws_are_found_by_the_same_check() {
        let mut noise = SecureNoise::seeded(11);
        let mut found = |flaw, sigma| alarm(sigma, 1, || sample_with(flaw, sigma, &mut noise));
        assert!(!found(Flaw::None, 3) && !found(Flaw::None, 1));
        assert!(found(Flaw::ZeroCountedTwice, 3));
        assert!(found(Flaw::OffsetReachesBlockLength, 3));
        assert!(found(Flaw::TailStartsOneBlockLate, 2));
        assert!(found(Flaw::SizesStartAtOne, 3));
        assert!(found(Flaw::CeilingOfTheNextBlock, 3));
    }

    #[test]
    fn moments_and_shape_at_large_sigma() {
        let mut noise = SecureNoise::seeded(12);
        for sigma in [300, 1 << 44, DiscreteGaussian::LARGEST_SIGMA] {
            let law = DiscreteGaussian::new(sigma).unwrap();
            // A uniform part below one grid unit makes the law continuous without moving it visibly.
            let values: Vec<f64> = (0..400_000)
                .map(|_| noise.discrete_gaussian(&law) as f64 + noise.uniform() - 0.5)
                .map(|value| value / sigma as f64)
                .collect();
            let powers = |power: i32| values.iter().map(move |value| value.powi(power));
            assert!(!check::mean_alarm(powers(1), 0.0, 1.0));
            assert!(!check::mean_alarm(powers(2), 1.0, 2f64.sqrt()));
            assert!(!check::mean_alarm(powers(3), 0.0, 15f64.sqrt()));
            assert!(!check::mean_alarm(powers(4), 3.0, 96f64.sqrt()));
            assert!(!check::distribution_alarm(values.clone(), normal_cdf));
            // Planted: sigma wrong by two parts in a hundred.
            let wrong = values.iter().map(|value| (1.02 * value).powi(2));
            assert!(check::mean_alarm(wrong, 1.0, 2f64.sqrt()));
        }
    }

    /// 2^55 is no multiple of 3, so two products must be refused or offsets 0 and 1 would come too often: a
    /// bias that no feasible number of draws shows.
    #[test]
    fn offsets_are_exactly_uniform() {
        let law = DiscreteGaussian::new(6).unwrap();
        let offset_one = (1_u64 << (OFFSET_BITS - 1)) << 9;
        assert_eq!(law.sample_exactly(&mut check::Script(vec![0, offset_one, 0])), 1);
        // The least word that is not refused: offset 0.
        assert_eq!(law.sample_exactly(&mut check::Script(vec![1 << 9, 0])), 0);
    }

    #[test]
    fn the_envelope_covers_the_law_in_every_block() {
        assert_eq!(COUNTS.iter().sum::<u64>(), 256);
        for block in 0..64_u64 {
            let weight = if block < TAIL {
                COUNTS[block as usize] as f64
            } else {
                0.5_f64.powi((block - TAIL + 1) as i32)
            };
            assert!(PEAK as f64 * (-(block as f64).powi(2) / 8.0).exp() <= weight, "block {block}");
        }
    }

    #[test]
    fn parameters_outside_the_range_are_refused_and_saved_laws_are_checked() {
        for sigma in [0, (1 << 48) + 1, u64::MAX] {
            let error = DiscreteGaussian::new(sigma).unwrap_err().to_string();
            assert!(error.contains("sigma") && error.contains(&sigma.to_string()));
            assert!(serde_json::from_str::<DiscreteGaussian>(&sigma.to_string()).is_err());
        }
        let law = DiscreteGaussian::new(300).unwrap();
        assert_eq!(serde_json::to_string(&law).unwrap(), "300");
        assert_eq!(serde_json::from_str::<DiscreteGaussian>("300").unwrap(), law);
    }

    /// Feeds extreme words: long runs of zeros and ones reach the last tail blocks and the exact path.
    struct Extreme(SecureNoise);
    impl Noise for Extreme {
        const PROTECTS_PEOPLE: bool = false;
        const NAME: &'static str = "test";
        fn bits(&mut self) -> u64 {
            match self.0.below(4) {
                0 => 0,
                1 => u64::MAX,
                2 => 1 << self.0.below(64),
                _ => self.0.bits(),
            }
        }
        fn refresh(&mut self) -> Result<()> {
            self.0.refresh()
        }
        fn split(&mut self) -> Result<Self> {
            self.0.split().map(Extreme)
        }
    }

    proptest! {
        #[test]
        fn draws_never_overflow(sigma in 1..=DiscreteGaussian::LARGEST_SIGMA, seed: u64) {
            let law = DiscreteGaussian::new(sigma).unwrap();
            let mut noise = Extreme(SecureNoise::seeded(seed));
            for _ in 0..20 {
                let size = law.sample_exactly(&mut noise).unsigned_abs();
                prop_assert!(size < 32 * sigma);
            }
        }
    }
}
