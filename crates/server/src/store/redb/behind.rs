//! Event ids and the ledger, written behind.
//!
//! Hashes are random keys: in a tree of a million, each one written changes a page of its own, and 4 KiB a row is ten times what the event itself
//! takes. So the newest entries stay in memory, and a small row of a journal makes them durable. They are merged into their tables in the order of
//! their hashes, some with every group, so that neighbours share a page and no group waits for all.
//!
//! A *lap* is one pass over all hashes. When it ends, everything that was journalled before it began is in the tables, and those rows of the journal
//! go. An entry of the ledger is the count after the event and not a difference, so that reading a journal twice changes nothing.

use std::{
    collections::{BTreeMap, VecDeque},
    ops::Bound::{Excluded, Unbounded},
};

use ::redb::{ReadableTable, Table};

use super::{
    tables::{
        CountKey, CountRow, HeadRow, IdKey, JournalEntry, JournalRow, LedgerKey, PlaceKey, Row,
        Tables, get, place_key, put,
    },
    writer::Attempt,
};
use crate::store::{EventHash, GenerationId, PersonHash, Place, row};

/// Entries in the journal before merging begins. More make pages better shared, a restart longer and the memory larger.
pub(super) const JOURNAL_ENTRIES: usize = 131_072;
/// Merged entries of the journal that a group removes for each one that it adds: rows of small groups must not pile up under large ones.
const REMOVED_ENTRIES: usize = 4;

/// Entries that are not in their table yet.
struct Unmerged<K, V> {
    entries: BTreeMap<K, V>,
    /// The last key that this lap has merged.
    cursor: Option<K>,
    /// Entries when this lap began.
    at_start: usize,
    /// True if this lap has merged everything.
    passed: bool,
}

impl<K, V> Default for Unmerged<K, V> {
    fn default() -> Self {
        Unmerged { entries: BTreeMap::new(), cursor: None, at_start: 0, passed: false }
    }
}

impl<K: Ord + Copy, V: Copy> Unmerged<K, V> {
    /// Takes out the next entries of the lap: as many as let it end before the journal is twice as long.
    fn take(&mut self, added: usize, journal_entries: usize) -> Vec<(K, V)> {
        let entries = self.entries.len().max(self.at_start);
        let count = (2 * added).saturating_mul(entries) / journal_entries.max(1) + 1;
        let after = self.cursor.map_or(Unbounded, Excluded);
        let taken: Vec<(K, V)> = self
            .entries
            .range((after, Unbounded))
            .take(count)
            .map(|(key, value)| (*key, *value))
            .collect();
        for (key, _) in &taken {
            self.entries.remove(key);
        }
        self.passed |= taken.len() < count;
        self.cursor = taken.last().map(|(key, _)| *key).or(self.cursor);
        taken
    }

    fn begin_lap(&mut self) {
        (self.cursor, self.at_start, self.passed) = (None, self.entries.len(), false);
    }
}

/// Entries that are not in the tables yet.
#[derive(Default)]
pub(super) struct WriteBehind {
    /// Entries in the journal before merging begins.
    journal_entries: usize,
    ids: Unmerged<(GenerationId, EventHash), Place>,
    ledger: Unmerged<LedgerKey, u32>,
    /// The rows of the journal: number, entries.
    rows: VecDeque<(u64, usize)>,
    /// Entries of all these rows.
    journalled: usize,
    /// The number of the next row.
    next: u64,
    /// The number of the next row when this lap began.
    lap: u64,
    /// Rows below this number are in the tables.
    merged: u64,
}

impl WriteBehind {
    /// Reads the journal. An id that was forgotten since is left out; only those of closed slots can be, so that open ones are not looked up.
    pub(super) fn recover(
        journal: &impl ReadableTable<u64, Row>,
        remembered: &impl ReadableTable<PlaceKey, Row>,
        heads: &impl ReadableTable<GenerationId, Row>,
        journal_entries: usize,
    ) -> Attempt<Self> {
        let mut closed = BTreeMap::new();
        for row in heads.iter()? {
            let (generation, row) = row?;
            closed.insert(generation.value(), row::decode::<HeadRow>(row.value())?.closed);
        }
        let mut behind = WriteBehind { journal_entries, ..WriteBehind::default() };
        for row in journal.iter()? {
            let (number, row) = row?;
            let JournalRow(entries) = row::decode(row.value())?;
            for entry in &entries {
                behind.add(entry);
                let is_open =
                    closed.get(&entry.generation).is_some_and(|closed| entry.place.slot > *closed);
                if !is_open && remembered.get(place_key(entry.generation, entry.place))?.is_none() {
                    behind.ids.entries.remove(&(entry.generation, entry.event));
                }
            }
            behind.add_row(number.value(), entries.len());
        }
        behind.begin_lap();
        Ok(behind)
    }

    fn add_row(&mut self, number: u64, entries: usize) {
        self.rows.push_back((number, entries));
        self.journalled += entries;
        self.next = number.saturating_add(1);
    }

