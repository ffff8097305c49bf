//! The message of Zheng, Cai, Huang, Li and Wang, "Locally Differentially Private (Contextual) Bandits Learning" (2020).
//!
//! ```text
//! x x^T + N,   x y + h        N symmetric, its upper triangle of one deviation s, diagonal included;   h: deviation s
//! ```
//!
//! **Joint sensitivity.** With `|x| <= 1`, `|y| <= 1` the triangle moves by `(F^2 + G^2)/2`, where F is the Frobenius norm of
//! `x x^T - x' x'^T` and `G <= F` that of its diagonal. With `p, q, a` as in `gram_gaussian`, the pair moves by at most
//! `p^2 + q^2 - 2a^2 + p + q + 2a <= 4 + 2a - 2a^2 <= 4.5`: the sensitivity is `sqrt 4.5`, attained by `x = (c, s)`,
//! `x' = (s, c)` with `2cs = 1/2` and opposite rewards; in one dimension it is a bound that nobody attains. Signs are free, so rewards in [0, 1] do no better: take -x'.
//!
//! GOE noise of the same deviation off the diagonal costs 2 in place of 2.12 and disturbs the matrix as a whole
//! hardly more, which is why nothing but the comparison uses this one.

use super::{Correlation, Interaction, Precision};
use crate::{
    Result,
    linalg::triangle,
    noise::Noise,
    privacy::Event,
    release::{Calibration, Domain, SingleRelease},
};

/// A calibrated report of `x x^T` and `x y` with one deviation for all of it.
#[derive(Debug, Clone, PartialEq)]
pub struct TriangleGaussian {
    dimension: usize,
    mechanism: SingleRelease,
}

impl TriangleGaussian {
    /// `sqrt 4.5`.
    pub const SENSITIVITY: f64 = 2.121_320_343_559_642_4;

    /// The mechanism for arms of `dimension` features.
    pub fn new(dimension: usize, calibration: Calibration) -> Result<Self> {
        let domain = Domain::Regression {
            dimension,
            feature_bound: 1.0,
            reward_bound: 1.0,
            split: 1.0,
            structure: Default::default(),
        };
        domain.check()?;
        let ratios = vec![1.0; domain.coordinates()];
        let mechanism = SingleRelease::new(domain, &ratios, Self::SENSITIVITY, calibration)?;
        Ok(TriangleGaussian { dimension, mechanism })
    }

    /// The noisy upper triangle by rows, then the noisy vector.
    pub fn randomize<N: Noise>(
        &self,
        interaction: &Interaction,
        noise: &mut N,
    ) -> Result<Vec<f64>> {
        interaction.expect(self.dimension)?;
        self.mechanism.regression(0, interaction.features(), interaction.reward(), noise)
    }

    /// The report is its own estimate.
    pub fn estimate(&self, report: &[f64]) -> Result<Vec<f64>> {
        crate::error::finite_vector("report", report, triangle(self.dimension) + self.dimension)?;
        Ok(report.to_vec())
    }

    /// What one report tells the accountant.
    pub fn event(&self) -> Event {
        self.mechanism.event()
    }

    /// What adds the noise.
    pub(crate) fn mechanism(&self) -> &SingleRelease {
        &self.mechanism
    }

    /// Additive noise leaves the truth whole.
    pub fn correlation(&self) -> Correlation {
        Correlation::WHOLE
    }

    /// The noise of one report.
    pub fn precision(&self) -> Precision {
        let deviation = self.mechanism.deviations()[0];
        Precision { matrix: deviation, vector: deviation }
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
    use crate::release::testing::Seeded;

    #[test]
    fn the_stated_sensitivity_is_the_maximum_and_that_of_the_parts_is_not() {
        for d in [2, 3, 5] {
            let randomizer = TriangleGaussian::new(d, Calibration::Mu(1.0)).unwrap();
            let deviation = randomizer.precision().vector;
            let deviations = vec![deviation; triangle(d) + d];
            let largest = largest_distance(d, &deviations, exact);
            assert!(largest <= 1.0 + 1e-9 && largest > 0.999, "{d}: {largest}");
            // Planted: sqrt 2 for the triangle and 2 for the vector, hence 2 for both.
            let smaller = vec![deviation * 2.0 / TriangleGaussian::SENSITIVITY; triangle(d) + d];
            assert!(largest_distance(d, &smaller, exact) > 1.02);
        }
    }

    #[test]
    fn noise_is_as_stated_and_no_draw_is_shared() {
        let randomizer = TriangleGaussian::new(2, Calibration::Mu(0.5)).unwrap();
        let clipped = Bounds::unit(2).clip(&[0.28, 0.96], -1.0).unwrap();
        let truth = exact(&[0.28, 0.96], -1.0);
        let deviations = vec![randomizer.precision().vector; 5];
        let mut seeded = Seeded(4);
        assert!(!noise_alarm(&truth, &deviations, &mut || {
            randomizer.randomize(&clipped, &mut seeded).unwrap()
        }));
        let mut echo = Echo::new(Seeded(4));
        assert!(noise_alarm(&truth, &deviations, &mut || {
            randomizer.randomize(&clipped, &mut echo).unwrap()
        }));
    }

    #[test]
    fn bad_input_is_refused() {
        assert!(TriangleGaussian::new(0, Calibration::Mu(1.0)).is_err());
        assert!(TriangleGaussian::new(2, Calibration::Mu(f64::NAN)).is_err());
        let randomizer = TriangleGaussian::new(2, Calibration::Mu(1.0)).unwrap();
        let other = Bounds::unit(1).clip(&[0.6], 0.5).unwrap();
        assert!(randomizer.randomize(&other, &mut Seeded(1)).is_err());
        assert!(randomizer.estimate(&[1.0]).is_err());
    }
}
