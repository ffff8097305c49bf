//! PrivUnit on `x z` alone: for exploration, where the Gram matrix is known because arms are drawn from a public law.
//!
//! ```text
//! V = PrivUnit(x z),   estimate of x z: V / m        d dimensions in place of d(d+1)/2 + d
//! ```
//!
//! In an exploration phase people draw their arm from a law that does not depend on any person's data. Then `E x x^T = Sigma` is
//! public, nothing about it needs to be reported, and `Sigma^-1 mean(x z)` estimates the parameter.

use super::{Correlation, Interaction, Precision, PrivUnit, second_moment::on_the_sphere};
use crate::{Result, error::finite_vector, noise::Noise, privacy::Event};

/// A calibrated PrivUnit report of `x z`.
#[derive(Debug, Clone, PartialEq)]
pub struct UnitMoment {
    dimension: usize,
    pub(super) unit: PrivUnit,
}

impl UnitMoment {
    /// The mechanism for arms of `dimension` features, 2 or more.
    pub fn new(dimension: usize, epsilon: f64) -> Result<Self> {
        Ok(UnitMoment { dimension, unit: PrivUnit::new(dimension, epsilon)? })
    }

    /// A point of the sphere in d dimensions.
    pub fn randomize<N: Noise>(
        &self,
        interaction: &Interaction,
        noise: &mut N,
    ) -> Result<Vec<f64>> {
        interaction.expect(self.dimension)?;
        let moment = interaction.features().iter().map(|x| x * interaction.reward()).collect();
        self.unit.direction(&on_the_sphere(moment, noise)?, noise)
    }

    /// Estimate of `x z` in a report, without bias.
    pub fn estimate(&self, report: &[f64], correlation: Correlation) -> Result<Vec<f64>> {
        finite_vector("report", report, self.dimension)?;
        Ok(report.iter().map(|v| v / correlation.first).collect())
    }

    /// The privacy event of one report.
    pub fn event(&self) -> Event {
        self.unit.event()
    }

    /// Correlation of reports with the truth.
    pub fn correlation(&self) -> Correlation {
        self.unit.correlation()
    }

    /// The noise of one estimate.
    pub fn precision(&self) -> Precision {
        let vector = 1.0 / (self.unit.mean_correlation() * (self.dimension as f64).sqrt());
        Precision { matrix: 0.0, vector }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{noise::check::mean_alarm, randomize::Bounds, release::testing::Seeded};

    #[test]
    fn estimates_are_unbiased() {
        let randomizer = UnitMoment::new(3, 1.0).unwrap();
        let mut noise = Seeded(9);
        let clipped = Bounds::unit(3).clip(&[0.6, 0.0, -0.8], 0.5).unwrap();
        let draws: Vec<Vec<f64>> = (0..40_000)
            .map(|_| {
                let report = randomizer.randomize(&clipped, &mut noise).unwrap();
                randomizer.estimate(&report, randomizer.correlation()).unwrap()
            })
            .collect();
        let spread = 1.8 * randomizer.precision().vector;
        for (i, truth) in [0.3, 0.0, -0.4].into_iter().enumerate() {
            assert!(!mean_alarm(draws.iter().map(|v| v[i]), truth, spread));
        }
        let wrong = draws.iter().map(|v| 2.0 * v[2]);
        assert!(mean_alarm(wrong, -0.4, 2.0 * spread));
        assert!(UnitMoment::new(1, 1.0).is_err());
        assert!(randomizer.estimate(&[0.0; 2], randomizer.correlation()).is_err());
    }
}
