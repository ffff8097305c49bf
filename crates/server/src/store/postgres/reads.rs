//! Operations that read.

use deadpool_postgres::Transaction;
use tokio_postgres::Row;

use super::{
    heads,
    number::{bound, generation_number, hash, limit, read_features, read_keys, unsigned},
    transaction::{Attempt, one, optional, rows},
};
use crate::{
    Result,
    store::{
        Generation, GenerationId, KeyRecord, LedgerCount, PersonHash, Place, ReleaseRecord,
        StoredEvent, refusal,
    },
};

/// Events after a place and up to a slot, in order.
pub(super) async fn events(
    on: &Transaction<'_>,
    generation: GenerationId,
    after: Place,
    until: u64,
    most: usize,
) -> Attempt<Vec<(Place, StoredEvent)>> {
    let found = rows(
        on,
        "select slot, number, event, person, time, learnt, active, reward, reward_keys, features, raw from events \
         where life = $1 and (slot, number) > ($2, $3) and slot <= $4 order by slot, number limit $5",
        &[&generation_number(generation)?, &bound(after.slot), &bound(after.number), &bound(until), &limit(most)],
    )
    .await?;
    Ok(found.iter().map(read_event).collect())
}

/// An event as it is stored, or what stands for one that cannot be read.
pub(super) fn read_event(row: &Row) -> (Place, StoredEvent) {
    let place = Place { slot: unsigned(row.get(0)), number: unsigned(row.get(1)) };
    (place, read_columns(row).unwrap_or_else(|_| StoredEvent::unreadable()))
}

/// The columns of an event after those of its place.
fn read_columns(row: &Row) -> Result<StoredEvent> {
    Ok(StoredEvent {
        event: hash(row.get(2))?,
        person: row.get::<_, Option<&[u8]>>(3).map(hash).transpose()?,
        time: unsigned(row.get(4)),
        learnt: row.get(5),
        active: row.get(6),
        reward: row.get(7),
        reward_keys: read_keys(row.get(8))?,
        features: read_features(row.get(9))?,
        raw: row.get(10),
    })
}

/// Events of closed slots.
pub(super) async fn closed_events(
    on: &Transaction<'_>,
    generation: GenerationId,
    after: Place,
    until: u64,
    most: usize,
) -> Attempt<Vec<(Place, StoredEvent)>> {
    let row = optional(
        on,
        "select closed from heads where life = $1",
        &[&generation_number(generation)?],
    )
    .await?;
    let closed = row
        .map(|row| unsigned(row.get(0)))
        .ok_or_else(|| refusal::unknown_generation(generation))?;
    events(on, generation, after, until.min(closed), most).await
}

/// Releases from a number on, as many as have `bytes` together. Their lengths are read without their contents.
const RELEASES: &str = "select number, time, hash, chain, release from (\
     select *, sum(octet_length(release)) over (order by number) as bytes, row_number() over (order by number) as place from (\
     select * from releases where life = $1 and number >= $2 order by number limit $3) found) page \
     where bytes <= $4 or place = 1 order by number";

/// Releases from a number on, as many as have `bytes` together.
pub(super) async fn releases(
    on: &Transaction<'_>,
    generation: GenerationId,
    from: u64,
    most: usize,
    bytes: usize,
) -> Attempt<Vec<ReleaseRecord>> {
    let bytes = bound(bytes as u64);
    let found =
        rows(on, RELEASES, &[&generation_number(generation)?, &bound(from), &limit(most), &bytes])
            .await?;
    Ok(found.iter().map(read_release).collect::<Result<_>>()?)
}

/// A release as it is stored.
pub(super) fn read_release(row: &Row) -> Result<ReleaseRecord> {
    Ok(ReleaseRecord {
        number: unsigned(row.get(0)),
        time: unsigned(row.get(1)),
        hash: hash(row.get(2))?,
        chain: hash(row.get(3))?,
        release: row.get(4),
    })
}

/// The hashes of all erased people.
pub(super) async fn erased(on: &Transaction<'_>) -> Attempt<Vec<PersonHash>> {
    let found = rows(on, "select person from erased order by person", &[]).await?;
    Ok(found.iter().map(|row| hash(row.get(0))).collect::<Result<_>>()?)
}

/// Number of people of a period, and of those who have used up their visits.
pub(super) async fn ledger(
    on: &Transaction<'_>,
    generation: GenerationId,
    period: u64,
    most: u32,
) -> Attempt<LedgerCount> {
    let row = one(
        on,
        "select count(*), count(*) filter (where visits >= $3) from ledger \
         where life = coalesce((select ledger from lives where id = $1), $1) and period = $2",
        &[&generation_number(generation)?, &bound(period), &i64::from(most)],
    )
    .await?;
    Ok(LedgerCount { people: unsigned(row.get(0)), used_up: unsigned(row.get(1)) })
}

/// All generations in order.
pub(super) async fn generations(on: &Transaction<'_>) -> Attempt<Vec<Generation>> {
    let found =
        rows(on, &format!("select {} from lives order by id", heads::GENERATION), &[]).await?;
    Ok(found.iter().map(heads::read_generation).collect())
}

/// All keys in the order of their bytes.
pub(super) async fn keys(on: &Transaction<'_>) -> Attempt<Vec<KeyRecord>> {
    let sql =
        "select id, hash, loop_name, roles, made, revoked from keys order by id collate \"C\"";
    Ok(rows(on, sql, &[]).await?.iter().map(read_key).collect::<Result<_>>()?)
}

/// A key as it is stored.
pub(super) fn read_key(row: &Row) -> Result<KeyRecord> {
    Ok(KeyRecord {
        id: row.get(0),
        hash: hash(row.get(1))?,
        loop_name: row.get(2),
        roles: row.get(3),
        made: unsigned(row.get(4)),
        revoked: row.get::<_, Option<i64>>(5).map(unsigned),
    })
}

/// A named value.
pub(super) async fn setting(on: &Transaction<'_>, name: &str) -> Attempt<Option<Vec<u8>>> {
    let row = optional(on, "select value from settings where name = $1", &[&name]).await?;
    Ok(row.map(|row| row.get(0)))
}

/// Open events by slot, after this one.
pub(super) async fn open_events(
    on: &Transaction<'_>,
    generation: GenerationId,
    after: u64,
) -> Attempt<Vec<(u64, u64)>> {
    let after = heads::head(on, generation).await?.closed.max(after);
    let found = rows(
        on,
        "select slot, count(*) from remembered where life = $1 and slot > $2 group by slot order by slot",
        &[&generation_number(generation)?, &bound(after)],
    )
    .await?;
    Ok(found.iter().map(|row| (unsigned(row.get(0)), unsigned(row.get(1)))).collect())
}
