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
        Release { domain: self.domain, round, index: self.index, sums: sums.collect(), deviations }
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
        Release { domain: self.domain, round, index, sums, deviations }
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

    /// Upper triangle by rows of the sum of `x x^T`, block after block ([`Structure`](super::Structure)); empty for a vector.
    pub fn upper_triangle(&self) -> &[f64] {
        &self.sums[..self.domain.matrix_coordinates()]
    }

    /// The sum of x, or of `x y`; empty for a symmetric domain.
    pub fn vector(&self) -> &[f64] {
        &self.sums[self.domain.matrix_coordinates()..]
    }

    /// Entry (row, column) of the sum of `x x^T` by parameters, if the domain has a matrix and the indices lie in it; 0 between two
    /// blocks.
    pub fn entry(&self, row: usize, column: usize) -> Option<f64> {
        let layout = self.domain.layout();
        let triangle = self.upper_triangle();
        if row.max(column) >= layout.vector() || triangle.is_empty() {
            return None;
        }
        Some(layout.entry(row, column).map_or(0.0, |place| triangle[place]))
    }

    /// The upper triangle by rows and the vector over the features of a block's arms, of which the shared ones are summed over all blocks.
    pub(crate) fn block(&self, block: usize) -> (Vec<f64>, Vec<f64>) {
        let layout = self.domain.layout();
        (layout.gram_of(block, self.upper_triangle()), layout.vector_of(block, self.vector()))
    }
}