    /// Place of the event of this id.
    pub(super) fn place(
        &self,
        ids: &impl ReadableTable<IdKey, Row>,
        generation: GenerationId,
        event: &EventHash,
    ) -> Attempt<Option<Place>> {
        match self.ids.entries.get(&(generation, *event)) {
            Some(place) => Ok(Some(*place)),
            None => get(ids, (generation, event)),
        }
    }

    /// The visits of a person.
    pub(super) fn count(
        &self,
        ledger: &impl ReadableTable<CountKey, Row>,
        (generation, period, person): LedgerKey,
    ) -> Attempt<u32> {
        match self.ledger.entries.get(&(generation, period, person)) {
            Some(count) => Ok(*count),
            None => {
                Ok(get(ledger, (generation, period, &person))?.map_or(0, |CountRow(count)| count))
            }
        }
    }

    /// Adds an event, which `commit` journals.
    pub(super) fn add(&mut self, entry: &JournalEntry) {
        self.ids.entries.insert((entry.generation, entry.event), entry.place);
        if let Some((key, count)) = entry.charge {
            self.ledger.entries.insert(key, count);
        }
    }

    /// Forgets an event id.
    pub(super) fn forget(
        &mut self,
        ids: &mut Table<'_, IdKey, Row>,
        generation: GenerationId,
        event: &EventHash,
    ) -> Attempt<()> {
        self.ids.entries.remove(&(generation, *event));
        ids.remove((generation, event))?;
        Ok(())
    }

    /// Merges all counts, so that the table alone is the ledger.
    fn merge_ledger(&mut self, ledger: &mut Table<'_, CountKey, Row>) -> Attempt<()> {
        for ((generation, period, person), count) in std::mem::take(&mut self.ledger.entries) {
            put(ledger, (generation, period, &person), &CountRow(count))?;
        }
        Ok(())
    }

    /// Journals the events of a group, and merges some of the older ones.
    pub(super) fn commit(
        &mut self,
        tables: &mut Tables<'_>,
        entries: Vec<JournalEntry>,
    ) -> Attempt<()> {
        let added = entries.len();
        if added == 0 {
            return Ok(());
        }
        put(&mut tables.journal, self.next, &JournalRow(entries))?;
        self.add_row(self.next, added);
        if self.journalled > self.journal_entries {
            self.merge(tables, added)?;
        }
        let mut removed = 0;
        while removed < added.saturating_mul(REMOVED_ENTRIES)
            && let Some((number, entries)) =
                self.rows.pop_front_if(|(number, _)| *number < self.merged)
        {
            tables.journal.remove(number)?;
            self.journalled -= entries;
            removed += entries;
        }
        Ok(())
    }

    fn begin_lap(&mut self) {
        self.lap = self.next;
        self.ids.begin_lap();
        self.ledger.begin_lap();
    }

    /// True if the journal is longer than laps let it grow, as it is after many restarts that each began a lap and ended none.
    pub(super) fn is_overlong(&self) -> bool {
        self.journalled > self.journal_entries.saturating_mul(3)
    }

    /// Merges everything, and empties the journal.
    pub(super) fn merge_all(&mut self, tables: &mut Tables<'_>) -> Attempt<()> {
        for ((generation, event), place) in std::mem::take(&mut self.ids.entries) {
            put(&mut tables.ids, (generation, &event), &place)?;
        }
        self.merge_ledger(&mut tables.ledger)?;
        for (number, _) in std::mem::take(&mut self.rows) {
            tables.journal.remove(number)?;
        }
        self.journalled = 0;
        self.begin_lap();
        Ok(())
    }

    fn merge(&mut self, tables: &mut Tables<'_>, added: usize) -> Attempt<()> {
        for ((generation, event), place) in self.ids.take(added, self.journal_entries) {
            put(&mut tables.ids, (generation, &event), &place)?;
        }
        for ((generation, period, person), count) in self.ledger.take(added, self.journal_entries) {
            put(&mut tables.ledger, (generation, period, &person), &CountRow(count))?;
        }
        if self.ids.passed && self.ledger.passed {
            self.merged = self.lap;
            self.begin_lap();
        }
        Ok(())
    }
}

/// The counts of one period of a ledger that are journalled and perhaps not merged: for readers, who see the journal of their own snapshot.
pub(super) fn journalled_counts(
    journal: &impl ReadableTable<u64, Row>,
    ledger: GenerationId,
    period: u64,
) -> Attempt<BTreeMap<PersonHash, u32>> {
    let mut counts = BTreeMap::new();
    for row in journal.iter()? {
        let JournalRow(entries) = row::decode(row?.1.value())?;
        let charges = entries.into_iter().filter_map(|entry| entry.charge);
        let of_period = charges.filter(|((of, at, _), _)| (*of, *at) == (ledger, period));
        counts.extend(of_period.map(|((_, _, person), count)| (person, count)));
    }
    Ok(counts)
}
