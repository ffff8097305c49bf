//! Everything out of a database, and everything into an empty one.

use std::sync::Arc;

use deadpool_postgres::Transaction;
use tokio::sync::mpsc;
use tokio_postgres::{IsolationLevel, Row};

use super::{
    PostgresStore,
    connect::Address,
    heads,
    locks::{lock_everything, notify},
    migrate,
    number::{generation_number, hash, signed, unsigned, write_features, write_keys},
    reads, settings,
    transaction::{Attempt, Connections, Failure, database_error, execute, one, optional},
};
use crate::{
    Error, Result,
    store::{
        GenerationId, Pending, StoreId,
        portable::{Entry, Portable, TOGETHER, UNCHECKED, cut_short},
    },
};

type Reader = fn(&Row) -> Result<Entry>;

/// Every kind in its order. Columns that the readers of `reads` and `heads` know come first.
const KINDS: &[(&str, Reader)] = &[
    (
        "select id, name, generation, params, event, began, ended, coalesce(ledger, id) from lives order by id",
        |row| Ok(Entry::Generation(heads::read_generation(row))),
    ),
    ("select number, chain, epoch, closed, folded, state, life from heads order by life", |row| {
        Ok(Entry::Head(generation(row, 6), heads::read_head_row(row)?))
    }),
    (
        "select number, time, hash, chain, release, life from releases order by life, number",
        |row| Ok(Entry::Release(generation(row, 5), reads::read_release(row)?)),
    ),
    ("select life, period, person, visits from ledger order by life, period, person", |row| {
        let visits = u32::try_from(row.get::<_, i64>(3)).map_err(Error::store)?;
        Ok(Entry::Visits(generation(row, 0), unsigned(row.get(1)), hash(row.get(2))?, visits))
    }),
    (
        "select life, slot, number, event, person, request, answer from remembered order by life, slot, number",
        |row| {
            let place =
                crate::store::Place { slot: unsigned(row.get(1)), number: unsigned(row.get(2)) };
            Ok(Entry::Remembered(
                generation(row, 0),
                place,
                hash(row.get(3))?,
                row.get::<_, Option<&[u8]>>(4).map(hash).transpose()?,
                hash(row.get(5))?,
                row.get(6),
            ))
        },
    ),
    (
        "select slot, number, event, person, time, learnt, active, reward, reward_keys, features, raw, life from events \
         order by life, slot, number",
        |row| {
            let (place, event) = reads::read_event(row);
            Ok(Entry::Event(generation(row, 11), place, event))
        },
    ),
    (
        "select id, hash, loop_name, roles, made, revoked from keys order by id collate \"C\"",
        |row| Ok(Entry::Key(reads::read_key(row)?)),
    ),
    ("select name, value from settings order by name collate \"C\"", |row| {
        Ok(Entry::Setting(row.get(0), row.get(1)))
    }),
    ("select person, time from erased order by person", |row| {
        Ok(Entry::Erased(hash(row.get(0))?, unsigned(row.get(1))))
    }),
];

fn generation(row: &Row, column: usize) -> GenerationId {
    row.get::<_, i32>(column) as GenerationId
}

impl Portable for PostgresStore {
    fn export(&self, to: mpsc::Sender<Vec<Entry>>) -> Pending<()> {
        let connections = Arc::clone(&self.connections);
        Box::pin(async move {
            let mut client = connections.connection().await?;
            let begun = client
                .build_transaction()
                .isolation_level(IsolationLevel::RepeatableRead)
                .read_only(true);
            let on = begun.start().await.map_err(|error| database_error(&error))?;
            Ok(export(&on, &to).await?)
        })
    }

    fn retire(&self, place: String) -> Pending<String> {
        let (key, channel, place): (_, _, Arc<str>) =
            (self.key, Arc::clone(&self.channel), place.into());
        self.connections.write(move |on| {
            let (channel, place) = (Arc::clone(&channel), Arc::clone(&place));
            Box::pin(async move {
                lock_everything(on, key).await?;
                // Two moves at the same time go to one place.
                let kept = "update store set retired = coalesce(retired, $1) returning retired";
                let kept: String = one(on, kept, &[&&*place]).await?.get(0);
                execute(on, NEW_EPOCHS, &[]).await?;
                notify(on, &channel).await?;
                Ok(kept)
            })
        })
    }

