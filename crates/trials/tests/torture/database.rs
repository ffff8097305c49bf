//! Two processes on one PostgreSQL database, of which one is killed, or stopped for longer than its lease and continued, while the database crashes, and answers of commits
//! are lost.

#[path = "../../../server/src/store/postgres/testing.rs"]
pub mod testing;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use reticent_server::store::{PostgresStore, RedbStore};

use super::{
    CLIENTS, Clients, LOOPS, Random, Server, Shared, Start, examine, folder, keys,
    proxy::Proxy,
    run, runtime,
    server::{refused, run_with},
    setting,
};

/// Longer than the right to release lasts.
pub const PAST_THE_LEASE: Duration = Duration::from_millis(4500);

/// An accident of the service.
#[derive(Debug, Clone, Copy)]
enum Accident {
    Killed,
    Stopped,
    DatabaseCrashes,
    DatabaseRestarts,
    AnswersLost,
}

/// A process with where it answers.
pub struct Replica {
    pub server: Server,
    pub address: SocketAddr,
}

impl Replica {
    pub fn start(start: &Start) -> Self {
        let server = Server::start(start);
        let address = server.address();
        Replica { server, address }
    }
}

/// Two processes on one database.
pub struct Pair {
    pub keys: BTreeMap<&'static str, String>,
    pub data: [PathBuf; 2],
    pub starts: [Start; 2],
    pub replicas: [Replica; 2],
}

impl Pair {
    /// Starts both, each with its way to the database.
    pub fn start(file: &str, folder: &Path, ways: &[String; 2]) -> Self {
        let config = folder.join("loops.toml");
        std::fs::write(&config, file).unwrap();
        let data = [folder.join("one"), folder.join("other")];
        data.iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
        let keys = keys(&["--data", data[0].to_str().unwrap(), "--database", &ways[0]]);
        let starts = [0, 1].map(|which| Start {
            database: Some(ways[which].clone()),
            witness: Some(folder.join(format!("witness-{which}"))),
            ..Start::new(&config, &data[which])
        });
        let first = Replica::start(&starts[0]);
        // Every process needs the keys of the first one, and begins with a witness of its own.
        for name in ["people.key", "events.key", "seal.key"] {
            std::fs::copy(data[0].join(name), data[1].join(name)).unwrap();
        }
        let replicas = [first, Replica::start(&starts[1])];
        Pair { keys, data, starts, replicas }
    }
}

/// Commands about a store find it in a database, or say what to do.
fn commands_take_a_database(data: &Path, url: &str, witness: &Path) {
    let place = ["--data", data.to_str().unwrap(), "--database", url];
    let (copy, model) = (data.join("copy"), data.join("model.json"));
    let (copy, model) = (copy.to_str().unwrap(), model.to_str().unwrap());
    assert!(run(&[&["key", "list"][..], &place].concat()).contains("decide"));
    let error = refused(&[&["store", "backup"][..], &place, &["--to", copy]].concat());
    assert!(error.contains("pg_dump"), "{error}");
    let head = ["--loop", "home", "--head", "1.00112233445566778899aabbccddeeff"];
    for (name, more) in [
        (&["store", "accept-rollback"][..], &head[..]),
        (&["store", "accept-time"], &["--date", "2026-01-31"]),
    ] {
        let error = refused(&[name, &place, more].concat());
        assert!(
            error.contains("no service runs on this folder") && error.contains("--database"),
            "{error}"
        );
    }
    let witness = ["--loop", "home", "--witness", witness.to_str().unwrap(), "--to", model];
    run(&[&["store", "model"][..], &place, &witness].concat());
    assert!(std::fs::read_to_string(model).unwrap().contains("\"origin\""));
}

#[test]
fn two_processes_on_one_database_keep_everything_that_either_acknowledged() {
    let Some(cluster) = testing::cluster() else { return };
    let accidents = setting("RETICENT_TORTURE_KILLS", 50) / 5;
    let seed = setting("RETICENT_TORTURE_SEED", 19);
    println!("{accidents} accidents, seed {seed}");
    let (folder, url) = (folder("replicas"), cluster.empty());
    // The second one has another way to the database, on which answers are lost.
    let proxy = Proxy::start(folder.join("way"), cluster.folder());
    let ways = [url.clone(), cluster.through(&url, &proxy.folder)];
    let Pair { keys, data, starts, mut replicas } = Pair::start(LOOPS, &folder, &ways);

    let shared = Arc::new(Shared::new(keys));
    let serve = |replicas: &[Replica]| {
        let addresses: Vec<SocketAddr> = replicas.iter().map(|replica| replica.address).collect();
        shared.serve_at(&addresses);
    };
    serve(&replicas);
    let clients = Clients::start(&shared, 0..CLIENTS, seed).with_devices(&shared, seed);

    let begun = Instant::now();
    let mut random = Random::new(seed);
    for number in 0.. {
        if number >= accidents && shared.tally.is_rich(begun) {
            break;
        }
        std::thread::sleep(Duration::from_millis(300 + random.below(700)));
        let accident = match number % 5 {
            0 => Accident::Killed,
            1 => Accident::Stopped,
            2 => Accident::DatabaseCrashes,
            3 => Accident::AnswersLost,
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
                *killed = Replica::start(&starts[which]);
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
            Accident::AnswersLost => {
                proxy.lose(8);
                std::thread::sleep(Duration::from_millis(700));
            }
        }
    }
    std::thread::sleep(Duration::from_millis(1500));
    let histories = clients.stop();
    // A lease may have to end, windows end, and the last events are folded.
    std::thread::sleep(PAST_THE_LEASE);
    for replica in replicas {
        replica.server.stop();
        // The other one sees the last release of this one.
        std::thread::sleep(Duration::from_millis(700));
    }
    println!(
        "{:.1} s with {CLIENTS} clients, {} answers of commits lost",
        begun.elapsed().as_secs_f64(),
        proxy.lost()
    );
    assert!(accidents < 4 || proxy.lost() > 0, "no answer of a commit was lost");
    runtime().block_on(async {
        let store = PostgresStore::open(&url).await.unwrap();
        examine(LOOPS, &store, &histories, &data[0], true).await.assert();
    });

    commands_take_a_database(&data[0], &url, &folder.join("witness-1"));
    // Moved to the embedded store, it holds the same, and the database has ended.
    let moved = folder.join("moved");
    let moving = ["store", "copy", "--from", "env:RETICENT_MOVED", "--to", moved.to_str().unwrap()];
    assert!(refused(&moving).contains("env:RETICENT_MOVED"), "the variable is not set");
    println!("{}", run_with(&moving, &[("RETICENT_MOVED", &url)]));
    runtime().block_on(async {
        let store = RedbStore::open(moved.join("store.redb")).unwrap();
        examine(LOOPS, &store, &histories, &data[0], true).await.assert();
        let refused = PostgresStore::open(&url).await.err().unwrap().to_string();
        assert!(refused.contains("was moved to"), "{refused}");
    });
    let _ = std::fs::remove_dir_all(folder);
}
