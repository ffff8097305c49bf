//! One bit about the reward: randomised response, for public arms and pure privacy.
//!
//! ```text
//! s = +-1 with mean z;   reported as it is with probability e^epsilon/(1 + e^epsilon), else turned
//! E report = m z,   m = tanh(epsilon/2)
//! ```
//!
//! The chance of a lie is a double `q` and its coin is exact; epsilon is stated as `ln((1 - q)/q)`, what q gives.

use super::{Correlation, Interaction, Precision, second_moment::sign};
use crate::{
    Result,
    error::finite_vector,
    noise::{Bernoulli, Noise},
    privacy::Event,
    refuse_if,
};

/// Calibrated randomised response on the reward.
#[derive(Debug, Clone, PartialEq)]
pub struct RewardResponse {
    lie: Bernoulli,
}

impl RewardResponse {
    /// Randomised response at `epsilon`, from 1e-6 to 256.
    pub fn new(epsilon: f64) -> Result<Self> {
        let remedy = "expected a number from 1e-6 to 256";
        refuse_if(!(1e-6..=256.0).contains(&epsilon), "epsilon", epsilon, remedy)?;
        Ok(RewardResponse { lie: Bernoulli::new(1.0 / (1.0 + libm::exp(epsilon)))? })
    }

    /// One sign.
    pub fn randomize<N: Noise>(
        &self,
        interaction: &Interaction,
        noise: &mut N,
    ) -> Result<Vec<f64>> {
        let truth = sign(interaction.reward(), noise)?;
        Ok(vec![if self.lie.sample(noise) { -truth } else { truth }])
    }

    /// Estimate of z in a report, without bias.
    pub fn estimate(&self, report: &[f64], correlation: Correlation) -> Result<f64> {
        finite_vector("report", report, 1)?;
        refuse_if(report[0].abs() != 1.0, "report", report[0], "a response is 1 or -1")?;
        Ok(report[0] / correlation.first)
    }

    /// The privacy event of one report.
    pub fn event(&self) -> Event {
        Event::RandomizedResponse { categories: 2, epsilon: self.epsilon() }
    }

    fn epsilon(&self) -> f64 {
        let q = self.lie.probability();
        libm::log((1.0 - q) / q)
    }

    /// Correlation of reports with the truth.
    pub fn correlation(&self) -> Correlation {
        Correlation { first: 1.0 - 2.0 * self.lie.probability(), second: 1.0 }
    }

    /// The noise of one report beyond that of a reward which is -1 or 1 already: `1/m^2 - 1`, squared.
    pub fn precision(&self) -> Precision {
        let m = self.correlation().first;
        Precision { matrix: 0.0, vector: ((1.0 - m) * (1.0 + m)).sqrt() / m }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        noise::check::{chi_square_alarm, mean_alarm},
        randomize::Bounds,
        release::testing::Seeded,
    };

    #[test]
    fn it_lies_as_often_as_epsilon_says_and_is_unbiased() {
        let mut noise = Seeded(13);
        for epsilon in [0.2, 1.0, 3.0] {
            let randomizer = RewardResponse::new(epsilon).unwrap();
            assert!((randomizer.epsilon() - epsilon).abs() < 1e-12);
            let sure = Bounds::unit(1).clip(&[1.0], 1.0).unwrap();
            let mut counts = [0; 2];
            for _ in 0..40_000 {
                counts[usize::from(randomizer.randomize(&sure, &mut noise).unwrap()[0] > 0.0)] += 1;
            }
            let truth = 1.0 / (1.0 + (-epsilon).exp());
            assert!(!chi_square_alarm(&counts, &[1.0 - truth, truth]));
            let kinder = 1.0 / (1.0 + (-epsilon - 0.3).exp());
            assert!(chi_square_alarm(&counts, &[1.0 - kinder, kinder]));
            let half = Bounds::unit(1).clip(&[1.0], -0.5).unwrap();
            let estimates: Vec<f64> = (0..40_000)
                .map(|_| {
                    let report = randomizer.randomize(&half, &mut noise).unwrap();
                    randomizer.estimate(&report, randomizer.correlation()).unwrap()
                })
                .collect();
            let spread = 1.0 / randomizer.correlation().first;
            assert!(!mean_alarm(estimates, -0.5, spread));
        }
        for bad in [0.0, -1.0, f64::NAN, 300.0] {
            assert!(RewardResponse::new(bad).is_err());
        }
        let randomizer = RewardResponse::new(1.0).unwrap();
        assert!(randomizer.estimate(&[0.5], randomizer.correlation()).is_err());
        assert!(randomizer.estimate(&[], randomizer.correlation()).is_err());
    }
}
