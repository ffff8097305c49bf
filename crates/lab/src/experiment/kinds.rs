//! Kinds that a program adds to the files of experiments: its own algorithms and environments of linear bandits.
//!
//! `run`, `certify` and `audit` then read them beside those of the laboratory, with grids, names, `--set` and errors that name the line. A trial of an own
//! kind is stored under a hash of the program's executable, which determines it: another build computes it again.

use std::{fmt, path::Path, sync::Arc};

use serde::{Serialize, de::DeserializeOwned};
use toml::{Table, Value};

use super::{
    Experiment, Override,
    document::{Document, Section},
    grid::{self, Point},
};
use crate::{
    Error, Result,
    algorithm::{Label, RunnableAlgorithm, bandit::BanditEnvironment},
};

/// Kinds of algorithms and environments that a program adds to those of the laboratory.
///
/// ```
/// use reticent_lab::{Experiment, FastNoise, Kinds, Result, algorithm::{RunnableAlgorithm, bandit::{BanditEnvironment, Stepped}}, play::Learner};
/// # use reticent::{bandit::Arms, noise::Noise};
/// /// Chooses uniformly among the first arms.
/// #[derive(serde::Serialize, serde::Deserialize)]
/// #[serde(deny_unknown_fields)]
/// struct Uniform { first: u64 }
/// # struct Draws(FastNoise, u64);
/// # impl Learner for Draws {
/// #     fn choose(&mut self, _: &Arms, _: u64) -> Result<usize> { Ok(self.0.below(self.1) as usize) }
/// #     fn observe(&mut self, _: u64, _: &[f64], _: f64) -> Result<()> { Ok(()) }
/// # }
/// let kinds = Kinds::default().algorithm("uniform", |keys: &Uniform, name, environment: &BanditEnvironment| -> Result<Box<dyn RunnableAlgorithm>> {
///     let first = keys.first;
///     let learner = move |seed| Ok(Box::new(Draws(FastNoise::seeded(seed), first)) as Box<dyn Learner>);
///     Ok(Box::new(Stepped::new(name, environment, learner)))
/// });
/// let text = "name = \"t\"\nrounds = 9\n[environment]\nkind = \"sphere\"\n[[algorithm]]\nkind = \"uniform\"\nfirst = [2, 3]";
/// assert_eq!(kinds.parse(text, &[])?.cells().len(), 2);
/// # Ok::<(), reticent_lab::Error>(())
/// ```
#[derive(Default, Clone)]
pub struct Kinds {
    algorithms: Vec<Arc<dyn OwnAlgorithm>>,
    environments: Vec<Arc<dyn OwnEnvironment>>,
}

impl Kinds {
    /// Adds an algorithm. `enter` makes an algorithm of the table's keys other than `kind` and `name`, of its name, and of its environment. Kinds of the
    /// laboratory keep their meaning.
    #[must_use]
    pub fn algorithm<T: Serialize + DeserializeOwned + 'static>(
        mut self,
        kind: &'static str,
        enter: impl Fn(&T, String, &BanditEnvironment) -> Result<Box<dyn RunnableAlgorithm>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.algorithms.push(Arc::new(Entered { kind, enter: Box::new(enter) }));
        self
    }

    /// Adds an environment. `open` makes the environment of the table's keys other than `kind`, and of the number of rounds; see [`BanditEnvironment::of`].
    #[must_use]
    pub fn environment<T: Serialize + DeserializeOwned + 'static>(
        mut self,
        kind: &'static str,
        open: impl Fn(&T, u64) -> Result<BanditEnvironment> + Send + Sync + 'static,
    ) -> Self {
        self.environments.push(Arc::new(Opened { kind, open: Box::new(open) }));
        self
    }

    /// Reads an experiment from TOML whose files may name these kinds, with some keys given other values.
    pub fn parse(&self, text: &str, overrides: &[Override]) -> Result<Experiment> {
        self.parse_in(Path::new(""), text, overrides)
    }

    /// As [`Kinds::parse`], of a file in this folder, which its paths are relative to. Paths of an override are relative to where the program runs.
    pub fn parse_in(
        &self,
        folder: &Path,
        text: &str,
        overrides: &[Override],
    ) -> Result<Experiment> {
        let (document, header) = Document::read(text, overrides, folder)?;
        Experiment::of_document(&document, header, self)
    }

    pub(super) fn algorithms(&self) -> &[Arc<dyn OwnAlgorithm>] {
        &self.algorithms
    }

    pub(super) fn environment_of(&self, kind: &str) -> Option<&dyn OwnEnvironment> {
        self.environments.iter().map(Arc::as_ref).find(|own| own.kind() == kind)
    }

    /// The names of own environments.
    pub(super) fn environments(&self) -> impl Iterator<Item = &'static str> {
        self.environments.iter().map(|own| own.kind())
    }
}

