//! `reticent demo`: a private running average, drawn, with its guarantee.
//!
//! People rate a service between -1 and 1, one after the other; everybody after them sees the average so far.
//! Three curators protect them at the same (epsilon, delta): this library's default, the textbook binary tree with
//! exact noise, and the same tree with a publication's constants.

use std::path::{Path, PathBuf};

use reticent::{
    noise::{Noise, SecureNoise},
    privacy::Guarantee,
    release::{
        Calibration, Domain, Mechanism, PrivateSumParams, PrivateSumPlan, Schedule, paper_levels,
    },
};
use serde::Serialize;

use crate::{
    FastNoise, Result,
    figure::{Figure, Line, Scale, Series},
    report::{self, Report},
};

/// What the demonstration is about.
#[derive(Debug, Clone, Serialize)]
pub struct Options {
    /// How many people rate.
    pub people: u64,
    /// Requested epsilon.
    pub epsilon: f64,
    /// Requested delta.
    pub delta: f64,
    /// Seed of the ratings; the noise has none.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { people: 20_000, epsilon: 1.0, delta: 1e-6, seed: 7 }
    }
}

/// One curator's run.
#[derive(Debug, Serialize)]
pub struct Run {
    /// Which curator.
    pub name: String,
    /// Deviation of the noise in the last released sum.
    pub final_deviation: f64,
    /// Root mean square error of the released averages, over the second half.
    pub error: f64,
    /// How many averages were released.
    pub releases: usize,
    /// What the curator may promise.
    pub guarantee: Guarantee,
    #[serde(skip)]
    averages: Vec<(f64, f64)>,
    #[serde(skip)]
    deviations: Vec<f64>,
}

/// All runs and where they were written.
#[derive(Debug, Serialize)]
pub struct Demo {
    /// What was asked for.
    pub options: Options,
    /// The runs, best first.
    pub runs: Vec<Run>,
    /// The folder with `report.html`.
    pub folder: PathBuf,
}

/// Runs the demonstration and writes `report.html` and its figures to `folder`.
pub fn run(options: Options, folder: &Path) -> Result<Demo> {
    if !(100..=MOST_PEOPLE).contains(&options.people) {
        let remedy = format!("give 100 to {MOST_PEOPLE}");
        return Err(reticent::Error::invalid("people", options.people, remedy).into());
    }
    let ratings = ratings(&options);
    let truth = averages(&ratings);
    let runs = vec![
        curate("Reticent's default", default_plan(&options)?, None, &options, &ratings, &truth)?,
        curate(
            "binary tree, exact noise",
            tree_plan(&options, None)?,
            None,
            &options,
            &ratings,
            &truth,
        )?,
        paper_run(&options, &ratings, &truth)?,
    ];
    let demo = Demo { options, runs, folder: folder.to_path_buf() };
    demo.write(&truth)?;
    Ok(demo)
}

/// So that a demonstration ends while somebody watches.
const MOST_PEOPLE: u64 = 2_000_000;

const DOMAIN: Domain = Domain::Vector { dimension: 1, bound: 1.0 };

fn default_plan(options: &Options) -> Result<PrivateSumPlan> {
    let params = PrivateSumParams::new(DOMAIN, Some(options.people), budget(options));
    Ok(params.check()?)
}

fn budget(options: &Options) -> Calibration {
    Calibration::Budget { epsilon: options.epsilon, delta: options.delta }
}

/// A binary tree that releases after everybody, with exact noise or with a given node deviation.
fn tree_plan(options: &Options, sigma: Option<f64>) -> Result<PrivateSumPlan> {
    let params = PrivateSumParams {
        mechanism: Mechanism::Tree { levels: Some(paper_levels(options.people)) },
        schedule: Schedule::EveryRound,
        calibration: sigma.map_or_else(|| budget(options), Calibration::Sigma),
        ..PrivateSumParams::new(DOMAIN, Some(options.people), budget(options))
    };
    Ok(params.check()?)
}

/// The tree with the node noise of Shariff and Sheffet (2018): `4 sqrt(m) Delta ln(4/delta) / epsilon`.
fn paper_run(options: &Options, ratings: &[f64], truth: &[(f64, f64)]) -> Result<Run> {
    let levels = f64::from(paper_levels(options.people));
    let sigma =
        4.0 * levels.sqrt() * DOMAIN.sensitivity() * (4.0 / options.delta).ln() / options.epsilon;
    let claim = "Shariff and Sheffet (2018), section 4";
    let plan = tree_plan(options, Some(sigma))?;
    curate("binary tree, published noise", plan, Some(claim), options, ratings, truth)
}

