//! Operations that remove: what nobody needs any more, and people who are erased.

use deadpool_postgres::Transaction;

use super::{
    heads,
    locks::check_living,
    number::{bound, life_number, limit, signed},
    transaction::{Attempt, execute},
};
use crate::{
    clock::Time,
    store::{Collect, Erased, LifeId, PersonHash},
};

/// Removes rows, ids and numbers of releases, and returns how many.
pub(super) async fn collect(
    on: &Transaction<'_>,
    key: i32,
    life: LifeId,
    what: Collect,
) -> Attempt<u64> {
    check_living(on, key).await?;
    // Closed and folded slots only grow: what may go now may go later.
    let head = heads::head(on, life).await?;
    let (life, most) = (life_number(life)?, limit(what.limit));
    let last = if what.unreleased { head.closed } else { head.folded };
    let rows = execute(
        on,
        "with old as (select slot, number from events where life = $1 and slot <= $2 and time < $3 order by slot, number limit $4) \
         delete from events e using old where e.life = $1 and e.slot = old.slot and e.number = old.number",
        &[&life, &bound(what.slot.min(last)), &bound(what.before), &most],
    )
    .await?;
    let ids = execute(
        on,
        "with old as (select event from remembered where life = $1 and slot <= $2 order by slot, number limit $3) \
         delete from remembered r using old where r.life = $1 and r.event = old.event",
        &[&life, &bound(what.forget_ids.min(head.closed)), &most],
    )
    .await?;
    let releases = execute(
        on,
        "with old as (select number from releases where life = $1 and number < $2 and release <> ''::bytea order by number limit $3) \
         update releases r set release = ''::bytea from old where r.life = $1 and r.number = old.number",
        &[&life, &bound(what.first_release), &most],
    )
    .await?;
    Ok(rows + ids + releases)
}

/// Erases people: their raw rows go, and their hashes are remembered.
pub(super) async fn erase(
    on: &Transaction<'_>,
    key: i32,
    persons: &[PersonHash],
    time: Time,
) -> Attempt<Erased> {
    check_living(on, key).await?;
    let persons: Vec<&[u8]> = persons.iter().map(|person| &person[..]).collect();
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
