//! `reticent serve` is killed with -9 again and again while clients rank, reward, activate, repeat, race and come late. At the end a checker compares the clients' own
//! history with the store: see `reticent_server::history`.
//!
//! | file | what it is |
//! | --- | --- |
//! | `client` | a client that writes everything down |
//! | `server` | the process that is tortured |
//! | `proxy` | a way to PostgreSQL that loses the answers of commits |
//! | `replicas` | two processes on one database |
//! | `long` | every accident on both stores, as `cargo xtask torture` runs it: needs the feature `failpoints` |
//!
//! `RETICENT_TORTURE_KILLS` and `RETICENT_TORTURE_SEED` set the number of kills and the seed, which is printed.

#![cfg(unix)]
#![cfg_attr(
    not(feature = "failpoints"),
    allow(dead_code, reason = "the long torture uses all of it")
)]

mod client;
#[cfg(feature = "failpoints")]
mod long;
mod proxy;
mod replicas;
mod server;

use std::{
    collections::BTreeMap,
    ops::Range,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use reticent_server::{
    config::{LoopPlan, ServiceFile},
    history::{Attempt, Contents, History, Keys, Reply, Violation, check},
    secret::Secret,
    store::{RedbStore, Store},
};

use client::{Client, Random, Shared};
use server::{Server, Start, run};

const LOOPS: &str = r#"
    [loop.home]
    privacy = { epsilon = 1.0, delta = 1e-6, visits = 3, per = "ever" }
    reward = { range = [0, 1], window = "300 ms", combine = "sum" }
    learner = { tick = "50 ms", horizon = 1000000 }
    retain = "1 day"
    [loop.home.context]
    age = { range = [18, 80] }
    [loop.home.action]
    topic = { categories = ["news", "sport"] }

    [loop.other]
    privacy = { epsilon = 1.0, delta = 1e-6 }
    reward = { range = [0, 1], window = "200 ms", combine = "first" }
    learner = { tick = "50 ms", forget = "1 hour" }
    baseline = { share = 0.25 }
    retain = "1 day"
    [loop.other.context]
    age = { range = [18, 80] }
    [loop.other.action]
    topic = { categories = ["news", "sport"] }
"#;

/// Clients at the same time.
const CLIENTS: u64 = 4;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn folder(name: &str) -> PathBuf {
    let folder =
        std::env::temp_dir().join(format!("reticent-torture-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Makes a key for each loop, before the first start.
fn keys(place: &[&str]) -> BTreeMap<&'static str, String> {
    let key = |name: &str| {
        let what = ["--loop", name, "--role", "decide,reward"];
        run(&[&["key", "new"][..], place, &what].concat())
    };
    BTreeMap::from(["home", "other"].map(|name| (name, key(name))))
}

/// What the clients of each loop know.
type Histories = BTreeMap<&'static str, History>;

fn merge(histories: &mut Histories, more: Histories) {
    for (name, history) in more {
        histories.entry(name).or_default().merge(history);
    }
}

/// Clients that run.
struct Clients {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Histories>>,
}

impl Clients {
    /// Each has a number, which begins its ids.
    fn start(shared: &Arc<Shared>, numbers: Range<u64>, seed: u64) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let client = |number| {
            let (shared, stop) = (Arc::clone(shared), Arc::clone(&stop));
            std::thread::spawn(move || Client::new(number, seed, shared).run(&stop))
        };
        let threads = numbers.map(client).collect();
        Clients { stop, threads }
    }

    fn stop(self) -> Histories {
        self.stop.store(true, Ordering::SeqCst);
        let mut histories = Histories::new();
        for client in self.threads {
            merge(&mut histories, client.join().unwrap());
        }
        histories
    }
}

#[test]
fn killed_at_random_under_load_it_keeps_everything_it_acknowledged() {
    let kills = setting("RETICENT_TORTURE_KILLS", 50);
    let seed = setting("RETICENT_TORTURE_SEED", 19);
    println!("{kills} kills, seed {seed}");
    let folder = folder("one");
    let (config, data) = (folder.join("loops.toml"), folder.join("data"));
    std::fs::write(&config, LOOPS).unwrap();
    // Keys are made before the first start, in a folder that there is.
    std::fs::create_dir(&data).unwrap();
    let shared = Arc::new(Shared::new(keys(&["--data", data.to_str().unwrap()])));
    let clients = Clients::start(&shared, 0..CLIENTS, seed);
    let start = Start::new(&config, &data);

    let begun = Instant::now();
    let mut random = Random::new(seed);
    for _ in 0..kills {
        let mut server = Server::start(&start);
        // Some die before they answer anybody.
        if random.below(8) == 0 {
            std::thread::sleep(Duration::from_millis(random.below(120)));
        } else {
            shared.serve_at(&[server.address()]);
            std::thread::sleep(Duration::from_millis(random.below(700)));
        }
        server.kill();
        shared.serve_at(&[]);
    }
    let server = Server::start(&start);
    shared.serve_at(&[server.address()]);
    std::thread::sleep(Duration::from_millis(500));
    let histories = clients.stop();
    // Windows end, and the last events are folded.
    std::thread::sleep(Duration::from_millis(1000));
    server.stop();
    println!("{:.1} s with {CLIENTS} clients", begun.elapsed().as_secs_f64());

    let store = RedbStore::open(data.join("store.redb")).unwrap();
    runtime().block_on(examine(&store, &histories, &data, false)).iter().for_each(Found::assert);
    let _ = std::fs::remove_dir_all(folder);
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap()
}

/// What the checker found of one loop.
struct Found {
    plan: LoopPlan,
    contents: Contents,
    happened: Happened,
    violations: Vec<Violation>,
}

/// Compares what the clients know of all loops with the store, to which several processes may have added events.
async fn examine(
    store: &dyn Store,
    histories: &Histories,
    data: &Path,
    is_shared: bool,
) -> Vec<Found> {
    let secret = |name: &str| Secret::in_file(&data.join(name)).unwrap();
    let keys = Keys { events: secret("events.key"), people: secret("people.key") };
    let mut found = Vec::new();
    for plan in ServiceFile::parse(LOOPS).unwrap().check().unwrap() {
        let history = &histories[plan.name.as_str()];
        let mut contents = Contents::read(store, &plan).await.unwrap();
        contents.is_shared = is_shared;
        let violations = check(&plan, &keys, history, &contents);
        let happened = Happened::of(history, &contents);
        println!("loop {}: {happened:?}, {} violations", plan.name, violations.len());
        for violation in violations.iter().take(20) {
            println!("  {violation}");
        }
        found.push(Found { plan, contents, happened, violations });
    }
    found
}

impl Found {
    /// Nothing is violated, and a run in which nothing happened would show nothing.
    fn assert(&self) {
        assert!(self.violations.is_empty(), "{} violations", self.violations.len());
        self.happened.assert_rich(self.plan.name == "home");
    }
}

/// What the run was made of.
#[derive(Debug)]
#[allow(dead_code, reason = "printed")]
struct Happened {
    ranks: usize,
    rewards: usize,
    activations: usize,
    lost: usize,
    lost_and_there: usize,
    conflicts: usize,
    late: usize,
    events: usize,
    folded: usize,
    not_learnt: usize,
    releases: usize,
    epoch: u64,
}

impl Happened {
    fn of(history: &History, contents: &Contents) -> Self {
        fn count<Q, A>(attempts: &[Attempt<Q, A>], is: impl Fn(&Reply<A>) -> bool) -> usize {
            attempts.iter().filter(|attempt| is(&attempt.reply)).count()
        }
        let events = || history.events.values();
        let refused = |status: u16| {
            let ranks = events()
                .map(|e| count(&e.ranks, |r| matches!(r, Reply::Refused(s) if *s == status)));
            let rewards = events()
                .map(|e| count(&e.rewards, |r| matches!(r, Reply::Refused(s) if *s == status)));
            ranks.sum::<usize>() + rewards.sum::<usize>()
        };
        let never_answered = |event: &&reticent_server::history::EventHistory| {
            count(&event.ranks, |reply| matches!(reply, Reply::Taken(_))) == 0
        };
        let answered = events().filter(|event| !never_answered(event)).count();
        let rows = &contents.rows;
        Happened {
            ranks: events().map(|e| count(&e.ranks, |r| matches!(r, Reply::Taken(_)))).sum(),
            rewards: events().map(|e| count(&e.rewards, |r| *r == Reply::Taken(()))).sum(),
            activations: events().map(|e| count(&e.activations, |r| *r == Reply::Taken(()))).sum(),
            lost: events()
                .map(|e| {
                    count(&e.ranks, |r| *r == Reply::Lost)
                        + count(&e.rewards, |r| *r == Reply::Lost)
                })
                .sum(),
            lost_and_there: rows.len().saturating_sub(answered),
            conflicts: refused(409),
            late: refused(410),
            events: rows.len(),
            folded: rows.iter().filter(|(place, _)| place.slot <= contents.head.folded).count(),
            not_learnt: rows.iter().filter(|(_, row)| !row.learnt).count(),
            releases: contents.releases.len(),
            epoch: contents.head.epoch,
        }
    }

    fn acknowledged(&self) -> usize {
        self.ranks + self.rewards + self.activations
    }

    fn refused(&self) -> usize {
        self.conflicts + self.late
    }

    fn assert_rich(&self, persons: bool) {
        assert!(self.events > 200 && self.folded > 100, "{self:?}");
        assert!(self.rewards > 50 && self.activations > 5 && self.releases > 20, "{self:?}");
        assert!(self.lost > 0 && self.conflicts > 0 && self.late > 0, "{self:?}");
        assert!(!persons || self.not_learnt > 50, "{self:?}");
    }
}
