//! PrivUnit: the best known local randomiser of unit vectors under pure differential privacy.
//!
//! References: Bhowmick, Duchi, Freudiger, Kapoor and Rogers, "Protection Against Reconstruction" (2018); Asi,
//! Feldman and Talwar, "Optimal Algorithms for Mean Estimation under Local Differential Privacy" (2022), who
//! show that no unbiased `epsilon`-DP randomiser of unit vectors has less variance than this one with the best
//! split.
//!
//! With probability `p` the report is uniform on the cap `{v : <v, u> >= gamma}` around the truth `u`, of
//! probability `q`; else uniform on the rest of the sphere. The densities are `p/q` and `(1-p)/(1-q)` whatever `u`,
//! so the guarantee is exactly `e^epsilon = p (1-q) / ((1-p) q)`.
//!
//! **Best split.** With `A = E[t; t >= gamma]` ([`SphericalCap::first_moment`]) and `c = 1/(e^epsilon - 1)` the mean
//! correlation `m = E<V, u>` of a calibrated pair is `A / (q + c)`. As `A' = -gamma f` and `q' = -f`, it is
//! stationary where `gamma (q + c) = A`, that is, where `gamma = m`. The difference `gamma (q + c) - A` has
//! derivative `q + c > 0`: one root, found by bisection. The variance of `V / m` is `1/m^2 - 1`.
//!
//! **Exactness.** `p` is a double and its coin is exact. The cap is then fitted to `p`, so that the stated pair
//! `(p, q)` gives epsilon to about 1e-15; the cap's true probability is `q` to a relative 1e-13, in a million
//! dimensions 1e-11.
//! The point itself is drawn in doubles and rounded to a dyadic grid; `noise/grid.rs` states what that leaves open.

use super::Correlation;
use crate::{
    Result,
    noise::{Bernoulli, Noise, SphericalCap, grid::Grid, sphere::unit_vector},
    privacy::Event,
    refuse_if,
};

/// `1 - p` is kept above this, so that a double can hold `p`; it costs a variance of less than 1e-11.
const LEAST_OUTSIDE: f64 = 1.0 / (1_u64 << 40) as f64;

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
    dimension: usize,
    /// The probability `q` the cap was fitted to.
    cap_probability: f64,
    cap: SphericalCap,
    inside: Bernoulli,
    mean_correlation: f64,
    second_correlation: f64,
    grid: Grid,
}

impl PrivUnit {
    /// The largest epsilon. There is next to no noise left, and a larger budget is met by it too.
    pub const LARGEST_EPSILON: f64 = 256.0;

    /// The randomiser of unit vectors in `dimension >= 2` dimensions, for `epsilon` from 1e-6 to 256, with the
    /// split of least variance.
    pub fn new(dimension: usize, epsilon: f64) -> Result<Self> {
        let remedy = "give a number from 1e-6 to 256";
        refuse_if(!(1e-6..=Self::LARGEST_EPSILON).contains(&epsilon), "epsilon", epsilon, remedy)?;
        let fair = 1.0 / libm::expm1(epsilon);
        let best = height_where(dimension, |cap| {
            cap.threshold() * (cap.probability() + fair) < cap.first_moment()
        })?;
        let q = best.probability();
        let outside = (1.0 - q) / ((1.0 - q) + q * libm::exp(epsilon));
        let p = 1.0 - outside.max(LEAST_OUTSIDE);
        // From here on p is exact, and q follows from it: q / (1 - q) = e^-epsilon p / (1 - p).
        let q = p / (p + (1.0 - p) * libm::exp(epsilon));
        let cap = height_where(dimension, |cap| cap.probability() > q)?;
        PrivUnit::with_cap(dimension, cap, q, p)
    }

