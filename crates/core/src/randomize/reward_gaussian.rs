//! The reward alone with Gaussian noise: for public arms.
//!
//! ```text
//! z~ = z + N(0, s^2),   |z| <= 1,   sensitivity 2
//! ```
//!
//! If decision sets are public and the policy is deterministic, the server knows the played arm before any person
//! reports: hiding x again costs and protects nothing.

use super::{Interaction, Precision};
use crate::{
    Result,
    error::finite_vector,
    noise::Noise,
    privacy::Event,
    release::{Calibration, Domain, SingleRelease},
};

/// A calibrated Gaussian report of the reward.
#[derive(Debug, Clone, PartialEq)]
pub struct RewardGaussian {
    pub(super) mechanism: SingleRelease,
}

impl RewardGaussian {
    /// The mechanism for rewards in [-1, 1].
    pub fn new(calibration: Calibration) -> Result<Self> {
        let domain = Domain::Vector { dimension: 1, bound: 1.0 };
        Ok(RewardGaussian { mechanism: SingleRelease::of_domain(domain, calibration)? })
    }

    /// The noisy reward.
    pub fn randomize<N: Noise>(
        &self,
        interaction: &Interaction,
        noise: &mut N,
    ) -> Result<Vec<f64>> {
        self.mechanism.vector(&[interaction.reward()], noise)
    }

    /// The report is its own estimate of z.
    pub fn estimate(&self, report: &[f64]) -> Result<f64> {
        finite_vector("report", report, 1)?;
        Ok(report[0])
    }

    /// The privacy event of one report.
    pub fn event(&self) -> Event {
        self.mechanism.event()
    }

    /// The noise of one report, which multiplies x.
    pub fn precision(&self) -> Precision {
        Precision { matrix: 0.0, vector: self.mechanism.deviations()[0] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::randomize::{Bounds, testing::noise_alarm};
    use crate::release::testing::Seeded;

    #[test]
    fn the_noise_is_that_of_sensitivity_two() {
        let budget = Calibration::Budget { epsilon: 1.0, delta: 0.1 };
        let randomizer = RewardGaussian::new(budget).unwrap();
        // The unit-sensitivity sigma at (1, 0.1) is 1.086.
        assert!((randomizer.precision().vector / 2.0 - 1.086).abs() < 5e-4);
        let clipped = Bounds::unit(2).clip(&[0.6, 0.8], 0.5).unwrap();
        let deviation = randomizer.precision().vector;
        let mut noise = Seeded(12);
        let mut draw = || randomizer.randomize(&clipped, &mut noise).unwrap();
        assert!(!noise_alarm(&[0.5], &[deviation], &mut draw));
        assert!(noise_alarm(&[0.5], &[1.1 * deviation], &mut draw));
        assert!(randomizer.estimate(&[]).is_err());
        assert!(RewardGaussian::new(Calibration::Mu(-1.0)).is_err());
    }
}
