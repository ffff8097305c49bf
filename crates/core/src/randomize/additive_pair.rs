//! The message of OnlineUCB: features and reward, each with Gaussian noise (Algorithm 1, line 12).
//!
//! ```text
//! x~ = x + N(0, sigma^2 I),   y~ = k z + N(0, sigma^2)        |x| <= 1, |z| <= 1
//! ```
//!
//! k is half the range of the reward the noise is put on: 1 for rewards in [-1, 1], 1/2 for [0, 1] centred (moving a reward
//! by a constant moves the message by it).
//!
//! **Joint sensitivity** `sqrt(2^2 + (2k)^2) = 2 sqrt(1 + k^2)`: x and z can change at once, from one end of their domain to
//! the other. That is `sqrt 8` for rewards in [-1, 1] and `sqrt 5` for [0, 1]; the paper has 2.
//!
//! **Closed-form debiasing.** `E x~ x~^T = x x^T + sigma^2 I` and `E x~ y~ = k x z`, so least squares on
//! `x~ x~^T - sigma^2 I` and `x~ y~ / k` needs no online learner.

use super::{Interaction, Precision};
use crate::{
    Result,
    error::{finite_vector, positive},
    linalg::triangle,
    noise::Noise,
    privacy::Event,
    release::{Calibration, Domain, SingleRelease},
    special::square,
};

/// A calibrated report of x and of the reward.
#[derive(Debug, Clone, PartialEq)]
pub struct AdditivePair {
    dimension: usize,
    reward_scale: f64,
    pub(super) mechanism: SingleRelease,
}

impl AdditivePair {
    /// The mechanism for arms of `dimension` features; `reward_scale` is k.
    pub fn new(dimension: usize, reward_scale: f64, calibration: Calibration) -> Result<Self> {
        positive("reward_scale", reward_scale)?;
        let bound = 0.5 * Self::sensitivity(reward_scale);
        let domain = Domain::Vector { dimension: dimension.saturating_add(1), bound };
        let mechanism = SingleRelease::of_domain(domain, calibration)?;
        Ok(AdditivePair { dimension, reward_scale, mechanism })
    }

    /// `2 sqrt(1 + k^2)`.
    pub fn sensitivity(reward_scale: f64) -> f64 {
        2.0 * (1.0 + reward_scale * reward_scale).sqrt()
    }

    /// `x~`, then `y~`.
    pub fn randomize<N: Noise>(
        &self,
        interaction: &Interaction,
        noise: &mut N,
    ) -> Result<Vec<f64>> {
        interaction.expect(self.dimension)?;
        let mut both = interaction.features().to_vec();
        both.push(self.reward_scale * interaction.reward());
        self.mechanism.vector(&both, noise)
    }

    /// `x~ x~^T - sigma^2 I` and `x~ y~ / k`.
    pub fn estimate(&self, report: &[f64]) -> Result<Vec<f64>> {
        finite_vector("report", report, self.dimension + 1)?;
        let variance = square(self.sigma());
        let mut sums = Vec::with_capacity(triangle(self.dimension) + self.dimension);
        let (x, y) = report.split_at(self.dimension);
        for row in 0..self.dimension {
            sums.push(x[row] * x[row] - variance);
            sums.extend(x[row + 1..].iter().map(|column| x[row] * column));
        }
        sums.extend(x.iter().map(|x| x * y[0] / self.reward_scale));
        Ok(sums)
    }

    /// The deviation of the noise, the same in every coordinate.
    pub fn sigma(&self) -> f64 {
        self.mechanism.deviations()[0]
    }

    /// The largest absolute number an honest report contains.
    pub(crate) fn largest_entry(&self) -> f64 {
        self.reward_scale.max(1.0) + 33.0 * self.sigma()
    }

    /// The privacy event of one report.
    pub fn event(&self) -> Event {
        self.mechanism.event()
    }

