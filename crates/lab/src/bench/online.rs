//! One evaluation of the potential, and one round of the learners in a million dimensions.

use reticent::{
    noise::{Noise, SecureNoise},
    online::{Geometry, Method, OnlineParams, Potential, Prior},
    randomize::{Gradient, KNormRandomizer, L1Laplace, Randomizer},
};

use super::{Figure, stopwatch::nanoseconds};
use crate::{FastNoise, Result};

/// Priors by name.
const PRIORS: [(&str, Prior); 4] = [
    ("conjugate", Prior::Conjugate { precision: Some(1.0) }),
    ("uniform", Prior::Uniform),
    ("improper", Prior::Improper),
    ("Chernov-Vovk", Prior::ChernovVovk),
];

/// The points of evaluation: `V`, `L`.
const POINTS: [(&str, f64, f64); 4] = [
    ("V = 3, L = 1", 3.0, 1.0),
    ("V = 10, L = 30", 10.0, 30.0),
    ("V = 1e3, L = 50", 1e3, 50.0),
    ("V = 1e3, L = 1e3", 1e3, 1e3),
];

pub fn figures() -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (name, prior) in PRIORS {
        let potential = Potential::new(prior, 1.0)?;
        for (point, squares, sum) in POINTS {
            let closed = squares >= 25.0 && prior != Prior::ChernovVovk;
            let mut step = 0.0;
            let time = nanoseconds(2_000, || {
                step += 1e-9;
                potential.play(sum + step, squares).map(|w| w.ln())
            });
            let way = if closed { "closed form" } else { "quadrature" };
            let required = if closed { 0.2 } else { 1.5 };
            figures.push(
                Figure::new(format!("prediction, {name}, {point}, {way}"), 1e-3 * time, "us")
                    .beside(required, "required, at most"),
            );
        }
    }
    let prior = Prior::Conjugate { precision: Some(1.0) };
    let methods = [
        ("Algorithm 2", Method::Reduction { prior, geometry: Geometry::Ball, step: 1.0 }),
        ("Algorithm 3", Method::Coordinatewise { prior }),
        ("their sum", Method::Sum { prior, geometry: Geometry::Ball, step: 1.0 }),
    ];
    for (name, method) in methods {
        let params = OnlineParams { dimension: 1_000_000, gradient_bound: 1.0, method };
        let mut learner = params.check()?.start();
        let gradients = sparse_gradients();
        let mut next = 0;
        let time = nanoseconds(2_000, || {
            next = (next + 1) % gradients.len();
            let gradient = Gradient::from(&gradients[next]);
            let score = learner.score(gradient);
            learner.absorb(gradient).map(|_| score)
        });
        figures.push(
            Figure::new(
                format!("predict and learn, d = 1e6, 100 non-zeros, {name}"),
                1e-3 * time,
                "us",
            )
            .beside(200.0, "required, at most"),
        );
    }
    let mut noise = SecureNoise::from_system()?;
    let gradient = [0.1; 50];
    let k_norm = KNormRandomizer::new(50, 1.0, 1.0)?;
    let time = nanoseconds(500, || k_norm.report(Gradient::from(&gradient), &mut noise));
    figures.push(Figure::new("a report, d = 50, K-norm", 1e-3 * time, "us"));
    let l1 = L1Laplace::new(50, 1.0, 1.0)?;
    let time = nanoseconds(500, || l1.report(Gradient::from(&gradient), &mut noise));
    figures.push(Figure::new("a report, d = 50, l1 Laplace", 1e-3 * time, "us"));
    Ok(figures)
}

/// Gradients of a hundred entries each; a few coordinates occur often, most rarely.
fn sparse_gradients() -> Vec<Vec<(usize, f64)>> {
    let mut noise = FastNoise::seeded(5);
    (0..1024)
        .map(|_| {
            let mut indices: Vec<usize> =
                (0..100).map(|_| (1e6 * noise.uniform().powi(3)) as usize).collect();
            indices.sort_unstable();
            indices.dedup();
            indices.into_iter().map(|i| (i, 0.1 * (2.0 * noise.uniform() - 1.0))).collect()
        })
        .collect()
}
