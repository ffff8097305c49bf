//! Checks that all randomisers' tests share: the largest distance between two people, and an alarm on the noise.

use serde::{Deserialize, Serialize};

use crate::{
    Result,
    noise::{DiscreteGaussian, Noise},
    release::testing::Seeded,
};

/// Gives every Gaussian draw twice: the noise of coordinates that share a draw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Echo {
    source: Seeded,
    /// The last draw in units of its sigma, while it waits to be repeated.
    last: Option<f64>,
}

impl Echo {
    pub(crate) fn new(source: Seeded) -> Self {
        Echo { source, last: None }
    }
}

impl Noise for Echo {
    const PROTECTS_PEOPLE: bool = false;
    const NAME: &'static str = "test 3";

    fn bits(&mut self) -> u64 {
        self.source.bits()
    }

    fn refresh(&mut self) -> Result<()> {
        Ok(())
    }

    fn split(&mut self) -> Result<Self> {
        Ok(Echo::new(self.source.split()?))
    }

    fn discrete_gaussian(&mut self, law: &DiscreteGaussian) -> i64 {
        let sigma = law.sigma() as f64;
        if let Some(last) = self.last.take() {
            return (last * sigma).round() as i64;
        }
        let draw = law.sample_exactly(&mut self.source);
        self.last = Some(draw as f64 / sigma);
        draw
    }
}

/// The largest distance between what two people of the unit ball with rewards in [-1, 1] contribute, each coordinate in
/// units of its deviation: random starts, then a local search. A lower bound on the sensitivity, and a close one.
pub(crate) fn largest_distance(
    dimension: usize,
    deviations: &[f64],
    contribution: impl Fn(&[f64], f64) -> Vec<f64>,
) -> f64 {
    let mut noise = Seeded(99);
    let person = |raw: &[f64]| {
        let norm = raw[..dimension].iter().map(|x| x * x).sum::<f64>().sqrt().max(1.0);
        let x: Vec<f64> = raw[..dimension].iter().map(|x| x / norm).collect();
        contribution(&x, raw[dimension].clamp(-1.0, 1.0))
    };
    let distance = |raw: &[f64]| {
        let (one, two) = raw.split_at(dimension + 1);
        let pairs = person(one).into_iter().zip(person(two)).zip(deviations);
        pairs.map(|((a, b), s)| ((a - b) / s).powi(2)).sum::<f64>().sqrt()
    };
    let mut best = 0.0_f64;
    for _ in 0..60 {
        let mut at: Vec<f64> =
            (0..2 * (dimension + 1)).map(|_| 1.5 * noise.standard_normal()).collect();
        let (mut value, mut step) = (distance(&at), 0.5);
        while step > 1e-4 {
            let mut improved = false;
            for _ in 0..40 {
                let next: Vec<f64> =
                    at.iter().map(|x| x + step * noise.standard_normal()).collect();
                let there = distance(&next);
                if there > value {
                    (at, value, improved) = (next, there, true);
                }
            }
            if !improved {
                step *= 0.5;
            }
        }
        best = best.max(value);
    }
    best
}

/// Returns whether reports contradict the stated truth, the stated deviations, or the independence of coordinates. Rings falsely with
/// probability below 1e-6 for up to 30 coordinates.
pub(crate) fn noise_alarm(
    truth: &[f64],
    deviations: &[f64],
    draw: &mut impl FnMut() -> Vec<f64>,
) -> bool {
    const DRAWS: usize = 20_000;
    let normal: Vec<Vec<f64>> = (0..DRAWS)
        .map(|_| {
            let parts = draw().into_iter().zip(truth).zip(deviations);
            parts.map(|((value, truth), s)| (value - truth) / s).collect()
        })
        .collect();
    // Means of products of standard normals, each of deviation at most sqrt 2: 6.5 of those leave 1e-10 each.
    let most = 6.5 * (2.0 / DRAWS as f64).sqrt();
    let mean = |f: &dyn Fn(&[f64]) -> f64| normal.iter().map(|z| f(z)).sum::<f64>() / DRAWS as f64;
    (0..truth.len()).any(|i| {
        mean(&|z| z[i]).abs() > most
            || (i..truth.len())
                .any(|j| (mean(&|z| z[i] * z[j]) - f64::from(u8::from(i == j))).abs() > most)
    })
}
