//! PrivUnit on features and reward themselves, debiased by its second moment: pure local privacy for large epsilon.
//!
//! ```text
//! u = (a x, b s),   s = +-1 with mean z,   a^2 + b^2 = 1,   report V = PrivUnit(u)
//! u u^T is estimated by (V V^T - c I) / (s_2 - c),   c = (1 - s_2)/(D - 1),   s_2 = E <V, u>^2
//! ```
//!
//! `E V V^T = s_2 u u^T + c (I - u u^T)`: what lies across u has no preferred direction, and the trace is 1. So the blocks of
//! `(V V^T - c I)/(s_2 - c)`, divided by `a^2` and `a b`, are unbiased for `x x^T` and `x s`, hence for `x z`.
//!
//! D is d + 1, six at d = 5, against twenty of `unit_gram`. Where arms may be shorter than 1 a further coordinate
//! `a sqrt(1 - |x|^2)` pads u to unit length, for `u u^T`, unlike u, is not the mean of two opposite unit vectors' squares.
//!
//! **The axis.** `u u^T` is that of -u too. [`UnitPair::of_axis`] draws V near u or near -u, a fair coin says which: for the same epsilon `s_2` is larger, so that the noise is 3.5 times less at d = 5 and
//! epsilon 1, 1.43 times at 4, 1.20 times at 8 (a test states it).
//!
//! **Intercept.** A last feature that is the same for all people needs no hiding. With `x = (v, c)` only v is sent, stretched to
//! the unit ball: D is d, and a larger share of u is about the person. `x x^T` and `x z` then also contain `c v` and `c z`, which
//! the first moment `V/m` estimates with less noise.

use super::{
    Bounds, Correlation, Interaction, Precision,
    cap_randomizer::{CapRandomizer, Caps},
    second_moment::sign,
};
use crate::{
    Result, error::finite_vector, linalg::triangle, noise::Noise, privacy::Event, refuse_if,
};

/// A calibrated PrivUnit report of x and z.
#[derive(Debug, Clone, PartialEq)]
pub struct UnitPair {
    dimension: usize,
    /// Features that are sent.
    free: usize,
    /// c, where there is an intercept.
    intercept: Option<f64>,
    /// Divisor of the free features: their largest norm.
    radius: f64,
    padded: bool,
    /// a; b follows.
    feature_weight: f64,
    pub(super) unit: CapRandomizer,
}

impl UnitPair {
    /// a: minimises `1/a^4 + 1/(a^2 b^2)`, the noise of matrix and vector together, to two digits.
    pub const DEFAULT_WEIGHT: f64 = 0.8;

    /// The mechanism for interactions clipped to `bounds`.
    pub fn new(bounds: &Bounds, epsilon: f64) -> Result<Self> {
        UnitPair::with_weight(bounds, epsilon, Self::DEFAULT_WEIGHT)
    }

    /// The same with another weight a on the features, strictly between 0 and 1.
    pub fn with_weight(bounds: &Bounds, epsilon: f64, feature_weight: f64) -> Result<Self> {
        bounds.check()?;
        crate::error::probability("feature_weight", feature_weight)?;
        let intercept = bounds.unit_intercept();
        let free = bounds.dimension - usize::from(intercept.is_some());
        let padded = !bounds.unit_arms;
        Ok(UnitPair {
            dimension: bounds.dimension,
            free,
            intercept,
            radius: intercept.map_or(1.0, |c| (1.0 - c * c).sqrt()),
            padded,
            feature_weight,
            unit: CapRandomizer::new(free + 1 + usize::from(padded), epsilon, Caps::One)?,
        })
    }

    /// The mechanism that hides on which side of the sphere u lies: less noise, and no first moment. An intercept is sent like the other features.
    pub fn of_axis(bounds: &Bounds, epsilon: f64) -> Result<Self> {
        let pair = UnitPair::new(&Bounds { intercept: None, ..*bounds }, epsilon)?;
        let unit = CapRandomizer::new(pair.size(), epsilon, Caps::Both)?;
        Ok(UnitPair { unit, ..pair })
    }

    fn reward_weight(&self) -> f64 {
        (1.0 - self.feature_weight * self.feature_weight).sqrt()
    }

    /// D.
    fn size(&self) -> usize {
        self.free + 1 + usize::from(self.padded)
    }

