//! One decision set for the whole trial.
//!
//! The set is that of [`Gap`](super::Gap), drawn once. With fresh sets every direction is played sooner or later under any policy, because
//! the arms vary. Here a policy that does not explore has linear regret.

use reticent::bandit::Arms;

use super::{Environment, Gap, Rewards};
use crate::FastNoise;

/// The decision set of [`GapPlan`](super::GapPlan), drawn once and kept.
#[derive(Debug, Clone)]
pub struct FixedArms {
    gap: Gap,
}

impl FixedArms {
    pub(super) fn new(mut gap: Gap) -> Self {
        gap.arms();
        FixedArms { gap }
    }

    /// The parameter to be learned, theta*.
    pub fn theta(&self) -> &[f64] {
        self.gap.theta()
    }

    pub(crate) fn set(&self) -> &Arms {
        self.gap.current()
    }

    /// `<x, theta*>` of every arm.
    pub(crate) fn products(&self) -> &[f64] {
        self.gap.products()
    }

    pub(crate) fn rewards(&self) -> Rewards {
        self.gap.plan().params().rewards
    }

    pub(crate) fn noise(&mut self) -> &mut FastNoise {
        self.gap.noise()
    }
}

impl Environment for FixedArms {
    fn arms(&mut self) -> &Arms {
        self.gap.current()
    }

    fn means(&self) -> &[f64] {
        self.gap.means()
    }

    fn best_mean(&self) -> f64 {
        self.gap.best_mean()
    }

    fn reward(&mut self, arm: usize) -> f64 {
        self.gap.reward(arm)
    }

    fn direction(&self) -> Option<Vec<f64>> {
        self.gap.direction()
    }

    fn face(&mut self, direction: &[f64]) {
        self.gap.face(direction);
    }

    fn other_people(&mut self, seed: u64) {
        self.gap.other_people(seed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::GapParams;

    #[test]
    fn the_set_never_changes() {
        let mut environment = GapParams::new(3, 4).check().unwrap().fixed(5);
        let first = environment.arms().clone();
        for _ in 0..10 {
            environment.reward(2);
            assert_eq!(environment.arms(), &first);
        }
        let best = environment.means().iter().copied().fold(f64::MIN, f64::max);
        assert_eq!(best, environment.best_mean());
        // Another trial has another set.
        assert_ne!(GapParams::new(3, 4).check().unwrap().fixed(6).arms(), &first);
    }
}