    /// The randomiser with a given cap of probability `q` and a given chance `p` to report inside it.
    fn with_cap(dimension: usize, cap: SphericalCap, q: f64, p: f64) -> Result<Self> {
        let (inside, outside) = (p / q, (1.0 - p) / (1.0 - q));
        // A mean of cosines is at most 1, also after rounding.
        let mean_correlation = (cap.first_moment() * (inside - outside)).min(1.0);
        let second = cap.second_moment();
        let second_correlation =
            inside * second + outside * (1.0 / dimension as f64 - second).max(0.0);
        let noise_scale = 1.0 / (mean_correlation * (dimension as f64).sqrt());
        Ok(PrivUnit {
            dimension,
            cap_probability: q,
            cap,
            inside: Bernoulli::new(p)?,
            mean_correlation,
            second_correlation,
            grid: Grid::for_noise_scale(noise_scale)?,
        })
    }

    /// An unbiased private report of `unit_vector`, of norm `1 / mean_correlation`.
    pub fn randomize<N: Noise + ?Sized>(
        &self,
        unit_vector: &[f64],
        noise: &mut N,
    ) -> Result<Vec<f64>> {
        let mut report = self.sample(unit_vector, noise)?;
        report.iter_mut().for_each(|v| *v = self.grid.round(*v / self.mean_correlation));
        Ok(report)
    }

    /// The report before it is divided by the mean correlation: a point of the sphere on a grid that does not tell epsilon.
    pub(crate) fn direction<N: Noise + ?Sized>(
        &self,
        unit_vector: &[f64],
        noise: &mut N,
    ) -> Result<Vec<f64>> {
        let grid = Grid::for_noise_scale(1.0 / (self.dimension as f64).sqrt())?;
        let mut point = self.sample(unit_vector, noise)?;
        point.iter_mut().for_each(|v| *v = grid.round(*v));
        Ok(point)
    }

    /// The report before debiasing and rounding: a unit vector.
    fn sample<N: Noise + ?Sized>(&self, truth: &[f64], noise: &mut N) -> Result<Vec<f64>> {
        let truth = unit_vector("unit_vector", truth, self.dimension)?;
        if self.inside.sample(noise) {
            self.cap.sample_inside(&truth, noise)
        } else {
            self.cap.sample_outside(&truth, noise)
        }
    }

    /// Entries of a report.
    pub(crate) fn dimension(&self) -> usize {
        self.dimension
    }

    /// A [`direction`](PrivUnit::direction) takes any one value with a chance of at most 2^-bits.
    ///
    /// Its grid has a unit of at most `2^-30/sqrt d`: points that are rounded alike are at most 2^-30 apart, a set that the uniform
    /// law on the sphere gives at most `2^(-30 (d - 1))` (a cap of angle t has `int_0^t sin^(d-2) / int_0^pi sin^(d-2) < t^(d-1)`), and no
    /// density here exceeds `p/q`.
    pub(crate) fn entropy_bits(&self) -> f64 {
        let density = self.inside.probability() / self.cap_probability;
        30.0 * (self.dimension - 1) as f64 - libm::log2(density)
    }

    /// The privacy event of one report.
    pub fn event(&self) -> Event {
        Event::PrivUnit { cap: self.cap_probability, inside: self.inside.probability() }
    }

    /// The level of pure local privacy, computed from the event: `ln(p (1-q) / ((1-p) q))`.
    pub fn epsilon(&self) -> f64 {
        let (p, q) = (self.inside.probability(), self.cap_probability);
        libm::log(p / (1.0 - p)) - libm::log(q / (1.0 - q))
    }

    /// `m = E<V, u>` for the unit vector `V` behind the report, which is `V / m`.
    pub fn mean_correlation(&self) -> f64 {
        self.mean_correlation
    }

    /// m, and `s_2 = E<V, u>^2`: with `c = (1 - s_2) / (d - 1)`, `(V V^T - c I) / (s_2 - c)` estimates `u u^T` without bias.
    pub fn correlation(&self) -> Correlation {
        Correlation { first: self.mean_correlation, second: self.second_correlation }
    }

