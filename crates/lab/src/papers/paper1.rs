//! Shariff and Sheffet, "Differentially Private Contextual Linear Bandits" (2018), Appendix D.

use reticent::{bandit::Rule, privacy::Mode, release::Schedule};

use super::{Claim, Extent, Judgement, Stage};
use crate::{
    Result,
    bandits::{Algorithm, Bandits, Budget, EnvironmentToml, JointToml, LinUcbToml, Setting},
    constants::joint::PublishedNoise,
    environment::{GapParams, Rewards},
    estimate::fitted_slope,
    experiment::ExperimentToml,
    figure::{Figure, Scale, Series},
    parallel::in_parallel,
    report::{self, Report},
    summary::{Estimate, Summary},
};

type Experiment = ExperimentToml<EnvironmentToml, Algorithm>;

/// The paper's budget.
const BUDGET: Budget = Budget { epsilon: 1.0, delta: 0.1 };

fn horizon(extent: Extent) -> u64 {
    match extent {
        Extent::Quick => 1_000_000,
        Extent::Full => 50_000_000,
    }
}

fn trials(extent: Extent) -> u64 {
    match extent {
        Extent::Quick => 2,
        Extent::Full => 8,
    }
}

fn published(name: &str, mechanism: PublishedNoise, minimum: Option<f64>) -> Algorithm {
    let lines = JointToml::new(BUDGET);
    Algorithm::Joint(JointToml {
        name: Some(name.into()),
        mode: Mode::Paper,
        mechanism: mechanism.into(),
        minimum,
        ..lines
    })
}

impl Stage<'_> {
    fn simulate(&self, experiment: &Experiment, folder: &str) -> Result<Summary> {
        (self.progress)(&experiment.name);
        let checked = experiment.check::<Bandits>()?;
        checked.run(&self.folder.join(folder), |_, _| ())
    }
}

/// The estimate of a contestant's final regret.
fn regret(summary: &Summary, name: &str) -> Estimate {
    summary.algorithm(name).map_or(Estimate::of(&[]), |algorithm| algorithm.final_regret)
}

fn text(estimate: Estimate) -> String {
    format!("{:.0} +- {:.0}", estimate.mean, estimate.standard_error)
}

/// D.2: regret over time of the private variants, without and with a gap.
pub fn figure4(stage: &Stage) -> Result<Vec<Claim>> {
    let variants = || {
        vec![
            Algorithm::Linucb(LinUcbToml {
                rule: Some(Rule::CERTIFIED),
                ..LinUcbToml::named("NonPrivate")
            }),
            published("Gaussian", PublishedNoise::GaussianTree, None),
            published("Wishart", PublishedNoise::Wishart, None),
            published("WishartUnshifted", PublishedNoise::WishartUnshifted, None),
        ]
    };
    let run = |gap: f64| {
        let experiment = Experiment {
            name: format!("paper 1, experiment 2, gap {gap}"),
            rounds: horizon(stage.extent),
            trials: trials(stage.extent),
            seed: 1,
            environment: GapParams { gap, ..GapParams::new(5, 25) }.into(),
            algorithm: variants(),
            figure: Default::default(),
        };
        stage.simulate(&experiment, &format!("gap-{gap}"))
    };
    let (without, with) = (run(0.0)?, run(0.1)?);
    let [nobody, gaussian, wishart, unshifted] =
        ["NonPrivate", "Gaussian", "Wishart", "WishartUnshifted"]
            .map(|name| (regret(&without, name), regret(&with, name)));
    let error = unshifted.1.standard_error.hypot(wishart.1.standard_error);
    let apart = (wishart.1.mean - unshifted.1.mean).abs() / error;
    Ok(vec![
        Claim {
            claim: "NonPrivate cannot be told from the x-axis".into(),
            judgement: Judgement::all([
                Judgement::times_below(20.0, nobody.0, gaussian.0),
                Judgement::times_below(20.0, nobody.1, gaussian.1),
            ]),
            measured: format!("{} without a gap, {} with", text(nobody.0), text(nobody.1)),
            expected: "137 and 91 at n = 5e7".into(),
        },
        Claim {
            claim: "the Gaussian variant beats both Wishart variants".into(),
            judgement: Judgement::all([wishart, unshifted].iter().flat_map(|other| {
                [Judgement::below(gaussian.0, other.0), Judgement::below(gaussian.1, other.1)]
            })),
            measured: format!(
                "no gap: {} against {} and {}; gap 0.1: {} against {} and {}",
                text(gaussian.0),
                text(wishart.0),
                text(unshifted.0),
                text(gaussian.1),
                text(wishart.1),
                text(unshifted.1)
            ),
            expected: "6743 against 81k and 173k; 5369 against 69.7k and 69.8k at n = 5e7".into(),
        },
        Claim {
            claim: "without a gap WishartUnshifted is the worst".into(),
            judgement: Judgement::below(wishart.0, unshifted.0),
            measured: format!("{} against {}", text(unshifted.0), text(wishart.0)),
            expected: "173k against 81k at n = 5e7".into(),
        },
        Claim {
            claim: "with a gap of 0.1 the two Wishart variants are indistinguishable".into(),
            judgement: Judgement::same(unshifted.1, wishart.1, 0.5),
            measured: format!(
                "{} against {}: {:.1} standard errors apart",
                text(unshifted.1),
                text(wishart.1),
                apart
            ),
            expected: "at most 3 standard errors apart, which are at most half of the regret"
                .into(),
        },
    ])
}

