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
    bernoulli::exp_coin,
    exact_exp::{Ceiling, Exponent},
};
use crate::{Error, Result, privacy::Event};

/// Blocks from here on lie beyond `512 b` and are refused unseen.
const LAST_BLOCK: u64 = 1000;

/// A discrete Laplace law of rational scale, in grid units.
///
/// ```
/// use reticent::noise::{DiscreteLaplace, Noise, SecureNoise};
/// let law = DiscreteLaplace::new(20, 3)?; // epsilon = 3/20 for counts
/// let mut noise = SecureNoise::from_system()?;
/// let private_count = 41 + noise.discrete_laplace(&law);
/// assert!((private_count - 41).abs() < 512 * 7);
/// # Ok::<(), reticent::Error>(())
/// ```
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
            if !(1..=DiscreteLaplace::LARGEST).contains(&value) {
                let remedy = "give a whole number from 1 to 2^48, by choosing another grid";
                return Err(Error::invalid(field, value, remedy));
            }
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
        0.5 / (0.5 * self.inverse_scale).sinh().powi(2)
    }

    /// What adding one draw to an integer of this sensitivity (in grid units) tells the accountant.
    pub fn event(&self, sensitivity: u64) -> Event {
        Event::DiscreteLaplace { sensitivity, scale: self.scale() }
    }

    /// One exact draw, whatever the source would do by itself; mechanisms call
    /// [`Noise::discrete_laplace`], which a simulation may make faster.
    #[inline]
    pub fn sample_exactly<N: Noise + ?Sized>(&self, noise: &mut N) -> i64 {
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
            if exp_coin((exponent, size as f64 * self.inverse_scale), (ceiling, a), noise) {
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
