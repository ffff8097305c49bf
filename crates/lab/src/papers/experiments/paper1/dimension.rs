//! Experiment 1 (section D.1): regret of LinUCB against the dimension, with K = d^2 arms and a gap of 0.1, for both laws of rewards.

use reticent::release::Schedule;

use super::{Claim, Experiment, Extent, Judgement, Stage, not_private};
use crate::{
    Result,
    algorithm::bandit::{Algorithm, LinUcbToml},
    environment::{GapParams, Rewards},
    play::parallel::in_parallel,
    report::{
        estimate::fitted_slope,
        figure::{Figure, Line, Panel, Scale, Series},
        summary::Estimate,
    },
};

/// 17 dimensions, spaced logarithmically from 4 to 64.
const DIMENSIONS: [usize; 17] = [4, 5, 6, 7, 8, 10, 11, 13, 16, 19, 23, 27, 32, 38, 45, 54, 64];
const LAWS: [(&str, &str, Rewards); 2] =
    [("sign", "+-1 rewards", Rewards::Sign), ("gaussian", "Gaussian rewards", Rewards::Gaussian)];

/// Rounds, trials, and dimensions.
fn size(extent: Extent) -> (u64, u64, Vec<usize>) {
    match extent {
        Extent::Quick => {
            let few = DIMENSIONS.into_iter().step_by(2).filter(|dimension| *dimension <= 32);
            (20_000, 1, few.collect())
        }
        Extent::Full => (100_000, 4, DIMENSIONS.to_vec()),
    }
}

/// The mean regret after some rounds, of one dimension under one law.
type Curve = Vec<(u64, Estimate)>;

pub fn experiment1(stage: &Stage) -> Result<Vec<Claim>> {
    let (rounds, trials, dimensions) = size(stage.extent);
    // The longest first, so that no core is left waiting for it.
    let jobs: Vec<(usize, usize)> =
        dimensions.iter().rev().flat_map(|&d| [(d, 0), (d, 1)]).collect();
    let curves = in_parallel(&jobs, |_, _| (), |&job| run(stage, job))?;
    let curve = |dimension, law| {
        let place = jobs.iter().position(|job| *job == (dimension, law)).unwrap_or(0);
        &curves[place]
    };
    decision_set(stage)?;
    over_time(stage, &dimensions, curve)?;
    let mut claims = Vec::new();
    let mut series = Vec::new();
    for (law, (_, name, _)) in LAWS.into_iter().enumerate() {
        let last = |&d: &usize| {
            let regret = curve(d, law).last().map_or(f64::NAN, |point| point.1.mean);
            (d as f64, regret)
        };
        let points: Vec<(f64, f64)> = dimensions.iter().map(last).collect();
        let fitted = fitted_slope(&points);
        let slope = fitted.mean;
        claims.push(Claim {
            claim: format!("regret grows about as d^2 ({name})"),
            // The error of the slope is that of the fit over dimensions, whose number is not one of trials.
            judgement: Judgement {
                trials: Some(trials as usize),
                ..Judgement::within(fitted, 1.5, 2.5)
            },
            measured: format!(
                "slope {slope:.2} +- {:.2} over {} dimensions, d = 4..{}, trials of each: {trials}",
                fitted.standard_error,
                dimensions.len(),
                dimensions[dimensions.len() - 1]
            ),
            expected: "authors: a slope of roughly 2 over 17 dimensions, d = 4..64, about 100 trials of each, n = 1e5".into(),
        });
        series.push(Series {
            name: format!("{name}, slope {slope:.2}"),
            colour: law,
            line: Line::Marked,
            points,
            ..Series::default()
        });
    }
    let figure = Figure::of(
        format!("Figure 3: regret of LinUCB after {rounds} rounds"),
        ("dimension".into(), Scale::Logarithmic),
        ("final regret".into(), Scale::Logarithmic),
        series,
    );
    figure.write(stage.folder, "dimension")?;
    Ok(claims)
}