impl fmt::Debug for Kinds {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let algorithms: Vec<&str> = self.algorithms.iter().map(|own| own.kind()).collect();
        let environments: Vec<&str> = self.environments().collect();
        to.debug_struct("Kinds")
            .field("algorithms", &algorithms)
            .field("environments", &environments)
            .finish()
    }
}

/// An algorithm of a program, in terms of its table.
pub(super) trait OwnAlgorithm: Send + Sync {
    fn kind(&self) -> &'static str;

    /// The points of the table's grid.
    fn points(
        &self,
        document: &Document,
        section: Section,
        table: &Table,
    ) -> Result<Vec<Point<()>>>;

    /// The algorithm of a point.
    fn prepare(
        &self,
        document: &Document,
        section: Section,
        environment: &BanditEnvironment,
        table: &Table,
    ) -> Result<Box<dyn RunnableAlgorithm>>;
}

/// An environment of a program, in terms of its table.
pub(super) trait OwnEnvironment: Send + Sync {
    fn kind(&self) -> &'static str;

    /// The environments of the table's grid, each with its position and its keys as written.
    fn environments(
        &self,
        document: &Document,
        rounds: u64,
        section: Section,
        table: &Table,
    ) -> Result<Vec<(Vec<Label>, Value, BanditEnvironment)>>;
}

type Enter<T> =
    Box<dyn Fn(&T, String, &BanditEnvironment) -> Result<Box<dyn RunnableAlgorithm>> + Send + Sync>;
type Open<T> = Box<dyn Fn(&T, u64) -> Result<BanditEnvironment> + Send + Sync>;

struct Entered<T> {
    kind: &'static str,
    enter: Enter<T>,
}

struct Opened<T> {
    kind: &'static str,
    open: Open<T>,
}

/// The keys of a table that its program reads.
fn without(table: &Table, keys: &[&str]) -> Table {
    let mut table = table.clone();
    table.retain(|key, _| !keys.contains(&key));
    table
}

const COMMON: [&str; 2] = ["kind", "name"];

impl<T: Serialize + DeserializeOwned> OwnAlgorithm for Entered<T> {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn points(
        &self,
        document: &Document,
        section: Section,
        table: &Table,
    ) -> Result<Vec<Point<()>>> {
        let points = grid::expand::<T>(document, section, &without(table, &COMMON))?;
        let whole = |point: Point<T>| {
            let common = table.iter().filter(|(key, _)| COMMON.contains(&key.as_str()));
            let common = common.map(|(key, value)| (key.clone(), value.clone()));
            Point { value: (), table: common.chain(point.table).collect(), labels: point.labels }
        };
        Ok(points.into_iter().map(whole).collect())
    }

    fn prepare(
        &self,
        document: &Document,
        section: Section,
        environment: &BanditEnvironment,
        table: &Table,
    ) -> Result<Box<dyn RunnableAlgorithm>> {
        let keys: T = document.typed(section, &without(table, &COMMON))?;
        let name = match table.get("name") {
            None => self.kind.to_string(),
            Some(Value::String(name)) => name.clone(),
            Some(other) => {
                let remedy = "expected text in quotation marks";
                let error = reticent::Error::invalid("name", other.to_string(), remedy);
                return Err(document.locate(error.into(), section, Some("name")));
            }
        };
        let entered = (self.enter)(&keys, name.clone(), environment)?;
        if entered.name() == name {
            return Ok(entered);
        }
        // Noise and files of a trial depend on the name.
        let remedy = format!("give the algorithm of kind `{}` the name {name:?}", self.kind);
        let error = reticent::Error::invalid("name", entered.name(), remedy);
        Err(document.locate(error.into(), section, Some("kind")))
    }
}

impl<T: Serialize + DeserializeOwned> OwnEnvironment for Opened<T> {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn environments(
        &self,
        document: &Document,
        rounds: u64,
        section: Section,
        table: &Table,
    ) -> Result<Vec<(Vec<Label>, Value, BanditEnvironment)>> {
        let points = grid::expand::<T>(document, section, &without(table, &["kind"]))?;
        let opened = |point: Point<T>| {
            let environment = (self.open)(&point.value, rounds)
                .map_err(|error| document.locate(error, section, None))?;
            let mut written = point.table;
            written.insert("kind".into(), self.kind.into());
            Ok((point.labels, Value::Table(written), environment))
        };
        points.into_iter().map(opened).collect()
    }
}

/// A hash of the running program's executable.
pub(super) fn executable() -> Result<u64> {
    static HASH: std::sync::OnceLock<std::result::Result<u64, String>> = std::sync::OnceLock::new();
    let read = || {
        let program = std::env::current_exe()?;
        std::fs::read(program).map(|bytes| reticent::hash::of_bytes(&bytes))
    };
    let hash = HASH.get_or_init(|| read().map_err(|error: std::io::Error| error.to_string()));
    hash.clone()
        .map_err(|reason| Error::Unreadable { path: "the program's own file".into(), reason })
}
