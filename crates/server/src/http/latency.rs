//! Times of calls, for the dashboard: counts by powers of two, as Prometheus has them too.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// The first limit in seconds.
pub(super) const FIRST: f64 = 50e-6;

/// Limits, each twice the one before it: up to 1.6 s.
pub(super) const LIMITS: u16 = 16;

/// Calls of one kind.
#[derive(Debug, Default)]
pub(super) struct Latencies {
    /// Calls up to each limit, and above the last one.
    counts: [AtomicU64; LIMITS as usize + 1],
    errors: AtomicU64,
}

/// Calls of one kind, of several loops.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Totals {
    counts: [u64; LIMITS as usize + 1],
    /// Calls that were refused or failed.
    pub(super) errors: u64,
}

impl Latencies {
    /// A call succeeded and took so long.
    pub(super) fn observe(&self, time: Duration) {
        let mut limit = FIRST;
        let place = (0..usize::from(LIMITS)).find(|_| {
            let within = time.as_secs_f64() <= limit;
            limit *= 2.0;
            within
        });
        self.counts[place.unwrap_or(usize::from(LIMITS))].fetch_add(1, Ordering::Relaxed);
    }

    /// A call was refused or failed.
    pub(super) fn fail(&self) {
        self.errors.fetch_add(1, Ordering::Relaxed);
    }
}

impl Totals {
    /// Adds the calls of a loop.
    pub(super) fn add(&mut self, calls: &Latencies) {
        for (total, count) in self.counts.iter_mut().zip(&calls.counts) {
            *total += count.load(Ordering::Relaxed);
        }
        self.errors += calls.errors.load(Ordering::Relaxed);
    }

    /// All calls.
    pub(super) fn requests(&self) -> u64 {
        self.counts.iter().sum::<u64>() + self.errors
    }

    /// The limit in milliseconds within which this share of the calls that succeeded were answered; none if there were none, or if it is above the
    /// last limit.
    pub(super) fn within(&self, share: f64) -> Option<f64> {
        let all: u64 = self.counts.iter().sum();
        let mut seen = 0;
        let place = self.counts[..usize::from(LIMITS)].iter().position(|count| {
            seen += count;
            seen > 0 && seen as f64 >= share * all as f64
        })?;
        Some(1000.0 * FIRST * 2.0_f64.powi(i32::try_from(place).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_and_the_tail_of_the_calls_are_shown_by_their_limit() {
        let calls = Latencies::default();
        let mut none = Totals::default();
        none.add(&calls);
        assert_eq!((none.requests(), none.within(0.5)), (0, None));
        for index in 0..100 {
            calls.observe(Duration::from_micros(if index < 98 { 90 } else { 3000 }));
        }
        calls.fail();
        let mut total = Totals::default();
        total.add(&calls);
        assert_eq!((total.requests(), total.errors), (101, 1));
        assert_eq!((total.within(0.5), total.within(0.99)), (Some(0.1), Some(3.2)));
        calls.observe(Duration::from_secs(9));
        let mut slow = Totals::default();
        slow.add(&calls);
        assert_eq!(slow.within(1.0), None);
    }
}
