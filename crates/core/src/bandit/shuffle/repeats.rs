//! Record of the reports that the shuffler has seen: each leaves once.
//!
//! A report that left in two batches would be what the two have in common: it could be distinguished from the others, and in sums its noise would
//! be averaged less. The network may deliver a report twice, and a device that sends again may have drawn a new name for it.
//!
//! **By contents.** A report is recognised by what the randomiser made. Two people's honest reports are equal with a chance of at most
//! 2^-bits (`CalibratedMethod::entropy_bits`), so with 2^-64 at most an honest report is dropped for one of the last
//! [`MEMORY`] others, if bits are [`ENOUGH_BITS`] or more.
//!
//! **By contents and name.** Reports of few values (PrivUnit in two or three dimensions, or at a large epsilon) are often equal. To drop one of them
//! would bias what is learnt, and the delay of its batch would show that two people's reports are equal. So only a report that comes
//! again under its own name is dropped. A copy under another name cannot be distinguished from that of another person who drew the same: it counts twice.
//! No nonce helps, for an attacker who can put another name on a report can put another nonce in it.
//!
//! **What remains** in both cases is a person on the way who reads a report, and sends it again with its contents changed a little. They have seen
//! the report by itself, and against them the local guarantee is what holds; the shuffle guarantee says so. Only encryption to the shuffler
//! and authenticated senders would do better.
//!
//! Reports are kept as the values of two polynomials over the integers mod `2^61 - 1` at secret random points: two different reports of n words agree
//! with a chance of at most `(n 2^-61)^2`, for any party who does not know the points.

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use crate::{Result, noise::Noise, randomize::Report, refuse_if};

/// Number of reports remembered.
pub(super) const MEMORY: usize = 1 << 20;
/// From this many bits on reports are recognised by their contents.
const ENOUGH_BITS: f64 = 84.0;
/// The modulus, a Mersenne prime.
const PRIME: u64 = (1 << 61) - 1;

/// The last [`MEMORY`] reports.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Repeats {
    by_name: bool,
    /// Points at which the two polynomials are evaluated.
    points: [u64; 2],
    /// As a set, and oldest first.
    seen: BTreeSet<[u64; 2]>,
    order: VecDeque<[u64; 2]>,
}

/// Returns whether reports that take any one value with a chance of at most 2^-`bits` are recognised by their contents alone.
pub(super) fn by_contents(bits: f64) -> bool {
    bits >= ENOUGH_BITS
}

impl Repeats {
    /// An empty memory for reports of this many bits.
    pub(super) fn new<N: Noise>(bits: f64, noise: &mut N) -> Self {
        let points = [0; 2].map(|_: u64| 1 + noise.below(PRIME - 1));
        let (seen, order) = (BTreeSet::new(), VecDeque::new());
        Repeats { by_name: !by_contents(bits), points, seen, order }
    }

    /// Refuses a memory that was read and could not have been made.
    pub(super) fn check(&self) -> Result<()> {
        let refused = self.points.iter().any(|point| !(1..PRIME).contains(point))
            || self.seen.len() != self.order.len()
            || !self.order.iter().all(|print| self.seen.contains(print));
        let remedy = "its parts do not fit each other; restore another copy";
        refuse_if(refused, "saved reports that were seen", self.order.len(), remedy)
    }

    /// Remembers a report; false if it was there before.
    pub(super) fn remember(&mut self, report: &Report) -> bool {
        let print = self.points.map(|point| self.polynomial(report, point));
        if !self.seen.insert(print) {
            return false;
        }
        self.order.push_back(print);
        if self.order.len() > MEMORY
            && let Some(oldest) = self.order.pop_front()
        {
            self.seen.remove(&oldest);
        }
        true
    }

    /// The polynomial whose coefficients are 1 and the words of the report, from the highest power down.
    fn polynomial(&self, report: &Report, point: u64) -> u64 {
        let name = if self.by_name { report.id.to_vec() } else { Vec::new() };
        // A zero has two signs and one meaning.
        let values = report.values().iter().map(|value| (value + 0.0).to_bits());
        let words = values.chain(name).flat_map(|word| [word >> 32, word & 0xffff_ffff]);
        words.fold(1, |sum, word| reduced(u128::from(sum) * u128::from(point) + u128::from(word)))
    }
}

/// The remainder mod `2^61 - 1`, by which `2^61` is 1, of a number below 2^123.
fn reduced(number: u128) -> u64 {
    let once = (number as u64 & PRIME) + (number >> 61) as u64;
    let twice = (once & PRIME) + (once >> 61);
    if twice >= PRIME { twice - PRIME } else { twice }
}
