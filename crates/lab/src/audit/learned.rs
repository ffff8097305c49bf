//! Learned tests: from what an adversary sees to a score.
//!
//! For two normals of one covariance `Sigma` whose means differ by `Delta`, the likelihood ratio is a function of `<Sigma^-1 Delta, v>`
//! (Fisher 1936; Neyman and Pearson 1933). Sigma is learned from runs of its own, so the adversary need not know how noise is correlated
//! over time, and a mechanism whose noise is not what it says cannot hide behind its description. Where the adversary knows Delta
//! (they chose the neighbours), it is given; else it is learned too.

use reticent::linalg::Cholesky;

/// How a view becomes scores.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// Every number of the view is a score; the best one is chosen on samples of its own.
    Scores,
    /// A direction learned from runs of its own; the difference of means may be known.
    Linear {
        /// Delta, the second world's mean less the first's.
        difference: Option<Vec<f64>>,
    },
}

/// A test that has been learned.
#[derive(Debug, Clone, PartialEq)]
pub struct Learned {
    /// `None`: the view as it is.
    directions: Option<Vec<Vec<f64>>>,
}

impl Test {
    /// Whether runs are needed to learn from.
    pub fn learns(&self) -> bool {
        *self != Test::Scores
    }

    /// Learns from views of both worlds.
    pub fn learn(&self, first: &[Vec<f64>], second: &[Vec<f64>]) -> Learned {
        let Test::Linear { difference } = self else {
            return Learned { directions: None };
        };
        let (one, two) = (mean(first), mean(second));
        let found: Vec<f64> = two.iter().zip(&one).map(|(b, a)| b - a).collect();
        let delta = difference.clone().unwrap_or_else(|| found.clone());
        let covariance = pooled_covariance(first, &one, second, &two);
        let mut directions = Vec::new();
        if let Some(direction) = solve(&covariance, &delta) {
            directions.push(direction);
        }
        if difference.is_none() {
            // Nearness to one of the two means is what tells apart where noise is a cap of the sphere.
            directions.push(found);
            directions.push(two);
            directions.push(one.iter().map(|x| -x).collect());
        }
        if directions.is_empty() {
            directions.push(delta);
        }
        Learned { directions: Some(directions) }
    }
}

impl Learned {
    /// The scores of a view.
    pub fn scores(&self, view: Vec<f64>) -> Vec<f64> {
        match &self.directions {
            None => view,
            Some(directions) => directions.iter().map(|direction| dot(direction, &view)).collect(),
        }
    }
}

/// `sqrt(Delta^T Sigma^-1 Delta)`: how far apart two samples of views are, by Fisher's test.
pub fn separation(first: &[Vec<f64>], second: &[Vec<f64>]) -> f64 {
    let (one, two) = (mean(first), mean(second));
    let delta: Vec<f64> = two.iter().zip(&one).map(|(b, a)| b - a).collect();
    let covariance = pooled_covariance(first, &one, second, &two);
    solve(&covariance, &delta).map_or(0.0, |direction| dot(&direction, &delta).max(0.0).sqrt())
}

fn dot(one: &[f64], two: &[f64]) -> f64 {
    one.iter().zip(two).map(|(a, b)| a * b).sum()
}

fn mean(views: &[Vec<f64>]) -> Vec<f64> {
    let mut sum = vec![0.0; views.first().map_or(0, Vec::len)];
    for view in views {
        sum.iter_mut().zip(view).for_each(|(sum, x)| *sum += x);
    }
    sum.iter_mut().for_each(|sum| *sum /= views.len() as f64);
    sum
}

/// Upper triangle by rows.
fn pooled_covariance(
    first: &[Vec<f64>],
    one: &[f64],
    second: &[Vec<f64>],
    two: &[f64],
) -> Vec<f64> {
    let dimension = one.len();
    let mut sum = vec![0.0; dimension * (dimension + 1) / 2];
    let mut off = vec![0.0; dimension];
    for (views, mean) in [(first, one), (second, two)] {
        for view in views {
            off.iter_mut().zip(view.iter().zip(mean)).for_each(|(off, (x, m))| *off = x - m);
            let mut entries = sum.iter_mut();
            for (row, x) in off.iter().enumerate() {
                for y in &off[row..] {
                    *entries.next().expect("a triangle") += x * y;
                }
            }
        }
    }
    let count = (first.len() + second.len()) as f64;
    sum.iter_mut().for_each(|sum| *sum /= count);
    sum
}

/// `Sigma^-1 Delta`, with a ridge where noise leaves a direction free.
fn solve(covariance: &[f64], delta: &[f64]) -> Option<Vec<f64>> {
    let dimension = delta.len();
    let mut at = 0;
    let mut trace = 0.0;
    for row in 0..dimension {
        trace += covariance[at];
        at += dimension - row;
    }
    let ridge = 1e-12 * trace / dimension.max(1) as f64 + f64::MIN_POSITIVE;
    let factor = Cholesky::of(dimension, covariance, ridge)
        .or_else(|| Cholesky::of(dimension, covariance, 1e6 * ridge))?;
    factor.solve(delta).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FastNoise;
    use reticent::noise::Noise;

    #[test]
    fn the_learned_direction_is_that_of_the_likelihood_ratio() {
        let mut noise = FastNoise::seeded(3);
        // Correlated noise: v = (a, a + b/10), means (0, 0) and (0, 0.1): only the difference of the two tells.
        let mut draw = |shift: f64| -> Vec<Vec<f64>> {
            (0..20_000)
                .map(|_| {
                    let (a, b) = (noise.standard_normal(), noise.standard_normal());
                    vec![a, a + 0.1 * b + shift]
                })
                .collect()
        };
        let (first, second) = (draw(0.0), draw(0.1));
        let apart = separation(&first, &second);
        assert!((apart - 1.0).abs() < 0.06, "{apart}");
        for difference in [None, Some(vec![0.0, 0.1])] {
            let learned = Test::Linear { difference }.learn(&first, &second);
            let direction = &learned.directions.as_ref().unwrap()[0];
            assert!((direction[0] / direction[1] + 1.0).abs() < 0.05, "{direction:?}");
        }
    }
}
