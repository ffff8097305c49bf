//! `reticent run`: environment x algorithms x trials -> a folder of results.
//!
//! The folder holds `experiment.toml` (as run), `results.csv` (algorithm, trial, round, regret), `summary.json`,
//! `figures/regret.svg` and `report.html`. Results do not depend on the number of threads.

use std::{path::Path, time::Instant};

use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    contest::{Contestant, Family, checkpoints},
    gradients::OnlineGradients,
    linear::LinearBandits,
    losses::ConvexBandits,
    parallel::in_parallel,
    report,
    safe::SafeBandits,
    sphere::SphereBandits,
    summary::{AlgorithmSummary, Summary},
};

/// How many rounds of a trial are recorded.
const CHECKPOINTS: usize = 120;

/// Every trial's curve is kept.
const MOST_TRIALS: u64 = 100_000;

/// An experiment that has been read and found sound.
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
///     privacy = { epsilon = 1.0, delta = 1e-6 }
/// "#)?;
/// assert_eq!(experiment.contestants().len(), 1);
/// # Ok::<(), reticent_lab::Error>(())
/// ```
pub struct Experiment {
    name: String,
    rounds: u64,
    trials: u64,
    seed: u64,
    environment: serde_json::Value,
    /// The file with every default written out.
    text: String,
    contestants: Vec<Box<dyn Contestant>>,
}

/// The lines of an experiment file, for one family of problems.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lines<E, A> {
    /// Stands above the report.
    pub name: String,
    /// Rounds of a trial.
    pub rounds: u64,
    /// Trials of each algorithm.
    #[serde(default = "one")]
    pub trials: u64,
    /// Everything random follows from it.
    #[serde(default)]
    pub seed: u64,
    /// Where decisions and their consequences come from.
    pub environment: E,
    /// What is compared.
    #[serde(default = "Vec::new")]
    pub algorithm: Vec<A>,
}

fn one() -> u64 {
    1
}

/// The one thing read before the family is known.
#[derive(Deserialize)]
struct Kind {
    environment: EnvironmentKind,
}

#[derive(Deserialize)]
struct EnvironmentKind {
    kind: String,
}

impl<E: Serialize, A: Serialize> Lines<E, A> {
    /// The experiment, or the first thing that stands in its way.
    pub fn check<F: Family<Environment = E, Algorithm = A>>(&self) -> Result<Experiment> {
        for (field, value) in [("rounds", self.rounds), ("trials", self.trials)] {
            if value == 0 {
                return Err(
                    reticent::Error::invalid(field, 0, "give a whole number above 0").into()
                );
            }
        }
        if self.trials > MOST_TRIALS {
            let remedy = format!("give at most {MOST_TRIALS}");
            return Err(reticent::Error::invalid("trials", self.trials, remedy).into());
        }
        if self.algorithm.is_empty() {
            return Err(
                reticent::Error::invalid("algorithm", "empty", "add an [[algorithm]]").into()
            );
        }
        let contestants = F::contestants(self.rounds, &self.environment, &self.algorithm)?;
        for (index, contestant) in contestants.iter().enumerate() {
            if contestants[..index].iter().any(|other| other.name() == contestant.name()) {
                let remedy = "give each algorithm a name of its own";
                return Err(reticent::Error::invalid("name", contestant.name(), remedy).into());
            }
        }
        let text = toml::to_string(self)
            .map_err(|error| Error::Experiment { reason: error.to_string() })?;
        let environment = serde_json::to_value(&self.environment)
            .map_err(|error| Error::Experiment { reason: error.to_string() })?;
        Ok(Experiment {
            name: self.name.clone(),
            rounds: self.rounds,
            trials: self.trials,
            seed: self.seed,
            environment,
            text,
            contestants,
        })
    }
}

impl Experiment {
    /// Reads an experiment from TOML; `environment.kind` says which family of problems it is about.
    pub fn parse(text: &str) -> Result<Self> {
        let Kind { environment: EnvironmentKind { kind } } = read(text)?;
        match kind.as_str() {
            "gap" => parse_lines::<LinearBandits>(text),
            "sphere" => parse_lines::<SphereBandits>(text),
            "agents" => parse_lines::<SafeBandits>(text),
            "losses" => parse_lines::<ConvexBandits>(text),
            "gradients" | "records" => parse_lines::<OnlineGradients>(text),
            _ => {
                let remedy = "give one of: gap, sphere, agents, losses, gradients, records";
                Err(reticent::Error::invalid("environment.kind", kind, remedy).into())
            }
        }
    }

    /// What is compared.
    pub fn contestants(&self) -> &[Box<dyn Contestant>] {
        &self.contestants
    }

    /// Runs everything on all cores; `progress` hears of every finished trial.
    pub fn simulate(&self, progress: impl Fn(usize, usize) + Sync) -> Result<Summary> {
        let rounds = checkpoints(self.rounds, CHECKPOINTS);
        let jobs: Vec<(usize, u64)> = (0..self.trials)
            .flat_map(|trial| (0..self.contestants.len()).map(move |index| (index, trial)))
            .collect();
        let results = in_parallel(&jobs, progress, |&(index, trial)| {
            let start = Instant::now();
            let trial = self.contestants[index].trial(self.seed, trial, &rounds)?;
            Ok((trial, start.elapsed().as_secs_f64()))
        })?;
        let algorithms = self.contestants.iter().enumerate().map(|(index, contestant)| {
            let of = jobs.iter().zip(&results).filter(|((i, _), _)| *i == index);
            let (trials, seconds): (Vec<_>, Vec<f64>) =
                of.map(|(_, result)| result.clone()).unzip();
            let time = seconds.iter().sum::<f64>() / seconds.len() as f64;
            AlgorithmSummary::new(&**contestant, trials, 1e9 * time / self.rounds as f64)
        });
        Ok(Summary {
            name: self.name.clone(),
            algorithms: algorithms.collect(),
            environment: self.environment.clone(),
            experiment: self.text.clone(),
            rounds: self.rounds,
            seed: self.seed,
            version: env!("CARGO_PKG_VERSION"),
        })
    }

    /// Runs everything and writes `folder`.
    pub fn run(&self, folder: &Path, progress: impl Fn(usize, usize) + Sync) -> Result<Summary> {
        // A folder that cannot be written to is found out before the work, not after it.
        report::write(folder, "experiment.toml", &self.text)?;
        let summary = self.simulate(progress)?;
        summary.write(folder)?;
        Ok(summary)
    }
}

fn read<T: serde::de::DeserializeOwned>(text: &str) -> Result<T> {
    toml::from_str(text).map_err(|error| Error::Experiment { reason: error.to_string() })
}

fn parse_lines<F: Family>(text: &str) -> Result<Experiment> {
    read::<Lines<F::Environment, F::Algorithm>>(text)?.check::<F>()
}