    fn finish(&self) -> Pending<()> {
        self.connections.write(|on| {
            Box::pin(async move {
                execute(on, "update store set moved = true", &[]).await?;
                Ok(())
            })
        })
    }

    fn is_moved(&self) -> Pending<bool> {
        self.connections.read(|on| {
            Box::pin(async move { Ok(one(on, "select moved from store", &[]).await?.get(0)) })
        })
    }

    fn begin(&self) -> Pending<()> {
        let key = self.key;
        self.connections.write(move |on| {
            Box::pin(async move {
                lock_everything(on, key).await?;
                execute(on, "update store set retired = null where retired = $1", &[&UNCHECKED])
                    .await?;
                execute(on, NEW_EPOCHS, &[]).await?;
                Ok(())
            })
        })
    }

    fn retired_to(&self) -> Pending<Option<String>> {
        self.connections.read(|on| {
            Box::pin(async move { Ok(one(on, "select retired from store", &[]).await?.get(0)) })
        })
    }
}

/// Moves the right to release in every generation to an epoch that no process has.
const NEW_EPOCHS: &str = "update heads set epoch = epoch + 1, leased = 0";

/// Each side of a move waits for the other one for as long as that takes.
const PATIENT: &str = "set local idle_in_transaction_session_timeout = 0";

async fn export(on: &Transaction<'_>, to: &mpsc::Sender<Vec<Entry>>) -> Attempt<()> {
    on.batch_execute(PATIENT).await?;
    for (sql, read) in KINDS {
        let statement = on.prepare(sql).await?;
        let portal = on.bind(&statement, &[]).await?;
        loop {
            let rows = on.query_portal(&portal, TOGETHER as i32).await?;
            if rows.is_empty() {
                break;
            }
            // Who does not listen any more needs no more of them.
            let _ = to.send(rows.iter().map(read).collect::<Result<_>>()?).await;
        }
    }
    let _ = to.send(vec![Entry::End]).await;
    Ok(())
}

impl PostgresStore {
    /// The name of a database without its password.
    pub(in crate::store) fn name(url: &str) -> Result<String> {
        Ok(Address::parse(url)?.name())
    }

    /// The identity of the store in a database, if there is one; nothing is made.
    pub async fn identity(url: &str) -> Result<Option<StoreId>> {
        let connections = Arc::new(Connections::new(Address::parse(url)?)?);
        let id = connections.read(|on| {
            Box::pin(async move {
                // Where migrations would make it, and nowhere else on the search path.
                let made = "select exists (select from pg_tables where schemaname = current_schema() and tablename = 'store')";
                let made: bool = one(on, made, &[]).await?.get(0);
                let sql = "select id from store";
                let row = if made { optional(on, sql, &[]).await? } else { None };
                // Another program may have a table of this name.
                Ok(row.map(|row| row.try_get::<_, Vec<u8>>(0)).transpose()?)
            })
        });
        id.await?.as_deref().map(hash).transpose()
    }

    /// True if there is anything in it.
    pub(in crate::store) fn is_written(&self) -> Pending<bool> {
        self.connections.read(|on| Box::pin(is_written(on)))
    }

    /// Writes everything in one transaction into an empty database.
    pub(in crate::store) async fn import(
        url: &str,
        id: StoreId,
        mut entries: mpsc::Receiver<Vec<Entry>>,
    ) -> Result<()> {
        let mut client = Connections::new(Address::parse(url)?)?.connection().await?;
        let failed = |error: tokio_postgres::Error| database_error(&error);
        let begun = client.build_transaction().start().await.map_err(failed)?;
        import(&begun, id, &mut entries).await?;
        begun.commit().await.map_err(failed)
    }
}

async fn is_written(on: &Transaction<'_>) -> Attempt<bool> {
    let sql = "select exists (select from lives) or exists (select from keys) or exists (select from settings) or exists (select from erased)";
    Ok(one(on, sql, &[]).await?.get(0))
}

