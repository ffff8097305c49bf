//! Record of the reports that a server has counted: each once, whatever the network does.
//!
//! A report carries 128 random bits and the number of the model it was made under. Within the window of `late_models` models the
//! server remembers these bits; what is older is refused, so its name need not be kept. Memory is 16 bytes a report of the last
//! `late_models` models, whatever came before. Two reports share their bits by chance with probability below `n^2 2^-129`. None of this
//! bears on privacy: the server sees every report by itself, so what it makes of a report, or of a copy under another name, is
//! post-processing of what the local guarantee covers already. A copy that is counted twice harms what is learnt, as any forged
//! report does. Behind a shuffler it is another matter (`shuffle/repeats`).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{Result, randomize::Report, refuse_if};

/// Outcome of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absorbed {
    /// It is in the sums.
    Counted,
    /// It was there before.
    Duplicate,
    /// It was made under a model too old to tell whether it was there before, or from before a restart.
    TooLate,
    /// The exploration phase is over, and the sums are made.
    Unneeded,
}

/// Names of counted reports, and the number of the next model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Inbox {
    late_models: u64,
    next: u64,
    /// The first model after the last restart.
    first: u64,
    /// Names of reports by the model they were made under.
    seen: BTreeMap<u64, BTreeSet<[u64; 2]>>,
}

impl Inbox {
    pub(super) fn new(late_models: u64) -> Self {
        Inbox { late_models, ..Inbox::default() }
    }

    /// The oldest model whose reports are still taken.
    pub(super) fn oldest(&self) -> u64 {
        self.next.saturating_sub(self.late_models.saturating_add(1)).max(self.first)
    }

    /// From here on reports made under the models published so far are late.
    pub(super) fn restart(&mut self) {
        self.first = self.next;
        self.seen.clear();
    }

    /// Reason why a report is not to be counted, if it is not.
    pub(super) fn refusal(&self, report: &Report) -> Result<Option<Absorbed>> {
        let remedy = "no such model has been published yet";
        refuse_if(report.model >= self.next, "model", report.model, remedy)?;
        if report.model < self.oldest() {
            return Ok(Some(Absorbed::TooLate));
        }
        let known = self.seen.get(&report.model).is_some_and(|ids| ids.contains(&report.id));
        Ok(known.then_some(Absorbed::Duplicate))
    }

    /// The report is counted.
    pub(super) fn remember(&mut self, report: &Report) {
        self.seen.entry(report.model).or_default().insert(report.id);
    }

    /// The number of the model that is published now; names too old to matter are forgotten.
    pub(super) fn publish(&mut self) -> u64 {
        let sequence = self.next;
        self.next += 1;
        self.seen = self.seen.split_off(&self.oldest());
        sequence
    }

    /// Names kept.
    pub(super) fn remembered(&self) -> usize {
        self.seen.values().map(BTreeSet::len).sum()
    }
}
