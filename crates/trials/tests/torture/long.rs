//! Every accident on both stores, round after round, for as many minutes as `cargo xtask torture --minutes` says, or until as many processes were killed as `--kills` says; then
//! a table.
//!
//! | file | what it is |
//! | --- | --- |
//! | `place` | a store with its processes, in a file or in PostgreSQL |
//! | `accident` | what happens to them |
//! | `copies` | rollbacks to older copies |
//! | `kills` | processes that are killed again and again |
//!
//! A round has a new store. Accidents happen to its processes under load, or it is rolled back to older copies, or its processes are killed every
//! few hundred milliseconds; then the checker compares the clients' history with it.

mod accident;
mod copies;
mod kills;
mod place;

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use super::{
    Random,
    examine::{Examined, Found},
    setting,
};
use accident::accidents;
use copies::copies;
use kills::kills;
use place::Kind;

/// Counts of all rounds.
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
    fn found(&mut self, kind: Kind, found: &Examined) {
        self.add(kind, "z violations", found.violations() as u64);
        for Found { happened, .. } in &found.loops {
            let counts = [
                ("x requests acknowledged", happened.acknowledged()),
                ("x requests without an answer", happened.lost),
                ("x requests refused as repetitions or late", happened.refused()),
                ("x events in the store", happened.events),
                ("x events folded", happened.folded),
                ("x releases", happened.releases),
            ];
            for (what, count) in counts {
                self.add(kind, what, count as u64);
            }
        }
        if let Some(devices) = &found.devices {
            self.add(kind, "y reports of devices acknowledged", devices.reports as u64);
            self.add(kind, "y reports without an answer, sent again", devices.lost as u64);
            self.add(kind, "y reports counted", devices.counted);
            self.add(kind, "y models", devices.models);
        }
    }

    /// Number of processes that were killed with -9.
    fn kills(&self) -> [u64; 2] {
        let kills = self.rows.iter().filter(|(what, _)| what.starts_with(['b', 'c']));
        kills.fold([0, 0], |[a, b], (_, [embedded, database])| [a + embedded, b + database])
    }

    fn violations(&self) -> u64 {
        self.rows.get("z violations").into_iter().flatten().sum()
    }

    fn print(&self) {
        println!("{:<58}{:>10}{:>12}", "", "embedded", "PostgreSQL");
        let mut rows = self.rows.clone();
        rows.insert("a kills with -9, of which".into(), self.kills());
        for (what, [embedded, database]) in rows {
            // The letter in front is for the order.
            println!("{:<58}{embedded:>10}{database:>12}", &what[2..]);
        }
    }
}

/// Kind of a round.
#[derive(Debug, Clone, Copy)]
enum Round {
    Accidents,
    Copies,
    Kills,
}

/// Their order, each on both stores, until the time is over, or until enough were killed.
const MINUTES: &[Round] = &[Round::Accidents, Round::Copies, Round::Kills];
const KILLS: &[Round] =
    &[Round::Kills, Round::Kills, Round::Accidents, Round::Kills, Round::Kills, Round::Copies];

#[test]
#[ignore = "cargo xtask torture"]
fn minutes_of_torture() {
    let wanted = setting("RETICENT_TORTURE_KILLS", 0);
    let minutes = setting("RETICENT_TORTURE_MINUTES", if wanted == 0 { 10 } else { 0 });
    let seed = setting("RETICENT_TORTURE_SEED", u64::from(std::process::id()));
    println!("{minutes} minutes and {wanted} kills, seed {seed} (RETICENT_TORTURE_SEED)");
    let (begun, mut table) = (Instant::now(), Table::default());
    let mut random = Random::new(seed);
    let rounds = if wanted == 0 { MINUTES } else { KILLS };
    for (number, round) in rounds.iter().cycle().flat_map(|round| [*round; 2]).enumerate() {
        let left = wanted.saturating_sub(table.kills().iter().sum());
        // Each kind of round once, however short the time.
        let has_all = wanted > 0 || number >= 2 * rounds.len();
        if has_all && left == 0 && begun.elapsed() >= Duration::from_secs(60 * minutes) {
            break;
        }
        let kind = [Kind::Embedded, Kind::Database][number % 2];
        println!(
            "round {number}: {round:?}, {kind:?}, {:.1} minutes, {:?} kills",
            begun.elapsed().as_secs_f64() / 60.0,
            table.kills()
        );
        match round {
            Round::Accidents => accidents(kind, &mut random, &mut table),
            Round::Copies => copies(kind, &mut random, &mut table),
            Round::Kills => kills(kind, &mut random, &mut table, left),
        }
        table.add(kind, "A rounds", 1);
        if table.violations() > 0 {
            break;
        }
    }
    println!("\ntorture of {:.1} minutes, seed {seed}", begun.elapsed().as_secs_f64() / 60.0);
    table.print();
    assert_eq!(table.violations(), 0, "promises were broken");
}
