//! The Gram matrix with GOE noise, and `x z` with Gaussian noise, of one person.
//!
//! ```text
//! x x^T + N,   x z + h        N: deviation s off the diagonal, sqrt 2 s on it;   h: deviation s / sqrt r
//! s = S(r) / mu,   S(r) = 1 + r for r <= 1, 2 sqrt r from there on (two dimensions or more)
//! ```
//!
//! for `|x| <= 1`, `|z| <= 1` (centred rewards, see `interaction`). The share r says how the budget is split; any r > 0 will do.
//!
//! **Joint sensitivity.** In units of the noise, replacing (x, z) by (x', z') moves the pair by
//! `D^2 = |x x^T - x' x'^T|_F^2 / 2 + r |x z - x' z'|^2`. With `p = |x|^2`, `q = |x'|^2`, `a = |<x, x'>|` the first term is
//! `(p^2 + q^2)/2 - a^2` and the second at most `r (p + q + 2a)`, so `D^2 <= 1 + 2r + 2ra - a^2` with `a <= 1`. For r <= 1 the
//! maximum is at a = r: `(1 + r)^2`. For r > 1 it is at a = 1: `4r`. Both are attained: by unit vectors with
//! `<x, x'> = min(r, 1)` and opposite rewards, in two dimensions or more. In one dimension S is smaller, `2 sqrt r` from r = 0.1804 on:
//! see `release/domain.rs`.
//!
//! The two parts alone have sensitivities 1 and `2 sqrt r`. Calibrating to the larger one, as if the parts were released about
//! different people, is the mistake the tests below catch.
//!
//! With blocks of parameters (`release::Structure`) x has zeros outside its block: the same bound, and noise on the kept entries of all.
//!
//! In other words: with equal noise on both parts (r = 1 when rewards fill [-1, 1]) the sensitivity is 2; rewards in [0, 1]
//! centred at 1/2 are `z/2`, equal noise then is r = 1/4 and 1.25; weight w on the matrix, r = 1/(4 w^2), gives `w S = w + 1/(4w)`,
//! 1.017 at w = 0.6.

use super::{Interaction, Precision};
use crate::{
    Result,
    noise::Noise,
    privacy::Event,
    release::{Calibration, Domain, SingleRelease, Structure},
};

/// A calibrated Gaussian report of `x x^T` and `x z`.
///
/// ```
/// use reticent::{noise::SecureNoise, randomize::{Bounds, GramGaussian}, release::Calibration};
/// let budget = Calibration::Budget { epsilon: 1.0, delta: 1e-5 };
/// let randomizer = GramGaussian::new(2, GramGaussian::DEFAULT_SPLIT, budget)?;
/// let clipped = Bounds::unit(2).clip(&[0.6, 0.8], 1.0)?;
/// let report = randomizer.randomize(&clipped, &mut SecureNoise::from_system()?)?;
/// assert_eq!(report.len(), 3 + 2);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct GramGaussian {
    pub(super) domain: Domain,
    /// The deviation off the diagonal of the matrix.
    pub(super) off_diagonal: f64,
    pub(super) mechanism: SingleRelease,
}

impl GramGaussian {
    /// r = 1/(4 * 0.6^2): weight 0.6 on the matrix when rewards are 0 and 1.
    pub const DEFAULT_SPLIT: f64 = 0.694;

    /// The mechanism for arms of `dimension` features; `split` is r.
    pub fn new(dimension: usize, split: f64, calibration: Calibration) -> Result<Self> {
        GramGaussian::in_blocks(dimension, Structure::DENSE, split, calibration)
    }

    /// The same for arms of blocks of parameters: there is noise on all blocks, so that a report does not tell the arm's.
    pub fn in_blocks(
        dimension: usize,
        structure: Structure,
        split: f64,
        calibration: Calibration,
    ) -> Result<Self> {
        let (feature_bound, reward_bound) = (1.0, 1.0);
        let domain =
            Domain::Regression { dimension, feature_bound, reward_bound, split, structure };
        let mechanism = SingleRelease::of_domain(domain.clone(), calibration)?;
        // The first entry lies on the diagonal.
        let off_diagonal = mechanism.deviations()[0] / std::f64::consts::SQRT_2;
        Ok(GramGaussian { domain, off_diagonal, mechanism })
    }

    /// The noisy upper triangle by rows, then the noisy vector.
    pub fn randomize<N: Noise>(
        &self,
        interaction: &Interaction,
        noise: &mut N,
    ) -> Result<Vec<f64>> {
        interaction.expect(self.domain.dimension())?;
        let (block, features) = (interaction.block(), interaction.features());
        self.mechanism.regression(block, features, interaction.reward(), noise)
    }

    /// The report is its own estimate.
    pub fn estimate(&self, report: &[f64]) -> Result<Vec<f64>> {
        crate::error::finite_vector("report", report, self.domain.coordinates())?;
        Ok(report.to_vec())
    }

    /// The privacy event of one report.
    pub fn event(&self) -> Event {
        self.mechanism.event()
    }

