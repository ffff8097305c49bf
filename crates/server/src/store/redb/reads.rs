//! Reads, on a snapshot.

use std::{
    collections::BTreeMap,
    ops::Bound::{Excluded, Included},
};

use ::redb::{Key, ReadTransaction, TableDefinition};

use super::{
    behind::journalled_counts,
    heads::state,
    tables::{
        CountRow, ERASED, EVENTS, GENERATIONS, HEADS, JOURNAL, LEDGER, OPEN, OpenRow, PlaceKey,
        RELEASES, Row, SETTINGS, STATES, SettingRow, get, head, ledger_of, place_key,
    },
    writer::Attempt,
};
use crate::store::{
    GenerationId, Head, LedgerCount, PersonHash, Place, ReleaseRecord, StoredEvent,
    row::{self, Record},
};

/// Events after a place and up to a slot.
pub(super) fn events(
    transaction: &ReadTransaction,
    generation: GenerationId,
    after: Place,
    until: u64,
    limit: usize,
) -> Attempt<Vec<(Place, StoredEvent)>> {
    if after.slot > until {
        return Ok(Vec::new());
    }
    let table = transaction.open_table(EVENTS)?;
    let range = table.range::<PlaceKey>((
        Excluded(place_key(generation, after)),
        Included((generation, until, u64::MAX)),
    ))?;
    let mut events = Vec::new();
    for row in range.take(limit) {
        let (key, row) = row?;
        let (_, slot, number) = key.value();
        let event = row::decode(row.value()).unwrap_or_else(|_| StoredEvent::unreadable());
        events.push((Place { slot, number }, event));
    }
    Ok(events)
}

/// The last closed slot.
pub(super) fn closed(transaction: &ReadTransaction, generation: GenerationId) -> Attempt<u64> {
    Ok(head(&transaction.open_table(HEADS)?, generation)?.closed)
}

/// The head with its state.
pub(super) fn whole_head(transaction: &ReadTransaction, generation: GenerationId) -> Attempt<Head> {
    let head = head(&transaction.open_table(HEADS)?, generation)?;
    Ok(head.with_state(state(&transaction.open_table(STATES)?, generation)?))
}

/// Releases from a number on, as many as have `bytes` together.
pub(super) fn releases(
    transaction: &ReadTransaction,
    generation: GenerationId,
    from: u64,
    limit: usize,
    bytes: usize,
) -> Attempt<Vec<ReleaseRecord>> {
    let (mut releases, mut left) = (Vec::new(), bytes);
    for row in transaction
        .open_table(RELEASES)?
        .range((generation, from)..=(generation, u64::MAX))?
        .take(limit)
    {
        let record: ReleaseRecord = row::decode(row?.1.value())?;
        match left.checked_sub(record.release.len()) {
            Some(less) => left = less,
            None if releases.is_empty() => left = 0,
            None => break,
        }
        releases.push(record);
    }
    Ok(releases)
}

/// Number of people of a period, and of those who have used up their visits: those of the table, and those that are only journalled.
pub(super) fn ledger(
    transaction: &ReadTransaction,
    generation: GenerationId,
    period: u64,
    most: u32,
) -> Attempt<LedgerCount> {
    let generation = ledger_of(&transaction.open_table(GENERATIONS)?, generation)?;
    let mut newest: BTreeMap<PersonHash, u32> =
        journalled_counts(&transaction.open_table(JOURNAL)?, generation, period)?;
    let mut total = LedgerCount::default();
    let mut add = |count: u32| {
        total.people += 1;
        total.used_up += u64::from(count >= most);
    };
    let (first, last) = (PersonHash::default(), [u8::MAX; 16]);
    for row in transaction
        .open_table(LEDGER)?
        .range((generation, period, &first)..=(generation, period, &last))?
    {
        let (key, row) = row?;
        match newest.remove(key.value().2) {
            Some(count) => add(count),
            None => add(row::decode::<CountRow>(row.value())?.0),
        }
    }
    newest.into_values().for_each(add);
    Ok(total)
}

/// All erased people.
pub(super) fn erased(transaction: &ReadTransaction) -> Attempt<Vec<PersonHash>> {
    let mut erased = Vec::new();
    for row in transaction.open_table(ERASED)?.range::<&PersonHash>(..)? {
        erased.push(*row?.0.value());
    }
    Ok(erased)
}

/// All records of a table.
pub(super) fn all<K: Key + 'static, R: Record>(
    transaction: &ReadTransaction,
    table: TableDefinition<'static, K, Row>,
) -> Attempt<Vec<R>> {
    let mut records = Vec::new();
    for row in ::redb::ReadableTable::iter(&transaction.open_table(table)?)? {
        records.push(row::decode(row?.1.value())?);
    }
    Ok(records)
}

/// A named value.
pub(super) fn setting(transaction: &ReadTransaction, name: &str) -> Attempt<Option<Vec<u8>>> {
    Ok(get(&transaction.open_table(SETTINGS)?, name)?.map(|SettingRow(value)| value))
}

/// Events in each open slot.
pub(super) fn open_events(
    transaction: &ReadTransaction,
    generation: GenerationId,
) -> Attempt<Vec<(u64, u64)>> {
    let closed = closed(transaction, generation)?;
    let mut open = Vec::new();
    let table = transaction.open_table(OPEN)?;
    for row in table.range::<(GenerationId, u64)>((
        Excluded((generation, closed)),
        Included((generation, u64::MAX)),
    ))? {
        let (key, row) = row?;
        open.push((key.value().1, row::decode::<OpenRow>(row.value())?.0));
    }
    Ok(open)
}