    /// The mean squared distance of a report from the truth: `1/m^2 - 1`.
    pub fn variance(&self) -> f64 {
        let m = self.mean_correlation;
        (1.0 - m) * (1.0 + m) / (m * m)
    }
}

/// The cap of at most half the sphere at whose height `is_too_high`, which is false for low caps and true for high
/// ones, changes. Heights are halved geometrically, for they range over hundreds of powers of ten.
fn height_where(
    dimension: usize,
    is_too_high: impl Fn(&SphericalCap) -> bool,
) -> Result<SphericalCap> {
    let (mut low, mut high) = (1e-290_f64, 1.0_f64);
    loop {
        let middle = (low.sqrt() * high.sqrt()).clamp(low, high);
        if middle == low || middle == high {
            return SphericalCap::of_height(dimension, low);
        }
        if is_too_high(&SphericalCap::of_height(dimension, middle)?) {
            high = middle;
        } else {
            low = middle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{SecureNoise, check, uniform_direction};

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

    fn dot(left: &[f64], right: &[f64]) -> f64 {
        left.iter().zip(right).map(|(x, y)| x * y).sum()
    }

    /// Whether the stated pair gives epsilon, and the cap has the stated probability.
    fn is_calibrated(randomizer: &PrivUnit, epsilon: f64) -> bool {
        let fitted = randomizer.cap.probability() / randomizer.cap_probability;
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
        let fitted = huge.cap.probability() / huge.cap_probability;
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
                let other = PrivUnit::with_cap(dimension, cap, q, p);
                grid_best = other.map_or(grid_best, |other| grid_best.min(other.variance()));
            }
            // 1e-11 is what keeping 1 - p representable may cost.
            let gain = (best.variance() - grid_best - 1e-11) / (best.variance() + 1e-9);
            assert!(gain < 1e-9, "{dimension} {epsilon}: {} against {grid_best}", best.variance());
            assert!(gain > -1e-2, "{dimension} {epsilon}: the grid is too coarse to say");
            // At the optimum the threshold equals the mean correlation.
            assert!((best.cap.threshold() - best.mean_correlation()).abs() < 1e-6);
        }
    }

    /// Whether simulated correlations contradict the stated mean, second moment and calibration.
    fn alarm(stated: &PrivUnit, actual: &PrivUnit, noise: &mut SecureNoise) -> bool {
        let truth = uniform_direction(stated.dimension, noise);
        let draws: Vec<f64> =
            (0..60_000).map(|_| dot(&actual.sample(&truth, noise).unwrap(), &truth)).collect();
        let (m, s2) = (stated.mean_correlation(), stated.correlation().second);
        let p = stated.inside.probability();
        let threshold = stated.cap.threshold();
        let inside = draws.iter().filter(|&&t| t >= threshold - 1e-12).count() as u64;
        // The chance that a report about someone else falls into this cap: q, or the ratio is not e^epsilon.
        let elsewhere = (0..60_000)
            .filter(|_| dot(&uniform_direction(stated.dimension, noise), &truth) >= threshold)
            .count() as u64;
        let (q, all) = (stated.cap_probability, 60_000);
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
                other.unwrap().probability() > good.cap_probability
            });
            let p = good.inside.probability();
            let q = good.cap_probability;
            let wrong = PrivUnit::with_cap(dimension, wrong_q.unwrap(), q, p).unwrap();
            assert!(!is_calibrated(&wrong, epsilon));
            if dimension < 10 {
                // In more dimensions one more makes too little difference for this many draws.
                assert!(alarm(&wrong, &wrong, &mut noise), "{dimension} {epsilon}");
            }
            // A coin that is two parts in a hundred too kind to the truth.
            let kind = PrivUnit::with_cap(dimension, good.cap, q, p + 0.02).unwrap();
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
                let v = randomizer.sample(&truth, &mut noise).unwrap();
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
