//! Algorithm 3: one instance of Algorithm 1 per coordinate.
//!
//! Theorem 11: the regret is the sum over coordinates of Algorithm 1's, so a coordinate that is never needed costs at most 1, and
//! noise on one attribute does not slow the others down. A gradient changes only the coordinates it contains; predictions are stored, and
//! recomputed only for those coordinates.

use serde::{Deserialize, Serialize};

use super::{BoundBroken, Potential, Statistics, evidence};
use crate::randomize::Gradient;

/// The state of Algorithm 3.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "(Potential, Vec<Statistics>)", into = "(Potential, Vec<Statistics>)")]
pub(super) struct Coordinatewise {
    potential: Potential,
    statistics: Vec<Statistics>,
    /// Computed from the statistics, so it is not saved.
    weights: Vec<f64>,
}

impl From<Coordinatewise> for (Potential, Vec<Statistics>) {
    fn from(learner: Coordinatewise) -> Self {
        (learner.potential, learner.statistics)
    }
}

impl From<(Potential, Vec<Statistics>)> for Coordinatewise {
    fn from((potential, statistics): (Potential, Vec<Statistics>)) -> Self {
        let weight = |s: &Statistics| potential.slope(s.sum, s.squares).value();
        let weights = statistics.iter().map(weight).collect();
        Coordinatewise { potential, statistics, weights }
    }
}

impl Coordinatewise {
    pub(super) fn new(potential: Potential, dimension: usize) -> Self {
        let statistics = vec![Statistics::default(); dimension];
        Coordinatewise { potential, statistics, weights: vec![0.0; dimension] }
    }

    #[inline]
    pub(super) fn weight(&self, index: usize) -> f64 {
        self.weights[index]
    }

    pub(super) fn potential(&self) -> &Potential {
        &self.potential
    }

    pub(super) fn statistics(&self, index: usize) -> Statistics {
        self.statistics[index]
    }

    /// Absorbs a checked gradient.
    pub(super) fn absorb(&mut self, gradient: Gradient<'_>) -> Option<BoundBroken> {
        let streams = self.statistics.len();
        let mut broken = None;
        for (index, value) in gradient.entries() {
            let statistics = &mut self.statistics[index];
            statistics.absorb(value);
            self.weights[index] = self.potential.slope(statistics.sum, statistics.squares).value();
            let bound = self.potential.gradient_bound();
            if let (None, Some(evidence)) = (broken, evidence::against(statistics, bound, streams))
            {
                broken = Some(BoundBroken { coordinate: Some(index), evidence, round: 0 });
            }
        }
        broken
    }

    /// Returns whether a run of this learner could have produced this state.
    pub(super) fn is_sound(&self, potential: &Potential, dimension: usize) -> bool {
        self.potential == *potential
            && self.statistics.len() == dimension
            && self.statistics.iter().all(Statistics::is_sound)
    }

    #[cfg(test)]
    pub(super) fn spoil(&mut self, bad: f64) {
        self.statistics[1].squares = bad;
    }
}
