//! Every accident on both stores, round after round, for as many minutes as `cargo xtask torture --minutes` says; then a table.
//!
//! | file | what it is |
//! | --- | --- |
//! | `place` | a store with its processes, in a file or in PostgreSQL |
//! | `accident` | what happens to them |
//! | `copies` | older copies that are put back |
//!
//! A round has a new store. Either accidents happen to its processes under load, or older copies of it are put back; then the checker compares the clients' history with it.

mod accident;
mod copies;
mod place;

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use super::{Found, Random, setting};
use accident::accidents;
use copies::copies;
use place::Kind;

/// What happened in all rounds.
#[derive(Default)]
struct Table {
    /// By what it was: in how many cases, embedded and with PostgreSQL.
    rows: BTreeMap<String, [u64; 2]>,
    /// Named steps at which something was to happen so far.
    steps: [usize; 2],
}

impl Table {
    fn add(&mut self, kind: Kind, what: impl Into<String>, count: u64) {
        self.rows.entry(what.into()).or_default()[kind as usize] += count;
    }

    /// Adds what was found of a store; violations are none of what happens in a sound one.
    fn found(&mut self, kind: Kind, found: &[Found]) {
        for Found { happened, violations, .. } in found {
            self.add(kind, "z violations", violations.len() as u64);
            let counts = [
                ("y requests acknowledged", happened.acknowledged()),
                ("y requests without an answer", happened.lost),
                ("y requests refused as repetitions or late", happened.refused()),
                ("y events in the store", happened.events),
                ("y events folded", happened.folded),
                ("y releases", happened.releases),
            ];
            for (what, count) in counts {
                self.add(kind, what, count as u64);
            }
        }
    }

    fn violations(&self) -> u64 {
        self.rows.get("z violations").into_iter().flatten().sum()
    }

    fn print(&self) {
        println!("{:<58}{:>10}{:>12}", "", "embedded", "PostgreSQL");
        for (what, [embedded, database]) in &self.rows {
            // The letter in front is for the order.
            println!("{:<58}{embedded:>10}{database:>12}", &what[2..]);
        }
    }
}

#[test]
#[ignore = "cargo xtask torture"]
fn minutes_of_torture() {
    let minutes = setting("RETICENT_TORTURE_MINUTES", 10);
    let seed = setting("RETICENT_TORTURE_SEED", u64::from(std::process::id()));
    println!("{minutes} minutes, seed {seed} (RETICENT_TORTURE_SEED)");
    let (begun, mut table) = (Instant::now(), Table::default());
    let mut random = Random::new(seed);
    // Each kind of round once, however short the time.
    for round in 0.. {
        if round >= 4 && begun.elapsed() >= Duration::from_secs(60 * minutes) {
            break;
        }
        let kind = [Kind::Embedded, Kind::Database][round % 2];
        println!("round {round}: {kind:?}");
        match round % 4 {
            0 | 1 => accidents(kind, &mut random, &mut table),
            _ => copies(kind, &mut random, &mut table),
        }
        table.add(kind, "a rounds", 1);
        if table.violations() > 0 {
            break;
        }
    }
    println!("\ntorture of {:.1} minutes, seed {seed}", begun.elapsed().as_secs_f64() / 60.0);
    table.print();
    assert_eq!(table.violations(), 0, "promises were broken");
}
