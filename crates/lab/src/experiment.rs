//! `reticent run`: environments x algorithms x trials -> a folder of results.
//!
//! The folder holds `experiment.toml` (as run), `results.csv` (algorithm, trial, round, regret), `summary.json`,
//! `figures/regret.svg` and `report.html`. Results do not depend on the number of threads.

use std::{
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use reticent::{bandit::Problem, privacy::Guarantee};
use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    algorithm::{Algorithm, Learner},
    environment::EnvironmentParams,
    figure::{Figure, Scale, Series},
    report::{self, Report},
    simulate::{Checkpoint, checkpoints},
    trial,
};

/// How many rounds of a trial are recorded.
const CHECKPOINTS: usize = 120;

/// What a TOML file describes.
///
/// ```
/// let experiment: reticent_lab::Experiment = reticent_lab::Experiment::parse(r#"
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
/// assert_eq!(experiment.learners()?.len(), 1);
/// # Ok::<(), reticent_lab::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
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
    /// Where arms and rewards come from.
    pub environment: EnvironmentParams,
    /// What is compared.
    pub algorithm: Vec<Algorithm>,
}

fn one() -> u64 {
    1
}

/// What came of one algorithm.
#[derive(Debug, Serialize)]
pub struct AlgorithmSummary {
    /// What the report calls it.
    pub name: String,
    /// Pseudo-regret after the last round.
    pub final_regret: Estimate,
    /// What may be promised, if anything.
    pub guarantee: Option<Guarantee>,
    /// Whether the bonus is a theorem's, not scaled by hand. Privacy does not depend on it.
    pub certified_confidence: bool,
    /// Time of one round, environment included.
    pub nanoseconds_per_round: f64,
    #[serde(skip)]
    curves: Vec<Vec<Checkpoint>>,
}

/// A mean over trials.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Its standard error; zero for a single trial, where it is unknown.
    pub standard_error: f64,
    /// Over how many trials.
    pub trials: usize,
}

/// What `summary.json` holds.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// The experiment's name.
    pub name: String,
    /// The algorithms, in the experiment's order.
    pub algorithms: Vec<AlgorithmSummary>,
    /// The environment as given.
    pub environment: EnvironmentParams,
    /// Rounds of a trial.
    pub rounds: u64,
    /// The seed.
    pub seed: u64,
    /// The version of this program.
    pub version: &'static str,
}

impl Estimate {
    fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let square: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        let standard_error = if values.len() > 1 { (square / (n - 1.0) / n).sqrt() } else { 0.0 };
        Estimate { mean, standard_error, trials: values.len() }
    }
}

impl Experiment {
    /// Reads an experiment from TOML.
    pub fn parse(text: &str) -> Result<Self> {
        toml::from_str(text).map_err(|error| Error::Experiment { reason: error.to_string() })
    }

    /// All learners, or the first thing that stands in their way.
    pub fn learners(&self) -> Result<Vec<Learner>> {
        for (field, value) in [("rounds", self.rounds), ("trials", self.trials)] {
            if value == 0 {
                return Err(
                    reticent::Error::invalid(field, 0, "give a whole number above 0").into()
                );
            }
        }
        if self.algorithm.is_empty() {
            return Err(
                reticent::Error::invalid("algorithm", "empty", "add an [[algorithm]]").into()
            );
        }
        // Blocks of rounds are summed without clipping, so a guarantee would speak of other data than were simulated.
        let private =
            self.algorithm.iter().any(|algorithm| matches!(algorithm, Algorithm::Joint(_)));
        if private && !self.environment.bounded_rewards() {
            let remedy = "private learners clip rewards, which this simulation does not: use sign or bernoulli";
            return Err(reticent::Error::invalid("rewards", "gaussian", remedy).into());
        }
        let problem = Problem::unit(self.environment.dimension());
        problem.check()?;
        let learners =
            self.algorithm.iter().map(|algorithm| algorithm.learner(problem, self.rounds));
        let learners = learners.collect::<Result<Vec<_>>>()?;
        for (index, learner) in learners.iter().enumerate() {
            if learners[..index].iter().any(|other| other.name == learner.name) {
                let remedy = "give each algorithm a name of its own";
                return Err(reticent::Error::invalid("name", &learner.name, remedy).into());
            }
        }
        Ok(learners)
    }

    /// Runs everything on all cores and writes `folder`; `progress` hears of every finished trial.
    pub fn run(&self, folder: &Path, progress: impl Fn(usize, usize) + Sync) -> Result<Summary> {
        let learners = self.learners()?;
        self.environment.blocks(0)?;
        let rounds = checkpoints(self.rounds, CHECKPOINTS);
        let jobs: Vec<(usize, u64)> = (0..self.trials)
            .flat_map(|trial| (0..learners.len()).map(move |l| (l, trial)))
            .collect();
        let results = in_parallel(&jobs, progress, |&(index, trial)| {
            let start = Instant::now();
            let curve = trial::run(&self.environment, &learners[index], self.seed, trial, &rounds)?;
            Ok((curve, start.elapsed().as_secs_f64()))
        })?;
        let mut algorithms = Vec::new();
        for (index, learner) in learners.into_iter().enumerate() {
            let of = jobs.iter().zip(&results).filter(|((l, _), _)| *l == index);
            let (curves, seconds): (Vec<_>, Vec<f64>) =
                of.map(|(_, result)| result.clone()).unzip();
            let finals: Vec<f64> =
                curves.iter().filter_map(|c| c.last()).map(|c| c.regret).collect();
            let time = seconds.iter().sum::<f64>() / seconds.len() as f64;
            algorithms.push(AlgorithmSummary {
                name: learner.name,
                final_regret: Estimate::of(&finals),
                guarantee: learner.guarantee,
                certified_confidence: learner.rule.certified(),
                nanoseconds_per_round: 1e9 * time / self.rounds as f64,
                curves,
            });
        }
        let summary = Summary {
            name: self.name.clone(),
            algorithms,
            environment: self.environment,
            rounds: self.rounds,
            seed: self.seed,
            version: env!("CARGO_PKG_VERSION"),
        };
        self.write(&summary, folder)?;
        Ok(summary)
    }