    /// A point of the sphere in D dimensions: features, reward, padding.
    pub fn randomize<N: Noise>(
        &self,
        interaction: &Interaction,
        noise: &mut N,
    ) -> Result<Vec<f64>> {
        interaction.expect(self.dimension)?;
        let (a, features) = (self.feature_weight, &interaction.features()[..self.free]);
        let mut u: Vec<f64> = features.iter().map(|x| a * x / self.radius).collect();
        let square: f64 = u.iter().map(|x| x * x).sum();
        u.push(self.reward_weight() * sign(interaction.reward(), noise)?);
        if self.padded {
            u.push((a * a - square).max(0.0).sqrt());
        }
        let norm = u.iter().map(|x| x * x).sum::<f64>().sqrt();
        let remedy = "clip the interaction with the bounds the randomiser was built for";
        refuse_if((norm - 1.0).abs() > 1e-6, "norm of the padded interaction", norm, remedy)?;
        u.iter_mut().for_each(|x| *x /= norm);
        self.unit.direction(&u, noise)
    }

    /// Estimate of `x x^T` and `x z` in a report, without bias if reports correlate with the truth as `correlation` says.
    pub fn estimate(&self, report: &[f64], correlation: Correlation) -> Result<Vec<f64>> {
        finite_vector("report", report, self.size())?;
        let rest = (1.0 - correlation.second) / (self.size() - 1) as f64;
        let second = 1.0 / (correlation.second - rest);
        let (a, b) = (self.feature_weight / self.radius, self.reward_weight());
        let (x, s) = (&report[..self.free], report[self.free]);
        let mut sums = Vec::with_capacity(triangle(self.dimension) + self.dimension);
        for row in 0..self.free {
            let scale = second / (a * a);
            sums.push((x[row] * x[row] - rest) * scale);
            sums.extend(x[row + 1..].iter().map(|column| x[row] * column * scale));
            sums.extend(self.intercept.map(|c| c * x[row] / (correlation.first * a)));
        }
        sums.extend(self.intercept.map(|c| c * c));
        sums.extend(x.iter().map(|x| x * s * second / (a * b)));
        sums.extend(self.intercept.map(|c| c * s / (correlation.first * b)));
        Ok(sums)
    }

    /// The privacy event of one report.
    pub fn event(&self) -> Event {
        self.unit.event()
    }

    /// Correlation of reports with the truth.
    pub fn correlation(&self) -> Correlation {
        self.unit.correlation()
    }

