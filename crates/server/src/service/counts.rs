//! Exact counts of what people did, in metrics and on the dashboard for admin keys. Internal: no certificate covers them.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of one loop since the process began.
#[derive(Debug, Default)]
pub struct Counts {
    /// Rank requests whose events were stored. One whose commit could not be confirmed is not among them.
    pub ranks: AtomicU64,
    /// Rank requests without a person in a loop that counts persons: answered, and not learnt from.
    pub without_person: AtomicU64,
    /// Rewards that were taken, repetitions not: with a default of 0 their number is the sum of rewards. One whose commit could not be confirmed is not
    /// among them.
    pub rewards: AtomicU64,
    /// Rewards that were late or for unknown events.
    pub refused_rewards: AtomicU64,
    /// Deferred events that were activated.
    pub activations: AtomicU64,
    /// Features that were clipped.
    pub clipped: AtomicU64,
    /// Features that were unknown, missing or of another type.
    pub unknown: AtomicU64,
    /// Decisions in apprentice mode that the policy would have made in the same way.
    pub matches: AtomicU64,
    /// Rows that could not be used at a release.
    pub unusable: AtomicU64,
}

impl Counts {
    pub(crate) fn add(count: &AtomicU64, more: u64) {
        count.fetch_add(more, Ordering::Relaxed);
    }
}
