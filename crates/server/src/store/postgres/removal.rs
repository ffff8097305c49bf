//! Operations that remove: collection, and erasure of people.

use deadpool_postgres::Transaction;

use super::{
    heads,
    locks::check_living,
    number::{bound, generation_number, limit, signed},
    transaction::{Attempt, execute},
};
use crate::{
    clock::Time,
    store::{Collect, ERASED_REQUEST, Erased, GenerationId, MOST_COMPACTED, PersonHash},
};

/// Rows are looked for by their keys and removed by their addresses, which takes the same time whatever PostgreSQL knows of a table: before it has looked at a new loop it
/// expects one row of it, and would join everything that is open with everything that goes. A row of a closed slot moves to another address only where an
/// erasure overwrites it, and then goes with the next collection.
pub(super) const OLD_EVENTS: &str = "delete from events where ctid = any(array(\
     select ctid from events where life = $1 and slot <= $2 and time < $3 order by slot, number limit $4))";
pub(super) const OLD_IDS: &str = "delete from remembered where ctid = any(array(\
     select ctid from remembered where life = $1 and slot <= $2 order by slot, number limit $3))";
pub(super) const OLD_RELEASES: &str = "update releases set release = ''::bytea where ctid = any(array(\
     select ctid from releases where life = $1 and number < $2 and release <> ''::bytea order by number limit $3))";

/// Removes rows, ids and numbers of releases, and returns how many.
pub(super) async fn collect(
    on: &Transaction<'_>,
    key: i32,
    generation: GenerationId,
    what: Collect,
) -> Attempt<u64> {
    check_living(on, key).await?;
    // Closed and folded slots only grow: what may go now may go later.
    let head = heads::head(on, generation).await?;
    let (generation, most) = (generation_number(generation)?, limit(what.limit));
    let last = if what.unreleased { head.closed } else { head.folded };
    let slots = bound(what.slot.min(last));
    let rows = execute(on, OLD_EVENTS, &[&generation, &slots, &bound(what.before), &most]).await?;
    let slots = bound(what.forget_ids.min(head.closed));
    let ids = execute(on, OLD_IDS, &[&generation, &slots, &most]).await?;
    let most = limit(what.limit.min(MOST_COMPACTED));
    let releases =
        execute(on, OLD_RELEASES, &[&generation, &bound(what.first_release), &most]).await?;
    Ok(rows + ids + releases)
}

/// The rest of an event id whose person is erased: see [`ERASED_REQUEST`].
const FORGET_REQUESTS: &str =
    "update remembered set person = null, request = $2, answer = ''::bytea where person = any($1)";

/// Ids that were written before the column `person` was there, found by the rows of their events.
const FORGET_EARLIER_REQUESTS: &str = "update remembered r set request = $2, answer = ''::bytea from events e \
     where e.person = any($1) and r.person is null and (r.life, r.event) = (e.life, e.event)";

/// Erases people: their raw rows and their remembered requests go, and their hashes are remembered.
pub(super) async fn erase(
    on: &Transaction<'_>,
    key: i32,
    persons: &[PersonHash],
    time: Time,
) -> Attempt<Erased> {
    check_living(on, key).await?;
    let persons: Vec<&[u8]> = persons.iter().map(|person| &person[..]).collect();
    let request = &ERASED_REQUEST[..];
    execute(on, FORGET_EARLIER_REQUESTS, &[&persons, &request]).await?;
    execute(on, FORGET_REQUESTS, &[&persons, &request]).await?;
    let rows = execute(on, "delete from events where person = any($1)", &[&persons]).await?;
    execute(
        on,
        "insert into erased (person, time) select distinct person, $2::int8 from unnest($1::bytea[]) as person order by person \
         on conflict do nothing",
        &[&persons, &signed("time", time)?],
    )
    .await?;
    Ok(Erased { rows })
}
