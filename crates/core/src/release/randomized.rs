//! Sums of contributions that were randomised one by one before they came: no further noise.
//!
//! ```text
//! S(t) = sum_{i <= t} R(x_i),   E R(x) = x,   deviation sqrt t times that of one
//! ```
//!
//! **Guarantee.** Whatever is done with `R(x_i)` is post-processing: all releases together tell about one contribution what one report does, and k
//! contributions of a person compose. The noise grows with the number of people, where that of the other mechanisms is as large as it will ever
//! be from the first release on: at a large budget, where a report carries next to none, the first sums are far more precise.
//!
//! Nothing is added to these sums but what `PrivateSum::absorb_randomized` takes; contributions as they are, and sums of them, are refused.

use serde::{Deserialize, Serialize};

use super::Schedule;

/// The running state: noisy sums.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct RandomizedSums {
    schedule: Schedule,
    /// Releases there will be.
    steps: u64,
    /// The deviation that one contribution adds, for each coordinate, in the units of the data.
    each: Vec<f64>,
    /// In grid units.
    sums: Vec<i128>,
}

impl RandomizedSums {
    pub(super) fn new(schedule: Schedule, steps: u64, each: Vec<f64>) -> Self {
        let sums = vec![0; each.len()];
        RandomizedSums { schedule, steps, each, sums }
    }

    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// Returns whether a deserialised state has the right shape.
    pub(super) fn fits(&self, coordinates: usize, step: u64) -> bool {
        step <= self.steps
            && (self.sums.len(), self.each.len()) == (coordinates, coordinates)
            && self.each.iter().all(|deviation| *deviation >= 0.0 && deviation.is_finite())
    }

    /// The sums with these entries added, in grid units.
    pub(super) fn step(&mut self, entries: &[i128]) -> Vec<f64> {
        self.sums.iter_mut().zip(entries).for_each(|(sum, entry)| *sum += entry);
        self.sums.iter().map(|sum| *sum as f64).collect()
    }

    /// Deviations of the sums of release number `step`.
    pub(super) fn deviations(&self, step: u64) -> Vec<f64> {
        self.deviations_after(self.schedule.round_of(step))
    }

    /// Deviations of the sums of this many contributions.
    pub(super) fn deviations_after(&self, round: u64) -> Vec<f64> {
        let root = (round as f64).sqrt();
        self.each.iter().map(|deviation| deviation * root).collect()
    }
}