/// rho_min relative to the published one, and gaps, of the sweep.
const SHIFTS: [f64; 8] = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0];
const GAPS: [f64; 3] = [0.0, 0.1, 0.2];

/// D.3: regret against the shift of the regulariser, for several gaps.
pub fn figure5(stage: &Stage) -> Result<Vec<Claim>> {
    let mut claims = Vec::new();
    for (name, mechanism) in
        [("Gaussian", PublishedNoise::GaussianTree), ("Wishart", PublishedNoise::Wishart)]
    {
        let base = published_minimum(mechanism, horizon(stage.extent))?;
        let mut lines = Vec::new();
        for gap in GAPS {
            let experiment = Experiment {
                name: format!("paper 1, experiment 3, {name}, gap {gap}"),
                rounds: horizon(stage.extent),
                trials: trials(stage.extent) / 2,
                seed: 3,
                environment: GapParams { gap, ..GapParams::new(5, 25) }.into(),
                algorithm: SHIFTS
                    .iter()
                    .map(|shift| {
                        published(&format!("rho_min x {shift}"), mechanism, Some(shift * base))
                    })
                    .collect(),
                figure: Default::default(),
            };
            let summary =
                stage.simulate(&experiment, &format!("{name}-gap-{gap}").to_lowercase())?;
            let regrets: Vec<Estimate> =
                summary.algorithms.iter().map(|algorithm| algorithm.final_regret).collect();
            lines.push((gap, regrets));
        }
        draw_shifts(stage, name, base, &lines)?;
        claims.extend(shift_claims(name, &lines));
    }
    Ok(claims)
}

/// The published rho_min.
fn published_minimum(mechanism: PublishedNoise, rounds: u64) -> Result<f64> {
    let setting = Setting::new(&GapParams::new(5, 25).into(), rounds)?;
    let Algorithm::Joint(lines) = published("", mechanism, None) else {
        unreachable!("published variants are joint")
    };
    let played = lines.blocks(&setting)?;
    Ok(played.regularizer().map_or(f64::NAN, |regularizer| regularizer.minimum))
}

/// "Tuning the shift parameter appears to significantly affect the performance only for problem instances with relatively small
/// or zero gaps. In the large-gap settings, having too much regularization does not seem to increase regret appreciably."
///
/// The words have no numbers; a factor of 2 is what we call significant and appreciable. The first sentence is taken over the
/// whole sweep, the second from the published shift upwards.
fn shift_claims(name: &str, lines: &[(f64, Vec<Estimate>)]) -> [Claim; 2] {
    let published = SHIFTS.iter().position(|shift| *shift == 1.0).unwrap_or(0);
    let by_mean = |one: &&Estimate, two: &&Estimate| one.mean.total_cmp(&two.mean);
    let none = Estimate::of(&[]);
    let largest = |regrets: &[Estimate]| regrets.iter().max_by(by_mean).copied().unwrap_or(none);
    let least = |regrets: &[Estimate]| regrets.iter().min_by(by_mean).copied().unwrap_or(none);
    let (small, large) = (&lines[0].1, &lines[lines.len() - 1].1);
    let gap = lines[lines.len() - 1].0;
    let spread = |regrets: &[Estimate]| largest(regrets).mean / least(regrets).mean;
    let rise = |regrets: &[Estimate]| largest(&regrets[published..]).mean / regrets[published].mean;
    // The claim that the rise is larger at the first gap than at the second, by the errors of its logarithm.
    let more = |one: &[Estimate], two: &[Estimate]| {
        let parts = [one, two].map(|regrets| [largest(&regrets[published..]), regrets[published]]);
        let share = |e: Estimate| (e.standard_error / e.mean).powi(2);
        let variance: f64 = parts.iter().flatten().map(|e| share(*e)).sum();
        let trials = parts.iter().flatten().map(|e| e.trials).min().unwrap_or(0);
        Judgement::positive((rise(one) / rise(two)).ln(), variance.sqrt(), trials)
    };
    [
        Claim {
            claim: format!("{name}: tuning the shift matters for small gaps only"),
            judgement: Judgement::all([
                Judgement::times_below(0.5, largest(large), least(large)),
                Judgement::times_below(2.0, least(small), largest(small)),
            ]),
            measured: format!(
                "worst over best shift: {:.2} at gap 0, {:.2} at gap {gap}",
                spread(small),
                spread(large)
            ),
            expected: "above 2 at gap 0, below 2 at the largest gap".into(),
        },
        Claim {
            claim: format!(
                "{name}: with a large gap, too much regularisation does not raise regret appreciably"
            ),
            judgement: Judgement::all([
                Judgement::times_below(0.5, largest(&large[published..]), large[published]),
                more(small, large),
            ]),
            measured: format!(
                "largest over published, from the published shift upwards: {:.2} at gap 0, {:.2} at gap {gap}",
                rise(small),
                rise(large)
            ),
            expected: "below 2 at the largest gap, and more without a gap".into(),
        },
    ]
}

