//! The interface of everything that an experiment compares: a name, a guarantee, and trials that can be run.
//!
//! To add a family of problems (a new kind of environment with its own algorithms):
//! 1. one module that implements [`Family`]: its `[environment]` and `[[algorithm]]` lines, and how they become
//!    [`RunnableAlgorithm`]s;
//! 2. one line in `Experiment::of_document` that selects it by `environment.kind`, and one in `experiment::schema` that lists its tables.
//!
//! To add an algorithm to a family: one variant of its algorithm lines, one file with its algorithm. Everything else
//! (threads, files, figures, reports, certificates) is shared.
//!
//! **Who may certify.** An algorithm's guarantee is computed from the aggregator or randomiser that the algorithm itself runs. Only this
//! crate can implement [`RunnableAlgorithm`], which is sealed. A learner of your own becomes an algorithm through
//! [`Stepped`](crate::algorithm::bandit::Stepped), which either marks your guarantee as stated and not checked, or takes the guarantee from an
//! aggregator that it puts between people and your code.

pub mod bandit;
pub mod convex;
pub mod online;
pub mod safe;

use reticent::{bandit::Outlook, privacy::Guarantee};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    Result,
    audit::attack::{Attack, Attacks},
    play::trial::Trial,
};

/// Restricts [`RunnableAlgorithm`] to the types of this crate, whose guarantees are computed from the mechanism they run.
pub(crate) mod sealed {
    pub trait Sealed {}
}

/// One algorithm in one environment, ready to run.
pub trait RunnableAlgorithm: sealed::Sealed + Send + Sync {
    /// Facts for the report, known before any trial.
    fn card(&self) -> &Card;

    /// Its name in the report.
    fn name(&self) -> &str {
        &self.card().name
    }

    /// The guarantee of a run, if the accountant can compute one; the weakest one if people have different levels.
    fn guarantee(&self) -> Option<&Guarantee> {
        self.card().guarantee.as_ref()
    }

    /// The noise of its plan against the signal of its people, if it has one.
    fn outlook(&self) -> Option<Outlook> {
        self.card().outlook
    }

    /// Remarks for the reader: uncertified bonuses, assumptions, reasons for defaults, the outlook.
    fn remarks(&self) -> Vec<String> {
        let outlook = self.outlook().map(|outlook| outlook.to_string());
        self.card().remarks.iter().cloned().chain(outlook).collect()
    }

    /// Theoretical bounds on the regret after the given number of rounds, shown beside the measured regret: the same theorems in the same
    /// order for any number of rounds.
    fn bounds(&self, _rounds: u64) -> Vec<Bound> {
        Vec::new()
    }

    /// Attacks on the learner that a trial runs, if the algorithm has a guarantee: see [`crate::audit::attack::learner`].
    fn learner_attacks(&self) -> Result<Vec<Attack>> {
        Ok(Vec::new())
    }

    /// The measure that tables and figures show first, before the regret.
    fn headline(&self) -> Option<&'static str> {
        None
    }

    /// A hash of external data that a trial depends on; stored results for other data are not used.
    fn data_hash(&self) -> u64 {
        0
    }

    /// Files that a trial writes beside its results; if one is missing, the trial is run again.
    fn leaves(&self, _trial: u64) -> Vec<std::path::PathBuf> {
        Vec::new()
    }

    /// An error if this trial cannot be run; checked before any trial starts.
    fn runnable(&self, _seed: u64, _trial: u64) -> Result<()> {
        Ok(())
    }

    /// One trial. All randomness is determined by `seed` and `trial`; the regret is recorded after each of the
    /// rising `checkpoints`, the last of which is the experiment's number of rounds.
    fn trial(&self, seed: u64, trial: u64, checkpoints: &[u64]) -> Result<Trial>;
}

/// Facts about an algorithm, known before any trial.
#[derive(Debug, Default)]
pub struct Card {
    /// Its name in the report.
    pub name: String,
    pub(crate) guarantee: Option<Guarantee>,
    /// Guarantees of individual people or agents, if they differ.
    pub certificates: Vec<Certificate>,
    /// Attacks on the mechanism behind its guarantee: see [`crate::audit::attack`].
    pub attacks: Attacks,
    /// Remarks for the reader.
    pub remarks: Vec<String>,
    /// The noise of its plan against the signal of its people.
    pub outlook: Option<Outlook>,
}

/// A family of problems: the tables of its TOML files and how they become algorithms.
pub trait Family {
    /// The `[environment]` table.
    type Environment: Serialize + DeserializeOwned + JsonSchema;
    /// One `[[algorithm]]` table.
    type Algorithm: Serialize + DeserializeOwned + JsonSchema;

    /// An environment that has been checked, and read if it is a file; shared by all algorithms.
    type Checked: 'static;

    /// Checks the environment; an error names what is wrong with it.
    fn check(rounds: u64, environment: &Self::Environment) -> Result<Self::Checked>;

    /// One algorithm in the environment; an error names what is wrong with it.
    fn prepare(
        environment: &Self::Checked,
        algorithm: &Self::Algorithm,
    ) -> Result<Box<dyn RunnableAlgorithm>>;
}

/// One algorithm in one environment.
pub struct Cell {
    /// Its name in the report: the algorithm, and the environment if there are several.
    pub name: String,
    /// The algorithm.
    pub algorithm: Box<dyn RunnableAlgorithm>,
    /// Its position in the grid.
    pub labels: Vec<Label>,
    /// The name that all points of its grid share: the given name, or the kind.
    pub series: String,
    /// The part of it that is the environment's; empty if there is one environment.
    pub environment: Vec<Label>,
    /// The hash under which its finished trials are stored.
    pub(crate) key: u128,
}

/// A coordinate of a grid: one value of a key that has a list of values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Label {
    /// The key that has a list.
    pub key: String,
    /// The value, as written.
    pub value: String,
}

/// Coordinates as text.
pub(crate) fn joined(labels: &[Label]) -> String {
    let one = |label: &Label| format!("{} = {}", label.key, label.value);
    labels.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The guarantee of some people.
#[derive(Debug, Clone, Serialize)]
pub struct Certificate {
    /// The people.
    pub whom: String,
    /// Their guarantee.
    pub guarantee: Guarantee,
}

/// The value of a theorem's bound.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bound {
    /// The theorem, and the quantity it bounds.
    pub theorem: String,
    /// Upper or lower bound.
    pub side: Side,
    /// Its value.
    pub value: f64,
    /// The largest possible regret; an upper bound at or above it is vacuous.
    pub trivial: f64,
}

/// Side of the regret that a bound is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The regret is at most this, with the theorem's probability.
    Upper,
    /// No algorithm of the theorem's kind has less.
    Lower,
}

impl Bound {
    /// Tells whether it is an upper bound that is not below the largest possible regret.
    pub fn is_vacuous(&self) -> bool {
        self.side == Side::Upper && self.value >= self.trivial
    }
}