async fn import(
    on: &Transaction<'_>,
    id: StoreId,
    entries: &mut mpsc::Receiver<Vec<Entry>>,
) -> Attempt<()> {
    on.batch_execute(PATIENT).await?;
    migrate::migrate(on).await?;
    on.batch_execute("lock table store, lives, keys, settings, erased in exclusive mode").await?;
    if is_written(on).await? {
        return Err(Error::invalid(
            "to",
            "this database",
            "it holds a store already; expected an empty one",
        )
        .into());
    }
    execute(on, "update store set id = $1, retired = $2", &[&&id[..], &UNCHECKED]).await?;
    let mut is_whole = false;
    while let Some(some) = entries.recv().await {
        for entry in some {
            match entry {
                Entry::End => is_whole = true,
                entry => write(on, entry).await?,
            }
        }
    }
    if !is_whole {
        return Err(cut_short().into());
    }
    let next = "select setval('event_numbers', greatest((select max(number) from events), (select max(number) from remembered), 1))";
    execute(on, next, &[]).await?;
    Ok(())
}

/// Writes one entry other than the end.
async fn write(on: &Transaction<'_>, entry: Entry) -> Attempt<()> {
    let time = |time: Option<u64>| {
        time.map(|time| signed("time", time)).transpose().map_err(Failure::from)
    };
    match entry {
        Entry::Generation(generation) => {
            execute(
                on,
                "insert into lives (id, name, generation, params, event, began, ended, ledger) values ($1, $2, $3, $4, $5, $6, $7, $8)",
                &[
                    &generation_number(generation.id)?,
                    &generation.name,
                    &(generation.params_hash as i64),
                    &generation.params,
                    &generation.event,
                    &signed("began", generation.began)?,
                    &time(generation.ended)?,
                    &generation_number(generation.ledger)?,
                ],
            )
            .await?
        }
        Entry::Head(generation, head) => {
            execute(
                on,
                "insert into heads (life, number, chain, epoch, closed, folded, state) values ($1, $2, $3, $4, $5, $6, $7)",
                &[
                    &generation_number(generation)?,
                    &signed("number", head.number)?,
                    &&head.chain[..],
                    &signed("epoch", head.epoch)?,
                    &signed("closed", head.closed)?,
                    &signed("folded", head.folded)?,
                    &head.state,
                ],
            )
            .await?
        }
        Entry::Release(generation, release) => heads::insert_release(on, generation_number(generation)?, &release).await?,
        Entry::Visits(generation, period, person, visits) => {
            execute(
                on,
                "insert into ledger (life, period, person, visits, most, granted) values ($1, $2, $3, $4, $4, 0)",
                &[&generation_number(generation)?, &signed("period", period)?, &&person[..], &i64::from(visits)],
            )
            .await?
        }
        Entry::Remembered(generation, place, event, person, request, answer) => {
            execute(
                on,
                "insert into remembered (life, slot, number, event, person, request, answer) values ($1, $2, $3, $4, $5, $6, $7)",
                &[
                    &generation_number(generation)?,
                    &signed("slot", place.slot)?,
                    &signed("number", place.number)?,
                    &&event[..],
                    &person.as_ref().map(|person| &person[..]),
                    &&request[..],
                    &answer,
                ],
            )
            .await?
        }
        Entry::Event(generation, place, event) => {
            execute(
                on,
                "insert into events (life, slot, number, event, person, time, learnt, active, reward, reward_keys, features, raw) \
                 values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
                &[
                    &generation_number(generation)?,
                    &signed("slot", place.slot)?,
                    &signed("number", place.number)?,
                    &&event.event[..],
                    &event.person.as_ref().map(|person| &person[..]),
                    &signed("time", event.time)?,
                    &event.learnt,
                    &event.active,
                    &event.reward,
                    &write_keys(&event.reward_keys),
                    &write_features(&event.features),
                    &event.raw,
                ],
            )
            .await?
        }
        Entry::Key(key) => settings::insert_key(on, &key).await?,
        Entry::Setting(name, value) => {
            execute(on, "insert into settings (name, value) values ($1, $2)", &[&name, &value]).await?
        }
        Entry::Erased(person, when) => {
            execute(on, "insert into erased (person, time) values ($1, $2)", &[&&person[..], &signed("time", when)?])
                .await?
        }
        Entry::End => 0,
    };
    Ok(())
}
