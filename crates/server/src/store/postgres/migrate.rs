//! Numbered SQL files, applied at a start under a lock, so that replicas that start together do it once.

use deadpool_postgres::Transaction;

use super::transaction::{Attempt, execute, one, rows};
use crate::Error;

/// All migrations in order: the first has number 1.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_first.sql"),
    include_str!("migrations/0002_person_of_ids.sql"),
    include_str!("migrations/0003_ledger_of_lives.sql"),
];

/// The lock of migrations, within one schema.
const LOCK: i32 = 0x7265_7469;

/// Applies missing migrations, makes the identity of a new store, and returns the identity.
pub(super) async fn migrate(on: &Transaction<'_>) -> Attempt<Vec<u8>> {
    execute(on, "select pg_advisory_xact_lock($1, hashtext(current_schema()))", &[&LOCK]).await?;
    on.batch_execute(
        "set local client_min_messages = warning; \
         create table if not exists migrations (number int4 primary key, applied timestamptz not null default now())",
    )
    .await?;
    let applied: i32 =
        one(on, "select coalesce(max(number), 0) from migrations", &[]).await?.get(0);
    let known = MIGRATIONS.len() as i32;
    if applied > known {
        return Err(Error::store(format_args!(
            "the database has migration {applied}, and this program knows {known}: use the program that made it, or a later one"
        ))
        .into());
    }
    for (number, sql) in (1..).zip(MIGRATIONS).filter(|(number, _)| *number > applied) {
        on.batch_execute(sql).await?;
        execute(on, "insert into migrations (number) values ($1)", &[&number]).await?;
    }
    let id = super::number::random::<16>()?.to_vec();
    execute(on, "insert into store (id) values ($1) on conflict do nothing", &[&id]).await?;
    match rows(on, "select id from store", &[]).await?.first() {
        Some(row) => Ok(row.get(0)),
        None => Err(Error::store("the table store is empty: restore a backup").into()),
    }
}
