//! Noisy sums of mapped features and rewards, and who adds their noise.

use reticent::{
    randomize::{Bounds, UnitPair},
    release::{PrivateSum, PrivateSumPlan},
};

use super::{
    super::click_world::dot,
    coordinates::{Matrix, apply, congruent},
};
use crate::{FastNoise, Result, trial::mix};

/// Sums of x' x'^T and x' z'.
#[derive(Debug, Clone)]
pub(super) struct Sums {
    /// The upper triangle by rows, then the vector.
    pub(super) entries: Vec<f64>,
    /// The variance of the noise on the matrix.
    pub(super) variance: f64,
    /// How many people they are worth.
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

/// Who adds noise.
pub(super) enum Source {
    /// Every person: the randomiser of what is mapped, and that of features as they are, which may be known to have norm 1.
    Reports { padded: UnitPair, plain: UnitPair, noise: FastNoise },
    /// A curator, to running sums.
    Curator { plan: PrivateSumPlan, sum: Box<PrivateSum<FastNoise>>, seed: u64 },
}

impl Source {
    pub(super) fn reports(padded: UnitPair, plain: UnitPair, seed: u64) -> Self {
        Source::Reports { padded, plain, noise: FastNoise::seeded(seed) }
    }

    pub(super) fn curator(plan: PrivateSumPlan, seed: u64) -> Self {
        let sum = Box::new(plan.clone().start(FastNoise::seeded(seed)));
        Source::Curator { plan, sum, seed }
    }

    /// What is known since M was changed, where a person's data lead to a release.
    pub(super) fn absorb(
        &mut self,
        bounds: &Bounds,
        (features, reward): (&[f64], f64),
        is_mapped: bool,
    ) -> Result<Option<Learnt>> {
        match self {
            Source::Reports { padded, plain, noise } => {
                let pair = if is_mapped { padded } else { plain };
                let report = pair.randomize(&bounds.clip(features, reward)?, noise)?;
                let entries = pair.estimate(&report, pair.correlation())?;
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

    /// Begins anew for another M.
    pub(super) fn restart(&mut self) {
        if let Source::Curator { plan, sum, seed } = self {
            *seed = mix(*seed, 1);
            **sum = plan.clone().start(FastNoise::seeded(*seed));
        }
    }
}

/// What a release adds to what is known, or has in place of all that was released since M was changed.
pub(super) enum Learnt {
    More(Sums),
    Whole(Sums),
}
