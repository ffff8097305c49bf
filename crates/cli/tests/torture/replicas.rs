//! Two processes on one PostgreSQL database, of which one is killed, or stopped for longer than its lease and continued, while the database crashes now and then.

#[path = "../../../server/src/store/postgres/testing.rs"]
mod testing;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use reticent_server::{
    history::History,
    store::{PostgresStore, RedbStore},
};

use super::{
    CLIENTS, Client, LOOPS, Random, Server, Shared, folder, run, runtime, setting, verify,
};

/// Longer than the right to release lasts.
const PAST_THE_LEASE: Duration = Duration::from_millis(4500);

/// What happens to the service.
#[derive(Debug, Clone, Copy)]
enum Accident {
    Killed,
    Stopped,
    DatabaseCrashes,
    DatabaseRestarts,
}

/// A process with where it answers.
struct Replica {
    server: Server,
    address: SocketAddr,
}

impl Replica {
    fn start(config: &Path, data: &Path, url: &str) -> Self {
        let server = Server::start(config, data, Some(url));
        let address = server.address();
        Replica { server, address }
    }
}

#[test]
fn two_processes_on_one_database_keep_everything_that_either_acknowledged() {
    let Some(cluster) = testing::cluster() else { return };
    let accidents = setting("RETICENT_TORTURE_KILLS", 50) / 5;
    let seed = setting("RETICENT_TORTURE_SEED", 19);
    println!("{accidents} accidents, seed {seed}");
    let (folder, url) = (folder("replicas"), cluster.empty());
    let config = folder.join("loops.toml");
    std::fs::write(&config, LOOPS).unwrap();
    let data = [folder.join("one"), folder.join("other")];
    let key = |name: &str| {
        let place = ["--data", data[0].to_str().unwrap(), "--database", &url];
        let what = ["--loop", name, "--role", "decide,reward"];
        run(&[&["key", "new"][..], &place, &what].concat())
    };
    let keys = BTreeMap::from(["home", "other"].map(|name| (name, key(name))));
    let start = |which: usize| Replica::start(&config, &data[which], &url);
    let first = start(0);
    // Every process needs the keys of the first one.
    std::fs::create_dir(&data[1]).unwrap();
    for name in ["people.key", "events.key", "seal.key"] {
        std::fs::copy(data[0].join(name), data[1].join(name)).unwrap();
    }
    let mut replicas = [first, start(1)];

    let shared = Arc::new(Shared::new(keys));
    let serve = |replicas: &[Replica]| {
        let addresses: Vec<SocketAddr> = replicas.iter().map(|replica| replica.address).collect();
        shared.serve_at(&addresses);
    };
    serve(&replicas);
    let stop = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let (shared, stop) = (Arc::clone(&shared), Arc::clone(&stop));
            std::thread::spawn(move || Client::new(number, seed, shared).run(&stop))
        })
        .collect();

    let begun = Instant::now();
    let mut random = Random::new(seed);
    for number in 0..accidents {
        std::thread::sleep(Duration::from_millis(300 + random.below(700)));
        let accident = match number % 5 {
            0 | 3 => Accident::Killed,
            1 => Accident::Stopped,
            2 => Accident::DatabaseCrashes,
            _ => Accident::DatabaseRestarts,
        };
        let which = random.below(2) as usize;
        match accident {
            Accident::Killed => {
                // The other one serves alone.
                let other = [replicas[1 - which].address];
                shared.serve_at(&other);
                let killed = &mut replicas[which];
                killed.server.kill();
                std::thread::sleep(Duration::from_millis(random.below(500)));
                *killed = start(which);
                serve(&replicas);
            }
            Accident::Stopped => {
                let stopped = &replicas[which].server;
                stopped.signal("-STOP");
                std::thread::sleep(PAST_THE_LEASE);
                stopped.signal("-CONT");
            }
            Accident::DatabaseCrashes => cluster.crash(),
            Accident::DatabaseRestarts => cluster.restart(),
        }
    }
    std::thread::sleep(Duration::from_millis(1500));
    stop.store(true, Ordering::SeqCst);
    let mut histories: BTreeMap<&str, History> = BTreeMap::new();
    for client in clients {
        for (name, history) in client.join().unwrap() {
            histories.entry(name).or_default().merge(history);
        }
    }
    // A lease may have to end, windows end, and the last events are folded.
    std::thread::sleep(PAST_THE_LEASE);
    replicas.into_iter().for_each(|replica| replica.server.stop());
    println!("{:.1} s with {CLIENTS} clients", begun.elapsed().as_secs_f64());
    runtime().block_on(async {
        verify(&PostgresStore::open(&url).await.unwrap(), &histories, &data[0]).await;
    });

    // Moved to the embedded store, it holds the same, and the database has ended.
    let moved = folder.join("moved");
    println!("{}", run(&["store", "copy", "--from", &url, "--to", moved.to_str().unwrap()]));
    runtime().block_on(async {
        verify(&RedbStore::open(moved.join("store.redb")).unwrap(), &histories, &data[0]).await;
        let refused = PostgresStore::open(&url).await.err().unwrap().to_string();
        assert!(refused.contains("was moved to"), "{refused}");
    });
    let _ = std::fs::remove_dir_all(folder);
}
