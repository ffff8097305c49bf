//! A store is rolled back to an older copy under its witness, twice: nothing is released until an operator accepts it, and each acceptance is charged.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use reticent_server::{loops::Rollback, store::ReleaseRecord};

use super::{
    super::{CLIENTS, Clients, Histories, Random, examine::Found, run, server::readiness},
    Table,
    place::{Kind, Place},
};

/// Longest time until a service reports the rollback.
const NOTICED: Duration = Duration::from_secs(10);

/// Every release that was ever made of a loop, by its number and by its hash.
#[derive(Default)]
struct Released {
    numbers: BTreeMap<(String, u64), [u8; 32]>,
    hashes: BTreeMap<(String, [u8; 32]), u64>,
}

impl Released {
    /// Adds the releases of a store, and returns what is wrong with them.
    fn add(&mut self, found: &[Found]) -> u64 {
        let mut wrong = 0;
        for Found { plan, contents, .. } in found {
            // The link of an accepted rollback may have the number of a release that was committed and never seen.
            let is_release = |record: &&ReleaseRecord| Rollback::read(&record.release).is_none();
            for record in contents.releases.iter().filter(is_release) {
                let key = (plan.name.clone(), record.number);
                let known = *self.numbers.entry(key).or_insert(record.chain);
                if known != record.chain {
                    println!("  loop {}: two releases have number {}", plan.name, record.number);
                    wrong += 1;
                }
                let key = (plan.name.clone(), record.hash);
                let number = *self.hashes.entry(key).or_insert(record.number);
                if number != record.number {
                    println!("  loop {}: release {number} was made again", plan.name);
                    wrong += 1;
                }
            }
        }
        wrong
    }
}

/// A round: a copy is made, more happens, and the store is rolled back to it twice.
pub fn copies(kind: Kind, random: &mut Random, table: &mut Table) {
    let (mut place, mut released) = (Place::new(kind), Released::default());
    let mut numbers = 0;
    let mut load = |place: &Place, random: &mut Random| -> Histories {
        let clients =
            Clients::start(&place.shared, numbers..numbers + CLIENTS, random.below(u64::MAX));
        numbers += CLIENTS;
        std::thread::sleep(Duration::from_millis(1500 + random.below(1000)));
        clients.stop()
    };
    let before = load(&place, random);
    place.settle();
    place.copy();
    let mut all = before.clone();
    all.merge(load(&place, random));
    place.settle();
    place.kill_all();
    let found = place.examine(&all);
    let mut wrong = released.add(&found.loops);
    table.found(kind, &found);
    for replays in 1..=2 {
        place.put_back();
        place.restart_all();
        table.add(kind, "h rollbacks to old copies", 1);
        let heads = halted(&place);
        let mut history = before.clone();
        history.merge(load(&place, random));
        if halted(&place) != heads {
            println!("  something was released before it was accepted");
            wrong += 1;
        }
        for (name, head) in &heads {
            let arguments = place.arguments();
            let mut command = vec!["store", "accept-rollback"];
            command.extend(arguments.iter().map(String::as_str));
            command.extend(["--loop", name, "--head", head, "--yes"]);
            let printed = run(&command);
            if !printed.ends_with(&format!(": {replays}")) {
                println!("  loop {name}: {printed}, and {replays} are due");
                wrong += 1;
            }
        }
        history.merge(load(&place, random));
        place.settle();
        place.kill_all();
        let found = place.examine(&history);
        wrong += released.add(&found.loops);
        for Found { plan, contents, .. } in &found.loops {
            let mut links = contents.releases.iter().filter_map(|one| Rollback::read(&one.release));
            if links.next_back().map(|link| link.replays) != Some(replays) {
                println!("  loop {}: {replays} replays are due", plan.name);
                wrong += 1;
            }
        }
        table.found(kind, &found);
    }
    table.add(kind, "z violations", wrong);
}

/// The heads that the stopped loops have, as the service tells the operator.
fn halted(place: &Place) -> BTreeMap<String, String> {
    let end = Instant::now() + NOTICED;
    loop {
        let ready = readiness(place.replicas[0].address);
        let troubles = ready["troubles"].as_array().cloned().unwrap_or_default();
        let named = troubles.iter().filter_map(|trouble| {
            let (_, rest) = trouble.as_str()?.split_once("--loop ")?;
            let (name, rest) = rest.split_once(" --head ")?;
            Some((name.to_string(), rest.split_once('`')?.0.to_string()))
        });
        let heads: BTreeMap<String, String> = named.collect();
        if heads.len() == 2 || Instant::now() > end {
            assert_eq!(heads.len(), 2, "the store is rolled back: {ready}");
            return heads;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
