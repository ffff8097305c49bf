//! One round of LinUCB with the arms in memory: decide, then learn from the reward.

use reticent::{
    bandit::{Arms, LinUcbParams, Rule},
    noise::Noise,
    randomize::Bounds,
};

use super::{Figure, stopwatch::nanoseconds};
use crate::{FastNoise, Result};

/// Dimension, arms, rounds a batch, required and hoped-for microseconds.
const SIZES: [(usize, usize, u32, f64, f64); 4] = [
    (5, 25, 20_000, 0.2, 0.1),
    (5, 100, 20_000, 0.5, 0.45),
    (32, 100, 1_000, 6.0, 4.0),
    (64, 4096, 8, 700.0, 500.0),
];
/// Decision sets taken in turn, so that branch prediction cannot memorise the choices.
const SETS: usize = 8;

pub fn figures() -> Result<Vec<Figure>> {
    let mut noise = FastNoise::seeded(1);
    let mut figures = Vec::new();
    for (dimension, count, batch, required, hoped) in SIZES {
        let sets = (0..SETS)
            .map(|_| {
                let rows: Vec<Vec<f64>> = (0..count).map(|_| unit(dimension, &mut noise)).collect();
                Ok((Arms::from_rows(dimension, &rows)?, rows))
            })
            .collect::<Result<Vec<_>>>()?;
        let mut learner =
            LinUcbParams { rule: Rule::CERTIFIED, ..LinUcbParams::new(Bounds::unit(dimension)) }
                .check()?;
        let mut round = 0;
        let time = nanoseconds(batch, || {
            let (arms, rows) = &sets[round % SETS];
            round += 1;
            let choice = learner.choose(arms, round as u64)?.arm;
            learner.observe(&rows[choice], rows[choice][0]).map(drop)
        });
        figures.push(
            Figure::new(
                format!("decide and learn, d = {dimension}, K = {count}"),
                1e-3 * time,
                "us",
            )
            .beside(required, format!("required, at most; goal {hoped}")),
        );
    }
    figures.extend(thompson(&mut noise)?);
    Ok(figures)
}

/// The same by Thompson sampling, with a new ensemble of 64 every round: a member is drawn for the decision, or all of them for its
/// probability.
fn thompson(noise: &mut FastNoise) -> Result<[Figure; 2]> {
    let rows: Vec<Vec<f64>> = (0..25).map(|_| unit(5, noise)).collect();
    let arms = Arms::from_rows(5, &rows)?;
    let time = |propensity: bool| -> Result<f64> {
        let params = LinUcbParams { rule: Rule::THOMPSON, ..LinUcbParams::new(Bounds::unit(5)) };
        let (mut learner, mut round) = (params.check()?, 0);
        Ok(nanoseconds(2_000, || {
            round += 1;
            let choice = learner.choose(&arms, learner.randomness(round))?.arm;
            if propensity {
                learner.probabilities(&arms)?;
            }
            learner.observe(&rows[choice], rows[choice][0]).map(drop)
        }))
    };
    let figure = |what: &str, time: f64| {
        Figure::new(format!("decide and learn by Thompson sampling, {what}"), 1e-3 * time, "us")
    };
    Ok([
        figure("d = 5, K = 25", time(false)?),
        figure("d = 5, K = 25, with its probability", time(true)?),
    ])
}

fn unit<N: Noise>(dimension: usize, noise: &mut N) -> Vec<f64> {
    let direction: Vec<f64> = (0..dimension).map(|_| noise.standard_normal()).collect();
    let length = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
    direction.iter().map(|x| x / length).collect()
}
