//! A tick needs every shard: how long it waits for the slowest one.
//!
//! Simulated with numbers that are the same in every run. A shard closes in 20 ms and an exponential time of 20 ms; with a small probability its database
//! stands still for longer than that.

use std::fmt::Write;

use reticent::hash::mix;

use super::{Parameters, people, placement::percent};

/// Ticks that are simulated.
const TICKS: u64 = 10_000;

/// A number of (0, 1) for a tick, a shard and a use.
fn uniform(tick: u64, shard: u64, purpose: u64) -> f64 {
    (mix(mix(tick, shard), purpose) >> 11) as f64 / (1_u64 << 53) as f64 + f64::EPSILON / 4.0
}

/// Seconds that a tick waits for the slowest of its shards.
fn wait(parameters: &Parameters, tick: u64, shards: u64) -> f64 {
    let shard = |shard| {
        let stalled = uniform(tick, shard, 1) < parameters.stall;
        let close = 0.02 - 0.02 * uniform(tick, shard, 2).ln();
        close + if stalled { parameters.stall_seconds } else { 0.0 }
    };
    (0..shards).map(shard).fold(0.0, f64::max)
}

/// Waits by the number of shards.
pub fn table(parameters: &Parameters) -> String {
    let mut text = String::from(
        "| shards | median wait | mean wait | ticks that wait for a stall | by the formula 1 - (1 - stall)^shards |\n| --- | --- | --- | --- | --- |\n",
    );
    for shards in [1, 16, 256, 1024] {
        let mut waits: Vec<f64> = (0..TICKS).map(|tick| wait(parameters, tick, shards)).collect();
        waits.sort_by(f64::total_cmp);
        let mean = waits.iter().sum::<f64>() / TICKS as f64;
        let late = waits.iter().filter(|wait| **wait > parameters.stall_seconds).count();
        let expected = 1.0 - (1.0 - parameters.stall).powf(shards as f64);
        let _ = writeln!(
            text,
            "| {} | {} ms | {} ms | {:.2} % | {:.2} % |",
            people(shards as f64),
            people(1e3 * waits[waits.len() / 2]),
            people(1e3 * mean),
            100.0 * late as f64 / TICKS as f64,
            100.0 * expected,
        );
    }
    let _ = writeln!(
        text,
        "\nA tick that waits {} s has used {} of its {} s. Nobody's data decide who waits, and nothing is lost: the release comes later.",
        people(parameters.stall_seconds),
        percent(parameters.stall_seconds / parameters.tick_seconds),
        people(parameters.tick_seconds),
    );
    text
}
