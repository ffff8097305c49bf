//! One round of the private bandit: decide, take the value, learn; and one call of each oracle.

use reticent::{
    convex::{AnySet, LinearOracle, PrivateBanditParams, Protection},
    noise::Noise,
};

use super::{Figure, stopwatch::nanoseconds};
use crate::{FastNoise, Result, algorithm::convex::SetToml};

/// Sets with a round's required microseconds, where there are any.
fn sets() -> Vec<(&'static str, SetToml, Option<f64>)> {
    vec![
        ("l1 ball, n = 20", SetToml::L1Ball { dimension: 20, radius: 1.0 }, Some(0.5)),
        ("simplex, n = 20", SetToml::Simplex { outcomes: 20 }, Some(0.5)),
        ("box, n = 20", SetToml::Box { dimension: 20, side: 1.0 }, Some(0.5)),
        ("10-sets of 20", SetToml::Slates { elements: 20, size: 10 }, Some(0.5)),
        (
            "spanning trees of K6, n = 15",
            SetToml::SpanningTrees { vertices: 6, edges: vec![] },
            None,
        ),
        ("routes in a 4 x 4 grid, n = 24", SetToml::GridRoutes { rows: 4, columns: 4 }, None),
        ("assignments of 5, n = 25", SetToml::Assignments { size: 5 }, None),
        ("nuclear ball 4 x 5, n = 20", SetToml::LowRank { rows: 4, columns: 5, radius: 1.0 }, None),
    ]
}

/// The horizon of the learner; its batches have 1000 rounds.
const HORIZON: u64 = 1_000_000;
/// Rounds before the stopwatch starts, so that the learner has left its first batches.
const BEFORE: u32 = 100_000;
/// Rounds in one batch of the stopwatch: five of the learner's, and short enough to be interrupted seldom.
const ROUNDS: u32 = 5_000;

pub fn figures() -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (name, lines, required) in sets() {
        let set = lines.build()?;
        let target = target(&set);
        let params = PrivateBanditParams::new(1.0, HORIZON, Protection::central(1.0, 1e-6));
        let mut bandit = params.check(set)?.start(FastNoise::seeded(1))?;
        let mut round = || -> reticent::Result<()> {
            let decision = bandit.decide()?;
            let square = decision.point.iter().zip(&target).map(|(x, y)| (x - y) * (x - y));
            bandit.observe(decision.ticket, square.sum::<f64>().sqrt()).map(drop)
        };
        for _ in 0..BEFORE {
            round()?;
        }
        let time = nanoseconds(ROUNDS, round);
        let figure = Figure::new(format!("a round, eps = 1, {name}"), 1e-3 * time, "us");
        figures.push(match required {
            Some(required) => figure.beside(required, "required, at most; goal 0.3"),
            None => figure,
        });
        let counts = bandit.counts();
        if counts.map.oracle_calls > 0 {
            let calls = counts.map.oracle_calls as f64 / counts.map.maps as f64;
            figures.push(Figure::new(format!("oracle calls a batch, {name}"), calls, "calls"));
        }
        let set = lines.build()?;
        let mut noise = FastNoise::seeded(2);
        let mut vertex = vec![0.0; set.shape().dimension()];
        let directions: Vec<Vec<f64>> =
            (0..16).map(|_| (0..vertex.len()).map(|_| noise.standard_normal()).collect()).collect();
        let mut next = 0;
        let time = nanoseconds(2_000, || {
            next = (next + 1) % directions.len();
            set.oracle().minimize(&directions[next], &mut vertex);
        });
        figures.push(Figure::new(format!("an oracle call, {name}"), 1e-3 * time, "us"));
    }
    Ok(figures)
}

/// 0.8 of the way from the centre to a vertex.
fn target(set: &AnySet) -> Vec<f64> {
    let n = set.shape().dimension();
    let direction: Vec<f64> = (0..n).map(|i| ((i * 7 + 3) % 11) as f64 - 5.0).collect();
    let mut vertex = vec![0.0; n];
    set.oracle().minimize(&direction, &mut vertex);
    vertex.iter().zip(set.shape().centre()).map(|(v, c)| c + 0.8 * (v - c)).collect()
}
