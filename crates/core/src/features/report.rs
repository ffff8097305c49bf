//! Counts of values that a rule clipped or did not know.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Outcome;

/// Number of times values of one feature were not encoded as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Numbers outside their range.
    pub clipped: u64,
    /// Words that are not listed.
    pub unknown: u64,
    /// Values that were not there.
    pub missing: u64,
    /// Values of a type that the feature does not have.
    pub mistyped: u64,
}

/// Counts over the records that were encoded, by the names of features. A feature is counted once for each record it was read from:
/// a context once however many actions there are.
///
/// **For the holder of the data only.** A count is made from people's records and no guarantee covers it: it must not be published, nor may anything
/// that others see depend on it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Report {
    /// Contexts that were read.
    pub contexts: u64,
    /// Actions that were read.
    pub actions: u64,
    /// Features of contexts that had something to count.
    pub context: BTreeMap<String, Counts>,
    /// Features of actions that had something to count.
    pub action: BTreeMap<String, Counts>,
    /// Vectors that were longer than 1 after a projection, and were scaled down.
    pub shortened: u64,
}

impl Report {
    /// Adds the counts of another report.
    pub fn add(&mut self, other: &Report) {
        self.contexts += other.contexts;
        self.actions += other.actions;
        self.shortened += other.shortened;
        for (mine, theirs) in
            [(&mut self.context, &other.context), (&mut self.action, &other.action)]
        {
            for (name, counts) in theirs {
                let sum = mine.entry(name.clone()).or_default();
                sum.clipped += counts.clipped;
                sum.unknown += counts.unknown;
                sum.missing += counts.missing;
                sum.mistyped += counts.mistyped;
            }
        }
    }
}

/// Counts an outcome, unless there is nothing to say.
pub(super) fn count(counts: &mut BTreeMap<String, Counts>, name: &str, outcome: Outcome) {
    if outcome == Outcome::Known {
        return;
    }
    if !counts.contains_key(name) {
        counts.insert(name.to_string(), Counts::default());
    }
    let of_feature = counts.get_mut(name).expect("it was inserted");
    match outcome {
        Outcome::Known => {}
        Outcome::Clipped => of_feature.clipped += 1,
        Outcome::Unknown => of_feature.unknown += 1,
        Outcome::Missing => of_feature.missing += 1,
        Outcome::Mistyped => of_feature.mistyped += 1,
    }
}
