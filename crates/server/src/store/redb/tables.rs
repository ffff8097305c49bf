//! The tables and the rows that only this store has.
//!
//! | table | key | row | order of writing |
//! | --- | --- | --- | --- |
//! | events | generation, slot, number | the event | as it comes |
//! | remembered | generation, slot, number | event id, person, request, answer | as it comes |
//! | journal | number of a group | what `behind` has not merged yet | as it comes |
//! | ids | generation, event id | place | random, behind |
//! | ledger | generation that began it, period, person | visits | random, behind |
//! | open | generation, slot | events in an open slot | few rows |
//! | heads, states, lives | generation | | few rows |
//! | releases | generation, number | release | as it comes |
//! | keys, settings, erased, identity | | | few rows |

use std::{collections::BTreeMap, ops::RangeInclusive};

use ::redb::{
    Key, ReadOnlyTable, ReadTransaction, ReadableTable, Table, TableDefinition, WriteTransaction,
};
use serde::{Deserialize, Serialize};

use super::writer::Attempt;
use crate::{
    clock::Time,
    store::{
        Digest, ERASED_REQUEST, EventHash, Generation, GenerationId, Head, KeyRecord, PersonHash,
        Place, ReleaseRecord, StoreId, StoredEvent,
        records::FirstGeneration,
        refusal,
        row::{self, Reader, Record},
    },
};

/// The bytes of a row.
pub(super) type Row = &'static [u8];
type Definition<K> = TableDefinition<'static, K, Row>;

/// The key of an event.
pub(super) type PlaceKey = (GenerationId, u64, u64);
/// The key of an event id.
pub(super) type IdKey = (GenerationId, &'static EventHash);
/// A person's row in a ledger: the generation that began it, period, person.
pub(super) type LedgerKey = (GenerationId, u64, PersonHash);
/// The key of a count.
pub(super) type CountKey = (GenerationId, u64, &'static PersonHash);

pub(super) const EVENTS: Definition<PlaceKey> = TableDefinition::new("events");
pub(super) const REMEMBERED: Definition<PlaceKey> = TableDefinition::new("remembered");
pub(super) const JOURNAL: Definition<u64> = TableDefinition::new("journal");
pub(super) const IDS: Definition<IdKey> = TableDefinition::new("ids");
pub(super) const LEDGER: Definition<CountKey> = TableDefinition::new("ledger");
pub(super) const OPEN: Definition<(GenerationId, u64)> = TableDefinition::new("open");
pub(super) const HEADS: Definition<GenerationId> = TableDefinition::new("heads");
pub(super) const STATES: Definition<GenerationId> = TableDefinition::new("states");
pub(super) const GENERATIONS: Definition<GenerationId> = TableDefinition::new("lives");
pub(super) const RELEASES: Definition<(GenerationId, u64)> = TableDefinition::new("releases");
pub(super) const KEYS: Definition<&'static str> = TableDefinition::new("keys");
pub(super) const SETTINGS: Definition<&'static str> = TableDefinition::new("settings");
pub(super) const ERASED: Definition<&'static PersonHash> = TableDefinition::new("erased");
pub(super) const IDENTITY: Definition<()> = TableDefinition::new("identity");

/// A head without its state, which is large and seldom needed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct HeadRow {
    pub number: u64,
    pub chain: Digest,
    pub epoch: u64,
    pub closed: u64,
    pub folded: u64,
    /// The number of the last event.
    pub events: u64,
    /// Releases up to this number are kept as hashes only.
    pub stripped: u64,
    /// True if the next generation of the loop has begun.
    pub ended: bool,
}

impl HeadRow {
    /// The head that callers see.
    pub(super) fn with_state(self, state: Vec<u8>) -> Head {
        let HeadRow { number, chain, epoch, closed, folded, .. } = self;
        Head { number, chain, epoch, closed, folded, state }
    }
}

/// Record of an event id.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Remembered {
    pub event: EventHash,
    /// The person who asked, for erasure: the event's own row may be gone.
    pub person: Option<PersonHash>,
    pub request: Digest,
    pub answer: Vec<u8>,
}

/// Version 1 of [`Remembered`].
#[derive(Deserialize)]
struct FirstRemembered {
    event: EventHash,
    request: Digest,
    answer: Vec<u8>,
}

impl Record for Remembered {
    const NAME: &'static str = "remembered";
    const VERSION: u8 = 2;

    fn reader_of(version: u8) -> Option<Reader<Self>> {
        let read: Reader<Self> = |bytes| {
            let FirstRemembered { event, request, answer } = row::whole(bytes)?;
            Some(Remembered { event, person: None, request, answer })
        };
        (version == 1).then_some(read)
    }
}

impl Remembered {
    /// The rest when its person is erased: the id, so that a repetition is not a second event.
    pub(super) fn erased(self) -> Self {
        let Remembered { event, .. } = self;
        Remembered { event, person: None, request: ERASED_REQUEST, answer: Vec::new() }
    }
}

