//! Rounding of continuous outputs to a dyadic grid.
//!
//! Mechanisms with real-valued noise are proved private in real arithmetic. A double released as computed reveals more: which low-order
//! bits can occur depends on the value before the noise (Mironov 2012). Every continuous output of this crate is therefore rounded to a
//! multiple of a power of two, about `2^-30` of the noise scale, chosen from public parameters only.
//!
//! **What this gives.** Rounding is post-processing, so the rounded real-arithmetic mechanism keeps its
//! guarantee exactly, and it moves a report by less than a billionth of its noise. One error remains: the computed real has a relative
//! error of about `2^-50` before it is rounded. For reports of up to `2^10` noise scales that is `2^-10` of a cell, and the probability of
//! a cell is wrong by that relative amount at most, on a law that is all but constant across neighbouring cells. So the guarantees of the
//! mechanisms that use this are those of real arithmetic, up to that error; sampling in doubles is not a proof. Where a proof to the last
//! bit is wanted, use [`DiscreteGaussian`](super::DiscreteGaussian) or [`DiscreteLaplace`](super::DiscreteLaplace), which are exact.

use crate::{Result, refuse_if};

/// The multiples of a power of two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Grid {
    unit: f64,
}

impl Grid {
    /// The grid whose unit is the largest power of two up to `2^-30` times `noise_scale`, which must be
    /// computed from public parameters alone.
    pub(crate) fn for_noise_scale(noise_scale: f64) -> Result<Self> {
        let remedy = "choose units in which the noise scale lies between 1e-200 and 1e200";
        refuse_if(!(1e-200..=1e200).contains(&noise_scale), "noise scale", noise_scale, remedy)?;
        const EXPONENT: u64 = 0x7ff << 52;
        let power_of_two = f64::from_bits(noise_scale.to_bits() & EXPONENT);
        Ok(Grid { unit: power_of_two / (1_u64 << 30) as f64 })
    }

    /// The power of two.
    pub(crate) fn unit(&self) -> f64 {
        self.unit
    }

    /// The nearest grid point.
    pub(crate) fn round(&self, value: f64) -> f64 {
        let units = value / self.unit;
        // From 2^53 units on every double is a grid point already, and the quotient might overflow.
        if units.abs() < (1_u64 << 53) as f64 { units.round_ties_even() * self.unit } else { value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_powers_of_two_and_rounding_lands_on_them() {
        assert_eq!(Grid::for_noise_scale(1.0).unwrap().unit, 2f64.powi(-30));
        assert_eq!(Grid::for_noise_scale(1.9).unwrap().unit, 2f64.powi(-30));
        assert_eq!(Grid::for_noise_scale(0.3).unwrap().unit, 2f64.powi(-32));
        let grid = Grid::for_noise_scale(3.0).unwrap();
        for value in [0.1, -7.3, 1e3, -1e-12, 1e300] {
            let rounded = grid.round(value);
            assert_eq!(rounded % grid.unit, 0.0);
            assert!((rounded - value).abs() <= 0.5 * grid.unit);
        }
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300] {
            assert!(Grid::for_noise_scale(scale).is_err());
        }
    }
}
