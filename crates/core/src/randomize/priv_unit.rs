//! PrivUnit: the best known local randomiser of unit vectors under pure differential privacy.
//!
//! References: Bhowmick, Duchi, Freudiger, Kapoor and Rogers, "Protection Against Reconstruction" (2018); Asi,
//! Feldman and Talwar, "Optimal Algorithms for Mean Estimation under Local Differential Privacy" (2022), who
//! show that no unbiased `epsilon`-DP randomiser of unit vectors has less variance than this one with the best
//! split.
//!
//! The report is a point of one cap around the truth with probability p, else of the rest of the sphere, divided by its mean correlation `m = E<V, u>` with the truth: `cap_randomizer` has
//! the calibration. The variance of `V / m` is `1/m^2 - 1`.

use super::{
    Correlation,
    cap_randomizer::{CapRandomizer, Caps, LARGEST_EPSILON},
};
use crate::{
    Result,
    noise::{Noise, grid::Grid},
    privacy::Event,
};

/// A calibrated PrivUnit randomiser.
///
/// ```
/// use reticent::{noise::SecureNoise, randomize::PrivUnit};
/// let randomizer = PrivUnit::new(3, 2.0)?;
/// let report = randomizer.randomize(&[0.6, 0.0, -0.8], &mut SecureNoise::from_system()?)?;
/// let norm = report.iter().map(|x| x * x).sum::<f64>().sqrt();
/// assert!((norm * randomizer.mean_correlation() - 1.0).abs() < 1e-8);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrivUnit {
    pub(super) caps: CapRandomizer,
    grid: Grid,
}

impl PrivUnit {
    /// The largest epsilon. There is next to no noise left, and a larger budget is met by it too.
    pub const LARGEST_EPSILON: f64 = LARGEST_EPSILON;

    /// The randomiser of unit vectors in `dimension >= 2` dimensions, for `epsilon` from 1e-6 to 256, with the
    /// split of least variance.
    pub fn new(dimension: usize, epsilon: f64) -> Result<Self> {
        PrivUnit::of(CapRandomizer::new(dimension, epsilon, Caps::One)?)
    }

    fn of(caps: CapRandomizer) -> Result<Self> {
        let noise_scale = 1.0 / (caps.correlation().first * (caps.dimension() as f64).sqrt());
        Ok(PrivUnit { caps, grid: Grid::for_noise_scale(noise_scale)? })
    }

    /// An unbiased private report of `unit_vector`, of norm `1 / mean_correlation`.
    pub fn randomize<N: Noise + ?Sized>(
        &self,
        unit_vector: &[f64],
        noise: &mut N,
    ) -> Result<Vec<f64>> {
        let (mut report, m) = (self.caps.sample(unit_vector, noise)?, self.mean_correlation());
        report.iter_mut().for_each(|v| *v = self.grid.round(*v / m));
        Ok(report)
    }

    /// The report before it is divided by the mean correlation: a point of the sphere on a grid that does not tell epsilon.
    pub(crate) fn direction<N: Noise + ?Sized>(
        &self,
        unit_vector: &[f64],
        noise: &mut N,
    ) -> Result<Vec<f64>> {
        self.caps.direction(unit_vector, noise)
    }

    /// The privacy event of one report.
    pub fn event(&self) -> Event {
        self.caps.event()
    }

    /// The level of pure local privacy, computed from the event: `ln(p (1-q) / ((1-p) q))`.
    pub fn epsilon(&self) -> f64 {
        self.caps.epsilon()
    }

    /// `m = E<V, u>` for the unit vector `V` behind the report, which is `V / m`.
    pub fn mean_correlation(&self) -> f64 {
        self.caps.correlation().first
    }

    /// m, and `s_2 = E<V, u>^2`: with `c = (1 - s_2) / (d - 1)`, `(V V^T - c I) / (s_2 - c)` estimates `u u^T` without bias.
    pub fn correlation(&self) -> Correlation {
        self.caps.correlation()
    }

    /// The mean squared distance of a report from the truth: `1/m^2 - 1`.
    pub fn variance(&self) -> f64 {
        let m = self.mean_correlation();
        (1.0 - m) * (1.0 + m) / (m * m)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        noise::{SecureNoise, SphericalCap, check, uniform_direction},
        randomize::cap_randomizer::height_where,
    };

