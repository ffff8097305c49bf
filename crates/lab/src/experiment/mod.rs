//! `reticent run`: environments x algorithms x trials -> a folder of results.
//!
//! | file | contents |
//! | --- | --- |
//! | `document` | the file, its overrides, and the line an error is about |
//! | `options` | which trials are run, and the outcome |
//! | `former` | former names of keys |
//! | `grid` | lists that stand for several values |
//! | `kinds` | algorithms and environments that a program adds to the files |
//! | `merge` | folders of shards joined into one |
//! | `parts` | the cells: every algorithm in every environment, with names and keys |
//! | `paths` | paths in a file, relative to it |
//! | `schema` | what a file may hold, for editors |
//! | `store` | finished trials on disk |
//!
//! The folder holds `experiment.toml` (as run), `trials.log` (finished trials), `results.csv` (algorithm, trial, round, regret),
//! `summary.json`, `figures/` and `report.html`. Results do not depend on the number of threads, nor on how often a run was
//! interrupted.

mod document;
mod former;
mod grid;
mod kinds;
mod merge;
mod options;
mod parts;
mod paths;
mod schema;
mod store;
#[cfg(test)]
mod tests;

use std::{
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

use reticent::{error::message, hash::of_bytes_128};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::{
    document::{Document, Header, Section},
    grid::Point,
    parts::Parts,
    store::Store,
};
use crate::{
    Error, Result,
    algorithm::{
        Cell, Family, RunnableAlgorithm, bandit::Bandits, convex::ConvexBandits,
        online::OnlineGradients, safe::SafeBandits,
    },
    lines::with_suggestion,
    play::{
        parallel::{in_parallel, threads},
        trial::{Trial, checkpoints},
        watch::{Followed, Phase, Watch},
    },
    report::{
        html as report,
        summary::{AlgorithmSummary, FigureToml, Summary},
    },
};

pub use document::Override;
pub use kinds::Kinds;
pub use options::{Outcome, RunOptions, Shard};

/// The number of recorded rounds of a trial.
const CHECKPOINTS: usize = 120;

/// The largest number of trials: every trial's curve is kept in memory.
const MOST_TRIALS: u64 = 100_000;

/// The kinds of environments of the laboratory.
const ENVIRONMENTS: [&str; 10] = [
    "gap",
    "sphere",
    "table",
    "items",
    "logged",
    "catalogue",
    "agents",
    "losses",
    "gradients",
    "records",
];

/// The largest number of rounds: counts are exact as doubles up to here.
const MOST_ROUNDS: u64 = 1 << 53;

/// An experiment that has been read and checked.
///
/// ```
/// let experiment = reticent_lab::Experiment::parse(r#"
///     name = "fixed arms"
///     rounds = 10_000
///     seed = 7
///     [environment]
///     kind = "gap"
///     dimension = 5
///     arms = 25
///     fresh_arms = false
///     [[algorithm]]
///     kind = "joint"
///     privacy = { epsilon = [0.5, 1.0], delta = 1e-6 }     # a list makes a grid
/// "#)?;
/// assert_eq!(experiment.cells().len(), 2);
/// # Ok::<(), reticent_lab::Error>(())
/// ```
pub struct Experiment {
    name: String,
    rounds: u64,
    trials: u64,
    seed: u64,
    environment: serde_json::Value,
    /// The file as run.
    text: String,
    cells: Vec<Cell>,
    drawing: FigureToml,
    warnings: Vec<String>,
}

/// The contents of an experiment file, for one family of problems.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExperimentToml<E, A> {
    /// The title of the report.
    pub name: String,
    /// Rounds of a trial.
    #[schemars(range(min = 1, max = MOST_ROUNDS))]
    pub rounds: u64,
    /// Trials of each algorithm.
    #[serde(default = "crate::lines::one")]
    #[schemars(range(min = 1, max = MOST_TRIALS))]
    pub trials: u64,
    /// The seed of all randomness.
    #[serde(default)]
    pub seed: u64,
    /// The environment.
    pub environment: E,
    /// The algorithms.
    #[serde(default = "Vec::new")]
    #[schemars(default = "Vec::<A>::new")]
    pub algorithm: Vec<A>,
    /// Choice and style of figures.
    #[serde(default)]
    pub figure: FigureToml,
}

