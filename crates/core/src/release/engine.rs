//! The mechanism behind a private sum, with its noise: of a known or an unknown number of steps, Wishart matrices, or none for what is noisy already.

use serde::{Deserialize, Serialize};

use super::{
    calibration::GridNoise,
    doubling::Doubling,
    factorization::{Factorization, Running},
    randomized::RandomizedSums,
    wishart::WishartSums,
};
use crate::{Error, Result, noise::Noise};

/// The mechanism with its noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Engine {
    Known { running: Running, noise: GridNoise },
    Unknown(Box<Doubling>),
    Wishart(Box<WishartSums>),
    Randomized(RandomizedSums),
}

impl Engine {
    /// Returns whether a deserialised engine has the right shape and stands at `step`.
    pub(super) fn fits(&self, coordinates: usize, step: u64) -> bool {
        match self {
            Engine::Known { running, noise } => {
                noise.deviations().len() == coordinates && running.fits(coordinates, step)
            }
            Engine::Unknown(doubling) => doubling.fits(coordinates, step),
            Engine::Wishart(sums) => sums.fits(coordinates, step),
            Engine::Randomized(sums) => sums.fits(coordinates, step),
        }
    }

    /// Returns whether the data without noise are the same to the last unit; none where they are not kept apart from the noise.
    pub(super) fn has_exact_sums_of(&self, other: &Engine) -> Option<bool> {
        match (self, other) {
            (Engine::Known { running, .. }, Engine::Known { running: other, .. }) => {
                running.has_exact_sums_of(other)
            }
            _ => None,
        }
    }

    /// Steps it can take in all.
    pub(super) fn capacity(&self) -> u64 {
        match self {
            Engine::Known { running, .. } => running.factor().steps(),
            Engine::Unknown(doubling) => doubling.capacity(),
            Engine::Wishart(sums) => sums.tree().steps(),
            Engine::Randomized(sums) => sums.steps(),
        }
    }

    /// Takes step number `step`, in this round: sums in grid units, and their deviations in those of the data.
    pub(super) fn step(
        &mut self,
        step: u64,
        round: u64,
        entries: &[i128],
        source: &mut impl Noise,
    ) -> Result<(Vec<f64>, Vec<f64>)> {
        match self {
            Engine::Known { running, noise } => {
                let sums = running.step(entries, &mut |coordinate| noise.draw(coordinate, source));
                Ok((sums, self.deviations(step)?))
            }
            Engine::Unknown(doubling) => doubling.step(entries, source),
            Engine::Wishart(sums) => Ok((sums.step(entries, source)?, sums.deviations())),
            Engine::Randomized(sums) => Ok((sums.step(entries), sums.deviations_after(round))),
        }
    }

    /// Deviations of the sums at any `step`, or the steps there are.
    pub(super) fn checked_deviations(&self, step: u64) -> Result<Vec<f64>> {
        if !(1..=self.capacity()).contains(&step) {
            return Err(Error::invalid(
                "index",
                step,
                format!("expected 1 to {}", self.capacity()),
            ));
        }
        self.deviations(step)
    }

    /// Deviations of the sums at `step`, from 1 to the capacity.
    pub(super) fn deviations(&self, step: u64) -> Result<Vec<f64>> {
        match self {
            Engine::Known { running, noise } => {
                let row = running.factor().prefix_deviation(step);
                Ok(noise.deviations().iter().map(|deviation| deviation * row).collect())
            }
            Engine::Unknown(doubling) => doubling.deviations(step),
            Engine::Wishart(sums) => Ok(sums.deviations()),
            Engine::Randomized(sums) => Ok(sums.deviations(step)),
        }
    }
}
