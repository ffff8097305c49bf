//! The schedule of releases: round numbers fixed before any data are seen.
//!
//! ```text
//! t_1 = first,   t_{i+1} = t_i + min(max(least, floor(rate t_i)), most)
//! ```
//!
//! Fewer releases cost less noise, because the mechanism is indexed by release and contributions in
//! between are added exactly. The cap `most` bounds how stale a decision can be: without it a policy
//! that was unlucky early stays unlucky for a fixed fraction of the horizon.
//!
//! **Guarantee.** The times depend on the parameters only, so they reveal nothing.
//!
//! **By the clock.** [`Schedule::Clock`] counts no contributions: there is one step per tick of the caller's clock, empty ticks included,
//! and the horizon counts ticks. If steps were counted in contributions, removing one person's contribution would shift every later
//! contribution, some of them across a release. With ticks, neighbours may differ in more than values: *a person's at most k visits are
//! replaced by any others, at any ticks, or by none*, and other people's contributions stay where they are.
//!
//! **Lemma.** For columns `c_i, c_j` of a factor C with entries of 0 or more, and contributions v, v', or zero, of a domain with
//! sensitivity Delta whose largest weighted norm is rho: `||c_i v - c_j v'|| <= max ||c|| max(Delta, sqrt 2 rho)`
//! ([`Domain::sensitivity_across_steps`](super::Domain)). So a person costs k times that, as when visits fall between the same two
//! releases (the norm of k *different* columns would be too small: visits may share a tick).
//!
//! *Proof.* With |c| the largest norm, `0 <= <c_i, c_j> <= |c_i| |c_j|`. The square is
//! `|c_i|^2 |v|^2 + |c_j|^2 |v'|^2 - 2 <c_i, c_j> <v, v'>`. If `<v, v'> >= 0`, the last term is at most 0 and the others are at most
//! `2 |c|^2 rho^2`. If `<v, v'> < 0`, every term grows with `|c_i|`, `|c_j|` and `<c_i, c_j>`, all at most |c| or |c|^2, and what results is
//! `|c|^2 |v - v'|^2 <= |c|^2 Delta^2`. With v' = 0 only `|c|^2 rho^2` remains. Pair a person's visits with those that replace them, pad with
//! zeros, and add up. QED
//!
//! In two dimensions or more `sqrt 2 rho <= Delta`: a vector has rho = L and Delta = 2 L; a symmetric domain `rho = L^2/sqrt 2` and
//! `Delta = L^2`; a regression `rho^2 = L^4 (1/2 + r)`, and `1 + 2r` is at most `(1 + r)^2`, and at most `4r` from r = 1/2 on. In one dimension
//! two contributions are closer than that (Delta^2 = 4r at r = 0.4, against 1 + 2r), but at ticks whose columns are orthogonal both count in
//! full: there the larger value is needed, and used by the clock only.

use serde::{Deserialize, Serialize};

#[cfg(feature = "schema")]
use crate::schema::{Count, NotNegative, add_names};
use crate::{Result, error::not_negative, named::named, refuse_if};

/// After which rounds a running sum is released: in files and in Python `"every_round"`, or with parameters
/// `{ geometric = { first = 8, rate = 0.02 } }`.
///
/// ```
/// use reticent::release::Schedule;
/// assert_eq!(Schedule::default().releases(50_000_000), 49_076);
/// let times: Vec<u64> = Schedule::default().times().take(3).collect();
/// assert_eq!(times, [8, 16, 24]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(remote = "Self", rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Schedule", transform = add_names::<Self>))]
pub enum Schedule {
    /// After every round.
    EveryRound,
    /// At a tick of the caller's clock, by [`PrivateSum::tick`](super::PrivateSum::tick): a round is a tick, with any number of contributions.
    Clock,
    /// Gaps grow in proportion to the round, between `least` and `most` rounds.
    CappedGeometric {
        /// Round of the first release.
        #[serde(default = "default_gap")]
        #[cfg_attr(feature = "schema", schemars(with = "Count"))]
        first: u64,
        /// Shortest gap.
        #[serde(default = "default_gap")]
        #[cfg_attr(feature = "schema", schemars(with = "Count"))]
        least: u64,
        /// Gap as a fraction of the rounds so far.
        #[serde(default = "default_rate")]
        #[cfg_attr(feature = "schema", schemars(with = "NotNegative"))]
        rate: f64,
        /// Longest gap.
        #[serde(default = "default_longest_gap")]
        #[cfg_attr(feature = "schema", schemars(with = "Count"))]
        most: u64,
    },
    /// Gaps grow in proportion to the round, without a cap.
    Geometric {
        /// Round of the first release.
        #[cfg_attr(feature = "schema", schemars(with = "Count"))]
        first: u64,
        /// Gap as a fraction of the rounds so far.
        #[cfg_attr(feature = "schema", schemars(with = "NotNegative"))]
        rate: f64,
    },
}

