//! Learned tests: scores computed from what an adversary sees.
//!
//! For two normals of one covariance `Sigma` whose means differ by `Delta`, the likelihood ratio is a function of `<Sigma^-1 Delta, v>`
//! (Fisher 1936; Neyman and Pearson 1933). Sigma is learned from separate runs, so the adversary need not know how the noise is correlated
//! over time, and noise that differs from its description is attacked as it is. If the adversary knows Delta, because they chose the
//! neighbours, it is given; otherwise it is learned too.
//!
//! The actions of a learner are not a normal vector but a sequence of choices. Two likelihood ratios are learned from counts: one as if
//! choices were independent (naive Bayes), which needs few runs, and one of whole sequences, which captures any dependence if sequences
//! repeat, as those of a learner without noise do.

use std::collections::HashMap;

use reticent::linalg::Cholesky;

/// Rule from a view to scores.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// Every number of the view is a score; the best one is chosen on separate samples.
    Scores,
    /// A direction learned from separate runs; the difference of means may be known.
    Linear {
        /// Delta, the mean of the second data set minus that of the first.
        difference: Option<Vec<f64>>,
    },
    /// Likelihood ratios of choices, learned from counts, and a learned direction in the numbers that follow them in the view.
    Transcript {
        /// The number of choices, which come first in the view as whole numbers.
        choices: usize,
    },
}

/// A test that has been learned.
#[derive(Debug, Clone, PartialEq)]
pub struct Learned {
    /// `None`: the numbers of the view are the scores.
    directions: Option<Vec<Vec<f64>>>,
    transcript: Option<Transcript>,
}

/// Log-likelihood ratios of choices, the second data set's over the first's.
#[derive(Debug, Clone, PartialEq)]
struct Transcript {
    choices: usize,
    /// For each choice at each position.
    places: Vec<HashMap<i64, f64>>,
    /// For whole sequences.
    rows: HashMap<Vec<i64>, f64>,
}

impl Test {
    /// Tells whether the test needs training runs.
    pub fn learns(&self) -> bool {
        *self != Test::Scores
    }

    /// Learns from views of both data sets.
    pub fn learn(&self, first: &[Vec<f64>], second: &[Vec<f64>]) -> Learned {
        let difference = match self {
            Test::Scores => return Learned { directions: None, transcript: None },
            Test::Linear { difference } => difference,
            Test::Transcript { choices } => return Transcript::learn(*choices, first, second),
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
            // If noise is a cap of the sphere, the distance to each of the two means separates the data sets.
            directions.push(found);
            directions.push(two);
            directions.push(one.iter().map(|x| -x).collect());
        }
        if directions.is_empty() {
            directions.push(delta);
        }
        Learned { directions: Some(directions), transcript: None }
    }

    /// The number of training runs on each data set, for a view of `numbers` numbers and a bound from `samples` runs.
    pub fn training(&self, samples: u64, numbers: usize) -> u64 {
        match self {
            Test::Scores => 0,
            Test::Linear { .. } => (samples / 4).max(2000).max(40 * numbers as u64).min(20_000),
            // Counts of choices need few runs; a direction needs more runs than the view has numbers.
            Test::Transcript { choices } => {
                (samples / 4).max(200).max(10 * (numbers - choices.min(&numbers)) as u64).min(5000)
            }
        }
    }
}

impl Transcript {
    fn learn(choices: usize, first: &[Vec<f64>], second: &[Vec<f64>]) -> Learned {
        let numbers = |views: &[Vec<f64>]| -> Vec<Vec<f64>> {
            views.iter().map(|view| view[choices..].to_vec()).collect()
        };
        let rows =
            |views: &[Vec<f64>]| views.iter().map(|v| symbols(v, choices)).collect::<Vec<_>>();
        let (one, two) = (rows(first), rows(second));
        let places = (0..choices)
            .map(|place| ratios(one.iter().map(|row| row[place]), two.iter().map(|row| row[place])))
            .collect();
        let rows = ratios(one.iter().cloned(), two.iter().cloned());
        let has_numbers = first.first().is_some_and(|view| view.len() > choices);
        let directions = has_numbers.then(|| {
            let linear = Test::Linear { difference: None };
            linear.learn(&numbers(first), &numbers(second)).directions.unwrap_or_default()
        });
        Learned { directions, transcript: Some(Transcript { choices, places, rows }) }
    }

    /// The two log-ratios: as if choices were independent, and of the whole sequence; unseen choices count 0.
    fn scores(&self, view: &[f64]) -> [f64; 2] {
        let row = symbols(view, self.choices);
        let places = self.places.iter().zip(&row);
        let independent = places.filter_map(|(ratios, choice)| ratios.get(choice)).sum();
        [independent, self.rows.get(&row).copied().unwrap_or(0.0)]
    }
}

fn symbols(view: &[f64], choices: usize) -> Vec<i64> {
    view[..choices].iter().map(|choice| *choice as i64).collect()
}

/// Log-ratios of counts, half a count added to each.
fn ratios<T: std::hash::Hash + Eq>(
    first: impl Iterator<Item = T>,
    second: impl Iterator<Item = T>,
) -> HashMap<T, f64> {
    let mut counts: HashMap<T, [f64; 2]> = HashMap::new();
    first.for_each(|symbol| counts.entry(symbol).or_insert([0.5; 2])[0] += 1.0);
    second.for_each(|symbol| counts.entry(symbol).or_insert([0.5; 2])[1] += 1.0);
    counts.into_iter().map(|(symbol, [one, two])| (symbol, (two / one).ln())).collect()
}

impl Learned {
    /// The scores of a view.
    pub fn scores(&self, view: Vec<f64>) -> Vec<f64> {
        let along = |directions: &[Vec<f64>], numbers: &[f64]| -> Vec<f64> {
            directions.iter().map(|direction| dot(direction, numbers)).collect()
        };
        match (&self.transcript, &self.directions) {
            (None, None) => view,
            (None, Some(directions)) => along(directions, &view),
            (Some(transcript), directions) => {
                let mut scores = transcript.scores(&view).to_vec();
                let directions = directions.as_deref().unwrap_or_default();
                scores.extend(along(directions, &view[transcript.choices..]));
                scores
            }
        }
    }
}

/// `sqrt(Delta^T Sigma^-1 Delta)`: the distance of two samples of views in Fisher's test.
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

/// `Sigma^-1 Delta`, with a ridge for directions without noise.
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
        // Correlated noise: v = (a, a + b/10), means (0, 0) and (0, 0.1): only the difference of the two separates the data sets.
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

    /// Each choice alone is a fair coin on both data sets; only their combination differs.
    #[test]
    fn whole_sequences_separate_worlds_that_single_choices_do_not() {
        let mut noise = FastNoise::seeded(4);
        let mut draw = |flip: f64| -> Vec<Vec<f64>> {
            (0..1000)
                .map(|_| {
                    let coin = (noise.uniform() < 0.5) as u8 as f64;
                    vec![coin, (coin - flip).abs(), noise.standard_normal()]
                })
                .collect()
        };
        let learned = Test::Transcript { choices: 2 }.learn(&draw(0.0), &draw(1.0));
        for (flip, sign) in [(0.0, -1.0), (1.0, 1.0)] {
            for view in draw(flip) {
                let scores = learned.scores(view);
                assert!(scores[0].abs() < 1.0 && sign * scores[1] > 5.0, "{scores:?}");
            }
        }
    }
}
