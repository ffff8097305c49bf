//! The disk under PostgreSQL is full for a while, that of its tables and that of its log of writes: requests fail meanwhile, nothing that was acknowledged is lost, and
//! the service goes on by itself when there is room again.
//!
//! A table that cannot be extended is an error of one statement. A log that cannot be extended ends all of PostgreSQL.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use reticent_server::store::PostgresStore;

use super::{
    CLIENTS, Clients, LOOPS, Server, Shared, Start,
    database::testing::{Cluster, with_small_disks},
    examine, folder, keys, runtime, setting,
};

/// Error that PostgreSQL logs.
const NO_ROOM: &str = "No space left on device";

/// Longest time until a full disk is met, and until the service has gone on.
const PATIENCE: Duration = Duration::from_secs(20);

/// A disk of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disk {
    Tables,
    LogOfWrites,
}

impl Disk {
    fn name(self) -> &'static str {
        match self {
            Disk::Tables => "data",
            Disk::LogOfWrites => "wal",
        }
    }

    /// Fills it until PostgreSQL has met that, and for a moment longer; then there is room again. Says whether it was met.
    pub fn full_for_a_while(self, cluster: &Cluster, moment: Duration) -> bool {
        let logged = || cluster.log().matches(NO_ROOM).count();
        let (before, begun) = (logged(), Instant::now());
        let mut met = None;
        while begun.elapsed() < PATIENCE && met.is_none_or(|met: Instant| met.elapsed() < moment) {
            // What PostgreSQL has removed meanwhile is filled too.
            cluster.fill(self.name());
            std::thread::sleep(Duration::from_millis(50));
            if logged() > before {
                met.get_or_insert_with(Instant::now);
            }
        }
        cluster.free(self.name());
        met.is_some()
    }
}

#[test]
fn the_disk_of_the_database_is_full_and_what_was_acknowledged_is_there() {
    let Some(cluster) = with_small_disks() else { return };
    let seed = setting("RETICENT_TORTURE_SEED", 19);
    let (folder, url) = (folder("disk"), cluster.empty());
    let (config, data) = (folder.join("loops.toml"), folder.join("data"));
    std::fs::write(&config, LOOPS).unwrap();
    std::fs::create_dir(&data).unwrap();
    let keys = keys(&["--data", data.to_str().unwrap(), "--database", &url]);
    let mut start = Start::new(&config, &data).with("RETICENT_LOG", "off".into());
    start.database = Some(url.clone());
    let server = Server::start(&start);
    let shared = Arc::new(Shared::new(keys));
    shared.serve_at(&[server.address()]);
    let clients = Clients::start(&shared, 0..CLIENTS, seed).with_devices(&shared, seed);
    for disk in [Disk::Tables, Disk::LogOfWrites] {
        std::thread::sleep(Duration::from_millis(800));
        assert!(disk.full_for_a_while(cluster, Duration::from_millis(400)), "{disk:?} not full");
        // By itself: it was not started again.
        let (acknowledged, begun) = (shared.acknowledged(), Instant::now());
        while shared.acknowledged() < acknowledged + 50 {
            assert!(begun.elapsed() < PATIENCE, "the service does not go on");
            std::thread::sleep(Duration::from_millis(5));
        }
        println!("{disk:?}: it went on after {:.1} s", begun.elapsed().as_secs_f64());
    }
    let panicked = cluster.log().contains("PANIC:");
    assert!(panicked, "a log of writes without room ends PostgreSQL");
    let histories = clients.stop();
    std::thread::sleep(Duration::from_millis(1000));
    server.stop();
    runtime().block_on(async {
        let store = PostgresStore::open(&url).await.unwrap();
        examine(LOOPS, &store, &histories, &data, true).await.assert();
    });
    let _ = std::fs::remove_dir_all(folder);
}