/// The common form of all schedules: gaps of about `rate` times the round.
struct Gaps {
    first: u64,
    least: u64,
    rate: f64,
    most: u64,
}

impl Default for Schedule {
    fn default() -> Self {
        let (first, least) = (default_gap(), default_gap());
        let (rate, most) = (default_rate(), default_longest_gap());
        Schedule::CappedGeometric { first, least, rate, most }
    }
}

fn default_gap() -> u64 {
    8
}

fn default_rate() -> f64 {
    0.02
}

fn default_longest_gap() -> u64 {
    1024
}

named!(Schedule, "{ capped_geometric = { first = 16, least = 16 } }", {
    "every_round": Schedule::EveryRound => Schedule::EveryRound,
    "clock": Schedule::Clock => Schedule::Clock,
    "capped_geometric": Schedule::CappedGeometric { .. } => Schedule::default(),
    "geometric": Schedule::Geometric { .. },
});

impl Schedule {
    /// The default schedule of a learner with this budget: the more it has, the shorter its longest gap, `1024 / epsilon^1.5` between 4 and
    /// 1024. Long gaps save noise, which matters where there is much of it; but an arm that is tried once is played until the next release.
    ///
    /// ```
    /// use reticent::release::Schedule;
    /// assert_eq!(Schedule::suited(1.0), Schedule::default());
    /// assert_eq!(Schedule::suited(1000.0), Schedule::constant(4));
    /// ```
    pub fn suited(epsilon: f64) -> Self {
        if epsilon <= 1.0 {
            return Schedule::default();
        }
        // The conversion saturates.
        let most = ((1024.0 / (epsilon * epsilon.sqrt())) as u64).clamp(4, 1024);
        let least = most.min(8);
        match most == least {
            true => Schedule::constant(most),
            false => Schedule::CappedGeometric { first: least, least, rate: 0.02, most },
        }
    }

    /// After every `gap` rounds.
    pub fn constant(gap: u64) -> Self {
        Schedule::CappedGeometric { first: gap, least: gap, rate: 0.0, most: gap }
    }

    /// The default for sums that forget with this half-life, in rounds: 64 releases in a half-life, and no gap above 64, so that the first
    /// release is as early as that of the default schedule however long the half-life is.
    ///
    /// ```
    /// use reticent::release::Schedule;
    /// assert_eq!(Schedule::for_half_life(640.0), Schedule::constant(10));
    /// ```
    pub fn for_half_life(half_life: f64) -> Self {
        Schedule::constant(((half_life / 64.0) as u64).clamp(1, 64))
    }

    /// The gap between two releases, if it is always the same.
    pub fn constant_gap(&self) -> Option<u64> {
        let Gaps { first, rate, most, .. } = self.gaps();
        let gap = self.next(first) - first;
        // Gaps never shrink, and none is above `most`.
        (rate == 0.0 || gap == most).then_some(gap)
    }

    /// Refuses schedules that never start or stand still.
    pub fn check(&self) -> Result<()> {
        let Gaps { first, least, rate, most } = self.gaps();
        not_negative("rate", rate)?;
        for (field, value) in [("first", first), ("least", least)] {
            refuse_if(value == 0, field, value, "expected a whole number of rounds above 0")?;
        }
        refuse_if(most < least, "most", most, format_args!("expected at least `least` = {least}"))?;
        Ok(())
    }

    fn gaps(&self) -> Gaps {
        match *self {
            Schedule::EveryRound | Schedule::Clock => {
                Gaps { first: 1, least: 1, rate: 0.0, most: 1 }
            }
            Schedule::CappedGeometric { first, least, rate, most } => {
                Gaps { first, least, rate, most }
            }
            Schedule::Geometric { first, rate } => Gaps { first, least: 1, rate, most: u64::MAX },
        }
    }

    /// Round of the first release.
    pub fn first(&self) -> u64 {
        self.gaps().first
    }

    /// Round of the release that follows one at `round`.
    pub fn next(&self, round: u64) -> u64 {
        let Gaps { least, rate, most, .. } = self.gaps();
        let proportional = (rate * round as f64) as u64;
        round.saturating_add(proportional.max(least).min(most))
    }

