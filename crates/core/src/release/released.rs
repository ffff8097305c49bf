//! A release of a stream: the only numbers that a learner sees.

use serde::{Deserialize, Serialize};

use super::{Domain, Places, appended};
use crate::{
    Result,
    error::{finite_vector, not_negative},
    noise::Noise,
    wire,
};

/// A private estimate of a running sum. Made by a stream, or by [`Release::simulated`] in a simulation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    domain: Domain,
    #[serde(with = "wire::count")]
    round: u64,
    #[serde(with = "wire::count")]
    index: u64,
    sums: Vec<f64>,
    deviations: Vec<f64>,
}

impl wire::Checked for Release {
    fn check_message(&self) -> Result<()> {
        self.check()
    }
}

impl wire::Message for Release {
    const KIND: wire::Kind = wire::kinds::RELEASE;
}

impl Release {
    pub(crate) fn new(
        domain: Domain,
        round: u64,
        index: u64,
        sums: Vec<f64>,
        deviations: Vec<f64>,
    ) -> Self {
        Release { domain, round, index, sums, deviations }
    }

    /// A release for simulations, from exact sums plus noise that the simulation drew itself.
    ///
    /// Compiles only for simulation noise ([`Noise::PROTECTS_PEOPLE`] is false).
    pub fn simulated<N: Noise>(
        domain: Domain,
        round: u64,
        index: u64,
        sums: Vec<f64>,
        deviations: Vec<f64>,
    ) -> Result<Self> {
        const { assert!(!N::PROTECTS_PEOPLE, "a release about people comes from a stream") };
        domain.check()?;
        finite_vector("sums", &sums, domain.coordinates())?;
        finite_vector("deviations", &deviations, domain.coordinates())?;
        Ok(Release { domain, round, index, sums, deviations })
    }

    /// Refuses a deserialised release that no stream could have made.
    pub(crate) fn check(&self) -> Result<()> {
        self.domain.check()?;
        finite_vector("released sums", &self.sums, self.domain.coordinates())?;
        finite_vector("released deviations", &self.deviations, self.domain.coordinates())?;
        self.deviations.iter().try_for_each(|d| not_negative("released deviations", *d).map(drop))
    }

    /// The same sums with another release number.
    pub(crate) fn numbered(&self, index: u64) -> Release {
        Release { index, ..self.clone() }
    }

    /// The sums at this weight, from 0 to 1.
    pub(crate) fn weighted(&self, weight: f64) -> Release {
        let times = |numbers: &[f64]| numbers.iter().map(|number| weight * number).collect();
        Release { sums: times(&self.sums), deviations: times(&self.deviations), ..self.clone() }
    }

    /// The sums of what came after `earlier`, of which `weight` is left, with noise bounded by that of as many steps (`deviations`) and that of
    /// `earlier`: for sums that forget, by the lemma of `bandit/joint/change.rs`.
    pub(crate) fn since(&self, earlier: &Release, weight: f64, deviations: &[f64]) -> Release {
        let sums = self.sums.iter().zip(&earlier.sums).map(|(now, then)| now - weight * then);
        let parts = deviations.iter().zip(&earlier.deviations);
        let deviations = parts.map(|(new, then)| libm::hypot(*new, weight * then)).collect();
        let round = self.round.saturating_sub(earlier.round);
        Release {
            domain: self.domain.clone(),
            round,
            index: self.index,
            sums: sums.collect(),
            deviations,
        }
    }

    /// The same sums among coordinates that were appended (`release/append.rs`), in which no contribution has come yet: they are zero.
    pub(crate) fn appended(
        &self,
        domain: Domain,
        places: &Places,
        deviations: Vec<f64>,
    ) -> Release {
        let sums = appended(&self.sums, places, 0.0);
        Release { domain, round: self.round, index: self.index, sums, deviations }
    }

    /// The sum of two releases, with this release number. The noises are independent, so variances add.
    pub(crate) fn plus(&self, other: &Release, index: u64) -> Release {
        let sums = self.sums.iter().zip(&other.sums).map(|(a, b)| a + b).collect();
        let deviations = self.deviations.iter().zip(&other.deviations);
        let deviations = deviations.map(|(a, b)| libm::hypot(*a, *b)).collect();
        let round = self.round.saturating_add(other.round);
        Release { domain: self.domain.clone(), round, index, sums, deviations }
    }

    /// The domain of the contributions.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// Number of contributions that are in the sum, those of little weight included where it forgets; by the clock, its tick.
    pub fn round(&self) -> u64 {
        self.round
    }

    /// Number of this release, from 1.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// All sums: the upper triangle of the matrix part by rows, block after block, then the vector part.
    pub fn sums(&self) -> &[f64] {
        &self.sums
    }

    /// Standard deviation of the noise in each of [`Release::sums`].
    pub fn deviations(&self) -> &[f64] {
        &self.deviations
    }

