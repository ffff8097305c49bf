//! Sums of contributions are integers, so that they may be added in any order: with core's own sums, in one line and in trees, to the last unit.

use std::fmt::Write;

use reticent::{
    hash::mix,
    release::{Calibration, Clipper, Contribution, ContributionSums, Domain, PrivateSumParams},
};

use super::{Parameters, Result, people};

/// Coordinates of the features.
const DIMENSION: usize = 16;

/// Visitors whose contributions are added in the check.
const VISITORS: u64 = 20_000;

/// What a visitor contributes: features and a reward made of hashes, the same in every run.
fn contribution(clipper: &Clipper, visitor: u64) -> Result<Contribution> {
    let number = |index| mix(visitor, index) as f64 / u64::MAX as f64;
    let features: Vec<f64> = (0..DIMENSION as u64).map(|index| number(index) - 0.5).collect();
    Ok(clipper.clip_with_reward(&features, number(DIMENSION as u64))?)
}

/// Adds parts `fan_in` at a time until one is left; returns it with the levels that it took.
fn tree(mut parts: Vec<ContributionSums>, fan_in: usize) -> Result<(ContributionSums, u32)> {
    let mut levels = 0;
    while parts.len() > 1 {
        levels += 1;
        let mut next = Vec::new();
        for group in parts.chunks(fan_in.max(2)) {
            let mut sum = group[0].clone();
            group[1..].iter().try_for_each(|part| sum.merge(part))?;
            next.push(sum);
        }
        parts = next;
    }
    Ok((parts.remove(0), levels))
}

/// Parts by the shard of their visitors.
fn parts(clipper: &Clipper, shards: usize) -> Result<Vec<ContributionSums>> {
    let mut parts = vec![ContributionSums::new(*clipper); shards];
    for visitor in 0..VISITORS {
        let shard = (mix(1, visitor) % shards as u64) as usize;
        parts[shard].add(&contribution(clipper, visitor)?)?;
    }
    Ok(parts)
}

/// Checks that all ways of adding agree, and says what they move.
pub fn table(parameters: &Parameters) -> Result<String> {
    let domain = Domain::regression(DIMENSION, 1.0, 1.0);
    let plan = PrivateSumParams::new(domain, Some(1024), Calibration::Mu(1.0)).check()?;
    let clipper = *plan.clipper();
    let mut line = ContributionSums::new(clipper);
    for visitor in 0..VISITORS {
        line.add(&contribution(&clipper, visitor)?)?;
    }
    let shards = parameters.shards as usize;
    let bytes = line.save().len() as f64;
    let mut text = format!(
        "One part has {} bytes (d = {DIMENSION}, {} sums of 128 bits). {} contributions in {} shards:\n\n\
         | how they are added | levels | additions on the longest way | the same to the last unit |\n| --- | --- | --- | --- |\n",
        people(bytes),
        domain.coordinates(),
        people(VISITORS as f64),
        people(parameters.shards),
    );
    let mut reversed = parts(&clipper, shards)?;
    reversed.reverse();
    for (name, parts, fan_in) in [
        ("in one line", parts(&clipper, shards)?, shards),
        ("two and two", parts(&clipper, shards)?, 2),
        ("in a tree", parts(&clipper, shards)?, parameters.fan_in as usize),
        ("in a tree, the last shard first", reversed, parameters.fan_in as usize),
    ] {
        let (sum, levels) = tree(parts, fan_in)?;
        let same = if sum == line { "yes" } else { "no" };
        let longest = f64::from(levels) * (fan_in - 1) as f64;
        let _ = writeln!(text, "| {name} | {levels} | {} | {same} |", people(longest));
    }
    let moved = parameters.loops * parameters.shards * bytes / parameters.tick_seconds;
    let _ = writeln!(
        text,
        "\nIf all {} loops had all {} shards, parts would be {} megabytes a second, at one tick in {} s. A part does not grow with its people.",
        people(parameters.loops),
        people(parameters.shards),
        people(moved / 1e6),
        people(parameters.tick_seconds),
    );
    Ok(text)
}