    /// The rounds of the releases, without end.
    pub fn times(&self) -> impl Iterator<Item = u64> + use<> {
        let schedule = *self;
        std::iter::successors(Some(schedule.first()), move |&round| Some(schedule.next(round)))
    }

    /// The round of release number `index`, from 1.
    pub(super) fn round_of(&self, index: u64) -> u64 {
        let (mut low, mut high) = (1, u64::MAX);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.releases(middle) < index { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Number of releases happen in rounds 1 to `horizon`.
    ///
    /// Runs of equal gaps are counted at once: about `1/rate` operations for any horizon.
    pub fn releases(&self, horizon: u64) -> u64 {
        let Gaps { first, rate, most, .. } = self.gaps();
        let (mut round, mut count) = (first, 0);
        while round <= horizon {
            let gap = self.next(round) - round;
            if gap == 0 {
                return count + 1; // `round` is the largest u64
            }
            // The gap is the same up to the round where rate * round reaches the next whole number.
            let change = if gap >= most || rate == 0.0 {
                u64::MAX
            } else {
                ((gap + 1) as f64 / rate * (1.0 - 1e-12)) as u64
            };
            let run = (change.min(horizon).saturating_sub(round) / gap).max(1);
            count += run;
            round = round.saturating_add(run.saturating_mul(gap));
        }
        count
    }

    /// Returns whether two contributions can fall between the same two releases.
    pub fn batches(&self) -> bool {
        !matches!(self, Schedule::EveryRound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_default_makes_49076_releases_in_the_papers_horizon() {
        let schedule = Schedule::default();
        assert_eq!(schedule.releases(50_000_000), 49_076);
        assert_eq!(schedule.times().take_while(|&t| t <= 50_000_000).count(), 49_076);
        assert_eq!(schedule.releases(7), 0);
        assert_eq!(schedule.releases(8), 1);
    }

    #[test]
    fn a_gap_is_constant_or_it_grows() {
        assert_eq!(Schedule::default().constant_gap(), None);
        assert_eq!(Schedule::Geometric { first: 3, rate: 0.5 }.constant_gap(), None);
        assert_eq!(Schedule::Geometric { first: 3, rate: 0.0 }.constant_gap(), Some(1));
        for clock in [Schedule::Clock, Schedule::EveryRound] {
            assert_eq!(clock.constant_gap(), Some(1));
        }
        let late = Schedule::CappedGeometric { first: 500, least: 1, rate: 0.1, most: 50 };
        assert_eq!(late.constant_gap(), Some(50));
        assert_eq!(late.times().take(3).collect::<Vec<_>>(), [500, 550, 600]);
        assert_eq!(Schedule::constant(7).times().take(3).collect::<Vec<_>>(), [7, 14, 21]);
        assert_eq!(Schedule::for_half_life(0.5), Schedule::constant(1));
        assert_eq!(Schedule::for_half_life(1e9), Schedule::constant(64));
    }

    #[test]
    fn long_horizons_are_counted_without_walking_them() {
        assert_eq!(Schedule::EveryRound.releases(1 << 60), 1 << 60);
        assert!(Schedule::default().releases(1 << 60) > 1 << 49);
        assert!(Schedule::Geometric { first: 1, rate: 1e-6 }.releases(1 << 60) > 1_000_000);
        assert!(Schedule::Geometric { first: 1, rate: 1e300 }.releases(u64::MAX) >= 1);
    }

    proptest! {
        #[test]
        fn counting_agrees_with_walking(
            first in 1_u64..200, least in 1_u64..40, extra in 0_u64..200, rate in 0.0_f64..0.5, horizon in 1_u64..20_000,
        ) {
            for schedule in [
                Schedule::EveryRound,
                Schedule::CappedGeometric { first, least, rate, most: least + extra },
                Schedule::Geometric { first, rate },
            ] {
                prop_assert!(schedule.check().is_ok());
                let walked = schedule.times().take_while(|&t| t <= horizon).count() as u64;
                prop_assert_eq!(schedule.releases(horizon), walked);
            }
        }

        #[test]
        fn nonsense_is_refused(first in 0_u64..2, least in 0_u64..3, rate in prop::sample::select(vec![0.1, -0.1, f64::NAN, f64::INFINITY])) {
            let schedule = Schedule::CappedGeometric { first, least, rate, most: 1 };
            let sound = first >= 1 && least == 1 && rate == 0.1;
            prop_assert_eq!(schedule.check().is_ok(), sound);
        }
    }
}