    /// Upper triangle by rows of the sum of `x x^T`, block after block ([`Structure`](super::Structure)); empty for a vector, and for merged sums, of which
    /// [`Release::expanded`] has one.
    pub fn upper_triangle(&self) -> &[f64] {
        match self.domain.pattern() {
            None => &self.sums[..self.domain.matrix_coordinates()],
            Some(_) => &[],
        }
    }

    /// The merged sums; empty for a domain that merges none.
    pub fn merged_sums(&self) -> &[f64] {
        match self.domain.pattern() {
            None => &[],
            Some(_) => &self.sums[..self.domain.matrix_coordinates()],
        }
    }

    /// The same with a number for each entry of `x x^T`, and the deviation of its noise, which entries of one merged sum have in common.
    ///
    /// ```
    /// # use reticent::{features::{Cells, LevelPart, Levels}, noise::SecureNoise, release::*};
    /// let part = |of: &[u32], weight| LevelPart { of: of.to_vec(), weight };
    /// let levels = Levels::new(vec![Cells::indicator(2)], vec![part(&[0], 0.8), part(&[], 0.6)])?;
    /// let domain = Domain::merged(Merging::new(levels), 1.0, 1.0);
    /// let params = PrivateSumParams { schedule: Schedule::EveryRound, ..PrivateSumParams::new(domain, Some(9), Calibration::Mu(1.0)) };
    /// let mut sum = params.check()?.start(SecureNoise::from_system()?);
    /// let release = sum.absorb(&sum.clip_with_reward(&[0.8, 0.0, 0.6], 1.0)?)?.expect("every round releases");
    /// // The counts of two words and of all people, where x x^T has six entries.
    /// assert_eq!((release.merged_sums().len(), release.expanded().upper_triangle().len()), (3, 6));
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn expanded(&self) -> Release {
        let Some(pattern) = self.domain.pattern() else { return self.clone() };
        let dense = |numbers: &[f64]| {
            let (merged, vector) = numbers.split_at(self.domain.matrix_coordinates());
            [&pattern.expand(merged), vector].concat()
        };
        let (sums, deviations) = (dense(&self.sums), dense(&self.deviations));
        Release { domain: self.domain.dense(), sums, deviations, ..self.clone() }
    }

    /// The same sums merged as in this domain, if it merges those of this release; the noise of the entries of one sum is independent.
    pub(crate) fn merged_as(self, domain: &Domain) -> Release {
        let Some(pattern) = domain.pattern().filter(|_| self.domain == domain.dense()) else {
            return self;
        };
        let matrix = self.domain.matrix_coordinates();
        let sums = [&pattern.merge(&self.sums[..matrix]), &self.sums[matrix..]].concat();
        let deviations = pattern.merged_deviations(&self.deviations[..matrix]);
        let deviations = [&deviations, &self.deviations[matrix..]].concat();
        Release { domain: domain.clone(), sums, deviations, ..self }
    }

    /// Deviation of the noise on entries off the diagonal of the matrix part; that of a dense matrix with about as much noise, where sums are merged.
    pub(crate) fn matrix_deviation(&self) -> f64 {
        match self.domain.pattern() {
            None => self.deviations[0] / std::f64::consts::SQRT_2,
            Some(pattern) => {
                pattern.dense_deviation(&self.deviations[..self.domain.matrix_coordinates()])
            }
        }
    }

    /// The sum of x, or of `x y`; empty for a symmetric domain.
    pub fn vector(&self) -> &[f64] {
        &self.sums[self.domain.matrix_coordinates()..]
    }

    /// Entry (row, column) of the sum of `x x^T` by parameters, if the domain has a matrix and the indices lie in it; 0 between two
    /// blocks.
    pub fn entry(&self, row: usize, column: usize) -> Option<f64> {
        self.entry_of(&self.sums, row, column)
    }

    /// Standard deviation of the noise in [`Release::entry`].
    pub fn entry_deviation(&self, row: usize, column: usize) -> Option<f64> {
        self.entry_of(&self.deviations, row, column)
    }

    fn entry_of(&self, numbers: &[f64], row: usize, column: usize) -> Option<f64> {
        let (row, column) = (row.min(column), row.max(column));
        let matrix = &numbers[..self.domain.matrix_coordinates()];
        if let Some(pattern) = self.domain.pattern() {
            let inside = column < pattern.levels().dimension();
            return inside.then(|| pattern.entry(matrix, row, column));
        }
        let layout = self.domain.layout();
        if column >= layout.vector() || matrix.is_empty() {
            return None;
        }
        Some(layout.entry(row, column).map_or(0.0, |place| matrix[place]))
    }

    /// The upper triangle by rows and the vector over the features of a block's arms, of which the shared ones are summed over all blocks.
    pub(crate) fn block(&self, block: usize) -> (Vec<f64>, Vec<f64>) {
        if let Some(pattern) = self.domain.pattern() {
            return (pattern.expand(self.merged_sums()), self.vector().to_vec());
        }
        let layout = self.domain.layout();
        (layout.gram_of(block, self.upper_triangle()), layout.vector_of(block, self.vector()))
    }
}