    /// The noise of one report.
    pub fn precision(&self) -> Precision {
        let vector = self.mechanism.deviations()[self.domain.matrix_coordinates()];
        Precision { matrix: self.off_diagonal, vector }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::randomize::{
        Bounds,
        second_moment::exact,
        testing::{Echo, largest_distance, noise_alarm},
    };
    use crate::release::testing::{Seeded, Silent};

    /// Deviations of noise per coordinate.
    fn deviations(d: usize, precision: Precision) -> Vec<f64> {
        let mut all = Vec::new();
        for row in 0..d {
            all.push(precision.matrix * 2f64.sqrt());
            all.extend(std::iter::repeat_n(precision.matrix, d - row - 1));
        }
        all.extend(std::iter::repeat_n(precision.vector, d));
        all
    }

    #[test]
    fn the_stated_sensitivity_is_the_maximum_and_that_of_the_parts_is_not() {
        for (d, split) in
            [(1, 0.05), (1, 0.694), (2, 0.1), (2, 0.694), (3, 1.0), (2, 2.5), (5, 0.4)]
        {
            let mu = 0.9;
            let randomizer = GramGaussian::new(d, split, Calibration::Mu(mu)).unwrap();
            let deviations = deviations(d, randomizer.precision());
            let largest = largest_distance(d, &deviations, exact);
            // Noise is calibrated to what the search finds, to its accuracy: neither less nor needlessly more.
            assert!(largest <= mu * (1.0 + 1e-9), "{d} {split}: {largest}");
            assert!(largest > mu * 0.999, "{d} {split}: {largest}");
            // The planted mistake: noise for the larger of the two parts' own sensitivities.
            let parts = f64::max(1.0, 2.0 * split.sqrt());
            let stated = if split <= 1.0 { 1.0 + split } else { 2.0 * split.sqrt() };
            let smaller: Vec<f64> = deviations.iter().map(|s| s * parts / stated).collect();
            if split < 1.0 && d > 1 {
                assert!(largest_distance(d, &smaller, exact) > mu * 1.01, "{d} {split}");
            }
        }
    }

    #[test]
    fn the_weights_of_the_notes() {
        // Rewards in [0, 1] centred: z/2. Sensitivity in units of the noise on x (y - 1/2).
        for (weight, sensitivity) in [(1.0, 1.25), (0.6, 1.0166667)] {
            let split = 1.0 / (4.0 * weight * weight);
            let randomizer = GramGaussian::new(2, split, Calibration::Mu(1.0)).unwrap();
            let noise = 0.5 * randomizer.precision().vector;
            assert!((noise / sensitivity - 1.0).abs() < 1e-6, "{noise}");
        }
        let equal = GramGaussian::new(2, 1.0, Calibration::Mu(1.0)).unwrap().precision();
        assert!((equal.vector - 2.0).abs() < 1e-6 && (equal.matrix - 2.0).abs() < 1e-6);
    }

    #[test]
    fn noise_is_as_stated_in_every_coordinate_and_independent() {
        let budget = Calibration::Budget { epsilon: 1.0, delta: 1e-3 };
        let randomizer = GramGaussian::new(2, 0.694, budget).unwrap();
        let clipped = Bounds::unit(2).clip(&[0.6, -0.8], 0.5).unwrap();
        let truth = exact(&[0.6, -0.8], 0.5);
        let deviations = deviations(2, randomizer.precision());
        let mut seeded = Seeded(3);
        let mut draw = || randomizer.randomize(&clipped, &mut seeded).unwrap();
        assert!(!noise_alarm(&truth, &deviations, &mut draw));
        let mut echo = Echo::new(Seeded(3));
        let mut shared = || randomizer.randomize(&clipped, &mut echo).unwrap();
        assert!(noise_alarm(&truth, &deviations, &mut shared), "a shared draw went unnoticed");
    }

    #[test]
    fn what_is_requested_is_what_holds() {
        for (epsilon, delta) in [(0.2, 0.1), (1.0, 1e-5), (10.0, 1e-6)] {
            let budget = Calibration::Budget { epsilon, delta };
            let event = GramGaussian::new(5, 0.694, budget).unwrap().event();
            let held = crate::privacy::Accountant::price(&event).unwrap().epsilon(delta).unwrap();
            assert!(held <= epsilon * (1.0 + 1e-9) && held > epsilon * (1.0 - 1e-6), "{held}");
        }
    }

    #[test]
    fn without_noise_the_data_remain_and_bad_input_is_refused() {
        let randomizer = GramGaussian::new(2, 0.694, Calibration::Mu(1.0)).unwrap();
        let clipped = Bounds::unit(2).clip(&[0.6, -0.8], 0.5).unwrap();
        let report = randomizer.randomize(&clipped, &mut Silent).unwrap();
        for (noisy, exact) in report.iter().zip(exact(&[0.6, -0.8], 0.5)) {
            assert!((noisy - exact).abs() < 1e-6);
        }
        let other = Bounds::unit(3).clip(&[0.6, -0.8, 0.0], 0.5).unwrap();
        assert!(randomizer.randomize(&other, &mut Silent).is_err());
        assert!(randomizer.estimate(&[0.0; 4]).is_err());
        assert!(randomizer.estimate(&[f64::NAN; 5]).is_err());
        for split in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(GramGaussian::new(2, split, Calibration::Mu(1.0)).is_err());
        }
        assert!(GramGaussian::new(2, 0.5, Calibration::Mu(0.0)).is_err());
        let budget = Calibration::Budget { epsilon: -1.0, delta: 0.1 };
        assert!(GramGaussian::new(2, 0.5, budget).is_err());
    }
}