    const CASES: [(usize, f64); 12] = [
        (2, 1e-3),
        (2, 1.0),
        (2, 100.0),
        (3, 0.5),
        (6, 5.0),
        (20, 1e-3),
        (20, 1.0),
        (20, 8.0),
        (20, 100.0),
        (1000, 3.0),
        (10_000, 1e-3),
        (10_000, 100.0),
    ];

    /// The randomiser with another cap, or another chance to report inside it.
    fn with_cap(dimension: usize, cap: SphericalCap, q: f64, p: f64) -> Result<PrivUnit> {
        PrivUnit::of(CapRandomizer::with_cap(dimension, Caps::One, cap, q, p)?)
    }

    fn dot(left: &[f64], right: &[f64]) -> f64 {
        left.iter().zip(right).map(|(x, y)| x * y).sum()
    }

    /// Returns whether the stated pair gives epsilon, and the cap has the stated probability.
    fn is_calibrated(randomizer: &PrivUnit, epsilon: f64) -> bool {
        let fitted = randomizer.caps.cap.probability() / randomizer.caps.cap_probability;
        (randomizer.epsilon() - epsilon).abs() < 1e-12 * epsilon.max(1.0)
            && (fitted - 1.0).abs() < 1e-12
            && randomizer.event().check().is_ok()
    }

    #[test]
    fn the_pair_gives_epsilon_and_the_cap_has_its_probability() {
        for (dimension, epsilon) in CASES {
            let randomizer = PrivUnit::new(dimension, epsilon).unwrap();
            assert!(is_calibrated(&randomizer, epsilon), "{dimension} {epsilon}");
        }
        // In a million dimensions one unit in the last place of the height moves q by 5e-13.
        let huge = PrivUnit::new(1_000_000, 10.0).unwrap();
        let fitted = huge.caps.cap.probability() / huge.caps.cap_probability;
        assert!((fitted - 1.0).abs() < 1e-11, "{fitted}");
    }

    #[test]
    fn no_other_split_has_less_variance() {
        for (dimension, epsilon) in CASES {
            let best = PrivUnit::new(dimension, epsilon).unwrap();
            let mut grid_best = f64::INFINITY;
            for step in 1..4000 {
                let height = (-60.0 * (f64::from(step) / 4000.0).powi(3)).exp();
                let cap = SphericalCap::of_height(dimension, height).unwrap();
                let q = cap.probability();
                if q < 1e-250 {
                    break;
                }
                let p = q / (q + (1.0 - q) * (-epsilon).exp());
                let other = with_cap(dimension, cap, q, p);
                grid_best = other.map_or(grid_best, |other| grid_best.min(other.variance()));
            }
            // 1e-11 is what keeping 1 - p representable may cost.
            let gain = (best.variance() - grid_best - 1e-11) / (best.variance() + 1e-9);
            assert!(gain < 1e-9, "{dimension} {epsilon}: {} against {grid_best}", best.variance());
            assert!(gain > -1e-2, "{dimension} {epsilon}: the grid is too coarse to say");
            // At the optimum the threshold equals the mean correlation.
            assert!((best.caps.cap.threshold() - best.mean_correlation()).abs() < 1e-6);
        }
    }

    /// Returns whether simulated correlations contradict the stated mean, second moment and calibration.
    fn alarm(stated: &PrivUnit, actual: &PrivUnit, noise: &mut SecureNoise) -> bool {
        let truth = uniform_direction(stated.caps.dimension, noise);
        let draws: Vec<f64> =
            (0..60_000).map(|_| dot(&actual.caps.sample(&truth, noise).unwrap(), &truth)).collect();
        let (m, s2) = (stated.mean_correlation(), stated.correlation().second);
        let p = stated.caps.inside.probability();
        let threshold = stated.caps.cap.threshold();
        let inside = draws.iter().filter(|&&t| t >= threshold - 1e-12).count() as u64;
        // The chance that a report about another person falls into this cap: q, or the ratio is not e^epsilon.
        let elsewhere = (0..60_000)
            .filter(|_| dot(&uniform_direction(stated.caps.dimension, noise), &truth) >= threshold)
            .count() as u64;
        let (q, all) = (stated.caps.cap_probability, 60_000);
        check::mean_alarm(draws.iter().copied(), m, (s2 - m * m).max(1e-18).sqrt())
            // t^2 lies in [0, 1], so its variance is at most s2 - s2^2.
            || check::mean_alarm(draws.iter().map(|t| t * t), s2, (s2 - s2 * s2).sqrt())
            || check::chi_square_alarm(&[inside, all - inside], &[p, 1.0 - p])
            || check::chi_square_alarm(&[elsewhere, all - elsewhere], &[q, 1.0 - q])
    }