fn draw_shifts(stage: &Stage, name: &str, base: f64, lines: &[(f64, Vec<Estimate>)]) -> Result<()> {
    let series = lines.iter().enumerate().map(|(colour, (gap, regrets))| Series {
        name: format!("gap {gap}"),
        colour,
        points: SHIFTS.iter().zip(regrets).map(|(shift, e)| (shift * base, e.mean)).collect(),
        band: regrets.iter().map(Estimate::band).collect(),
        ..Series::default()
    });
    let figure = Figure::of(
        format!("paper 1, experiment 3: {name}, published rho_min = {base:.3e}"),
        ("rho_min".into(), Scale::Logarithmic),
        ("final regret".into(), Scale::Logarithmic),
        series.collect(),
    );
    let stem = name.to_lowercase();
    figure.write(stage.folder, &stem)?;
    let mut page = Report::new(&figure.title);
    page.figure(&figure)?;
    let rows: Vec<Vec<String>> = lines
        .iter()
        .flat_map(|(gap, regrets)| {
            SHIFTS.iter().zip(regrets).map(move |(shift, e)| {
                vec![gap.to_string(), format!("{:.3e}", shift * base), text(*e)]
            })
        })
        .collect();
    page.table(&["gap", "rho_min", "final regret"], &rows);
    report::write(stage.folder, &format!("{stem}.html"), page.html())
}

/// Dimensions spaced logarithmically from 4 to 64.
const DIMENSIONS: [usize; 9] = [4, 6, 8, 11, 16, 23, 32, 45, 64];

/// D.1: regret of LinUCB against the dimension, with K = d^2 arms and a gap of 0.1.
pub fn experiment1(stage: &Stage) -> Result<Vec<Claim>> {
    let (rounds, dimensions) = match stage.extent {
        Extent::Quick => (20_000, &DIMENSIONS[..7]),
        Extent::Full => (100_000, &DIMENSIONS[..]),
    };
    let laws = [("+-1 rewards", Rewards::Sign), ("Gaussian rewards", Rewards::Gaussian)];
    // The longest first, so that no core is left waiting for it.
    let jobs: Vec<(usize, usize)> =
        dimensions.iter().rev().flat_map(|&d| [(d, 0), (d, 1)]).collect();
    let regrets = in_parallel(
        &jobs,
        |_, _| (),
        |&(dimension, law)| {
            let rewards = laws[law].1;
            let arms = dimension * dimension;
            let gap = GapParams { gap: 0.1, rewards, ..GapParams::new(dimension, arms) };
            let experiment = Experiment {
                name: format!("paper 1, experiment 1, {}, d = {dimension}", laws[law].0),
                rounds,
                trials: 1,
                seed: 1,
                environment: gap.into(),
                algorithm: vec![Algorithm::Linucb(LinUcbToml {
                    rule: Some(Rule::CERTIFIED),
                    schedule: Some(Schedule::EveryRound),
                    ..LinUcbToml::named("LinUCB")
                })],
                figure: Default::default(),
            };
            let folder = format!("{}-d{dimension}", ["sign", "gaussian"][law]);
            Ok(regret(&stage.simulate(&experiment, &folder)?, "LinUCB").mean)
        },
    )?;
    let mut claims = Vec::new();
    let mut series = Vec::new();
    for (colour, (name, _)) in laws.into_iter().enumerate() {
        let of = jobs.iter().zip(&regrets).rev().filter(|((_, law), _)| *law == colour);
        let points: Vec<(f64, f64)> = of.map(|((d, _), regret)| (*d as f64, *regret)).collect();
        let fitted = fitted_slope(&points);
        let slope = fitted.mean;
        claims.push(Claim {
            claim: format!("regret grows about as d^2 ({name})"),
            judgement: Judgement::within(fitted, 1.5, 2.5),
            measured: format!("slope {slope:.2} over d = 4..{}", dimensions[dimensions.len() - 1]),
            expected: "roughly 2; 1.93 with +-1 and 1.76 with Gaussian rewards at n = 1e5".into(),
        });
        series.push(Series {
            name: format!("{name}, slope {slope:.2}"),
            colour,
            points,
            ..Series::default()
        });
    }
    let figure = Figure::of(
        format!("paper 1, experiment 1: regret of LinUCB after {rounds} rounds"),
        ("dimension".into(), Scale::Logarithmic),
        ("final regret".into(), Scale::Logarithmic),
        series,
    );
    figure.write(stage.folder, "dimension")?;
    Ok(claims)
}
