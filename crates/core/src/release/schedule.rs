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
//! **Lemma.** For columns `c_i, c_j` of a factor C with entries of 0 or more, contributions v, v' of a domain with sensitivity Delta, or zero:
//! `||c_i v - c_j v'|| <= max ||c|| Delta`. So a person costs `k max ||c|| Delta`, as when visits fall between the same two releases (the norm
//! of k *different* columns would be too small: visits may share a tick).
//!
//! *Proof.* Regression with L = B = 1 and split r: the weighted square of one contribution is `p^2/2 + r p y^2 <= 1/2 + r`, and
//! `-<v, v'> = -a^2/2 - r y y' <x, x'> <= -a^2/2 + r a` with `a = |<x, x'>|`, at most `r^2/2` for r <= 1 and `r - 1/2` beyond. With
//! `0 <= <c_i, c_j> <= |c|^2`, where |c| is the largest norm:
//! `||c_i v - c_j v'||^2 = |c_i|^2 |v|^2 + |c_j|^2 |v'|^2 - 2 <c_i, c_j> <v, v'> <= |c|^2 (1 + 2r) + |c|^2 r^2 = |c|^2 (1 + r)^2`, and beyond
//! r = 1 `|c|^2 (1 + 2r + 2r - 1) = 4 r |c|^2`: Delta squared in both cases. A symmetric domain has `|v|^2 <= 1/2` and `<v, v'> >= 0`, which gives
//! `|c|^2`; a vector has `|v| <= 1` and `-<v, v'> <= 1`, which gives `4 |c|^2`. With v' = 0 only the first term remains. Pair a person's
//! visits with those that replace them, pad with zeros, and add up. QED

use serde::{Deserialize, Serialize};

use crate::{Result, error::not_negative, refuse_if};

/// After which rounds a running sum is released.
///
/// ```
/// use reticent::release::Schedule;
/// assert_eq!(Schedule::default().releases(50_000_000), 49_036);
/// let times: Vec<u64> = Schedule::default().times().take(3).collect();
/// assert_eq!(times, [64, 80, 96]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Schedule {
    /// After every round.
    EveryRound,
    /// When the caller's clock ticks, by [`PrivateSum::tick`](super::PrivateSum::tick): a round is a tick, with any number of contributions.
    Clock,
    /// Gaps grow in proportion to the round, between `least` and `most` rounds.
    CappedGeometric {
        /// Round of the first release.
        first: u64,
        /// Shortest gap.
        least: u64,
        /// Gap as a fraction of the rounds so far.
        rate: f64,
        /// Longest gap.
        most: u64,
    },
    /// Gaps grow in proportion to the round, without a cap.
    Geometric {
        /// Round of the first release.
        first: u64,
        /// Gap as a fraction of the rounds so far.
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
        Schedule::CappedGeometric { first: 64, least: 16, rate: 0.02, most: 1024 }
    }
}

impl Schedule {
    /// Refuses schedules that never start or stand still.
    pub fn check(&self) -> Result<()> {
        let Gaps { first, least, rate, most } = self.gaps();
        not_negative("rate", rate)?;
        for (field, value) in [("first", first), ("least", least)] {
            refuse_if(value == 0, field, value, "give a whole number of rounds above 0")?;
        }
        refuse_if(most < least, "most", most, format_args!("give at least `least` = {least}"))?;
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

    /// How many releases happen in rounds 1 to `horizon`.
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

    /// Whether two contributions can fall between the same two releases.
    pub fn batches(&self) -> bool {
        !matches!(self, Schedule::EveryRound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_default_makes_49036_releases_in_the_papers_horizon() {
        let schedule = Schedule::default();
        assert_eq!(schedule.releases(50_000_000), 49_036);
        assert_eq!(schedule.times().take_while(|&t| t <= 50_000_000).count(), 49_036);
        assert_eq!(schedule.releases(63), 0);
        assert_eq!(schedule.releases(64), 1);
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