    #[test]
    fn simulation_agrees_and_planted_miscalibrations_do_not() {
        let mut noise = SecureNoise::seeded(40);
        for (dimension, epsilon) in [(2, 1.0), (3, 0.5), (6, 4.0), (20, 1.0)] {
            let good = PrivUnit::new(dimension, epsilon).unwrap();
            assert!(!alarm(&good, &good, &mut noise), "{dimension} {epsilon}");
            // The cap's probability taken from another dimension: the formula with d in place of d - 1.
            let wrong_q = height_where(dimension, |cap| {
                let other = SphericalCap::of_height(dimension + 1, 1.0 - cap.threshold());
                other.unwrap().probability() > good.caps.cap_probability
            });
            let p = good.caps.inside.probability();
            let q = good.caps.cap_probability;
            let wrong = with_cap(dimension, wrong_q.unwrap(), q, p).unwrap();
            assert!(!is_calibrated(&wrong, epsilon));
            if dimension < 10 {
                // In more dimensions one more makes too little difference for this many draws.
                assert!(alarm(&wrong, &wrong, &mut noise), "{dimension} {epsilon}");
            }
            // A coin that is two parts in a hundred too kind to the truth.
            let kind = with_cap(dimension, good.caps.cap, q, p + 0.02).unwrap();
            assert!(alarm(&good, &kind, &mut noise), "{dimension} {epsilon}");
        }
    }

    #[test]
    fn reports_are_unbiased_and_on_the_grid() {
        let mut noise = SecureNoise::seeded(41);
        let randomizer = PrivUnit::new(4, 1.0).unwrap();
        let truth = [0.5, -0.5, 0.5, -0.5];
        let draws: Vec<Vec<f64>> =
            (0..100_000).map(|_| randomizer.randomize(&truth, &mut noise).unwrap()).collect();
        let spread = randomizer.variance().sqrt();
        for (index, &expected) in truth.iter().enumerate() {
            assert!(!check::mean_alarm(draws.iter().map(|v| v[index]), expected, spread));
            // Planted: not divided by the mean correlation.
            let biased = draws.iter().map(|v| v[index] * randomizer.mean_correlation());
            assert!(check::mean_alarm(biased, expected, spread * randomizer.mean_correlation()));
        }
        assert!(draws[0].iter().all(|&v| v == randomizer.grid.round(v)));
    }

    #[test]
    fn the_estimate_of_the_outer_product_is_unbiased() {
        let mut noise = SecureNoise::seeded(42);
        let randomizer = PrivUnit::new(6, 2.0).unwrap();
        let truth = uniform_direction(6, &mut noise);
        let s2 = randomizer.correlation().second;
        let rest = (1.0 - s2) / 5.0;
        for (row, column) in [(0, 0), (0, 1), (3, 5)] {
            let diagonal = if row == column { rest } else { 0.0 };
            let estimates = (0..60_000).map(|_| {
                let v = randomizer.caps.sample(&truth, &mut noise).unwrap();
                v[row] * v[column] - diagonal
            });
            let expected = truth[row] * truth[column] * (s2 - rest);
            assert!(!check::mean_alarm(estimates, expected, 0.3));
        }
    }

    #[test]
    fn bad_inputs_are_refused() {
        let mut noise = SecureNoise::seeded(43);
        assert!(PrivUnit::new(1, 1.0).is_err());
        for epsilon in [0.0, -1.0, 1e-9, 1e3, f64::NAN] {
            assert!(PrivUnit::new(3, epsilon).is_err());
        }
        let randomizer = PrivUnit::new(2, 1.0).unwrap();
        assert!(randomizer.randomize(&[1.0], &mut noise).is_err());
        assert!(randomizer.randomize(&[1.0, 1e-4], &mut noise).is_err());
        assert!(randomizer.randomize(&[f64::NAN, 1.0], &mut noise).is_err());
        assert!(randomizer.randomize(&[1.0 + 1e-10, 0.0], &mut noise).is_ok());
    }
}