    /// The noise of one estimate, spread over the matrix as GOE noise is, with twice the variance on the diagonal:
    /// `E ||V V^T||_F^2 = 1` less the square of its mean, `s_2^2 + (D - 1) c^2`, is `D (D + 1)` times the variance of an entry off the diagonal.
    pub fn precision(&self) -> Precision {
        let size = self.size() as f64;
        let Correlation { second, .. } = self.correlation();
        let rest = (1.0 - second) / (size - 1.0);
        let total = (1.0 - second * second - (size - 1.0) * rest * rest).max(0.0);
        let deviation = (total / (size * (size + 1.0))).sqrt() / (second - rest);
        let (a, b) = (self.feature_weight / self.radius, self.reward_weight());
        Precision { matrix: deviation / (a * a), vector: deviation / (a * b) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        noise::check::mean_alarm, randomize::second_moment::exact, release::testing::Seeded,
    };

    fn cases() -> [(Bounds, Vec<f64>); 4] {
        let ball = Bounds::unit(2);
        let sphere = Bounds { unit_arms: true, ..ball };
        let centred = Bounds { intercept: Some(0.6), ..Bounds::unit(3) };
        let both = Bounds { unit_arms: true, ..centred };
        [
            (ball, vec![0.3, -0.5]),
            (sphere, vec![0.6, -0.8]),
            (centred, vec![0.3, -0.4, 0.6]),
            (both, vec![0.64, -0.48, 0.6]),
        ]
    }

    #[test]
    fn estimates_are_unbiased_padded_or_not_with_and_without_an_intercept() {
        let mut noise = Seeded(10);
        let makers: [fn(&Bounds, f64) -> Result<UnitPair>; 2] = [UnitPair::new, UnitPair::of_axis];
        let both = makers.into_iter().flat_map(|make| cases().map(|case| (make, case)));
        for (make, (bounds, x)) in both {
            let randomizer = make(&bounds, 5.0).unwrap();
            let clipped = bounds.clip(&x, 0.5).unwrap();
            let truth = exact(&x, 0.5);
            let count = 60_000;
            let draws: Vec<Vec<f64>> = (0..count)
                .map(|_| {
                    let report = randomizer.randomize(&clipped, &mut noise).unwrap();
                    randomizer.estimate(&report, randomizer.correlation()).unwrap()
                })
                .collect();
            for (i, truth) in truth.iter().enumerate() {
                let mean = draws.iter().map(|v| v[i]).sum::<f64>() / f64::from(count);
                let square = draws.iter().map(|v| (v[i] - mean).powi(2)).sum::<f64>();
                let spread = (square / f64::from(count)).sqrt() + 1e-9;
                let values = || draws.iter().map(|v| v[i]);
                assert!(!mean_alarm(values(), *truth, spread), "{bounds:?} {i}: {mean} {truth}");
            }
            // Planted: c I not taken off.
            let rest = (1.0 - randomizer.correlation().second)
                / (randomizer.size() - 1) as f64
                / randomizer.correlation().second;
            let biased = draws.iter().map(|v| v[0] + rest);
            assert!(mean_alarm(biased, truth[0], 1.0), "{bounds:?}");
        }
    }

    #[test]
    fn an_intercept_saves_a_dimension_and_noise() {
        let plain = Bounds { unit_arms: true, ..Bounds::unit(5) };
        let centred = Bounds { intercept: Some(0.5_f64.sqrt()), ..plain };
        let with = UnitPair::new(&centred, 10.0).unwrap();
        let without = UnitPair::new(&plain, 10.0).unwrap();
        assert_eq!((with.size(), without.size()), (5, 6));
        assert!(with.precision().vector < without.precision().vector);
    }

    #[test]
    fn the_stated_noise_is_near_the_measured_one() {
        let bounds = Bounds { unit_arms: true, ..Bounds::unit(5) };
        let randomizer = UnitPair::new(&bounds, 1.0).unwrap();
        let x = [0.2_f64.sqrt(); 5];
        let clipped = bounds.clip(&x, 1.0).unwrap();
        let mut noise = Seeded(11);
        let mut squares = [0.0; 2];
        for _ in 0..20_000 {
            let report = randomizer.randomize(&clipped, &mut noise).unwrap();
            let sums = randomizer.estimate(&report, randomizer.correlation()).unwrap();
            squares[0] += (sums[1] - 0.2).powi(2) / 20_000.0;
            squares[1] += (sums[17] - 0.2_f64.sqrt()).powi(2) / 20_000.0;
        }
        let Precision { matrix, vector } = randomizer.precision();
        assert!((squares[0].sqrt() / matrix - 1.0).abs() < 0.1, "{squares:?} {matrix}");
        assert!((squares[1].sqrt() / vector - 1.0).abs() < 0.1, "{squares:?} {vector}");
    }

    #[test]
    fn hiding_the_side_saves_noise_and_costs_the_same() {
        let bounds = Bounds { unit_arms: true, ..Bounds::unit(5) };
        // By Simpson's rule on the density of the cosine.
        for (epsilon, saved) in [(1.0, 3.5295), (4.0, 1.4269), (8.0, 1.2004)] {
            let pair = UnitPair::new(&bounds, epsilon).unwrap();
            let axis = UnitPair::of_axis(&bounds, epsilon).unwrap();
            let ratio = pair.precision().vector / axis.precision().vector;
            assert!((ratio / saved - 1.0).abs() < 1e-4, "{epsilon}: {ratio}");
            let price = |event| crate::privacy::Accountant::price(&event).unwrap();
            for randomizer in [&pair, &axis] {
                let spent = price(randomizer.event()).epsilon(1e-12).unwrap();
                assert!((spent / epsilon - 1.0).abs() < 1e-6, "{spent}");
            }
        }
    }

    #[test]
    fn bad_input_is_refused() {
        let bounds = Bounds { unit_arms: true, ..Bounds::unit(2) };
        assert!(UnitPair::new(&bounds, 0.0).is_err());
        assert!(UnitPair::with_weight(&bounds, 1.0, 0.0).is_err());
        let randomizer = UnitPair::new(&bounds, 1.0).unwrap();
        assert!(randomizer.estimate(&[0.0; 2], randomizer.correlation()).is_err());
        // Clipped with other bounds: shorter than was promised.
        let short = Bounds::unit(2).clip(&[0.1, 0.1], 0.5).unwrap();
        assert!(randomizer.randomize(&short, &mut Seeded(1)).is_err());
    }
}
