//! Collection and erasure, in two parts: a reader looks for rows, which may take long, and the writer removes them, which does not.
//!
//! A place is never given to another event, so that a found row is still the same when it goes.

use std::{
    collections::BTreeSet,
    ops::Bound::{Excluded, Included},
};

use ::redb::{ReadTransaction, ReadableTable, Table};

use super::{
    tables::{
        EVENTS, ErasedRow, EventPrefix, HEADS, PlaceKey, RELEASES, REMEMBERED, Remembered,
        RememberedPrefix, Row, get, head, put,
    },
    writer::{Attempt, Group},
};
use crate::{
    clock::Time,
    store::{
        Collect, Erased, EventHash, GenerationId, MOST_COMPACTED, PersonHash, ReleaseRecord,
        StoredEvent, row,
    },
};

/// Rows, ids and models that a collection will remove.
pub(super) struct Garbage {
    generation: GenerationId,
    events: Vec<PlaceKey>,
    ids: Vec<(PlaceKey, EventHash)>,
    releases: Vec<u64>,
}

impl Garbage {
    /// True if there is nothing to remove.
    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty() && self.ids.is_empty() && self.releases.is_empty()
    }
}

/// Looks for rows that are not needed.
pub(super) fn find_garbage(
    transaction: &ReadTransaction,
    generation: GenerationId,
    what: Collect,
) -> Attempt<Garbage> {
    let head = head(&transaction.open_table(HEADS)?, generation)?;
    let last = if what.unreleased { head.closed } else { head.folded };
    let mut garbage =
        Garbage { generation, events: Vec::new(), ids: Vec::new(), releases: Vec::new() };
    for row in transaction
        .open_table(EVENTS)?
        .range((generation, 0, 0)..=(generation, what.slot.min(last), u64::MAX))?
    {
        if garbage.events.len() >= what.limit {
            break;
        }
        let (key, row) = row?;
        // A row that cannot be read is of no use.
        let prefix = row::decode_start::<StoredEvent, EventPrefix>(row.value());
        if prefix.map_or(true, |prefix| prefix.time < what.before) {
            garbage.events.push(key.value());
        }
    }
    for row in transaction
        .open_table(REMEMBERED)?
        .range((generation, 0, 0)..=(generation, what.forget_ids.min(head.closed), u64::MAX))?
        .take(what.limit)
    {
        let (key, row) = row?;
        let known = row::decode::<Remembered>(row.value());
        garbage.ids.push((key.value(), known.map(|known| known.event).unwrap_or_default()));
    }
    let releases = transaction.open_table(RELEASES)?;
    for row in releases
        .range::<(GenerationId, u64)>((
            Excluded((generation, head.stripped)),
            Included((generation, u64::MAX)),
        ))?
        .take(what.limit.min(MOST_COMPACTED))
    {
        let number = row?.0.value().1;
        if number >= what.first_release {
            break;
        }
        garbage.releases.push(number);
    }
    Ok(garbage)
}

/// Compacted releases that are put into pages together.
const PACKED: u64 = 64;

/// Puts compacted releases together whenever a range of numbers is full: a model that is larger than a page had pages of its own, of which its hashes would keep one.
pub(super) fn pack(
    releases: &mut Table<'_, (GenerationId, u64), Row>,
    generation: GenerationId,
    before: u64,
    compacted: u64,
) -> Attempt<()> {
    let (first, end) = (before / PACKED * PACKED, compacted / PACKED * PACKED);
    let mut rows = Vec::new();
    for row in releases.range((generation, first)..(generation, end.max(first)))? {
        let (key, row) = row?;
        rows.push((key.value(), row.value().to_vec()));
    }
    for (key, _) in &rows {
        releases.remove(key)?;
    }
    for (key, row) in &rows {
        releases.insert(key, row.as_slice())?;
    }
    Ok(())
}

/// Removes the found rows, and returns how many they were.
pub(super) fn remove_garbage(group: &mut Group<'_>, garbage: Garbage) -> Attempt<u64> {
    let generation = garbage.generation;
    let mut head = group.tables.head(generation)?;
    let mut removed = 0;
    let mut stripped = Vec::with_capacity(garbage.releases.len());
    let before = head.stripped;
    for number in garbage.releases {
        if let Some(record) = get::<_, ReleaseRecord>(&group.tables.releases, (generation, number))?
        {
            head.stripped = head.stripped.max(number);
            stripped.push(ReleaseRecord { release: Vec::new(), ..record });
            removed += 1;
        }
    }
    for record in &stripped {
        put(&mut group.tables.releases, (generation, record.number), record)?;
    }
    if !stripped.is_empty() {
        pack(&mut group.tables.releases, generation, before, head.stripped)?;
        group.tables.heads.put(generation, head);
    }
    for key in garbage.events {
        removed += u64::from(group.tables.events.remove(key)?.is_some());
    }
    for (key, event) in garbage.ids {
        // Another collection may have been faster, and the id may have been given to a new event since.
        if group.tables.remembered.remove(key)?.is_some() {
            group.behind.forget(&mut group.tables.ids, generation, &event)?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Places of a person's events.
pub(super) struct Found {
    /// Events with a row of their own.
    events: Vec<PlaceKey>,
    /// Events of which the id is remembered, with a row or without.
    ids: BTreeSet<PlaceKey>,
}

/// Looks for the rows of a person. Events that are added from now on count as after the erasure.
pub(super) fn find_person(
    transaction: &ReadTransaction,
    persons: &BTreeSet<PersonHash>,
) -> Attempt<Found> {
    let mut events = Vec::new();
    for row in transaction.open_table(EVENTS)?.range::<PlaceKey>(..)? {
        let (key, row) = row?;
        // A row that cannot be read may be any person's, so that it goes too: it would contribute nothing.
        let prefix = row::decode_start::<StoredEvent, EventPrefix>(row.value());
        let person = prefix.map(|prefix| prefix.person);
        if person.map_or(true, |person| person.is_some_and(|person| persons.contains(&person))) {
            events.push(key.value());
        }
    }
    // Ids that an earlier version has written name no person, and are found by the rows of their events.
    let mut ids: BTreeSet<PlaceKey> = events.iter().copied().collect();
    for row in transaction.open_table(REMEMBERED)?.range::<PlaceKey>(..)? {
        let (key, row) = row?;
        let known = row::decode_start::<Remembered, RememberedPrefix>(row.value());
        if known.ok().and_then(|known| known.person).is_some_and(|who| persons.contains(&who)) {
            ids.insert(key.value());
        }
    }
    Ok(Found { events, ids })
}

/// Removes the found rows with their remembered requests, and remembers whose they were. Counts and event ids stay: without them an
/// erasure would refill the budget.
pub(super) fn erase(
    group: &mut Group<'_>,
    persons: BTreeSet<PersonHash>,
    found: Found,
    time: Time,
) -> Attempt<Erased> {
    let mut rows = 0;
    for key in found.events {
        rows += u64::from(group.tables.events.remove(key)?.is_some());
    }
    for key in found.ids {
        // One that cannot be read answers every repetition with the same error.
        let known = group.tables.remembered.get(key)?;
        let known = known.and_then(|row| row::decode::<Remembered>(row.value()).ok());
        if let Some(known) = known {
            put(&mut group.tables.remembered, key, &known.erased())?;
        }
    }
    for person in &persons {
        if group.tables.erased.get(person)?.is_none() {
            put(&mut group.tables.erased, person, &ErasedRow(time))?;
        }
    }
    Ok(Erased { rows })
}
