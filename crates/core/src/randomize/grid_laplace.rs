//! Laplace noise on one number of a symmetric interval, on a dyadic grid: what the Laplace randomisers share.

use crate::{
    Result,
    noise::{DiscreteLaplace, Noise},
    privacy::Event,
    refuse_if,
};

/// Levels that the grid can carry.
pub(super) const LEVELS: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

/// Integers up to `most`, which stand for the bound, plus a discrete Laplace of scale at least `2 most / level`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct GridLaplace {
    /// One step of the grid, a power of two.
    unit: f64,
    /// The largest size of a clipped number, in units.
    most: u64,
    law: DiscreteLaplace,
}

impl GridLaplace {
    /// Numbers clipped to `bound` in absolute value, at this level.
    pub(super) fn new(level: f64, bound: f64) -> Result<Self> {
        let remedy = "expected 0 for nothing sent, 1e-6 to 1e6, or infinity for no noise";
        refuse_if(!LEVELS.contains(&level), "level", level, remedy)?;
        let remedy = "choose units in which it lies between 1e-100 and 1e100";
        refuse_if(!(1e-100..=1e100).contains(&bound), "bound", bound, remedy)?;
        // The bound is 2^20 to 2^21 units, and the scale at most 2^42 of them.
        let unit = libm::ldexp(1.0, libm::log2(bound).floor() as i32 - 20);
        let most = (bound / unit) as u64;
        Ok(GridLaplace { unit, most, law: scale_at_least(2 * most, level)? })
    }

    /// The number, clipped and rounded to the grid, plus noise.
    pub(super) fn randomize<N: Noise + ?Sized>(&self, value: f64, noise: &mut N) -> f64 {
        let most = self.most as f64;
        let units = (value / self.unit).round_ties_even().clamp(-most, most) as i64;
        (units + noise.discrete_laplace(&self.law)) as f64 * self.unit
    }

    /// Event of one number: the sensitivity is that of the rounded numbers.
    pub(super) fn event(&self) -> Event {
        self.law.event(2 * self.most)
    }

    pub(super) fn variance(&self) -> f64 {
        self.law.variance() * self.unit * self.unit
    }
}

/// The discrete Laplace of the least rational scale found that keeps integers `sensitivity` apart at `level`.
pub(super) fn scale_at_least(sensitivity: u64, level: f64) -> Result<DiscreteLaplace> {
    let scale = sensitivity as f64 / level;
    // As fine a denominator as 48 bits allow.
    let denominator = libm::ldexp(1.0, (46.0 - libm::log2(scale)).floor().clamp(0.0, 20.0) as i32);
    // One unit more pays for rounding in the product.
    DiscreteLaplace::new((scale * denominator).ceil() as u64 + 1, denominator as u64)
}
