//! Advisory locks: what must not happen at the same time.
//!
//! | lock | shared by | held alone by |
//! | --- | --- | --- |
//! | a generation | events and rewards on their way into it | who closes its slots or ends it |
//! | all generations | everything else that writes | who begins a generation, or moves the whole store |
//! | floors | events that are compared with one | who raises one |
//!
//! Each is taken in a statement of its own. In READ COMMITTED the statements after it see what its earlier holders have committed.

use deadpool_postgres::Transaction;

use super::transaction::{Attempt, execute, one, rows};

/// The lock of all generations: theirs begin with 1.
pub(super) const ALL_GENERATIONS: i32 = 0;

/// The lock of floors.
pub(super) const FLOORS: i32 = -1;

/// Takes locks together with others, in the order given.
pub(super) async fn lock_shared(on: &Transaction<'_>, key: i32, locks: &[i32]) -> Attempt<()> {
    execute(
        on,
        "select pg_advisory_xact_lock_shared($1, lock) from unnest($2::int4[]) as lock",
        &[&key, &locks],
    )
    .await?;
    Ok(())
}

/// Takes a lock alone: it waits for all transactions that share it.
pub(super) async fn lock_alone(on: &Transaction<'_>, key: i32, lock: i32) -> Attempt<()> {
    execute(on, "select pg_advisory_xact_lock($1, $2)", &[&key, &lock]).await?;
    Ok(())
}

/// Locks every generation alone, and the beginning of others: nothing is taken until the transaction ends.
pub(super) async fn lock_everything(on: &Transaction<'_>, key: i32) -> Attempt<()> {
    lock_alone(on, key, ALL_GENERATIONS).await?;
    let generations = rows(on, "select id from lives order by id", &[]).await?;
    for generation in generations {
        lock_alone(on, key, generation.get(0)).await?;
    }
    Ok(())
}

/// Refuses to write into a store whose contents have gone elsewhere, and keeps them from going until the transaction ends.
pub(super) async fn check_living(on: &Transaction<'_>, key: i32) -> Attempt<()> {
    lock_shared(on, key, &[ALL_GENERATIONS]).await?;
    let store = one(on, "select retired, id from store", &[]).await?;
    check_store(key, store.get(0), store.get(1))
}

/// Refuses a store that has ended, and another one than that whose locks are held: whatever is at the same address now.
pub(super) fn check_store(key: i32, retired: Option<String>, id: Vec<u8>) -> Attempt<()> {
    if let Some(place) = retired {
        return Err(super::retired(&place).into());
    }
    match super::lock_key(&super::number::hash(&id)?) == key {
        true => Ok(()),
        false => Err(crate::Error::Unavailable(
            "another store is at this address now: start again".into(),
        )
        .into()),
    }
}

/// Tells all processes of this store that something has changed.
pub(super) async fn notify(on: &Transaction<'_>, channel: &str) -> Attempt<()> {
    execute(on, "select pg_notify($1, '')", &[&channel]).await?;
    Ok(())
}
