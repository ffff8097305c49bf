//! How fast the embedded store is, beside a bare redb loop that makes as many commits of as many rows.
//!
//! ```sh
//! cargo run --release -p reticent-server --example store_bench -- [events] [callers] [folder]
//! ```
//!
//! Ranks and rewards of d = 16 by persons who come back, then a restart of a copy of the file as a crash would leave it. 1,000,000 events and
//! 256 callers unless told; the folder is a temporary one in the present folder, so that it is on a disk.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use redb::{Database, TableDefinition};
use reticent_server::store::{
    Charge, MOST_EARLIER_KEYS, NewEvent, NewLife, NewReward, Payer, RedbStore, Store,
};

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const ROWS: TableDefinition<u64, &[u8]> = TableDefinition::new("rows");

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let events: u64 = arguments.next().map_or(Ok(1_000_000), |text| text.parse())?;
    let callers: u64 = arguments.next().map_or(Ok(256), |text| text.parse())?;
    let folder = PathBuf::from(arguments.next().unwrap_or_else(|| "store_bench.data".into()));
    std::fs::create_dir_all(&folder)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let done = runtime.block_on(measure(events, callers.max(1), &folder));
    std::fs::remove_dir_all(&folder)?;
    done
}

async fn measure(events: u64, callers: u64, folder: &Path) -> Outcome<()> {
    let path = folder.join("store.redb");
    let store = Arc::new(RedbStore::open(&path)?);
    let life = NewLife {
        name: "bench".into(),
        generation: 1,
        params: Vec::new(),
        state: Vec::new(),
        event: Vec::new(),
        closed: 0,
        time: 0,
        carry_ledger: false,
    };
    let life = store.begin_life(life).await?.id;
    let commits = store.commits();
    let start = Instant::now();
    run(&store, events, callers, move |store, number| async move {
        store.rank(vec![event(life, number, events)]).await.map(drop)
    })
    .await?;
    let seconds = start.elapsed().as_secs_f64();
    let commits = store.commits() - commits;
    println!(
        "rank:    {:>8.0} a second in {commits} commits; {}",
        events as f64 / seconds,
        memory()
    );
    bare(&folder.join("bare.redb"), events, commits)?;

    let start = Instant::now();
    run(&store, events, callers, move |store, number| async move {
        let reward = NewReward {
            life,
            event: hash(number, 1),
            units: 1 << 32,
            key: Some(number),
            sum: true,
        };
        store.reward(vec![reward]).await.map(drop)
    })
    .await?;
    println!(
        "reward:  {:>8.0} a second, in the order of ranks",
        events as f64 / start.elapsed().as_secs_f64()
    );
    let some = events / 10;
    let start = Instant::now();
    run(&store, some, callers, move |store, number| async move {
        let reward = NewReward {
            life,
            event: hash(mix(number) % events, 1),
            units: 1 << 32,
            key: Some(number),
            sum: true,
        };
        store.reward(vec![reward]).await.map(drop)
    })
    .await?;
    println!(
        "reward:  {:>8.0} a second, in random order",
        some as f64 / start.elapsed().as_secs_f64()
    );

    // The file as it is now, while it is open, is what a crash leaves.
    let crashed = folder.join("crashed.redb");
    std::fs::copy(&path, &crashed)?;
    let start = Instant::now();
    let restarted = RedbStore::open(&crashed)?;
    let open: u64 = restarted.open_events(life).await?.iter().map(|slot| slot.1).sum();
    println!("restart: {:>8.3} s with {open} open events", start.elapsed().as_secs_f64());
    drop(restarted);
    let start = Instant::now();
    let ledger = store.ledger(life, 1, 10).await?;
    println!("ledger:  {:>8.3} s for {} people", start.elapsed().as_secs_f64(), ledger.people);
    let start = Instant::now();
    let erased = store.erase(vec![hash(1, 2)], 1).await?;
    println!("erase:   {:>8.3} s for {} rows", start.elapsed().as_secs_f64(), erased.rows);
    let start = Instant::now();
    store.backup(folder.join("backup.redb")).await?;
    println!("backup:  {:>8.3} s", start.elapsed().as_secs_f64());
    println!("file:    {:>8} MiB; {}", std::fs::metadata(&path)?.len() >> 20, memory());
    Ok(())
}

/// Lets callers make one call after the other until there were `total`.
async fn run<F, R>(store: &Arc<RedbStore>, total: u64, callers: u64, call: F) -> Outcome<()>
where
    F: Fn(Arc<RedbStore>, u64) -> R + Copy + Send + 'static,
    R: Future<Output = reticent_server::Result<()>> + Send,
{
    let next = Arc::new(AtomicU64::new(0));
    let mut tasks = Vec::new();
    for _ in 0..callers {
        let (store, next) = (Arc::clone(store), Arc::clone(&next));
        tasks.push(tokio::spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= total {
                    return Ok::<(), reticent_server::Error>(());
                }
                call(Arc::clone(&store), number).await?;
            }
        }));
    }
    for task in tasks {
        task.await??;
    }
    Ok(())
}

fn event(life: u32, number: u64, people: u64) -> NewEvent {
    let charge = Charge {
        person: hash(mix(number) % people, 2),
        earlier: [None; MOST_EARLIER_KEYS],
        period: 1,
        most: 10,
    };
    NewEvent {
        life,
        event: hash(number, 1),
        request: [3; 32],
        answer: vec![4; 200],
        person: Some(charge.person),
        payer: Payer::Person(charge),
        slot: 1 + number / 100_000,
        time: number,
        deferred: false,
        features: vec![0.25; 16],
        raw: Vec::new(),
    }
}

/// As many rows, of the bytes of an event with its answer, in as many durable commits.
fn bare(path: &Path, events: u64, commits: u64) -> Outcome<()> {
    let database = Database::create(path)?;
    let row = [7; 450];
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
    println!(
        "bare:    {:>8.0} a second in {commits} commits of redb alone",
        events as f64 / start.elapsed().as_secs_f64()
    );
    Ok(())
}

/// A hash as random as a keyed one.
fn hash(number: u64, domain: u64) -> [u8; 16] {
    let mut hash = [0; 16];
    hash[..8].copy_from_slice(&mix(number ^ (domain << 60)).to_be_bytes());
    hash[8..].copy_from_slice(&number.to_be_bytes());
    hash
}

fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let number = (number ^ (number >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    number ^ (number >> 33)
}

fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = |name: &str| {
        status
            .lines()
            .find(|line| line.starts_with(name))
            .map(str::split_whitespace)
            .and_then(|mut words| words.nth(1)?.parse::<u64>().ok())
    };
    format!(
        "memory {} MiB, at most {} MiB",
        line("VmRSS").unwrap_or(0) >> 10,
        line("VmHWM").unwrap_or(0) >> 10
    )
}
