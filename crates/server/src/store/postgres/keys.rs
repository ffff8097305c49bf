//! Operations on keys and named values.

use deadpool_postgres::Transaction;

use super::{
    heads::{check_living, notify},
    number::signed,
    reads,
    transaction::{Attempt, Failure, execute},
};
use crate::{
    clock::Time,
    store::{KeyRecord, refusal},
};

/// Adds a key.
pub(super) async fn add(
    on: &Transaction<'_>,
    lock: i32,
    channel: &str,
    key: &KeyRecord,
) -> Attempt<()> {
    check_living(on, lock).await?;
    if insert(on, key).await? == 0 {
        return Err(refusal::key_exists(&key.id).into());
    }
    notify(on, channel).await
}

/// Writes a key, unless there is one of its id.
pub(super) async fn insert(on: &Transaction<'_>, key: &KeyRecord) -> Attempt<u64> {
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
pub(super) async fn revoke(
    on: &Transaction<'_>,
    lock: i32,
    channel: &str,
    id: &str,
    time: Time,
) -> Attempt<bool> {
    check_living(on, lock).await?;
    let sql = "update keys set revoked = coalesce(revoked, $2) where id = $1";
    let found = execute(on, sql, &[&id, &signed("time", time)?]).await?;
    notify(on, channel).await?;
    Ok(found > 0)
}

/// Writes a named value if there is none yet, and returns the one that is kept.
pub(super) async fn keep_setting(
    on: &Transaction<'_>,
    lock: i32,
    name: &str,
    value: &[u8],
) -> Attempt<Vec<u8>> {
    check_living(on, lock).await?;
    let sql = "insert into settings (name, value) values ($1, $2) on conflict do nothing";
    execute(on, sql, &[&name, &value]).await?;
    reads::setting(on, name).await?.ok_or(Failure::Changed)
}