impl<E: Serialize, A: Serialize> ExperimentToml<E, A> {
    /// Checks the experiment; returns the first error.
    pub fn check<F: Family<Environment = E, Algorithm = A>>(self) -> Result<Experiment> {
        let ExperimentToml { name, rounds, trials, seed, environment, algorithm, figure } = self;
        check_size(rounds, trials)?;
        let header = Header { name, rounds, trials, seed, figure };
        let environment = Point::of(environment)?;
        let algorithms = algorithm.into_iter().map(Point::of).collect::<Result<Vec<_>>>()?;
        let tables = algorithms.iter().map(|point| point.table.clone()).collect();
        let document = Document::of_tables(environment.table.clone(), tables)?;
        let mut parts = Parts::new(header);
        parts.add_typed::<F>(&document, environment, algorithms)?;
        parts.finish(&document)
    }
}

impl Experiment {
    /// Reads an experiment from TOML; `environment.kind` selects the family of problems.
    pub fn parse(text: &str) -> Result<Self> {
        Self::parse_with(text, &[])
    }

    /// As [`Experiment::parse`], with some keys given other values.
    pub fn parse_with(text: &str, overrides: &[Override]) -> Result<Self> {
        Kinds::default().parse(text, overrides)
    }

    fn of_document(document: &Document, header: Header, kinds: &Kinds) -> Result<Self> {
        check_size(header.rounds, header.trials)
            .map_err(|error| document.locate(error, Section::Header, None))?;
        let mut parts = Parts::new(header);
        for (index, table) in document.environments.iter().enumerate() {
            // A kind that is not text is shown as written.
            let kind = match table.get("kind") {
                None => "missing".to_string(),
                Some(kind) => kind.as_str().map_or_else(|| kind.to_string(), String::from),
            };
            match kind.as_str() {
                "gap" | "sphere" | "table" | "items" | "logged" | "catalogue" => {
                    parts.add::<Bandits>(document, index, kinds)?;
                }
                "agents" => parts.add::<SafeBandits>(document, index, kinds)?,
                "losses" => parts.add::<ConvexBandits>(document, index, kinds)?,
                "gradients" | "records" => parts.add::<OnlineGradients>(document, index, kinds)?,
                _ => match kinds.environment_of(&kind) {
                    Some(own) => parts.add_own(document, index, own, kinds)?,
                    None => {
                        let own = kinds.environments();
                        let known: Vec<String> = ENVIRONMENTS
                            .into_iter()
                            .chain(own)
                            .map(|kind| format!("`{kind}`"))
                            .collect();
                        let known = format!("expected one of {}", known.join(", "));
                        let found = match kind.as_str() {
                            "missing" => kind.clone(),
                            _ => format!("`{kind}`"),
                        };
                        let remedy = with_suggestion(&kind, &known);
                        let error = Error::experiment(message("kind", found, remedy));
                        let section = Section::Environment(index);
                        return Err(document.locate(error, section, Some("kind")));
                    }
                },
            }
        }
        parts.finish(document)
    }

    /// An experiment of algorithms that no file can name: your own algorithm in your own environment. Run it with
    /// [`Experiment::simulate`], and write its report with [`Summary::write`].
    ///
    /// Its trials are not stored, because nothing identifies the code that determines them.
    pub fn of(
        name: &str,
        rounds: u64,
        trials: u64,
        seed: u64,
        algorithms: Vec<Box<dyn RunnableAlgorithm>>,
    ) -> Result<Self> {
        check_size(rounds, trials)?;
        let mut cells: Vec<Cell> = Vec::new();
        for algorithm in algorithms {
            let name = algorithm.name().to_string();
            let remedy = "give each algorithm a name of its own";
            reticent::refuse_if(cells.iter().any(|cell| cell.name == name), "name", &name, remedy)?;
            let series = name.clone();
            cells.push(Cell {
                name,
                algorithm,
                labels: Vec::new(),
                series,
                environment: Vec::new(),
                key: of_bytes_128(b""),
            });
        }
        let remedy = "expected at least one";
        reticent::refuse_if(cells.is_empty(), "algorithms", 0, remedy)?;
        let text = format!(
            "# made by a program\nname = {name:?}\nrounds = {rounds}\ntrials = {trials}\nseed = {seed}\n"
        );
        let environment = serde_json::Value::Null;
        let (name, drawing) = (name.into(), FigureToml::default());
        let warnings = Vec::new();
        Ok(Experiment { name, rounds, trials, seed, environment, text, cells, drawing, warnings })
    }

