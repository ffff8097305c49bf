//! Exact counts of what people did, in metrics and on the dashboard for admin keys. Internal: no certificate covers them.
//!
//! **Unknown words are not counted.** A word is appended to a list by an act that everybody sees, and the proof that it costs nothing (`release/append.rs` of
//! the core) needs that the act follows from releases or public facts. An exact count of unknown words, however internal, exists to be the reason for that
//! act: one person's word would show in the file. A released count with noise would cost budget in every loop for what a catalogue or a
//! release note knows. So the service shows to no key how many words were not listed or which; words come from the application's own lists. Laboratories and
//! libraries report unknown words to the holder of the data (`features/report.rs`).

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
    /// Features that were missing or of another type.
    pub missing: AtomicU64,
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
