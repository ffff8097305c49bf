//! One contribution with Gaussian noise on the grid: what a local randomiser sends.
//!
//! ```text
//! report = clip(data) + z,   z_c discrete Gaussian of deviation ratio_c sigma
//! mu = sensitivity / sigma
//! ```
//!
//! `sensitivity` is the largest distance of two contributions, each coordinate in units of its ratio. The clipped integers
//! are those of a person of the domain (`clip`), so quantisation adds nothing to it; every sigma is rounded up.

use super::{
    Calibration, Clipper, Domain,
    calibration::{Amount, GridNoise, MARGIN},
    clip::power_of_two,
};
use crate::{Error, Result, noise::Noise, privacy::Event};

/// A calibrated Gaussian mechanism for one contribution.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SingleRelease {
    clipper: Clipper,
    noise: GridNoise,
    mu: f64,
}

impl SingleRelease {
    /// The mechanism with the domain's own ratios and sensitivity.
    pub(crate) fn of_domain(domain: Domain, calibration: Calibration) -> Result<Self> {
        domain.check()?;
        SingleRelease::new(domain, &domain.noise_ratios(), domain.sensitivity(), calibration)
    }

    /// The mechanism with given ratios, and the sensitivity that belongs to them.
    pub(crate) fn new(
        domain: Domain,
        ratios: &[f64],
        sensitivity: f64,
        calibration: Calibration,
    ) -> Result<Self> {
        domain.check()?;
        let sigma = match calibration.resolve(domain.coordinates() as f64)? {
            Amount::Mu(mu) => sensitivity / mu * MARGIN,
            Amount::Sigma(sigma) => sigma,
            Amount::Pure(_) | Amount::Scale(_) => {
                let remedy = "this report has Gaussian noise: give a budget, mu or sigma";
                return Err(Error::invalid("calibration", "Laplace noise", remedy));
            }
        };
        let clipper = Clipper::new(domain, sigma)?;
        let noise = GridNoise::with_ratios(&clipper, ratios, sigma)?;
        let mu = noise.single_mu(sensitivity);
        Ok(SingleRelease { clipper, noise, mu })
    }

    /// The noisy contribution of a vector.
    pub(crate) fn vector<N: Noise>(&self, vector: &[f64], noise: &mut N) -> Result<Vec<f64>> {
        let contribution = self.clipper.clip(vector)?;
        Ok(self.release(&contribution, noise))
    }

    /// The noisy contribution of features and reward: the upper triangle by rows, then the vector part.
    pub(crate) fn regression<N: Noise>(
        &self,
        features: &[f64],
        reward: f64,
        noise: &mut N,
    ) -> Result<Vec<f64>> {
        let contribution = self.clipper.clip_with_reward(features, reward)?;
        Ok(self.release(&contribution, noise))
    }

    fn release<N: Noise>(&self, contribution: &super::Contribution, noise: &mut N) -> Vec<f64> {
        let mut sums = vec![0_i128; self.clipper.domain().coordinates()];
        contribution.add_to(&mut sums);
        let coordinates = sums.iter().zip(self.clipper.exponents()).enumerate();
        coordinates
            .map(|(coordinate, (sum, exponent))| {
                let noisy = sum + i128::from(self.noise.draw(coordinate, noise));
                // From here on, post-processing.
                noisy as f64 * power_of_two(-exponent)
            })
            .collect()
    }

    /// What one report tells the accountant.
    pub(crate) fn event(&self) -> Event {
        let coordinates = self.clipper.domain().coordinates() as f64;
        Event::GridGaussian { mu: self.mu, sigma: self.noise.smallest(), coordinates }
    }

    /// What `reports` reports of one person tell that are seen only in sums of `people` reports, all of them in one at worst.
    pub(crate) fn summed_event(&self, reports: u64, people: u64) -> Event {
        Event::SecureSum { sensitivity: self.mu * reports as f64, sigma: 1.0, people }
    }

    /// Reports are multiples of `2^-exponent`, coordinate by coordinate.
    pub(crate) fn exponents(&self) -> Vec<i32> {
        self.clipper.exponents()
    }

    /// Deviation of the noise in each coordinate, in the units of the data.
    pub(crate) fn deviations(&self) -> &[f64] {
        self.noise.deviations()
    }
}