    /// The experiment of `reticent demo`: the cost of privacy under the different trust models.
    pub fn demo(overrides: &[Override]) -> Result<Self> {
        Self::parse_with(include_str!("../demo.toml"), overrides)
    }

    /// Warnings for the author of the file: keys with former names.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Every algorithm in every environment.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The algorithms of all cells.
    pub fn algorithms(&self) -> Vec<&dyn RunnableAlgorithm> {
        self.cells.iter().map(|cell| &*cell.algorithm).collect()
    }

    /// Runs everything on all cores without touching the disk; `progress` is called after every finished trial.
    pub fn simulate(&self, progress: impl Fn(usize, usize) + Sync) -> Result<Summary> {
        let jobs = self.jobs(None);
        let results = in_parallel(&jobs, progress, |&job| self.trial(job))?;
        Ok(self.summary(&jobs, results.into_iter().map(Some).collect()))
    }

    /// Runs the trials that `folder` does not contain yet, and writes the results there.
    pub fn run(&self, folder: &Path, progress: impl Fn(usize, usize) + Sync) -> Result<Summary> {
        let outcome = self.run_with(folder, RunOptions::default(), progress)?;
        Ok(outcome.summary.expect("every trial was asked for"))
    }

    /// As [`Experiment::run`], with options: only a shard, or continuing after failures.
    pub fn run_with(
        &self,
        folder: &Path,
        options: RunOptions,
        progress: impl Fn(usize, usize) + Sync,
    ) -> Result<Outcome> {
        self.run_until(folder, options, &Watch::default(), progress)
    }

    /// As [`Experiment::run_with`], with a `watch` through which another thread reads the progress of every trial and can stop the run.
    /// Finished trials are kept; trials that were running start again in the next run.
    pub fn run_until(
        &self,
        folder: &Path,
        options: RunOptions,
        watch: &Watch,
        progress: impl Fn(usize, usize) + Sync,
    ) -> Result<Outcome> {
        self.claim(folder)?;
        let store = Store::open(folder)?;
        let jobs = self.jobs(options.shard);
        let stored = |&(cell, number): &Job| {
            let left = self.cells[cell].algorithm.leaves(number).iter().all(|file| file.exists());
            store.get(self.cells[cell].key, number).filter(|_| left).cloned()
        };
        let mut results: Vec<Option<(Trial, f64)>> = jobs.iter().map(stored).collect();
        let missing: Vec<usize> = (0..jobs.len()).filter(|&i| results[i].is_none()).collect();
        if !options.keep_going {
            missing.iter().try_for_each(|&index| self.check_runnable(jobs[index]))?;
        }
        let followed = jobs.iter().zip(&results).map(|(&(cell, number), result)| Followed {
            algorithm: self.cells[cell].name.clone(),
            number,
            phase: match result {
                Some((_, seconds)) => Phase::Finished { seconds: *seconds },
                None => Phase::Waiting,
            },
        });
        watch.begin(self.rounds, threads(missing.len()), followed.collect());
        let failed = AtomicBool::new(false);
        let computed = in_parallel(&missing, progress, |&index| {
            if watch.stopped() || failed.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let (cell, number) = jobs[index];
            match watch.during(index, || self.trial((cell, number))) {
                Ok((trial, seconds)) => {
                    store.put(self.cells[cell].key, number, &trial, seconds)?;
                    Ok(Some(Ok((trial, seconds))))
                }
                Err(Error::Interrupted) => Ok(None),
                Err(error) => {
                    failed.store(!options.keep_going, Ordering::Relaxed);
                    Ok(Some(Err(error)))
                }
            }
        })?;
        let mut failures = Vec::new();
        for (&index, result) in missing.iter().zip(computed) {
            let (cell, number) = jobs[index];
            match result {
                Some(Ok(result)) => results[index] = Some(result),
                Some(Err(error)) if options.keep_going => {
                    failures.push(format!("{}, trial {number}: {error}", self.cells[cell].name));
                }
                Some(Err(error)) => {
                    return Err(
                        error.at(None, &format!("{}, trial {number}", self.cells[cell].name))
                    );
                }
                None => {}
            }
        }
        let resumed = jobs.len() - missing.len();
        let unfinished = results.iter().filter(|result| result.is_none()).count();
        if unfinished > failures.len() {
            let folder = folder.to_path_buf();
            return Err(Error::Stopped { finished: watch.finished(), folder });
        }
        let mut outcome = Outcome {
            summary: None,
            computed: missing.len() - failures.len(),
            resumed,
            damaged: store.damaged(),
            failures,
        };
        if options.shard.is_none() {
            let mut summary = self.summary(&jobs, results);
            summary.failures.clone_from(&outcome.failures);
            summary.write(folder)?;
            outcome.summary = Some(summary);
        }
        Ok(outcome)
    }

