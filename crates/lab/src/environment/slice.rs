//! The law of `t = <x, theta*>` for x uniform on a slice of the unit sphere in R^d.
//!
//! ```text
//! density  (1 - t^2)^k on [low, high],   k = (d - 3)/2
//! G_k(t) = integral of (1 - s^2)^k over [0, t] = (t (1 - t^2)^k + 2k G_{k-1}(t)) / (2k + 1)
//! G_0(t) = t,   G_{-1/2}(t) = asin t
//! ```
//!
//! Draws are by rejection from the uniform law on the interval: exact for every d, and never less than a few
//! per cent accepted.

use reticent::noise::Noise;

/// An interval of `<x, theta*>` and the dimension its sphere lies in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Slice {
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// `d - 3`, twice the exponent of the density.
    twice_exponent: i32,
}

impl Slice {
    pub(crate) fn new(dimension: usize, low: f64, high: f64) -> Self {
        Slice { low, high, twice_exponent: dimension as i32 - 3 }
    }

    /// The upper part of the slice.
    pub(crate) fn above(&self, low: f64) -> Self {
        Slice { low, ..*self }
    }

    /// Half of `d - 3`, and whether a factor `sqrt(1 - t^2)` remains; -1 stands for its inverse.
    pub(crate) fn exponent(&self) -> (i32, i32) {
        (
            self.twice_exponent.div_euclid(2).max(0),
            if self.twice_exponent < 0 { -1 } else { self.twice_exponent % 2 },
        )
    }

    /// `1 - t^2` where the density is largest.
    pub(crate) fn peak(&self) -> f64 {
        let (small, large) = match (self.low.abs(), self.high.abs()) {
            (low, high) if self.low <= 0.0 && self.high >= 0.0 => (0.0, low.max(high)),
            (low, high) => (low.min(high), low.max(high)),
        };
        let t = if self.twice_exponent < 0 { large } else { small };
        (1.0 - t) * (1.0 + t)
    }

    /// The area under `(1 - t^2)^k` from `from` to `to`.
    pub(crate) fn area(&self, from: f64, to: f64) -> f64 {
        let primitive = |t: f64| {
            let rest = (1.0 - t) * (1.0 + t);
            // Twice the exponent climbs from -1 or 0 in steps of two.
            let mut twice = if self.twice_exponent % 2 == 0 { 0 } else { -1 };
            let (mut value, mut power) =
                if twice == 0 { (t, 1.0) } else { (t.asin(), 1.0 / rest.sqrt()) };
            while twice < self.twice_exponent {
                twice += 2;
                power *= rest;
                value = (t * power + f64::from(twice) * value) / f64::from(twice + 1);
            }
            value
        };
        primitive(to) - primitive(from)
    }

    /// One draw.
    pub(crate) fn draw(&self, noise: &mut impl Noise) -> f64 {
        let peak = self.peak();
        loop {
            let t = self.low + (self.high - self.low) * noise.uniform();
            let relative = (1.0 - t) * (1.0 + t) / peak;
            if noise.uniform() < relative.powf(0.5 * f64::from(self.twice_exponent)) {
                return t;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FastNoise;

    #[test]
    fn areas_are_the_integrals_of_the_density() {
        for dimension in [2, 3, 4, 5, 8, 9, 64] {
            let slice = Slice::new(dimension, -0.75, 0.65);
            let (steps, exponent) = (20_000, 0.5 * (dimension as f64 - 3.0));
            let width = 1.4 / f64::from(steps);
            let midpoints = (0..steps).map(|i| -0.75 + (f64::from(i) + 0.5) * width);
            let expected: f64 = midpoints.map(|t| width * (1.0 - t * t).powf(exponent)).sum();
            let area = slice.area(-0.75, 0.65);
            assert!((area / expected - 1.0).abs() < 1e-6, "{dimension}: {area} {expected}");
        }
    }

    #[test]
    fn draws_follow_the_areas() {
        // Kolmogorov-Smirnov at a false-alarm rate of 1e-8 a case (Massart's bound).
        let count = 40_000;
        let limit = (2e8_f64.ln() / (2.0 * f64::from(count))).sqrt();
        let distance = |slice: Slice, law: Slice| {
            let mut noise = FastNoise::seeded(1);
            let mut draws: Vec<f64> = (0..count).map(|_| slice.draw(&mut noise)).collect();
            draws.sort_by(f64::total_cmp);
            let total = law.area(law.low, law.high);
            let gap = |(i, &t): (usize, &f64)| {
                (law.area(law.low, t) / total - i as f64 / f64::from(count)).abs()
            };
            draws.iter().enumerate().map(gap).fold(0.0, f64::max)
        };
        for dimension in [2, 3, 4, 5, 8, 45] {
            for (low, high) in [(-0.75, 0.75), (-0.75, 0.65), (-0.75, -0.7), (0.4, 0.75)] {
                let slice = Slice::new(dimension, low, high);
                assert!(distance(slice, slice) < limit, "{dimension} {low} {high}");
            }
        }
        // Planted: the sphere one dimension too small.
        let (wrong, right) = (Slice::new(4, -0.75, 0.75), Slice::new(5, -0.75, 0.75));
        assert!(distance(wrong, right) > limit);
    }
}
