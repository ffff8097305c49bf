//! A store with its processes: one on a file, or two on a PostgreSQL database.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use reticent_server::store::{PostgresStore, RedbStore};

use super::super::{
    Histories, LOOPS, Server, Shared, Start,
    database::{PAST_THE_LEASE, testing},
    examine::{Examined, examine},
    folder, keys,
    proxy::Proxy,
    run, runtime,
};

/// Kind of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Embedded,
    Database,
}

/// A process that runs.
pub struct Replica {
    pub start: Start,
    pub server: Server,
    pub address: SocketAddr,
}

/// A store with its processes.
pub struct Place {
    pub kind: Kind,
    pub folder: PathBuf,
    pub shared: Arc<Shared>,
    pub replicas: Vec<Replica>,
    /// The file that moves the clock of all processes.
    pub clock: PathBuf,
    pub database: Option<(&'static testing::Cluster, String, Proxy)>,
}

/// Tables in a copy of a database, in the order in which they are written.
const TABLES: [&str; 10] = [
    "store",
    "lives",
    "heads",
    "remembered",
    "events",
    "ledger",
    "releases",
    "keys",
    "settings",
    "erased",
];

impl Place {
    /// A new one. PostgreSQL must be installed.
    pub fn new(kind: Kind) -> Self {
        let folder = folder("long");
        let (config, clock) = (folder.join("loops.toml"), folder.join("clock"));
        std::fs::write(&config, LOOPS).unwrap();
        std::fs::write(&clock, "0").unwrap();
        let first = folder.join("data-0");
        std::fs::create_dir(&first).unwrap();
        let database = (kind == Kind::Database).then(|| {
            let cluster = testing::with_small_disks().or_else(testing::cluster);
            let cluster = cluster.expect("PostgreSQL is installed");
            let proxy = Proxy::start(folder.join("way"), cluster.folder());
            (cluster, cluster.empty(), proxy)
        });
        let mut place = vec!["--data", first.to_str().unwrap()];
        if let Some((_, url, _)) = &database {
            place.extend(["--database", url]);
        }
        let shared = Arc::new(Shared::new(keys(&place)));
        let start = |which: usize| Start {
            database: database.as_ref().map(|(cluster, url, proxy)| match which {
                0 => url.clone(),
                _ => cluster.through(url, &proxy.folder),
            }),
            witness: Some(folder.join(format!("witness-{which}/heads"))),
            // What fails is many lines, and the checker says what is wrong.
            environment: vec![
                ("RETICENT_CLOCK_FILE", clock.display().to_string()),
                ("RETICENT_LOG", "off".into()),
            ],
            ..Start::new(&config, &folder.join(format!("data-{which}")))
        };
        let mut replicas = vec![Replica::start(start(0))];
        if kind == Kind::Database {
            let second = folder.join("data-1");
            std::fs::create_dir(&second).unwrap();
            for name in ["people.key", "events.key", "seal.key"] {
                std::fs::copy(first.join(name), second.join(name)).unwrap();
            }
            replicas.push(Replica::start(start(1)));
        }
        let place = Place { kind, folder, shared, replicas, clock, database };
        place.serve();
        place
    }

    /// Tells the clients where the processes are.
    pub fn serve(&self) {
        self.serve_those(|_| true);
    }

    /// Tells the clients to leave one of them alone.
    pub fn serve_without(&self, which: usize) {
        self.serve_those(|other| other != which);
    }

    /// Tells the clients which of them there are.
    pub fn serve_those(&self, is_up: impl Fn(usize) -> bool) {
        let those = self.replicas.iter().enumerate().filter(|(number, _)| is_up(*number));
        let addresses: Vec<SocketAddr> = those.map(|(_, replica)| replica.address).collect();
        self.shared.serve_at(&addresses);
    }

    /// Starts one again.
    pub fn restart(&mut self, which: usize) {
        let start = self.replicas[which].start.clone();
        self.replicas[which] = Replica::start(start);
        self.serve();
    }

    /// Kills all of them.
    pub fn kill_all(&mut self) {
        self.shared.serve_at(&[]);
        self.replicas.iter_mut().for_each(|replica| replica.server.kill());
    }

    /// Starts all of them, one after the other.
    pub fn restart_all(&mut self) {
        for which in 0..self.replicas.len() {
            let start = self.replicas[which].start.clone();
            self.replicas[which] = Replica::start(start);
        }
        self.serve();
    }

    /// Waits until open events can be folded, by any process with the right to release.
    pub fn settle(&self) {
        std::thread::sleep(match self.kind {
            Kind::Embedded => Duration::from_millis(1500),
            Kind::Database => PAST_THE_LEASE,
        });
    }

    /// Arguments with which a command finds the store.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = vec!["--data".into(), self.folder.join("data-0").display().to_string()];
        if let Some((_, url, _)) = &self.database {
            arguments.extend(["--database".into(), url.clone()]);
        }
        arguments
    }

    /// Makes a copy of the store while no client sends requests.
    pub fn copy(&self) {
        match &self.database {
            None => {
                let copy = self.folder.join("copy.redb").display().to_string();
                let place = self.arguments();
                let place: Vec<&str> = place.iter().map(String::as_str).collect();
                run(&[&["store", "backup"][..], &place, &["--to", &copy]].concat());
            }
            Some((cluster, url, _)) => {
                // One snapshot, as a dump is: releases go on meanwhile.
                let begin = "begin isolation level repeatable read";
                let mut sql = format!("set search_path = {}; {begin};", schema(url));
                for table in TABLES {
                    sql += &format!("create table copy_{table} as select * from {table};");
                }
                cluster.sql(&(sql + "commit"));
            }
        }
    }

    /// Puts the copy back while nothing runs.
    pub fn put_back(&self) {
        match &self.database {
            None => {
                let store = self.folder.join("data-0/store.redb");
                std::fs::copy(self.folder.join("copy.redb"), store).unwrap();
            }
            Some((cluster, url, _)) => {
                // What a process was killed in ends first.
                let all = TABLES.join(", ");
                let mut sql =
                    format!("set search_path = {}; begin; lock table {all};", schema(url));
                for table in TABLES.iter().rev() {
                    sql += &format!("delete from {table};");
                }
                for table in TABLES {
                    sql += &format!("insert into {table} select * from copy_{table};");
                }
                cluster.sql(&(sql + "commit"));
            }
        }
    }

    /// Compares what the clients know with the store, when nothing runs any more.
    pub fn examine(&self, histories: &Histories) -> Examined {
        let data = self.folder.join("data-0");
        runtime().block_on(async {
            match &self.database {
                None => {
                    let store = RedbStore::open(data.join("store.redb")).unwrap();
                    examine(LOOPS, &store, histories, &data, false).await
                }
                Some((_, url, _)) => {
                    let store = PostgresStore::open(url).await.unwrap();
                    examine(LOOPS, &store, histories, &data, true).await
                }
            }
        })
    }
}

impl Replica {
    pub fn start(start: Start) -> Self {
        let server = Server::start(&start);
        let address = server.address();
        Replica { start, server, address }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.replicas.clear();
        let _ = std::fs::remove_dir_all(&self.folder);
        if let Some((cluster, url, _)) =
            self.database.as_ref().filter(|_| !std::thread::panicking())
        {
            let quiet = "set client_min_messages = warning";
            cluster.sql(&format!("{quiet}; drop schema {} cascade", schema(url)));
        }
    }
}

/// The schema of an address.
fn schema(url: &str) -> &str {
    url.rsplit_once("search_path%3D").expect("an address of a schema").1
}
