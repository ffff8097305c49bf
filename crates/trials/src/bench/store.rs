//! The store alone, and redb alone with as many rows in as many commits.

use std::{
    future::Future,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use redb::{Database, TableDefinition};
use reticent::hash::mix;

use reticent_server::{
    Error, Result,
    store::{Charge, NewEvent, NewGeneration, NewReward, Payer, RedbStore, Store},
};

const ROWS: TableDefinition<u64, &[u8]> = TableDefinition::new("rows");

/// Calls a second.
pub(super) struct Rates {
    pub ranks: f64,
    pub rewards: f64,
    pub bare: f64,
}

pub(super) async fn measure(folder: &Path, events: u64, callers: u64) -> Result<Rates> {
    let store = Arc::new(RedbStore::open(folder.join("alone.redb"))?);
    let generation = NewGeneration {
        name: "bench".into(),
        params_hash: 1,
        params: Vec::new(),
        state: Vec::new(),
        event: Vec::new(),
        closed: 0,
        time: 0,
        counts_with: None,
    };
    let generation = store.begin_generation(generation).await?.id;
    let commits = store.commits();
    let ranks = rate(&store, events, callers, move |store, number| async move {
        store.insert_events(vec![event(generation, number)]).await.map(drop)
    })
    .await?;
    let commits = store.commits() - commits;
    let rewards = rate(&store, events, callers, move |store, number| async move {
        let event = hash(mix(number, 3) % events, 1);
        let reward = NewReward { generation, event, units: 1 << 32, key: Some(number), sum: true };
        store.reward(vec![reward]).await.map(drop)
    })
    .await?;
    drop(store);
    let path = folder.join("bare.redb");
    let bare = tokio::task::spawn_blocking(move || bare(&path, events, commits));
    Ok(Rates { ranks, rewards, bare: bare.await.map_err(Error::store)?.map_err(Error::store)? })
}

/// Lets callers make one call after the other until there were `total`.
async fn rate<F, R>(store: &Arc<RedbStore>, total: u64, callers: u64, call: F) -> Result<f64>
where
    F: Fn(Arc<RedbStore>, u64) -> R + Copy + Send + 'static,
    R: Future<Output = Result<()>> + Send,
{
    let next = Arc::new(AtomicU64::new(0));
    let start = Instant::now();
    let mut tasks = Vec::new();
    for _ in 0..callers {
        let (store, next) = (Arc::clone(store), Arc::clone(&next));
        tasks.push(tokio::spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= total {
                    return Ok::<(), Error>(());
                }
                call(Arc::clone(&store), number).await?;
            }
        }));
    }
    for task in tasks {
        task.await.map_err(Error::store)??;
    }
    Ok(total as f64 / start.elapsed().as_secs_f64())
}

fn event(generation: u32, number: u64) -> NewEvent {
    let person = hash(mix(number, 1) % 1_000_000, 2);
    let charge = Charge { person, earlier: Default::default(), period: 1, most: 10 };
    NewEvent {
        generation,
        event: hash(number, 1),
        request: [3; 32],
        answer: vec![4; 1000],
        person: Some(person),
        payer: Payer::Person(charge),
        slot: 1 + number / 100_000,
        time: number,
        deferred: false,
        features: vec![0.25; 16],
        raw: Vec::new(),
    }
}

/// A hash as random as a keyed one.
fn hash(number: u64, domain: u64) -> [u8; 16] {
    let mut hash = [0; 16];
    hash[..8].copy_from_slice(&mix(number, domain).to_be_bytes());
    hash[8..].copy_from_slice(&number.to_be_bytes());
    hash
}

/// As many rows, of the bytes of an event with its answer, in as many durable commits.
fn bare(path: &Path, events: u64, commits: u64) -> std::result::Result<f64, redb::Error> {
    let database = Database::create(path)?;
    let row = [7; 1300];
    let start = Instant::now();
    for commit in 0..commits {
        let transaction = database.begin_write()?;
        let mut table = transaction.open_table(ROWS)?;
        for number in commit * events / commits..(commit + 1) * events / commits {
            table.insert(number, row.as_slice())?;
        }
        drop(table);
        transaction.commit()?;
    }
    Ok(events as f64 / start.elapsed().as_secs_f64())
}
