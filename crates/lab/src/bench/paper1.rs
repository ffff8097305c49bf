//! Whole trials of paper 1 on one core, environment included.

use std::time::Instant;

use reticent::{bandit::Rule, release::Schedule};

use super::Figure;
use crate::{
    Result,
    algorithm::bandit::{Algorithm, BanditEnvironment, Budget, JointToml, LinUcbToml},
    environment::GapParams,
    papers::constants::joint::{JointMode, PublishedNoise},
};

/// The paper's horizon.
const ROUNDS: u64 = 50_000_000;
/// Dimensions of Experiment 1, with K = d^2 arms and n = 1e5 rounds each.
const DIMENSIONS: [usize; 9] = [4, 6, 8, 11, 16, 23, 32, 45, 64];

pub fn figures() -> Result<Vec<Figure>> {
    let budget = Budget { epsilon: 1.0, delta: 0.1 };
    let published = |noise: PublishedNoise| JointToml {
        mode: JointMode::Paper,
        mechanism: noise.into(),
        ..JointToml::new(budget)
    };
    let certified = Some(Rule::CERTIFIED);
    let linucb = |name: &str| LinUcbToml { rule: certified.clone(), ..LinUcbToml::named(name) };
    let variants = [
        ("NonPrivate", Algorithm::Linucb(linucb("NonPrivate"))),
        (
            "certified",
            Algorithm::Joint(JointToml { rule: certified.clone(), ..JointToml::new(budget) }),
        ),
        ("the default", Algorithm::Joint(JointToml::new(budget))),
        ("Gaussian", Algorithm::Joint(published(PublishedNoise::GaussianTree))),
        ("Wishart", Algorithm::Joint(published(PublishedNoise::Wishart))),
        ("WishartUnshifted", Algorithm::Joint(published(PublishedNoise::WishartUnshifted))),
    ];
    let mut figures = Vec::new();
    for (name, algorithm) in variants {
        let seconds = seconds(GapParams::new(5, 25), ROUNDS, &algorithm)?;
        let what = format!("a round of a whole trial, n = 5e7, d = 5, K = 25, {name}");
        let time = 1e9 * seconds / ROUNDS as f64;
        figures.push(Figure::new(what, time, "ns").beside(100.0, "required, at most; goal 20"));
    }
    let linucb = LinUcbToml { schedule: Some(Schedule::EveryRound), ..linucb("LinUCB") };
    let mut total = 0.0;
    for dimension in DIMENSIONS {
        let gap = GapParams { gap: 0.1, ..GapParams::new(dimension, dimension * dimension) };
        total += seconds(gap, 100_000, &Algorithm::Linucb(linucb.clone()))?;
    }
    let what = "experiment 1, n = 1e5, nine dimensions 4..64, K = d^2, all of it";
    figures.push(Figure::new(what, total, "s").beside(90.0, "required, at most; goal 40"));
    Ok(figures)
}

fn seconds(gap: GapParams, rounds: u64, algorithm: &Algorithm) -> Result<f64> {
    let algorithm = algorithm.prepare(&BanditEnvironment::new(&gap.into(), rounds)?)?;
    let start = Instant::now();
    algorithm.trial(1, 0, &[rounds])?;
    Ok(start.elapsed().as_secs_f64())
}
