//! One contribution with Gaussian noise on the grid: what a local randomiser sends.
//!
//! ```text
//! report = clip(data) + z,   z_c discrete Gaussian of deviation ratio_c sigma
//! mu = sensitivity / sigma
//! ```
//!
//! A report is whole grid units below 2^53 whatever was clipped and drawn (`Clipper::for_reports`), so a double carries it exactly, sums of
//! reports can be taken in integers, and a receiver never has to refuse an honest report for its size.
//!
//! `sensitivity` is the largest distance of two contributions, each coordinate in units of its ratio. The clipped integers
//! are those of a person of the domain (`clip`), so quantisation adds nothing to it; every sigma is rounded up.

use super::{
    Calibration, Clipper, Domain,
    calibration::{Amount, GridNoise, MARGIN},
    clip::power_of_two,
};
use crate::{Error, Result, noise::Noise, privacy::Event, refuse_if};

/// The least sigma in grid units: so fine that neither sums nor compositions of reports differ measurably from continuous noise.
const LEAST_UNITS: f64 = 1024.0;

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
        SingleRelease::new(
            domain.clone(),
            &domain.noise_ratios(),
            domain.sensitivity(),
            calibration,
        )
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
                let remedy = "this report has Gaussian noise; expected a budget, mu or sigma";
                return Err(Error::invalid("calibration", "Laplace noise", remedy));
            }
        };
        let clipper = Clipper::for_reports(domain, sigma)?;
        let noise = GridNoise::with_ratios(&clipper, ratios, sigma)?;
        let refused = noise.smallest() < LEAST_UNITS;
        let remedy = "this noise is too small against the data for a common grid; expected a smaller epsilon or mu, or a larger sigma";
        refuse_if(refused, "calibration", format_args!("sigma = {sigma:e}"), remedy)?;
        let mu = noise.single_mu(sensitivity);
        Ok(SingleRelease { clipper, noise, mu })
    }

    /// The noisy contribution of a vector.
    pub(crate) fn vector<N: Noise>(&self, vector: &[f64], noise: &mut N) -> Result<Vec<f64>> {
        let contribution = self.clipper.clip(vector)?;
        Ok(self.release(&contribution, noise))
    }

    /// The noisy contribution of features of a block and a reward: the upper triangle by rows, block after block, then the vector part.
    /// There is noise on all of it, whichever block the features belong to.
    pub(crate) fn regression<N: Noise>(
        &self,
        block: usize,
        features: &[f64],
        reward: f64,
        noise: &mut N,
    ) -> Result<Vec<f64>> {
        let contribution = self.clipper.clip_in_block(block, features, reward)?;
        Ok(self.release(&contribution, noise))
    }

    fn release<N: Noise>(&self, contribution: &super::Contribution, noise: &mut N) -> Vec<f64> {
        let mut sums = vec![0_i128; self.clipper.domain().coordinates()];
        contribution.add_to(&mut sums);
        let coordinates = sums.iter().zip(self.clipper.exponents()).enumerate();
        coordinates
            .map(|(coordinate, (sum, exponent))| {
                // Both are below 2^53 units.
                let noisy = *sum as i64 + self.noise.draw(coordinate, noise);
                // From here on, post-processing.
                noisy as f64 * power_of_two(-exponent)
            })
            .collect()
    }

    /// The event of one report, for the accountant.
    pub(crate) fn event(&self) -> Event {
        let coordinates = self.clipper.domain().coordinates() as f64;
        Event::GridGaussian { mu: self.mu, sigma: self.noise.smallest(), coordinates }
    }

    /// The event of `reports` reports of one person that are seen only in sums of `people` reports; the worst case is all of them in one
    /// sum.
    pub(crate) fn summed_event(&self, reports: u64, people: u64) -> Event {
        // If they are spread over batches, there are `reports` sums with independent draws.
        let coordinates = self.clipper.domain().coordinates() as f64 * reports as f64;
        let mu = self.mu * reports as f64;
        Event::GridSum { mu, sigma: self.noise.smallest(), coordinates, people }
    }

    /// No value of a report has a probability above 2^-bits: each coordinate takes any value with probability at most `1/sigma`.
    pub(crate) fn entropy_bits(&self) -> f64 {
        self.noise.entropy_bits()
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