/// The first fields of an event: those that decide whether its row goes.
#[derive(Deserialize)]
pub(super) struct EventPrefix {
    _event: EventHash,
    pub person: Option<PersonHash>,
    pub time: Time,
}

/// The first fields of a remembered id.
#[derive(Deserialize)]
pub(super) struct RememberedPrefix {
    _event: EventHash,
    pub person: Option<PersonHash>,
}

/// An event of the journal.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct JournalEntry {
    pub generation: GenerationId,
    pub event: EventHash,
    pub place: Place,
    /// The person's row in the ledger and their visits with this one, if it was charged.
    pub charge: Option<(LedgerKey, u32)>,
}

/// The events of one group.
#[derive(PartialEq, Serialize, Deserialize)]
pub(super) struct JournalRow(pub Vec<JournalEntry>);

/// Version 1 of a [`JournalEntry`]: of a charge the period, the person and their visits, in the ledger of its own generation.
#[derive(Deserialize)]
struct FirstEntry {
    generation: GenerationId,
    event: EventHash,
    place: Place,
    charge: Option<(u64, PersonHash, u32)>,
}

impl From<FirstEntry> for JournalEntry {
    fn from(first: FirstEntry) -> Self {
        let FirstEntry { generation, event, place, charge } = first;
        let charge = charge.map(|(period, person, count)| ((generation, period, person), count));
        JournalEntry { generation, event, place, charge }
    }
}

impl Record for JournalRow {
    const NAME: &'static str = "journal";
    const VERSION: u8 = 2;

    fn reader_of(version: u8) -> Option<Reader<Self>> {
        let read: Reader<Self> = |bytes| {
            let first: Vec<FirstEntry> = row::whole(bytes)?;
            Some(JournalRow(first.into_iter().map(JournalEntry::from).collect()))
        };
        (version == 1).then_some(read)
    }
}

impl Record for Generation {
    const NAME: &'static str = "life";
    const VERSION: u8 = 2;

    fn reader_of(version: u8) -> Option<Reader<Self>> {
        let read: Reader<Self> = |bytes| row::whole::<FirstGeneration>(bytes).map(Generation::from);
        (version == 1).then_some(read)
    }
}

/// A count of visits.
#[derive(PartialEq, Serialize, Deserialize)]
pub(super) struct CountRow(pub u32);

/// A count of open events.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct OpenRow(pub u64);

/// A learner's state.
#[derive(PartialEq, Serialize, Deserialize)]
pub(super) struct StateRow(pub Vec<u8>);

/// A named value.
#[derive(PartialEq, Serialize, Deserialize)]
pub(super) struct SettingRow(pub Vec<u8>);

/// Time of an erasure.
#[derive(PartialEq, Serialize, Deserialize)]
pub(super) struct ErasedRow(pub Time);

/// The identity of the store.
#[derive(PartialEq, Serialize, Deserialize)]
pub(super) struct IdentityRow(pub StoreId);

