//! What an experiment compares, whatever the problem: something with a name, a promise, and trials that can be run.
//!
//! To add a family of problems (a new kind of environment with its own algorithms):
//! 1. one module that implements [`Family`]: its `[environment]` and `[[algorithm]]` lines, and how they become
//!    [`Contestant`]s;
//! 2. one line in `Experiment::parse_with` that says which `environment.kind` it answers to.
//!
//! To add an algorithm to a family: one variant of its algorithm lines, one file with its contestant. Everything else
//! (threads, files, figures, reports, certificates) is shared.
//!
//! **Who may certify.** A contestant's guarantee is computed from the aggregator or randomiser that the contestant itself runs. Only code of this
//! crate can say so: [`Contestant`] is sealed. A player of your own becomes a contestant through
//! [`Stepped`](crate::bandits::Stepped), which marks what you promise for it as stated and not checked, or takes the certificate from the
//! aggregator that it puts between people and your code.

use reticent::privacy::Guarantee;
use serde::{Serialize, de::DeserializeOwned};

use crate::{Result, audit::Attack};

/// Keeps [`Contestant`] to the types of this crate, whose guarantees come from what they run.
pub(crate) mod sealed {
    pub trait Sealed {}
}

/// One algorithm in one environment, ready to run.
pub trait Contestant: sealed::Sealed + Send + Sync {
    /// What the report calls it.
    fn name(&self) -> &str;

    /// What may be promised of a run, if the accountant can say; the weakest promise where people differ.
    fn guarantee(&self) -> Option<&Guarantee>;

    /// Promises to single people or agents, where they differ.
    fn certificates(&self) -> &[Certificate] {
        &[]
    }

    /// What a careful reader must know: uncertified bonuses, assumptions, why a default was chosen.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// What theory says of the regret after so many rounds, to stand beside the measured one: the same theorems in the
    /// same order whatever the number of rounds.
    fn bounds(&self, _rounds: u64) -> Vec<Bound> {
        Vec::new()
    }

    /// How the mechanism behind its promises can be attacked: see [`crate::audit`].
    fn attacks(&self) -> &[Attack] {
        &[]
    }

    /// How the very player that a trial runs can be attacked, where the contestant promises something: see [`crate::audit::player`].
    fn player_attacks(&self) -> Result<Vec<Attack>> {
        Ok(Vec::new())
    }

    /// The measure of its trials that stands first in tables and figures, before the regret.
    fn headline(&self) -> Option<&'static str> {
        None
    }

    /// A hash of data that were read from elsewhere and determine a trial too; stored results of other data are not used.
    fn data_hash(&self) -> u64 {
        0
    }

    /// A file that a trial leaves behind beside its results: without it the trial counts as not done.
    fn leaves(&self, _trial: u64) -> Option<std::path::PathBuf> {
        None
    }

    /// An error if this trial cannot be run, found before anybody's first trial.
    fn runnable(&self, _seed: u64, _trial: u64) -> Result<()> {
        Ok(())
    }

    /// One trial. Everything random follows from `seed` and `trial`; the regret is recorded after each of the
    /// rising `checkpoints`, the last of which is the experiment's number of rounds.
    fn trial(&self, seed: u64, trial: u64, checkpoints: &[u64]) -> Result<Trial>;
}

/// A family of problems: the lines of its TOML files, and what they mean.
pub trait Family {
    /// The `[environment]` table.
    type Environment: Serialize + DeserializeOwned;
    /// One `[[algorithm]]` table.
    type Algorithm: Serialize + DeserializeOwned;

    /// An environment that has been checked, and read if it lies in a file: what all algorithms share.
    type Setting;

    /// The environment with what may be known of it, or what stands in its way.
    fn setting(rounds: u64, environment: &Self::Environment) -> Result<Self::Setting>;

    /// One algorithm in it, or what stands in its way.
    fn contestant(
        setting: &Self::Setting,
        algorithm: &Self::Algorithm,
    ) -> Result<Box<dyn Contestant>>;
}

/// Where in a grid an algorithm stands: one of the values of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Label {
    /// The key that has a list.
    pub key: String,
    /// The value, as written.
    pub value: String,
}

/// A promise to some people.
#[derive(Debug, Clone, Serialize)]
pub struct Certificate {
    /// To whom.
    pub whom: String,
    /// What is promised.
    pub guarantee: Guarantee,
}

/// What came of one trial.
#[derive(Debug, Clone, Default)]
pub struct Trial {
    /// The regret after each checkpoint.
    pub curve: Vec<Checkpoint>,
    /// Other things that were counted, such as safety violations or oracle calls.
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

/// Something counted in a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measure {
    /// What was counted; the same in every trial.
    pub what: &'static str,
    /// How much.
    pub value: f64,
}

impl Measure {
    /// Whether what is counted under this name is a share, from 0 to 1.
    pub(crate) fn is_share(what: &str) -> bool {
        what.starts_with("accuracy") || what.contains(", share of ")
    }
}

/// A theorem's number.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bound {
    /// Which theorem, and what it speaks of.
    pub theorem: String,
    /// Whether regret cannot be above it or cannot be below it.
    pub side: Side,
    /// Its value.
    pub value: f64,
    /// The regret nobody can exceed; an upper bound at or above it says nothing.
    pub trivial: f64,
}

/// Which side of the regret a bound is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The regret is at most this, with the theorem's probability.
    Upper,
    /// No algorithm of the theorem's kind has less.
    Lower,
}

impl Bound {
    /// An upper bound above what anybody could lose.
    pub fn is_vacuous(&self) -> bool {
        self.side == Side::Upper && self.value >= self.trivial
    }
}

/// About `count` log-spaced rounds from 1 to `rounds`, both included, each once.
///
/// ```
/// use reticent_lab::contest::checkpoints;
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

/// Spreads two numbers over one seed (SplitMix64's finaliser): every trial and every contestant has its own.
pub fn mix(one: u64, two: u64) -> u64 {
    let mut word = one.wrapping_add(two.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// FNV-1a, so that a contestant's noise depends on its name and not on its place in the file.
pub fn name_hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