fn run(stage: &Stage, (dimension, law): (usize, usize)) -> Result<Curve> {
    let (rounds, trials, _) = size(stage.extent);
    let (folder, name, rewards) = LAWS[law];
    let arms = dimension * dimension;
    let experiment = Experiment {
        name: format!("paper 1, experiment 1, {name}, d = {dimension}"),
        rounds,
        trials,
        seed: stage.seed(1),
        environment: GapParams { gap: 0.1, rewards, ..GapParams::new(dimension, arms) }.into(),
        algorithm: vec![Algorithm::Linucb(LinUcbToml {
            schedule: Some(Schedule::EveryRound),
            ..not_private("LinUCB", 1.0, rounds)
        })],
        figure: Default::default(),
    };
    let summary = stage.simulate(experiment, &format!("{folder}-d{dimension}"))?;
    Ok(summary.algorithm("LinUCB").map_or(Curve::new(), |algorithm| algorithm.curve.clone()))
}

/// Figure 1: one decision set of 1000 arms in three dimensions, projected along a direction that is orthogonal to theta*.
fn decision_set(stage: &Stage) -> Result<()> {
    let gap = GapParams { gap: 0.1, ..GapParams::new(3, 1000) };
    let mut environment = gap.environment(1)?;
    let arms = environment.arms().clone();
    let theta = environment.direction().unwrap_or_default();
    // An axis less its part along theta*, the one of which most is left.
    let axis = (0..3).min_by(|&i, &j| theta[i].abs().total_cmp(&theta[j].abs())).unwrap_or(0);
    let across: Vec<f64> =
        (0..3).map(|i| f64::from(u8::from(i == axis)) - theta[axis] * theta[i]).collect();
    let norm = across.iter().map(|x| x * x).sum::<f64>().sqrt();
    let place = |arm: usize| {
        let x: f64 = arms.arm(arm).iter().zip(&across).map(|(x, a)| x * a).sum();
        (x / norm, environment.means()[arm])
    };
    let best = environment.best_mean();
    let (optimal, others): (Vec<_>, Vec<_>) =
        (0..arms.count()).map(place).partition(|point| point.1 == best);
    let series = |name: &str, colour, line, points| Series {
        name: name.into(),
        colour,
        line,
        points,
        ..Series::default()
    };
    let mut figure = Figure::of(
        "Figure 1: a decision set in three dimensions, K = 1000, gap 0.1".into(),
        ("<x, a direction orthogonal to theta*>".into(), Scale::Linear),
        ("<x, theta*>".into(), Scale::Linear),
        vec![series("actions", 1, Line::Dots, others), series("optimal", 0, Line::Marks, optimal)],
    );
    figure.size = Some((640, 560));
    figure.write(stage.folder, "decision_set")
}

/// Figure 2: regret over time, a line for each dimension.
fn over_time<'a>(
    stage: &Stage,
    dimensions: &[usize],
    curve: impl Fn(usize, usize) -> &'a Curve,
) -> Result<()> {
    let line = |law: usize, index: usize| Series {
        name: format!("d = {}", dimensions[index]),
        colour: index,
        ramp: Some(index as f64 / (dimensions.len() - 1) as f64),
        points: curve(dimensions[index], law)
            .iter()
            .map(|(round, regret)| (*round as f64, regret.mean))
            .collect(),
        ..Series::default()
    };
    let panel = |law: usize| Panel {
        title: LAWS[law].1.into(),
        series: (0..dimensions.len()).map(|index| line(law, index)).collect(),
    };
    let mut figure = Figure::of(
        "Figure 2: regret of LinUCB over time".into(),
        ("round".into(), Scale::Linear),
        ("regret".into(), Scale::Linear),
        Vec::new(),
    );
    figure.panels = vec![panel(0), panel(1)];
    figure.size = Some((480, 400));
    figure.write(stage.folder, "over_time")
}
