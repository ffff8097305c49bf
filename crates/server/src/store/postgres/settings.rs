//! Operations on keys, named values and floors.

use std::collections::HashMap;

use deadpool_postgres::Transaction;

use super::{
    locks::{FLOORS, check_living, lock_alone, lock_everything, lock_shared, notify},
    number::signed,
    reads,
    transaction::{Attempt, Failure, execute, rows},
};
use crate::{
    Error, Result,
    clock::Time,
    store::{KeyRecord, refusal},
};

/// Adds a key.
pub(super) async fn add_key(
    on: &Transaction<'_>,
    lock: i32,
    channel: &str,
    key: &KeyRecord,
) -> Attempt<()> {
    check_living(on, lock).await?;
    if insert_key(on, key).await? == 0 {
        return Err(refusal::key_exists(&key.id).into());
    }
    notify(on, channel).await
}

/// Writes a key, unless there is one of its id.
pub(super) async fn insert_key(on: &Transaction<'_>, key: &KeyRecord) -> Attempt<u64> {
    let made = signed("made", key.made)?;
    let revoked = key.revoked.map(|time| signed("revoked", time)).transpose()?;
    execute(
        on,
        "insert into keys (id, hash, loop_name, roles, made, revoked) values ($1, $2, $3, $4, $5, $6) on conflict do nothing",
        &[&key.id, &&key.hash[..], &key.loop_name, &key.roles, &made, &revoked],
    )
    .await
}

/// Revokes a key; says whether there was one.
pub(super) async fn revoke_key(
    on: &Transaction<'_>,
    lock: i32,
    channel: &str,
    id: &str,
    time: Time,
) -> Attempt<bool> {
    if is_text(id).is_err() {
        return Ok(false);
    }
    check_living(on, lock).await?;
    let sql = "update keys set revoked = coalesce(revoked, $2) where id = $1";
    let found = execute(on, sql, &[&id, &signed("time", time)?]).await?;
    notify(on, channel).await?;
    Ok(found > 0)
}

/// Writes a named value if there is none yet, and returns the one that is kept.
pub(super) async fn keep(
    on: &Transaction<'_>,
    lock: i32,
    name: &str,
    value: &[u8],
) -> Attempt<Vec<u8>> {
    is_text(name)?;
    if let Some(kept) = reads::setting(on, name).await? {
        return Ok(kept);
    }
    // Alone, so that no event is on its way that has not seen it (`charge_until`).
    lock_everything(on, lock).await?;
    check_living(on, lock).await?;
    let sql = "insert into settings (name, value) values ($1, $2) on conflict do nothing";
    execute(on, sql, &[&name, &value]).await?;
    reads::setting(on, name).await?.ok_or(Failure::Changed)
}

/// The values of floors, none of which is raised until the transaction ends.
pub(super) async fn floors(
    on: &Transaction<'_>,
    lock: i32,
    names: impl Iterator<Item = &String>,
) -> Attempt<HashMap<String, Vec<u8>>> {
    let names: Vec<&String> = names.filter(|name| is_text(name).is_ok()).collect();
    if names.is_empty() {
        return Ok(HashMap::new());
    }
    lock_shared(on, lock, &[FLOORS]).await?;
    let found =
        rows(on, "select name, value from settings where name = any($1)", &[&names]).await?;
    Ok(found.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// Raises a floor, when all events that were compared with it are committed.
pub(super) async fn raise_floor(
    on: &Transaction<'_>,
    lock: i32,
    name: &str,
    floor: u64,
) -> Attempt<u64> {
    check_living(on, lock).await?;
    let kept = locked_floor(on, lock, name).await?;
    if floor > kept {
        put_floor(on, name, floor).await?;
    }
    Ok(kept.max(floor))
}

/// Value of a floor, which no other transaction raises or reads until this one ends.
pub(super) async fn locked_floor(on: &Transaction<'_>, lock: i32, name: &str) -> Attempt<u64> {
    is_text(name)?;
    lock_alone(on, lock, FLOORS).await?;
    Ok(refusal::floor_of(reads::setting(on, name).await?.as_deref())?)
}

/// Moves a floor up, whose lock is held.
pub(super) async fn put_floor(on: &Transaction<'_>, name: &str, floor: u64) -> Attempt<()> {
    let sql = "insert into settings (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value";
    execute(on, sql, &[&name, &&floor.to_le_bytes()[..]]).await?;
    Ok(())
}

/// Refuses what PostgreSQL cannot keep as text.
pub(super) fn is_text(name: &str) -> Result<()> {
    match name.contains('\0') {
        true => Err(Error::invalid("name", "a name with a zero byte", "give another name")),
        false => Ok(()),
    }
}
