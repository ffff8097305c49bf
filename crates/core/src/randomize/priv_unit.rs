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
//! `(p, q)` gives epsilon to about 1e-15; the cap's true probability is the computed `q` to about 1e-13 relative.
//! The point itself is drawn in doubles and rounded to a dyadic grid; [`grid`](crate::noise) states what that leaves.

use crate::{
    Error, Result,
    noise::{Bernoulli, Noise, SphericalCap, grid::Grid, sphere::unit_vector},
    privacy::Event,
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
    /// The randomiser of unit vectors in `dimension >= 2` dimensions, for `epsilon` from 1e-6 to 256, with the
    /// split of least variance.
    pub fn new(dimension: usize, epsilon: f64) -> Result<Self> {
        if !(1e-6..=256.0).contains(&epsilon) {
            return Err(Error::invalid("epsilon", epsilon, "give a number from 1e-6 to 256"));
        }
        let fair = 1.0 / epsilon.exp_m1();
        let best = height_where(dimension, |cap| {
            cap.threshold() * (cap.probability() + fair) < cap.first_moment()
        })?;
        let q = best.probability();
        let outside = (1.0 - q) / ((1.0 - q) + q * epsilon.exp());
        let p = 1.0 - outside.max(LEAST_OUTSIDE);
        // From here on p is exact, and q follows from it: q / (1 - q) = e^-epsilon p / (1 - p).
        let q = p / (p + (1.0 - p) * epsilon.exp());
        let cap = height_where(dimension, |cap| cap.probability() > q)?;
        PrivUnit::with_cap(dimension, cap, q, p)
    }

    /// The randomiser with a given cap of probability `q` and a given chance `p` to report inside it.
    fn with_cap(dimension: usize, cap: SphericalCap, q: f64, p: f64) -> Result<Self> {
        let (inside, outside) = (p / q, (1.0 - p) / (1.0 - q));
        let mean_correlation = cap.first_moment() * (inside - outside);
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

    /// The report before debiasing and rounding: a unit vector.
    fn sample<N: Noise + ?Sized>(&self, truth: &[f64], noise: &mut N) -> Result<Vec<f64>> {
        let truth = unit_vector("unit_vector", truth, self.dimension)?;
        if self.inside.sample(noise) {
            self.cap.sample_inside(&truth, noise)
        } else {
            self.cap.sample_outside(&truth, noise)
        }
    }

    /// What one report tells the accountant.
    pub fn event(&self) -> Event {
        Event::PrivUnit { cap: self.cap_probability, inside: self.inside.probability() }
    }

    /// The level of pure local privacy, computed from the event: `ln(p (1-q) / ((1-p) q))`.
    pub fn epsilon(&self) -> f64 {
        let (p, q) = (self.inside.probability(), self.cap_probability);
        (p / (1.0 - p)).ln() - (q / (1.0 - q)).ln()
    }

    /// `m = E<V, u>` for the unit vector `V` behind the report, which is `V / m`.
    pub fn mean_correlation(&self) -> f64 {
        self.mean_correlation
    }

    /// `s_2 = E<V, u>^2`: with `c = (1 - s_2) / (d - 1)`, `(V V^T - c I) / (s_2 - c)` estimates `u u^T` without bias.
    pub fn second_correlation(&self) -> f64 {
        self.second_correlation
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
