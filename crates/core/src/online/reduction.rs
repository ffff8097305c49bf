//! Algorithm 2: the black-box reduction. One learner finds the direction, the potential finds the length.
//!
//! ```text
//! play w_t = v_t z_t;   give g_t to the direction learner;   give <z_t, g_t> to Algorithm 1
//! ```
//!
//! Lemma 9: the regret against u is `||u||` times the direction learner's against `u/||u||`, plus Algorithm 1's against `||u||`.
//! With mirror descent both are `O(||u|| sqrt(sum ||g_t||^2 ln(...)))` without a bound on u and without knowing the noise (3.3.5).
//! The scalar `<z_t, g_t>` is symmetric around its mean, which is at most G.

use serde::{Deserialize, Serialize};

use super::{
    BoundBroken, Geometry, Potential, SignedLog, Statistics, bounds, evidence,
    mirror_descent::MirrorDescent,
};
use crate::{Result, randomize::Gradient};

/// The state of Algorithm 2.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Reduction {
    potential: Potential,
    direction: MirrorDescent,
    statistics: Statistics,
    /// The value of `E g^2` that a learner with known noise assumes in every round, instead of the observed squares.
    known_square: Option<f64>,
    /// The number of gradients received.
    rounds: u64,
    length: SignedLog,
}

impl Reduction {
    pub(super) fn new(
        potential: Potential,
        geometry: Geometry,
        dimension: usize,
        step: f64,
        known_square: Option<f64>,
    ) -> Self {
        Reduction {
            potential,
            direction: MirrorDescent::new(geometry, dimension, 1.0, step),
            statistics: Statistics::default(),
            known_square,
            rounds: 0,
            length: SignedLog::ZERO,
        }
    }

    #[inline]
    pub(super) fn weight(&self, index: usize) -> f64 {
        self.length.value() * self.direction.coordinate(index)
    }

    /// Absorbs a checked gradient.
    pub(super) fn absorb(&mut self, gradient: Gradient<'_>) -> Option<BoundBroken> {
        self.statistics.absorb(gradient.dot(|index| self.direction.coordinate(index)));
        self.direction.absorb(gradient);
        self.rounds += u64::from(gradient.entries().next().is_some());
        let squares = match self.known_square {
            Some(square) => square * self.rounds as f64,
            None => self.statistics.squares,
        };
        self.length = self.potential.slope(self.statistics.sum, squares);
        let evidence = evidence::against(&self.statistics, self.potential.gradient_bound(), 1)?;
        Some(BoundBroken { coordinate: None, evidence, round: 0 })
    }

    /// Lemma 9: `F*(||u||)` and `||u||` times the direction learner's bound. `None` if the learner assumes a noise level instead of the
    /// observed squares.
    pub(super) fn regret_bound(&self, competitor: &[f64]) -> Result<Option<f64>> {
        if self.known_square.is_some() {
            return Ok(None);
        }
        let norm = self.direction.norm(competitor);
        let length = bounds::conjugate(&self.potential, norm, self.statistics.squares)?;
        Ok(Some(length + norm * self.direction.regret_bound()))
    }

    /// Returns whether a run of this learner could have produced this state.
    pub(super) fn is_sound(
        &self,
        potential: &Potential,
        geometry: Geometry,
        dimension: usize,
        step: f64,
        known_square: Option<f64>,
    ) -> bool {
        self.potential == *potential
            && self.direction.is_sound(geometry, dimension, 1.0, step)
            && self.statistics.is_sound()
            && self.known_square == known_square
            && !self.length.ln().is_nan()
    }

    #[cfg(test)]
    pub(super) fn spoil(&mut self, bad: f64) {
        self.statistics.sum = bad;
    }
}