macro_rules! records {
    ($($record:ty: $name:literal),* $(,)?) => { $(impl Record for $record { const NAME: &'static str = $name; })* };
}
records! {
    StoredEvent: "event", Place: "place", CountRow: "count", OpenRow: "open", HeadRow: "head",
    StateRow: "state", ReleaseRecord: "release", KeyRecord: "key", SettingRow: "setting", ErasedRow: "erased",
    IdentityRow: "identity",
}

/// All tables in a transaction that writes.
pub(super) struct Tables<'t> {
    pub events: Table<'t, PlaceKey, Row>,
    pub remembered: Table<'t, PlaceKey, Row>,
    pub journal: Table<'t, u64, Row>,
    pub ids: Table<'t, IdKey, Row>,
    pub ledger: Table<'t, CountKey, Row>,
    pub open: Buffered<'t, (GenerationId, u64), OpenRow>,
    pub heads: Buffered<'t, GenerationId, HeadRow>,
    pub states: Table<'t, GenerationId, Row>,
    pub generations: Table<'t, GenerationId, Row>,
    pub releases: Table<'t, (GenerationId, u64), Row>,
    pub keys: Table<'t, &'static str, Row>,
    pub settings: Table<'t, &'static str, Row>,
    pub erased: Table<'t, &'static PersonHash, Row>,
    pub identity: Table<'t, (), Row>,
}

impl<'t> Tables<'t> {
    /// Opens all tables, and makes those that do not exist.
    pub(super) fn open(transaction: &'t WriteTransaction) -> Attempt<Self> {
        Ok(Tables {
            events: transaction.open_table(EVENTS)?,
            remembered: transaction.open_table(REMEMBERED)?,
            journal: transaction.open_table(JOURNAL)?,
            ids: transaction.open_table(IDS)?,
            ledger: transaction.open_table(LEDGER)?,
            open: Buffered::new(transaction.open_table(OPEN)?),
            heads: Buffered::new(transaction.open_table(HEADS)?),
            states: transaction.open_table(STATES)?,
            generations: transaction.open_table(GENERATIONS)?,
            releases: transaction.open_table(RELEASES)?,
            keys: transaction.open_table(KEYS)?,
            settings: transaction.open_table(SETTINGS)?,
            erased: transaction.open_table(ERASED)?,
            identity: transaction.open_table(IDENTITY)?,
        })
    }

    /// The head of a generation.
    pub(super) fn head(&mut self, generation: GenerationId) -> Attempt<HeadRow> {
        Ok(self.heads.get(generation)?.ok_or_else(|| refusal::unknown_generation(generation))?)
    }

    /// The generation that began the ledger of this one.
    pub(super) fn ledger_of(&self, generation: GenerationId) -> Attempt<GenerationId> {
        ledger_of(&self.generations, generation)
    }

    /// Writes the buffers: before the commit.
    pub(super) fn flush(&mut self) -> Attempt<()> {
        self.open.flush()?;
        self.heads.flush()
    }
}

/// A table of few rows that every event changes: they are read and written once a group.
pub(super) struct Buffered<'t, K: Key + 'static, R> {
    table: Table<'t, K, Row>,
    /// The rows of this group, with whether they were changed.
    rows: BTreeMap<K, (R, bool)>,
}

impl<'t, K, R> Buffered<'t, K, R>
where
    K: for<'k> Key<SelfType<'k> = K> + Copy + Ord + 'static,
    R: Record + Clone,
{
    fn new(table: Table<'t, K, Row>) -> Self {
        Buffered { table, rows: BTreeMap::new() }
    }

    /// The record under a key.
    pub(super) fn get(&mut self, key: K) -> Attempt<Option<R>> {
        if let Some((record, _)) = self.rows.get(&key) {
            return Ok(Some(record.clone()));
        }
        let record: Option<R> = get(&self.table, key)?;
        if let Some(record) = &record {
            self.rows.insert(key, (record.clone(), false));
        }
        Ok(record)
    }

    /// Keeps a record under a key, for `flush`.
    pub(super) fn put(&mut self, key: K, record: R) {
        self.rows.insert(key, (record, true));
    }

    /// Removes all rows of a range.
    pub(super) fn remove(&mut self, range: RangeInclusive<K>) -> Attempt<()> {
        self.rows.retain(|key, _| !range.contains(key));
        self.table.retain_in(range, |_, _| false)?;
        Ok(())
    }

    fn flush(&mut self) -> Attempt<()> {
        for (key, (record, changed)) in &mut self.rows {
            if std::mem::take(changed) {
                put(&mut self.table, *key, record)?;
            }
        }
        Ok(())
    }
}

/// Copies every table.
pub(super) fn copy_all(from: &ReadTransaction, to: &WriteTransaction) -> Attempt<()> {
    copy(from, to, EVENTS)?;
    copy(from, to, REMEMBERED)?;
    copy(from, to, JOURNAL)?;
    copy(from, to, IDS)?;
    copy(from, to, LEDGER)?;
    copy(from, to, OPEN)?;
    copy(from, to, HEADS)?;
    copy(from, to, STATES)?;
    copy(from, to, GENERATIONS)?;
    copy(from, to, RELEASES)?;
    copy(from, to, KEYS)?;
    copy(from, to, SETTINGS)?;
    copy(from, to, ERASED)?;
    copy(from, to, IDENTITY)
}

fn copy<K: Key + 'static>(
    from: &ReadTransaction,
    to: &WriteTransaction,
    table: Definition<K>,
) -> Attempt<()> {
    let from: ReadOnlyTable<K, Row> = from.open_table(table)?;
    let mut to = to.open_table(table)?;
    for row in from.iter()? {
        let (key, row) = row?;
        to.insert(key.value(), row.value())?;
    }
    Ok(())
}

/// The head of a generation.
pub(super) fn head(
    heads: &impl ReadableTable<GenerationId, Row>,
    generation: GenerationId,
) -> Attempt<HeadRow> {
    Ok(get(heads, generation)?.ok_or_else(|| refusal::unknown_generation(generation))?)
}

/// The generation that began the ledger of this one.
pub(super) fn ledger_of(
    generations: &impl ReadableTable<GenerationId, Row>,
    generation: GenerationId,
) -> Attempt<GenerationId> {
    Ok(get::<_, Generation>(generations, generation)?
        .map_or(generation, |generation| generation.ledger))
}

/// The record under a key.
pub(super) fn get<'k, K: Key + 'static, R: Record>(
    table: &impl ReadableTable<K, Row>,
    key: K::SelfType<'k>,
) -> Attempt<Option<R>> {
    Ok(table.get(key)?.map(|row| row::decode(row.value())).transpose()?)
}

/// Writes a record under a key.
pub(super) fn put<'k, K: Key + 'static, R: Record>(
    table: &mut Table<'_, K, Row>,
    key: K::SelfType<'k>,
    record: &R,
) -> Attempt<()> {
    let row = row::encode(record)?;
    table.insert(key, row.as_slice())?;
    Ok(())
}

/// The key of a place.
pub(super) fn place_key(generation: GenerationId, place: Place) -> PlaceKey {
    (generation, place.slot, place.number)
}