    /// Reserves the folder for this experiment; an error if it belongs to another one or cannot be written to, which is checked before any
    /// trial runs.
    fn claim(&self, folder: &Path) -> Result<()> {
        #[derive(Deserialize)]
        struct Named {
            name: String,
        }
        let old = std::fs::read_to_string(folder.join("experiment.toml")).unwrap_or_default();
        if let Ok(Named { name }) = toml::from_str(&old)
            && name != self.name
        {
            let remedy = format!(
                "it holds the results of {name:?}: give another folder for {:?}, or remove that one",
                self.name
            );
            let folder = folder.display().to_string();
            return Err(reticent::Error::invalid("out", folder, remedy).into());
        }
        report::write(folder, "experiment.toml", &self.text)
    }

    fn jobs(&self, shard: Option<Shard>) -> Vec<Job> {
        let Shard { index, of } = shard.unwrap_or(Shard { index: 0, of: 1 });
        let all =
            (0..self.trials).flat_map(|trial| (0..self.cells.len()).map(move |cell| (cell, trial)));
        all.skip(index).step_by(of).collect()
    }

    fn check_runnable(&self, (cell, number): Job) -> Result<()> {
        let Cell { name, algorithm, .. } = &self.cells[cell];
        let place = format!("{name}, trial {number}");
        algorithm.runnable(self.seed, number).map_err(|error| error.at(None, &place))
    }

    fn trial(&self, (cell, number): Job) -> Result<(Trial, f64)> {
        let (rounds, start) = (checkpoints(self.rounds, CHECKPOINTS), Instant::now());
        let trial = self.cells[cell].algorithm.trial(self.seed, number, &rounds)?;
        Ok((trial, start.elapsed().as_secs_f64()))
    }

    /// All results; a cell of which no trial succeeded is left out.
    fn summary(&self, jobs: &[Job], results: Vec<Option<(Trial, f64)>>) -> Summary {
        let mut of_cells: Vec<Vec<(Trial, f64)>> = self.cells.iter().map(|_| Vec::new()).collect();
        for (&(cell, _), result) in jobs.iter().zip(results) {
            of_cells[cell].extend(result);
        }
        let finished = self.cells.iter().zip(of_cells).filter(|(_, results)| !results.is_empty());
        let algorithms = finished.map(|(cell, results)| {
            let (trials, seconds): (Vec<Trial>, Vec<f64>) = results.into_iter().unzip();
            let time = seconds.iter().sum::<f64>() / seconds.len() as f64;
            AlgorithmSummary::new(cell, trials, 1e9 * time / self.rounds as f64)
        });
        Summary {
            name: self.name.clone(),
            algorithms: algorithms.collect(),
            environment: self.environment.clone(),
            experiment: self.text.clone(),
            drawing: self.drawing.clone(),
            failures: Vec::new(),
            rounds: self.rounds,
            seed: self.seed,
            version: crate::source::VERSION,
            commit: crate::source::commit(),
        }
    }
}

fn check_size(rounds: u64, trials: u64) -> Result<()> {
    for (field, value) in [("rounds", rounds), ("trials", trials)] {
        reticent::refuse_if(value == 0, field, 0, "expected a whole number above 0")?;
    }
    for (field, value, most) in [("rounds", rounds, MOST_ROUNDS), ("trials", trials, MOST_TRIALS)] {
        let remedy = format_args!("expected at most {most}");
        reticent::refuse_if(value > most, field, value, remedy)?;
    }
    Ok(())
}

/// A cell and the number of a trial.
type Job = (usize, u64);
