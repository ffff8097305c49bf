//! Loops over databases: what the busiest database has to take.
//!
//! Loads follow Zipf's law. A loop that stays whole is as large as it is; one that is split by the hash of its people has parts of nearly one size, because a
//! hash is uniform and no person is many.

use std::fmt::Write;

use super::{Parameters, people};

/// Questions a second of each loop, the largest first.
fn loads(parameters: &Parameters) -> Vec<f64> {
    let shares: Vec<f64> =
        (1..=parameters.loops as u64).map(|rank| (rank as f64).powf(-parameters.skew)).collect();
    let all: f64 = shares.iter().sum();
    shares.iter().map(|share| parameters.ranks * share / all).collect()
}

/// Places loads by a hash of their number, and returns what the busiest database has.
fn hashed(loads: &[f64], databases: usize) -> f64 {
    let mut taken = vec![0.0; databases];
    for (number, load) in (0_u64..).zip(loads) {
        taken[(reticent::hash::mix(7, number) % databases as u64) as usize] += load;
    }
    taken.into_iter().fold(0.0, f64::max)
}

/// Places each load, the largest first, where least is, and returns what the busiest database has.
fn balanced(loads: &[f64], databases: usize) -> f64 {
    let mut sorted = loads.to_vec();
    sorted.sort_by(|one, other| other.total_cmp(one));
    // Loads are positive, so that their bits are in their order.
    let mut heap: std::collections::BinaryHeap<_> =
        (0..databases).map(|index| std::cmp::Reverse((0_u64, index))).collect();
    let mut most: f64 = 0.0;
    for load in sorted {
        let Some(std::cmp::Reverse((bits, index))) = heap.pop() else { return f64::INFINITY };
        let taken = f64::from_bits(bits) + load;
        most = most.max(taken);
        heap.push(std::cmp::Reverse((taken.to_bits(), index)));
    }
    most
}

/// Splits loads that are above a limit into the number of shards.
fn split(loads: &[f64], limit: f64, shards: usize) -> Vec<f64> {
    let parts = loads.iter().flat_map(|load| {
        let parts = if *load > limit { shards } else { 1 };
        std::iter::repeat_n(load / parts as f64, parts)
    });
    parts.collect()
}

/// Databases that are needed in all.
pub fn databases(parameters: &Parameters) -> f64 {
    (parameters.ranks / (parameters.database_events * parameters.utilisation)).ceil()
}

/// What the busiest database takes, by how loops are placed.
pub fn table(parameters: &Parameters) -> String {
    let loads = loads(parameters);
    let databases = databases(parameters) as usize;
    let limit = parameters.database_events * parameters.utilisation;
    // A loop is split when it fills a tenth of a database.
    let parts = split(&loads, limit / 10.0, parameters.shards as usize);
    let large = loads.iter().filter(|load| **load > limit / 10.0).count();
    let mut text = format!(
        "{} databases at {} of {} questions a second each; the largest loop has {} a second, {} have more than a tenth of a database.\n\n\
         | placement | the busiest database takes a second | of its most |\n| --- | --- | --- |\n",
        people(databases as f64),
        percent(parameters.utilisation),
        people(parameters.database_events),
        people(loads[0]),
        people(large as f64),
    );
    for (name, most) in [
        ("whole loops, by a hash of their name", hashed(&loads, databases)),
        ("whole loops, the largest first where least is", balanced(&loads, databases)),
        ("large loops split by person, all by a hash", hashed(&parts, databases)),
        (
            "large loops split by person, the largest first where least is",
            balanced(&parts, databases),
        ),
    ] {
        let share = percent(most / parameters.database_events);
        let _ = writeln!(text, "| {name} | {} | {share} |", people(most));
    }
    text
}

/// A share as a percentage.
pub fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}
