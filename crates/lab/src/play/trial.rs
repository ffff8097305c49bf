//! One trial of an experiment: its seeds, its checkpoints and its results.

/// The results of one trial.
#[derive(Debug, Clone, Default)]
pub struct Trial {
    /// The regret after each checkpoint.
    pub curve: Vec<Checkpoint>,
    /// Other measures, such as safety violations or oracle calls.
    pub measures: Vec<Measure>,
}

impl From<Vec<Checkpoint>> for Trial {
    fn from(curve: Vec<Checkpoint>) -> Self {
        Trial { curve, measures: Vec::new() }
    }
}

/// The regret after a round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Checkpoint {
    /// The round, counted from 1.
    pub round: u64,
    /// The (pseudo-)regret of all rounds up to it.
    pub regret: f64,
}

/// A measure of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measure {
    /// Its name; the same in every trial.
    pub what: &'static str,
    /// Its value.
    pub value: f64,
}

/// The measure of a curator that could not turn releases into policies.
pub(crate) const COLD_RELEASES: &str = "releases that could not be turned into a policy";

impl Measure {
    /// Number of releases of a trial that became the cold policy.
    pub(crate) fn cold_releases(releases: u64) -> Self {
        Measure { what: COLD_RELEASES, value: releases as f64 }
    }

    /// Tells whether the measure of this name is a share, from 0 to 1.
    pub(crate) fn is_share(what: &str) -> bool {
        what.starts_with("accuracy") || what.contains(", share of ")
    }
}

/// About `count` log-spaced rounds from 1 to `rounds`, both included, each once.
///
/// ```
/// use reticent_lab::play::trial::checkpoints;
/// assert_eq!(checkpoints(1000, 4), [1, 10, 100, 1000]);
/// assert_eq!(checkpoints(3, 100), [1, 2, 3]);
/// ```
pub fn checkpoints(rounds: u64, count: usize) -> Vec<u64> {
    let step = (rounds.max(1) as f64).ln() / (count.max(2) - 1) as f64;
    let mut all: Vec<u64> = (0..count)
        .map(|i| ((step * i as f64).exp().round() as u64).clamp(1, rounds.max(1)))
        .collect();
    all.push(rounds);
    all.retain(|&round| round > 0);
    all.sort_unstable();
    all.dedup();
    all
}

/// Mixes two numbers into one seed (SplitMix64's finaliser), so that every trial and every algorithm has a different seed.
pub fn mix(one: u64, two: u64) -> u64 {
    let number = two.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    reticent::hash::mixed(one.wrapping_add(number))
}

/// The hash of a name, so that an algorithm's noise depends on its name and not on its place in the file.
pub fn name_hash(name: &str) -> u64 {
    reticent::hash::of_bytes(name.as_bytes())
}
