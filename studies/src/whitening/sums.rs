//! Noisy sums of mapped features and rewards, and who adds their noise.

use reticent::{
    randomize::{Bounds, UnitPair},
    release::{PrivateSum, PrivateSumPlan},
};

use super::{
    super::click_environment::dot,
    coordinates::{Matrix, apply, congruent},
};
use reticent_lab::{FastNoise, Result, play::trial::mix};

/// Sums of x' x'^T and x' z'.
#[derive(Debug, Clone)]
pub(super) struct Sums {
    /// The upper triangle by rows, then the vector.
    pub(super) entries: Vec<f64>,
    /// The variance of the noise on the matrix.
    pub(super) variance: f64,
    /// Number of people behind them.
    pub(super) weight: f64,
}

impl Sums {
    pub(super) fn none(length: usize) -> Self {
        Sums { entries: vec![0.0; length], variance: 0.0, weight: 0.0 }
    }

    pub(super) fn add(&mut self, other: &Sums) {
        self.entries.iter_mut().zip(&other.entries).for_each(|(sum, entry)| *sum += entry);
        self.variance += other.variance;
        self.weight += other.weight;
    }

    /// The same in other coordinates, counted by what they are still worth there.
    pub(super) fn moved(&self, change: &Matrix) -> Self {
        let (matrix, vector) = self.entries.split_at(self.entries.len() - change.len());
        let growth = change.iter().map(|row| dot(row, row)).sum::<f64>() / change.len() as f64;
        let counted = (1.0 / growth).min(1.0);
        let mut entries = congruent(change, matrix);
        entries.extend(apply(change, vector));
        entries.iter_mut().for_each(|sum| *sum *= counted);
        let variance = self.variance * (growth * counted).powi(2);
        Sums { entries, variance, weight: self.weight * counted }
    }
}

/// Party that adds noise.
pub(super) enum Source {
    /// Every person: the randomiser of what is mapped, and that of features as they are, which may be known to have norm 1.
    Reports { padded: UnitPair, plain: UnitPair, noise: FastNoise, sent: Option<Vec<f64>> },
    /// A curator, to running sums.
    Curator { plan: PrivateSumPlan, sum: Box<PrivateSum<FastNoise>>, seed: u64 },
}

impl Source {
    pub(super) fn reports(padded: UnitPair, plain: UnitPair, seed: u64) -> Self {
        Source::Reports { padded, plain, noise: FastNoise::seeded(seed), sent: None }
    }

    pub(super) fn curator(plan: PrivateSumPlan, seed: u64) -> Self {
        let sum = Box::new(plan.clone().start(FastNoise::seeded(seed)));
        Source::Curator { plan, sum, seed }
    }

    /// Sums since M was changed, if a person's data lead to a release.
    pub(super) fn absorb(
        &mut self,
        bounds: &Bounds,
        (features, reward): (&[f64], f64),
        is_mapped: bool,
    ) -> Result<Option<Learnt>> {
        match self {
            Source::Reports { padded, plain, noise, sent } => {
                let pair = if is_mapped { padded } else { plain };
                let report = pair.randomize(&bounds.clip(features, reward)?, noise)?;
                let entries = pair.estimate(&report, pair.correlation())?;
                *sent = Some(report);
                let variance = pair.precision().matrix.powi(2);
                Ok(Some(Learnt::More(Sums { entries, variance, weight: 1.0 })))
            }
            Source::Curator { sum, .. } => {
                let contribution = sum.clip_with_reward(features, reward)?;
                let release = sum.absorb(&contribution)?;
                Ok(release.map(|release| {
                    // The second entry is off the diagonal.
                    let variance = release.deviations()[1].powi(2);
                    let entries = release.sums().to_vec();
                    Learnt::Whole(Sums { entries, variance, weight: release.round() as f64 })
                }))
            }
        }
    }

    /// The last report, once; a curator is trusted.
    pub(super) fn sent(&mut self) -> Option<Vec<f64>> {
        match self {
            Source::Reports { sent, .. } => sent.take(),
            Source::Curator { .. } => None,
        }
    }

    /// Begins anew for another M.
    pub(super) fn restart(&mut self) {
        if let Source::Curator { plan, sum, seed } = self {
            *seed = mix(*seed, 1);
            **sum = plan.clone().start(FastNoise::seeded(*seed));
        }
    }
}

/// Part of a release that is added to the sums, or replaces all releases since M was changed.
pub(super) enum Learnt {
    More(Sums),
    Whole(Sums),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums without noise move to other coordinates as the sums of people who had been there from the beginning, but for their weight.
    #[test]
    fn sums_move_to_other_coordinates_as_their_people() {
        let change = vec![vec![3.0, 1.0], vec![1.0, 2.0]];
        let sums = |x: &[f64], z: f64| Sums {
            entries: vec![x[0] * x[0], x[0] * x[1], x[1] * x[1], x[0] * z, x[1] * z],
            variance: 1.0,
            weight: 1.0,
        };
        let x = [0.3, -0.2];
        let moved = sums(&x, 0.7).moved(&change);
        let there = sums(&apply(&change, &x), 0.7);
        // a = tr R R^T / d = 7.5: a seventh of the weight, and the variance of a seventh of the matrix, whose noise grew by a^2.
        assert!((moved.weight - 1.0 / 7.5).abs() < 1e-12);
        assert!((moved.variance - 1.0).abs() < 1e-12);
        for (moved, there) in moved.entries.iter().zip(&there.entries) {
            assert!((7.5 * moved - there).abs() < 1e-12, "{moved} {there}");
        }
        // Nothing is counted more than once where noise shrinks.
        let smaller = sums(&x, 0.7).moved(&vec![vec![0.5, 0.0], vec![0.0, 0.5]]);
        assert!((smaller.weight - 1.0).abs() < 1e-12 && smaller.variance < 0.1);
    }
}
