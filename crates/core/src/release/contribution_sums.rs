//! Integer sums of contributions.
//!
//! Addition of integers is exact and independent of order, so several machines or threads may make parts of a sum, which are merged in any
//! order: the total and the release made from it are the same.

use super::{Clipper, Contribution, power_of_two};
use crate::{Result, error::finite_vector, refuse_if};

/// The sum of many clipped contributions, on the grid of the stream that made them.
#[derive(Clone, PartialEq)]
pub struct ContributionSums {
    clipper: Clipper,
    entries: Vec<i128>,
    count: u64,
}

/// Prints nothing, not even the count, because the number of people may be protected too.
impl std::fmt::Debug for ContributionSums {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ContributionSums").finish_non_exhaustive()
    }
}

impl ContributionSums {
    /// No contributions.
    pub fn new(clipper: Clipper) -> Self {
        let entries = vec![0; clipper.domain().coordinates()];
        ContributionSums { clipper, entries, count: 0 }
    }

    /// Adds one contribution. An error changes nothing.
    pub fn add(&mut self, contribution: &Contribution) -> Result<()> {
        self.expect(contribution.clipper())?;
        contribution.add_to(&mut self.entries);
        self.count += 1;
        Ok(())
    }

    /// Adds the contributions of another sum. An error changes nothing.
    pub fn merge(&mut self, other: &ContributionSums) -> Result<()> {
        self.expect(&other.clipper)?;
        other.add_to(&mut self.entries);
        self.count = self.count.saturating_add(other.count);
        Ok(())
    }

    /// The sum that a simulation computed for `count` people, in the units of the data. Streams accept it only on simulation noise.
    pub(super) fn simulated(clipper: Clipper, sums: &[f64], count: u64) -> Result<Self> {
        finite_vector("sums", sums, clipper.domain().coordinates())?;
        let units = sums.iter().zip(clipper.exponents());
        // Sums beyond 2^120 units have no meaning; capped there, they can still be added without overflow.
        let largest = power_of_two(120);
        let unit = |(sum, e): (&f64, i32)| sum * power_of_two(e);
        let whole = |part| unit(part).clamp(-largest, largest).round() as i128;
        let entries = units.map(whole).collect();
        Ok(ContributionSums { clipper, entries, count })
    }

    /// Removes all contributions after they have been absorbed.
    pub(super) fn clear(&mut self) {
        self.entries.fill(0);
        self.count = 0;
    }

    /// The number of contributions in the sum.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The clipper that its contributions were made with.
    pub fn clipper(&self) -> &Clipper {
        &self.clipper
    }

    pub(super) fn add_to(&self, sums: &mut [i128]) {
        sums.iter_mut().zip(&self.entries).for_each(|(sum, entry)| *sum += entry);
    }

    fn expect(&self, clipper: &Clipper) -> Result<()> {
        let remedy = "its bounds or grid differ: make both with one stream's clipper";
        refuse_if(*clipper != self.clipper, "contribution", "another stream's", remedy)
    }
}
