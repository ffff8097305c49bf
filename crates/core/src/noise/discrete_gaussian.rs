//! The discrete Gaussian `P(z) ~ exp(-z^2 / (2 sigma^2))` on the integers, sampled exactly.
//!
//! Reference: Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020). Their
//! law; our sampler, which like theirs rejects from a proposal with rational probabilities, but needs two
//! random words a try and accepts 82 tries in 100.
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
//! **Guarantee.** Exact for `|z| < 32 sigma`. What lies beyond has mass below `2^-738` and is never drawn:
//! some cut is unavoidable in 64 bits, and this one is below any delta a person could name. The time a
//! draw takes depends on what is drawn; do not let an adversary measure it.

use serde::{Deserialize, Serialize};

use super::{
    Noise,
    bernoulli::exp_coin,
    exact_exp::{Ceiling, Exponent},
};
use crate::{Error, Result, privacy::Event};

/// The peak `c_0`, and with it the height of the envelope.
const PEAK: u64 = 84;
/// How many of 256 equally likely table entries lead to each block; the last stands for all blocks from 7 on.
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
        if !(1..=DiscreteGaussian::LARGEST_SIGMA).contains(&sigma) {
            let remedy =
                "give a whole number of grid units from 1 to 2^48, by choosing another grid";
            return Err(Error::invalid("sigma", sigma, remedy));
        }
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

    /// What adding one draw to an integer of this sensitivity (in grid units) tells the accountant.
    pub fn event(&self, sensitivity: u64) -> Event {
        Event::DiscreteGaussian { sensitivity, sigma: self.sigma as f64 }
    }

    /// One exact draw, whatever the source would do by itself; mechanisms call
    /// [`Noise::discrete_gaussian`], which a simulation may make faster.
    #[inline]
    pub fn sample_exactly<N: Noise + ?Sized>(&self, noise: &mut N) -> i64 {
        loop {
            let word = noise.bits();
            let product = u128::from(word >> 9) * u128::from(self.block_length);
            let low = product as u64 & ((1 << OFFSET_BITS) - 1);
            if low < self.refused_below {
                continue;
            }
            let offset = (product >> OFFSET_BITS) as u64;
            let mut block = u64::from(BLOCKS[(word & 0xff) as usize]);
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
            if exp_coin((exponent, 0.5 * ratio * ratio), (ceiling, a), noise) {
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