    /// The noise of one estimate, for x spread evenly over its coordinates: `Var x~_i x~_j = sigma^4 + 2 sigma^2/d`.
    pub fn precision(&self) -> Precision {
        let (square, d, k) = (square(self.sigma()), self.dimension as f64, self.reward_scale);
        Precision {
            matrix: (square * (square + 2.0 / d)).sqrt(),
            vector: (square * (square + 1.0 / d + k * k)).sqrt() / k,
        }
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
    fn the_joint_sensitivity_is_attained_and_twos_are_not_enough() {
        for (k, stated) in [(1.0, 8_f64.sqrt()), (0.5, 5_f64.sqrt())] {
            assert!((AdditivePair::sensitivity(k) - stated).abs() < 1e-15);
            let randomizer = AdditivePair::new(3, k, Calibration::Mu(1.0)).unwrap();
            let message = |x: &[f64], z: f64| {
                let mut both = x.to_vec();
                both.push(k * z);
                both
            };
            let sigma = randomizer.sigma();
            let largest = largest_distance(3, &[sigma; 4], message);
            assert!(largest <= 1.0 + 1e-9 && largest > 0.999, "{largest}");
            // The paper's own: 2 for each part, and the joint release forgotten.
            assert!(largest_distance(3, &[sigma * 2.0 / stated; 4], message) > 1.1);
        }
    }

    #[test]
    fn features_and_reward_never_share_a_draw() {
        let randomizer = AdditivePair::new(1, 1.0, Calibration::Mu(1.0)).unwrap();
        let clipped = Bounds::unit(1).clip(&[0.5], -0.25).unwrap();
        let (truth, deviations) = ([0.5, -0.25], [randomizer.sigma(); 2]);
        let mut seeded = Seeded(5);
        assert!(!noise_alarm(&truth, &deviations, &mut || {
            randomizer.randomize(&clipped, &mut seeded).unwrap()
        }));
        // With one draw for both, y~ - x~ would be y - x without any noise.
        let mut echo = Echo::new(Seeded(5));
        assert!(noise_alarm(&truth, &deviations, &mut || {
            randomizer.randomize(&clipped, &mut echo).unwrap()
        }));
    }

    #[test]
    fn debiasing_is_unbiased_and_its_spread_is_as_stated() {
        let randomizer = AdditivePair::new(2, 0.5, Calibration::Mu(2.0)).unwrap();
        let root = 0.5_f64.sqrt();
        let clipped = Bounds::unit(2).clip(&[root, -root], 1.0).unwrap();
        let truth = exact(&[root, -root], 1.0);
        let mut noise = Seeded(6);
        let draws: Vec<Vec<f64>> = (0..40_000)
            .map(|_| {
                randomizer.estimate(&randomizer.randomize(&clipped, &mut noise).unwrap()).unwrap()
            })
            .collect();
        let Precision { matrix, vector } = randomizer.precision();
        let spread = [1.5 * matrix, matrix, 1.5 * matrix, vector, vector];
        for (i, truth) in truth.iter().enumerate() {
            let values = || draws.iter().map(|v| v[i]);
            assert!(!crate::noise::check::mean_alarm(values(), *truth, spread[i]), "{i}");
        }
        for (i, stated) in [(1, matrix), (3, vector)] {
            let mean = draws.iter().map(|v| (v[i] - truth[i]).powi(2)).sum::<f64>() / 40_000.0;
            assert!((mean.sqrt() / stated - 1.0).abs() < 0.05, "{i}: {} {stated}", mean.sqrt());
        }
        // Planted: the variance left on the diagonal.
        let biased = draws.iter().map(|v| v[0] + randomizer.sigma().powi(2));
        assert!(crate::noise::check::mean_alarm(biased, truth[0], spread[0]));
    }

    #[test]
    fn bad_input_is_refused() {
        for k in [0.0, -1.0, f64::NAN] {
            assert!(AdditivePair::new(2, k, Calibration::Mu(1.0)).is_err());
        }
        let randomizer = AdditivePair::new(2, 1.0, Calibration::Mu(1.0)).unwrap();
        assert!(randomizer.estimate(&[1.0, 2.0]).is_err());
        assert!(randomizer.estimate(&[1.0, 2.0, f64::NAN]).is_err());
        let other = Bounds::unit(3).clip(&[0.1; 3], 0.5).unwrap();
        assert!(randomizer.randomize(&other, &mut Seeded(1)).is_err());
    }
}
