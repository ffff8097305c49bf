//! Loops in simulated time: the real service on the model of a store, with processes that are killed, stopped and started again, a database that crashes, answers that are lost,
//! slow ways and wrong clocks; then the checker that the torture uses compares the clients' own history with the store.
//!
//! | file | what it is |
//! | --- | --- |
//! | `timeline` | simulated time and chance: a seed is a schedule |
//! | `link` | a process's way to the database, and mistakes that are planted there |
//! | `process` | processes of the service, started whenever they have died |
//! | `client` | clients that write everything down |
//! | `accident` | what happens meanwhile |
//! | `run` | one simulation from its seed, and what was found |
//!
//! A seed that fails is printed, and `cargo xtask simulate --seed N` replays it; `cargo xtask simulate --events 1000000` runs as many seeds as that takes.

mod accident;
mod client;
mod link;
mod process;
mod run;
mod timeline;

use std::{
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use link::Mistake;
use run::{Outcome, Plan, simulate};

/// Events of one seed.
const EVENTS: u64 = 10_000;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect(name))
}

/// Runs seeds, some at the same time, until `events` events were sent, and prints the counts.
fn seeds(first: u64, events_of_each: u64, events: u64) {
    let (all, next) = (Mutex::new(Outcome::default()), AtomicU64::new(first));
    let begun = Instant::now();
    let run = || {
        while all.lock().unwrap().events < events {
            let seed = next.fetch_add(1, Ordering::SeqCst);
            let found = simulate(&Plan::of_seed(seed, events_of_each));
            for violation in found.violations.iter().take(20) {
                println!("  {violation}");
            }
            let replay = format!("cargo xtask simulate --seed {seed} --events {events_of_each}");
            assert!(found.violations.is_empty(), "seed {seed} breaks promises: {replay}");
            all.lock().unwrap().add(found);
        }
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        (0..processors).for_each(|_| drop(scope.spawn(run)));
    });
    let (all, last) = (all.into_inner().unwrap(), next.into_inner() - 1);
    println!("seeds {first} to {last}, {:.1} s:\n{all}", begun.elapsed().as_secs_f64());
    all.assert_rich();
}

#[test]
fn every_promise_holds_on_every_seed() {
    seeds(1, 1_500, 24_000);
}

/// Run by `cargo xtask simulate`.
#[test]
#[ignore = "takes a minute"]
fn many_events_in_simulated_time() {
    let events = setting("RETICENT_SIMULATION_EVENTS").unwrap_or(1_000_000);
    let seed = setting("RETICENT_SIMULATION_SEED");
    seeds(seed.unwrap_or(1), EVENTS.min(events), if seed.is_some() { 1 } else { events });
}

#[test]
fn a_seed_is_a_schedule() {
    for seed in [1, 2, 3, 4] {
        let traces = [0, 1].map(|_| simulate(&Plan::of_seed(seed, 1_000)).trace);
        assert_eq!(traces[0], traces[1], "seed {seed} replays");
    }
    let other = simulate(&Plan::of_seed(5, 1_000)).trace;
    assert_ne!(other, simulate(&Plan::of_seed(6, 1_000)).trace);
}

/// Each mistake is found by some of ten seeds, which find nothing without it.
#[test]
fn planted_mistakes_are_found() {
    use reticent_trials::history::Promise::{EventOnce, ExactSums, Ledger, OneChain, RewardOnce};
    for (mistake, promises) in [
        (Mistake::AnswersBeforeItIsDurable, &[EventOnce, RewardOnce, OneChain][..]),
        (Mistake::RepeatsRewards, &[RewardOnce]),
        (Mistake::ReadsTheLedgerFirst, &[Ledger]),
        (Mistake::ReleasesWhateverTheEpoch, &[ExactSums, OneChain]),
    ] {
        let found = (1..=10).find_map(|seed| {
            let plan = Plan { mistake: Some(mistake), processes: 3, ..Plan::of_seed(seed, 1_500) };
            let found = simulate(&plan);
            let violations = found.violations.iter();
            let expected: Vec<_> =
                violations.filter(|violation| promises.contains(&violation.promise)).collect();
            expected.first().map(|violation| println!("{mistake:?}, seed {seed}: {violation}"))
        });
        assert!(found.is_some(), "{mistake:?} is not found");
    }
}
