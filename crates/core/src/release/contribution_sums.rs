//! Integer sums of contributions.
//!
//! Addition of integers is exact and independent of order, so several machines or threads may make parts of a sum, which are merged in any
//! order: the total and the release made from it are the same.

use super::{Clipper, Contribution, params::longest, power_of_two};
use crate::{Error, Result, error::finite_vector, refuse_if, wire};

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
        let count = self.count.saturating_add(other.count);
        let remedy = "their sums do not fit 128 bits: release more often";
        refuse_if(count > longest(&self.clipper), "contributions", count, remedy)?;
        other.add_to(&mut self.entries);
        self.count = count;
        Ok(())
    }

    /// Numbers in the units of the data as the sum of `count` contributions: what a simulation computed, on simulation noise only, or what was
    /// randomised before.
    pub(super) fn of_numbers(clipper: Clipper, sums: &[f64], count: u64) -> Result<Self> {
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

    /// The sum as bytes, people's data included: protect them as the data itself. Parts that were made elsewhere are stored or sent in this form.
    ///
    /// ```
    /// use reticent::release::{Calibration, ContributionSums, Domain, PrivateSumParams};
    /// let domain = Domain::Vector { dimension: 2, bound: 1.0 };
    /// let plan = PrivateSumParams::new(domain, Some(10), Calibration::Mu(1.0)).check()?;
    /// let mut part = ContributionSums::new(plan.clipper().clone());
    /// part.add(&plan.clipper().clip(&[0.6, 0.8])?)?;
    /// assert_eq!(ContributionSums::load(&part.save())?, part);
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn save(&self) -> Vec<u8> {
        wire::save(wire::kinds::CONTRIBUTION_SUMS, &(&self.clipper, &self.entries, self.count))
    }

    /// Reads what [`ContributionSums::save`] wrote. Entries that this many contributions cannot add up to are refused.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        let (clipper, entries, count): (Clipper, Vec<i128>, u64) =
            wire::load(wire::kinds::CONTRIBUTION_SUMS, bytes)?;
        let (expected, found) = (clipper.domain().coordinates(), entries.len());
        if found != expected {
            return Err(Error::Dimension { field: "saved contribution sums", expected, found });
        }
        // Entries of one contribution stay below 2^62 units (`clip`).
        let bits = clipper.entry_bits().ceil().clamp(0.0, 62.0) as u32;
        let largest = u128::from(count) << bits;
        let refused =
            count > longest(&clipper) || entries.iter().any(|entry| entry.unsigned_abs() > largest);
        let remedy =
            "its entries are not the sum of this number of contributions; restore another copy";
        refuse_if(
            refused,
            "saved contribution sums",
            format_args!("{count} contributions"),
            remedy,
        )?;
        Ok(ContributionSums { clipper, entries, count })
    }

    fn expect(&self, clipper: &Clipper) -> Result<()> {
        let remedy = "its bounds or grid differ: make both with one stream's clipper";
        refuse_if(*clipper != self.clipper, "contribution", "another stream's", remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::{Domain, Structure};

    #[test]
    fn a_saved_part_goes_on_and_sums_that_cannot_be_are_refused() {
        let structure = Structure { blocks: 2, shared: 1 };
        let domain = Domain::Regression {
            dimension: 2,
            feature_bound: 1.0,
            reward_bound: 1.0,
            split: 0.4,
            structure,
        };
        let clipper = Clipper::new(domain, 2.0).unwrap();
        let add = |sums: &mut ContributionSums, block, features: [f64; 2], reward| {
            sums.add(&clipper.clip_in_block(block, &features, reward).unwrap()).unwrap();
        };
        let mut whole = ContributionSums::new(clipper.clone());
        add(&mut whole, 0, [0.6, 0.8], -0.5);
        let mut stored = ContributionSums::load(&whole.save()).unwrap();
        for sums in [&mut whole, &mut stored] {
            add(sums, 1, [0.1, -0.9], 0.25);
        }
        assert_eq!(stored, whole);
        let forged = |entries: &[i128], count: u64| {
            let bytes =
                wire::save(wire::kinds::CONTRIBUTION_SUMS, &(clipper.clone(), entries, count));
            ContributionSums::load(&bytes).is_ok()
        };
        let most = longest(&clipper);
        assert!(forged(&whole.entries, 2) && forged(&whole.entries, most));
        assert!(!forged(&whole.entries, 0) && !forged(&whole.entries, most + 1));
        assert!(!forged(&whole.entries[1..], 2));
        let mut large = whole.entries.clone();
        large[0] = i128::MIN;
        assert!(!forged(&large, 2));
        // Entries of contributions beyond the clipper's bounds, and of parts that are too many together.
        large[0] = 1 << (clipper.entry_bits().ceil() as u32 + 2);
        assert!(!forged(&large, 2));
        let mut many = whole.clone();
        many.count = most - 1;
        assert!(many.merge(&whole).is_err() && many.count == most - 1);
        large[0] = i128::MIN;
        assert!(!forged(&large, most));
    }
}
