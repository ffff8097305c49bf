//! `reticent-server serve` is killed with -9 again and again while clients rank, reward, activate, repeat, race and come late, and devices report. At the end a checker compares the
//! clients' own history with the store: see `reticent_trials::history`.
//!
//! | file | what it is |
//! | --- | --- |
//! | `client` | a client that writes everything down |
//! | `device` | devices that report until they are acknowledged |
//! | `examine` | what the checker found, and what a run was made of |
//! | `server` | the process that is tortured |
//! | `proxy` | a way to PostgreSQL that loses the answers of commits |
//! | `database` | two processes on one database, and accidents to both and to it |
//! | `failover` | one of them is killed while the other serves: no call fails |
//! | `tally` | counts by which a run ends when it has met enough |
//! | `disk` | the disk of the database is full |
//! | `long` | every accident on both stores, as `cargo xtask torture` runs it: needs the feature `failpoints` |
//!
//! `RETICENT_TORTURE_KILLS` and `RETICENT_TORTURE_SEED` set the number of kills and the seed, which is printed.

#![cfg(unix)]
#![cfg_attr(
    not(feature = "failpoints"),
    allow(dead_code, reason = "the long torture uses all of it")
)]

mod client;
mod database;
mod device;
mod disk;
mod examine;
mod failover;
#[cfg(feature = "failpoints")]
mod long;
mod proxy;
mod server;
mod tally;

use std::{
    collections::BTreeMap,
    ops::Range,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use reticent_server::store::RedbStore;
use reticent_trials::history::{DeviceHistory, History};

use client::{Client, Random, Shared};
use device::Reporter;
use examine::examine;
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

    [loop.device]
    trust = "device"
    privacy = { epsilon = 8.0, delta = 1e-6, visits = 20, per = "ever" }
    learner = { tick = "100 ms" }
    device = { late = "1 hour" }
    [loop.device.action]
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
    let key = |name: &str, role: &str| {
        let what = ["--loop", name, "--role", role];
        run(&[&["key", "new"][..], place, &what].concat())
    };
    let loops = [("home", "decide,reward"), ("other", "decide,reward"), (device::LOOP, "device")];
    BTreeMap::from(loops.map(|(name, role)| (name, key(name, role))))
}

/// Histories of the clients of each loop, and of the devices, if there are any.
#[derive(Clone, Default)]
struct Histories {
    loops: BTreeMap<&'static str, History>,
    devices: Option<DeviceHistory>,
}

impl Histories {
    fn merge(&mut self, more: Histories) {
        for (name, history) in more.loops {
            self.loops.entry(name).or_default().merge(history);
        }
        if let Some(devices) = more.devices {
            self.devices.get_or_insert_default().merge(devices);
        }
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
            let run = move || Client::new(number, seed, shared).run(&stop);
            std::thread::spawn(|| Histories { loops: run(), devices: None })
        };
        let threads = numbers.map(client).collect();
        Clients { stop, threads }
    }

    /// Devices report too.
    fn with_devices(mut self, shared: &Arc<Shared>, seed: u64) -> Self {
        let (shared, stop) = (Arc::clone(shared), Arc::clone(&self.stop));
        let run = move || Reporter::new(seed, shared).run(&stop);
        let thread =
            std::thread::spawn(|| Histories { loops: BTreeMap::new(), devices: Some(run()) });
        self.threads.push(thread);
        self
    }

    fn stop(self) -> Histories {
        self.stop.store(true, Ordering::SeqCst);
        let mut histories = Histories::default();
        for client in self.threads {
            histories.merge(client.join().unwrap());
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
    let clients = Clients::start(&shared, 0..CLIENTS, seed).with_devices(&shared, seed);
    let start = Start::new(&config, &data);

    let begun = Instant::now();
    let mut random = Random::new(seed);
    for number in 0.. {
        if number >= kills && shared.tally.is_rich(begun) {
            break;
        }
        let mut server = Server::start(&start);
        // Some die before their first answer.
        if random.below(8) == 0 {
            std::thread::sleep(Duration::from_millis(random.below(120)));
        } else {
            shared.serve_at(&[server.address()]);
            std::thread::sleep(Duration::from_millis(random.below(500)));
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
    runtime().block_on(examine(LOOPS, &store, &histories, &data, false)).assert();
    let _ = std::fs::remove_dir_all(folder);
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap()
}
