//! `reticent-server serve` and `reticent-server shuffle` are killed with -9 again and again while devices report to both. Every device sends its bytes until they are acknowledged, and
//! then once more. At the end the models count every acknowledged report exactly once: one that was lost would leave the last batch unfilled, and one
//! that was forwarded twice would be one too many.
//!
//! `RETICENT_TORTURE_KILLS` and `RETICENT_TORTURE_SEED` set the number of kills and the seed, which is printed.

#![cfg(unix)]

mod process;

use std::{
    net::TcpListener,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::sleep,
    time::{Duration, Instant},
};

use reticent::{bandit::Model, features::Value, wire};
use reticent_device::Limits;
use reticent_server::client::{Device, Endpoint};

use process::{PATIENCE, Process, run};

/// A batch of the loop with a shuffler.
const BATCH: u64 = 8;

const LOOPS: &str = r#"
    [loop.direct]
    trust = "device"
    privacy = { epsilon = 8.0, delta = 1e-6, visits = 1, per = "ever" }
    learner = { tick = "100 ms" }
    device = { late = "1 hour" }
    [loop.direct.action]
    topic = { categories = ["news", "sport"] }

    [loop.mixed]
    trust = "shuffler"
    privacy = { epsilon = 4.0, delta = 1e-3, visits = 1, per = "ever" }
    learner = { tick = "100 ms" }
    device = { late = "1 hour" }
    shuffle = { batch = 8, cap = 8 }
    [loop.mixed.action]
    topic = { categories = ["news", "sport"] }
"#;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("reticent-devices-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A port without a listener.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Addresses of both processes, and the keys with which devices call them.
#[derive(Clone)]
struct Place {
    server: u16,
    shuffler: u16,
    keys: [String; 2],
}

impl Place {
    fn server(&self, key: usize) -> Endpoint {
        let address = format!("http://127.0.0.1:{}", self.server);
        Endpoint::new(&address, Some(self.keys[key].clone()), None).unwrap()
    }

    fn shuffler(&self) -> Endpoint {
        Endpoint::new(&format!("http://127.0.0.1:{}", self.shuffler), None, None).unwrap()
    }

    /// A new installation of the loop, when the service answers.
    async fn join(&self, mixed: bool) -> Device {
        retried(async || match mixed {
            false => Device::join(self.server(0), "direct", 0, None).await,
            true => {
                let limits = Limits { delta: 1e-3, ..Limits::of("mixed") };
                Device::join_through_within(self.server(1), self.shuffler(), limits, None).await
            }
        })
        .await
    }

    /// The report of a new installation, until it is acknowledged and then once more, as if the answer had been lost.
    async fn report_once(&self, mixed: bool) {
        let actions = ["news", "sport"].map(|topic| Value::from_iter([("topic", topic)]));
        let mut device = self.join(mixed).await;
        let choice = device.choose(&Value::Missing, &actions).unwrap();
        let report = device.report(&choice, choice.index() as f64).unwrap();
        retried(async || device.send(&report).await).await;
        let _ = device.send(&report).await;
    }

    /// Reports of the last model of a loop.
    async fn reports(&self, name: &str) -> u64 {
        let path = format!("/v1/loops/{name}/model");
        let model = retried(async || self.server(usize::from(name == "mixed")).get(&path).await);
        wire::from_json::<Model>(model.await).unwrap().reports()
    }
}

/// Calls until it succeeds, within a limit.
async fn retried<T>(call: impl AsyncFn() -> reticent_server::Result<T>) -> T {
    let start = Instant::now();
    loop {
        match call().await {
            Ok(answer) => return answer,
            Err(error) => assert!(start.elapsed() < PATIENCE, "{error}"),
        }
        sleep(Duration::from_millis(10));
    }
}

/// New installations report one after the other until `stop` is set.
async fn report_until(place: Place, mixed: bool, stop: &AtomicBool, acknowledged: &AtomicU64) {
    while !stop.load(Ordering::SeqCst) {
        place.report_once(mixed).await;
        acknowledged.fetch_add(1, Ordering::SeqCst);
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn killed_at_random_both_processes_count_every_acknowledged_report_once() {
    let (kills, seed) =
        (setting("RETICENT_TORTURE_KILLS", 24), setting("RETICENT_TORTURE_SEED", 7));
    println!("{kills} kills, seed {seed}");
    let folder = folder();
    let (config, data, mixed) =
        (folder.join("loops.toml"), folder.join("data"), folder.join("mixed"));
    std::fs::write(&config, LOOPS).unwrap();
    std::fs::create_dir(&data).unwrap();
    let key = |name: &str, role: &str| {
        let data = data.to_str().unwrap();
        run(&["key", "new", "--data", data, "--loop", name, "--role", role])
    };
    let keys = [key("direct", "device"), key("mixed", "device")];
    let key_file = folder.join("shuffle.key");
    std::fs::write(&key_file, key("mixed", "shuffle")).unwrap();
    let place = Place { server: free_port(), shuffler: free_port(), keys };
    let serve = || Process::serve(&config, &data, place.server);
    let shuffle = || Process::shuffle(&config, &mixed, place.shuffler, place.server, &key_file);

    let stop = Arc::new(AtomicBool::new(false));
    let acknowledged: [Arc<AtomicU64>; 2] = Default::default();
    let reporters: Vec<_> = [false, true, true]
        .into_iter()
        .map(|mixed| {
            let (place, stop) = (place.clone(), Arc::clone(&stop));
            let shared = Arc::clone(&acknowledged[usize::from(mixed)]);
            std::thread::spawn(move || {
                runtime().block_on(report_until(place, mixed, &stop, &shared))
            })
        })
        .collect();

    let start = Instant::now();
    let (mut server, mut shuffler) = (serve(), shuffle());
    let mut random = seed;
    for kill in 0..kills {
        // A linear congruence: which step a kill falls between is chance in any case.
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let wait = random >> 33;
        match kill % 2 {
            0 => {
                server.wait();
                sleep(Duration::from_millis(wait % 400));
                server.kill();
                server = serve();
            }
            _ => {
                shuffler.wait();
                sleep(Duration::from_millis(wait % 400));
                shuffler.kill();
                shuffler = shuffle();
            }
        }
    }
    stop.store(true, Ordering::SeqCst);
    reporters.into_iter().for_each(|reporter| reporter.join().unwrap());
    let runtime = runtime();
    // The last batch is filled, so that nothing waits.
    let full = acknowledged[1].load(Ordering::SeqCst).next_multiple_of(BATCH);
    while acknowledged[1].load(Ordering::SeqCst) < full {
        runtime.block_on(place.report_once(true));
        acknowledged[1].fetch_add(1, Ordering::SeqCst);
    }
    let counts = acknowledged.map(|count| count.load(Ordering::SeqCst));
    let begun = Instant::now();
    loop {
        let reports = ["direct", "mixed"].map(|name| runtime.block_on(place.reports(name)));
        assert!(reports[0] <= counts[0] && reports[1] <= counts[1], "{reports:?} of {counts:?}");
        if reports == counts {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{reports:?} of {counts:?} were counted");
        sleep(Duration::from_millis(50));
    }
    // Nothing comes later either.
    sleep(Duration::from_millis(700));
    let reports = ["direct", "mixed"].map(|name| runtime.block_on(place.reports(name)));
    assert_eq!(reports, counts);
    println!("{counts:?} reports in {:.1} s", start.elapsed().as_secs_f64());
    assert!(counts.iter().all(|count| *count >= BATCH), "{counts:?}");
    drop((server, shuffler));
    std::fs::remove_dir_all(&folder).unwrap();
}