    fn write(&self, summary: &Summary, folder: &Path) -> Result<()> {
        let experiment = toml::to_string(self)
            .map_err(|error| Error::Experiment { reason: error.to_string() })?;
        report::write(folder, "experiment.toml", &experiment)?;
        let json = serde_json::to_string_pretty(summary).expect("results are plain data");
        report::write(folder, "summary.json", &json)?;
        report::write(folder, "results.csv", &summary.csv())?;
        let figure = summary.figure();
        report::write(folder, "figures/regret.svg", &figure.svg()?)?;
        report::write(folder, "report.html", &summary.page(&figure, &experiment)?.html())
    }
}

/// What the columns of [`Summary::rows`] are.
pub const HEADER: [&str; 6] =
    ["algorithm", "final regret", "standard error", "epsilon", "delta", "ns a round"];

impl Summary {
    /// The comparison as rows of text.
    pub fn rows(&self) -> Vec<Vec<String>> {
        let row = |summary: &AlgorithmSummary| {
            let guarantee = summary.guarantee.as_ref();
            vec![
                summary.name.clone(),
                format!("{:.1}", summary.final_regret.mean),
                format!("{:.1}", summary.final_regret.standard_error),
                guarantee.map_or("none".into(), Guarantee::epsilon_text),
                guarantee.map_or("none".into(), |g| format!("{:e}", g.delta())),
                format!("{:.1}", summary.nanoseconds_per_round),
            ]
        };
        self.algorithms.iter().map(row).collect()
    }

    fn csv(&self) -> String {
        let mut text = String::from("algorithm,trial,round,regret\n");
        for summary in &self.algorithms {
            let name = summary.name.replace('"', "\"\"");
            for (trial, curve) in summary.curves.iter().enumerate() {
                for point in curve {
                    text.push_str(&format!(
                        "\"{name}\",{trial},{},{}\n",
                        point.round, point.regret
                    ));
                }
            }
        }
        text
    }

    fn figure(&self) -> Figure {
        let series = self.algorithms.iter().enumerate().map(|(colour, summary)| {
            let length = summary.curves.iter().map(Vec::len).min().unwrap_or(0);
            let at = |i: usize| {
                Estimate::of(
                    &summary.curves.iter().map(|curve| curve[i].regret).collect::<Vec<_>>(),
                )
            };
            let estimates: Vec<Estimate> = (0..length).map(at).collect();
            let round = |i: usize| summary.curves[0][i].round as f64;
            Series {
                name: summary.name.clone(),
                colour,
                points: estimates.iter().enumerate().map(|(i, e)| (round(i), e.mean)).collect(),
                // Two standard errors; on a logarithmic axis a band must stay above zero.
                band: estimates
                    .iter()
                    .map(|e| (2.0 * e.standard_error).min(0.9 * e.mean))
                    .collect(),
            }
        });
        Figure {
            title: format!("{}: pseudo-regret, band of two standard errors", self.name),
            x: ("round".into(), Scale::Logarithmic),
            y: ("regret".into(), Scale::Logarithmic),
            series: series.collect(),
        }
    }

    fn page(&self, figure: &Figure, experiment: &str) -> Result<Report> {
        let mut page = Report::new(&self.name);
        page.figure(figure)?;
        page.table(&HEADER, &self.rows());
        for summary in &self.algorithms {
            page.heading(&summary.name);
            if !summary.certified_confidence {
                page.paragraph("The bonus is scaled by hand: the confidence set is not certified.");
            }
            match &summary.guarantee {
                Some(guarantee) => page.preformatted(&guarantee.table()),
                None => page.paragraph("No guarantee is stated."),
            }
        }
        page.heading("The experiment, as run");
        page.preformatted(experiment);
        Ok(page)
    }
}

/// Applies `work` to every job on all cores; results stand in the order of the jobs.
fn in_parallel<J: Sync, R: Send>(
    jobs: &[J],
    progress: impl Fn(usize, usize) + Sync,
    work: impl Fn(&J) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let results: Vec<Mutex<Option<Result<R>>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(jobs.len());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(index) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&i| i < jobs.len())
                {
                    let result = work(&jobs[index]);
                    *results[index].lock().expect("no holder of the lock panics") = Some(result);
                    progress(done.fetch_add(1, Ordering::Relaxed) + 1, jobs.len());
                }
            });
        }
    });
    let taken =
        results.into_iter().map(|cell| cell.into_inner().expect("no holder of the lock panics"));
    taken.map(|result| result.expect("every job was taken")).collect()
}