fn curate(
    name: &str,
    plan: PrivateSumPlan,
    claim: Option<&str>,
    options: &Options,
    ratings: &[f64],
    truth: &[(f64, f64)],
) -> Result<Run> {
    let guarantee = plan.guarantee(options.delta)?;
    let guarantee = match claim {
        Some(source) => guarantee.with_claim(options.epsilon, options.delta, source)?,
        None => guarantee,
    };
    let mut sum = plan.start(SecureNoise::from_system()?);
    let (mut averages, mut deviations) = (Vec::new(), Vec::new());
    for &rating in ratings {
        let contribution = sum.clip(&[rating])?;
        if let Some(release) = sum.absorb(&contribution)? {
            let round = release.round() as f64;
            // An average of ratings lies between -1 and 1; saying so of a noisy one is post-processing.
            averages.push((round, (release.vector()[0] / round).clamp(-1.0, 1.0)));
            deviations.push(release.deviations()[0]);
        }
    }
    let late = averages.iter().filter(|(round, _)| *round >= 0.5 * ratings.len() as f64);
    let squares: Vec<f64> =
        late.map(|&(round, average)| (average - truth[round as usize - 1].1).powi(2)).collect();
    Ok(Run {
        name: name.into(),
        final_deviation: deviations.last().copied().unwrap_or(f64::NAN),
        error: (squares.iter().sum::<f64>() / squares.len() as f64).sqrt(),
        releases: averages.len(),
        guarantee,
        averages,
        deviations,
    })
}

/// Ratings around a mood that falls in the middle and recovers.
fn ratings(options: &Options) -> Vec<f64> {
    let mut chance = FastNoise::seeded(options.seed);
    let mut uniform = move || chance.uniform();
    (0..options.people)
        .map(|person| {
            let time = person as f64 / options.people as f64;
            let mood = if (0.35..0.6).contains(&time) { -0.3 } else { 0.5 };
            (mood + uniform() + uniform() - 1.0).clamp(-1.0, 1.0)
        })
        .collect()
}

fn averages(ratings: &[f64]) -> Vec<(f64, f64)> {
    let mut sum = 0.0;
    ratings
        .iter()
        .zip(1..)
        .map(|(rating, round)| {
            sum += rating;
            (f64::from(round), sum / f64::from(round))
        })
        .collect()
}

impl Demo {
    /// The averages people would have seen, the best drawn last so that it lies on top.
    fn average_figure(&self, truth: &[(f64, f64)]) -> Figure {
        let thin = |points: &[(f64, f64)]| -> Vec<(f64, f64)> {
            let from = 0.05 * self.options.people as f64;
            let late: Vec<_> = points.iter().copied().filter(|point| point.0 >= from).collect();
            let stride = late.len().div_ceil(300).max(1);
            late.into_iter().step_by(stride).collect()
        };
        let line = |name: &str, colour, points: &[(f64, f64)]| Series {
            name: name.into(),
            colour,
            line: Line::Solid,
            points: thin(points),
            band: vec![],
        };
        let mut series: Vec<Series> = self
            .runs
            .iter()
            .enumerate()
            .map(|(colour, run)| line(&run.name, colour, &run.averages))
            .collect();
        series.push(line("exact, private to nobody", self.runs.len(), truth));
        series.reverse();
        Figure {
            title: "Average rating so far, as everybody sees it".into(),
            x: ("people so far".into(), Scale::Linear),
            y: ("average rating".into(), Scale::Linear),
            series,
        }
    }

    fn deviation_figure(&self) -> Figure {
        let worst = |run: &Run| {
            let mut most = 0.0;
            let pairs = run.averages.iter().zip(&run.deviations);
            pairs
                .map(|(&(round, _), &deviation)| {
                    most = f64::max(most, deviation);
                    (round, most)
                })
                .collect()
        };
        let series = self.runs.iter().enumerate().rev().map(|(colour, run)| Series {
            name: run.name.clone(),
            colour,
            line: Line::Solid,
            points: worst(run),
            band: vec![],
        });
        Figure {
            title: "Noise in the released sum, worst so far".into(),
            x: ("people so far".into(), Scale::Logarithmic),
            y: ("standard deviation".into(), Scale::Logarithmic),
            series: series.collect(),
        }
    }

    /// The comparison as rows of text.
    pub fn rows(&self) -> Vec<Vec<String>> {
        self.runs
            .iter()
            .map(|run| {
                vec![
                    run.name.clone(),
                    format!("{:.1}", run.final_deviation),
                    format!("{:.5}", run.error),
                    run.guarantee.epsilon_text(),
                    format!("{:e}", run.guarantee.delta()),
                ]
            })
            .collect()
    }

    fn write(&self, truth: &[(f64, f64)]) -> Result<()> {
        let figures = [("average", self.average_figure(truth)), ("noise", self.deviation_figure())];
        let mut page = Report::new("A private running average");
        page.paragraph(&format!(
            "{} people rate a service between -1 and 1, one after the other; everybody sees the average so far. \
             Requested: epsilon = {}, delta = {:e}.",
            self.options.people, self.options.epsilon, self.options.delta
        ));
        for (name, figure) in &figures {
            page.figure(figure)?;
            report::write(&self.folder, &format!("figures/{name}.svg"), &figure.svg()?)?;
        }
        page.table(&HEADER, &self.rows());
        for run in &self.runs {
            page.heading(&run.name);
            page.paragraph(&run.guarantee.to_string());
            page.preformatted(&run.guarantee.table());
        }
        report::write(&self.folder, "report.html", &page.html())
    }
}

/// What the columns of [`Demo::rows`] are.
pub const HEADER: [&str; 5] =
    ["curator", "noise in the sum", "error of the average", "epsilon", "delta"];
