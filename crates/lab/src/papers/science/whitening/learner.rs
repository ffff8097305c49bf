//! A local learner whose people map their features by a public matrix before they randomise.
//!
//! ```text
//! x' = c M x,   z' = c z,   c = min(1, 1/|M x|);   a person sends `unit_axis` of (x', z')
//! S = E x x^T as far as it is known,   W = S^-1/2, scaled to tr W S W = d,   M = W / (reach sqrt d)
//! ```
//!
//! **Privacy.** (x', z') is a function of one person's data and of M, which is public and made from earlier reports; it lies in the unit ball times [-1, 1] whatever M is. The
//! randomiser's guarantee holds for every such pair, so that its event is that of a report, whoever chose M and why.
//!
//! **No bias.** Where rewards are linear, `E z' x' = E[c^2 M x x^T] theta = E[x' x'^T] M^-1 theta`: shortening features and reward alike weighs a person by c^2, and changes nothing else.
//!
//! **When M changes** sums move to the new coordinates by `R = M' M^-1`. Their noise grows by about `a = tr R R^T / d` in variance, and they are counted 1/a times, as the inverse of a
//! variance: without that, what was sent before whitening drowns the small directions.

use reticent::{
    bandit::{Arms, Policy},
    linalg::{Cholesky, SymmetricEigen},
    randomize::{Bounds, UnitPair},
};

use super::super::click_world::dot;
use crate::{FastNoise, Result, simulate::Player};

/// The ridge in units of the accumulated noise, as the default rule has it.
const RIDGE: f64 = 3.0;
/// Reports before the first whitening, and by how much they grow from one to the next.
const FIRST: u64 = 500;
const GROWTH: u64 = 2;

/// How M is found.
#[derive(Debug, Clone)]
pub(super) enum Map {
    /// Features are divided by sizes that are known, and by reach sqrt d.
    Public {
        sizes: Vec<f64>,
        reach: f64,
    },
    Learnt(Whitening),
}

/// How M is learnt from reports.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Whitening {
    pub(super) reach: f64,
    /// M = I until `tr S^-1` exceeds so many `(reach d)^2`: the noise of an estimate as it is, by that after whitening.
    pub(super) gate: f64,
    /// No eigenvalue of S is taken to be below this share of the largest: directions that are offered and not played look empty.
    pub(super) least: f64,
}

/// How much is explored: both numbers of the default rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Width {
    pub(super) bonus: f64,
    pub(super) width: f64,
}

type Matrix = Vec<Vec<f64>>;

/// M and its inverse; both are symmetric.
#[derive(Debug, Clone)]
struct Coordinates {
    forward: Matrix,
    backward: Matrix,
}

fn diagonal(entries: impl Iterator<Item = f64> + Clone) -> Matrix {
    let dimension = entries.clone().count();
    let row = |(i, entry): (usize, f64)| {
        let mut row = vec![0.0; dimension];
        row[i] = entry;
        row
    };
    entries.enumerate().map(row).collect()
}

fn times(one: &Matrix, two: &Matrix) -> Matrix {
    let entry = |row: &[f64], j: usize| row.iter().zip(two).map(|(a, row)| a * row[j]).sum();
    one.iter().map(|row| (0..two[0].len()).map(|j| entry(row, j)).collect()).collect()
}

fn apply(matrix: &Matrix, x: &[f64]) -> Vec<f64> {
    matrix.iter().map(|row| dot(row, x)).collect()
}

/// `R A R^T` of an upper triangle by rows.
fn congruent(by: &Matrix, upper: &[f64]) -> Vec<f64> {
    let dimension = by.len();
    let place = |i: usize, j: usize| i * dimension - i * i.saturating_sub(1) / 2 + j - i;
    let entry = |i: usize, j: usize| upper[place(i.min(j), i.max(j))];
    let full = (0..dimension).map(|i| (0..dimension).map(|j| entry(i, j)).collect()).collect();
    let product = times(by, &full);
    (0..dimension)
        .flat_map(|i| (i..dimension).map(move |j| (i, j)))
        .map(|(i, j)| dot(&product[i], &by[j]))
        .collect()
}

/// `f(A)` of a symmetric matrix, by its eigenvalues.
fn function(eigen: &SymmetricEigen, f: impl Fn(f64) -> f64) -> Matrix {
    let dimension = eigen.values().len();
    let mut result = vec![vec![0.0; dimension]; dimension];
    for (value, vector) in eigen.values().iter().zip(eigen.vectors()) {
        let value = f(*value);
        for (row, one) in result.iter_mut().zip(vector) {
            row.iter_mut().zip(vector).for_each(|(entry, two)| *entry += value * one * two);
        }
    }
    result
}

/// People and server of one trial.
pub(super) struct Mapped {
    /// The randomiser of what is mapped, and that of features as they are, which may be known to have norm 1.
    padded: UnitPair,
    plain: UnitPair,
    map: Map,
    width: Width,
    bounds: Bounds,
    coordinates: Coordinates,
    is_mapped: bool,
    /// Sums of x' x'^T and x' z', and the variance of the noise on the matrix.
    sums: Vec<f64>,
    variance: f64,
    /// How many reports the sums are worth.
    weight: f64,
    reports: u64,
    next_policy: u64,
    next_map: u64,
    policy: Policy,
    noise: FastNoise,
}

impl Mapped {
    pub(super) fn new(
        bounds: Bounds,
        [padded, plain]: [UnitPair; 2],
        map: Map,
        width: Width,
        seed: u64,
    ) -> Result<Self> {
        let dimension = bounds.dimension;
        let triangle = dimension * (dimension + 1) / 2;
        let coordinates = match &map {
            Map::Public { sizes, reach } => {
                let scale = reach * (dimension as f64).sqrt();
                let forward = diagonal(sizes.iter().map(|size| 1.0 / (size * scale)));
                Coordinates { forward, backward: diagonal(sizes.iter().map(|size| size * scale)) }
            }
            Map::Learnt(_) => {
                let one = diagonal(std::iter::repeat_n(1.0, dimension));
                Coordinates { forward: one.clone(), backward: one }
            }
        };
        let policy = Policy::from_parts(vec![0.0; dimension], vec![0.0; triangle], 0.0, 0.0)?;
        Ok(Mapped {
            padded,
            plain,
            is_mapped: matches!(map, Map::Public { .. }),
            map,
            width,
            bounds,
            coordinates,
            sums: vec![0.0; triangle + dimension],
            variance: 0.0,
            weight: 0.0,
            reports: 0,
            next_policy: 1,
            next_map: FIRST,
            policy,
            noise: FastNoise::seeded(seed),
        })
    }

    fn triangle(&self) -> usize {
        self.sums.len() - self.bounds.dimension
    }

    /// The default rule in the coordinates of x', brought back to those of x.
    fn learn(&mut self) -> Result<()> {
        let (d, triangle) = (self.bounds.dimension, self.triangle());
        let accumulated = RIDGE * self.variance.sqrt();
        let ridge = 1.0 + accumulated;
        let eigen = SymmetricEigen::of(d, &self.sums[..triangle])?;
        let raised = function(&eigen, |value| (value + ridge).max(0.5 * ridge));
        // V of x is M^T V' M: both are symmetric.
        let raised: Vec<f64> = (0..d).flat_map(|i| raised[i][i..].to_vec()).collect();
        let upper = congruent(&self.coordinates.backward, &raised);
        let remedy = "its eigenvalues are not finite numbers";
        let factor = Cholesky::of(d, &upper, 0.0)
            .ok_or_else(|| reticent::Error::invalid("sums", "given", remedy))?;
        let vector = apply(&self.coordinates.backward, &self.sums[triangle..]);
        let theta = factor.solve(&vector)?;
        let width = (self.width.bonus * accumulated.sqrt()).hypot(self.width.width);
        self.policy = Policy::from_parts(theta, factor.inverse_factor(), width, 0.0)?;
        Ok(())
    }

    /// M from what is known now, if features are badly conditioned.
    fn whiten(&mut self, whitening: Whitening) -> Result<()> {
        let (d, triangle) = (self.bounds.dimension, self.triangle());
        let root = (d as f64).sqrt();
        let floor = root * self.variance.sqrt() / self.weight;
        let eigen = SymmetricEigen::of(d, &self.sums[..triangle])?;
        let here = function(&eigen, |value| (value / self.weight).max(0.0) + floor);
        let here: Vec<f64> = (0..d).flat_map(|i| here[i][i..].to_vec()).collect();
        let eigen = SymmetricEigen::of(d, &congruent(&self.coordinates.backward, &here))?;
        let least = (whitening.least * eigen.largest()).max(1e-12);
        let values = || eigen.values().iter().map(|value| value.max(least));
        let noise = values().map(f64::recip).sum::<f64>();
        if noise < whitening.gate * (whitening.reach * d as f64).powi(2) {
            return Ok(());
        }
        let power = |value: f64| value.max(least).sqrt().recip();
        let trace: f64 = values().map(|value| value * power(value).powi(2)).sum();
        let scale = (d as f64 / trace).sqrt() / (whitening.reach * root);
        let forward = function(&eigen, |value| scale * power(value));
        let backward = function(&eigen, |value| 1.0 / (scale * power(value)));
        let change = times(&forward, &self.coordinates.backward);
        let growth = change.iter().map(|row| dot(row, row)).sum::<f64>() / d as f64;
        let counted = (1.0 / growth).min(1.0);
        let mut sums = congruent(&change, &self.sums[..triangle]);
        sums.extend(apply(&change, &self.sums[triangle..]));
        sums.iter_mut().for_each(|sum| *sum *= counted);
        self.sums = sums;
        self.variance *= (growth * counted).powi(2);
        self.weight *= counted;
        self.coordinates = Coordinates { forward, backward };
        self.is_mapped = true;
        Ok(())
    }
}

impl Player for Mapped {
    fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize> {
        if !self.is_mapped {
            return Ok(self.policy.choose(arms, round)?);
        }
        // The bonus of what a report would hold, which is shortened.
        let score = |x: &[f64]| {
            let mean = dot(self.policy.theta(), x);
            let mapped = apply(&self.coordinates.forward, x);
            let shorter = dot(&mapped, &mapped).sqrt().max(1.0).recip();
            mean + shorter * (self.policy.bound(x) - mean)
        };
        let scores: Vec<f64> = (0..arms.count()).map(|arm| score(&arms.arm(arm))).collect();
        let best = scores.iter().enumerate().max_by(|one, two| one.1.total_cmp(two.1));
        Ok(best.map_or(0, |(arm, _)| arm))
    }

    fn observe(&mut self, _: u64, features: &[f64], reward: f64) -> Result<()> {
        let interaction = match self.is_mapped {
            false => self.bounds.clip(features, reward)?,
            true => {
                let mut x = apply(&self.coordinates.forward, features);
                let shorter = dot(&x, &x).sqrt().max(1.0).recip();
                x.iter_mut().for_each(|x| *x *= shorter);
                let bounds = Bounds { unit_arms: false, intercept: None, ..self.bounds };
                bounds.clip(&x, shorter * reward)?
            }
        };
        let pair = if self.is_mapped { &self.padded } else { &self.plain };
        let report = pair.randomize(&interaction, &mut self.noise)?;
        let estimate = pair.estimate(&report, pair.correlation())?;
        self.sums.iter_mut().zip(&estimate).for_each(|(sum, entry)| *sum += entry);
        self.variance += pair.precision().matrix.powi(2);
        self.weight += 1.0;
        self.reports += 1;
        if self.reports >= self.next_map {
            self.next_map = self.reports * GROWTH;
            if let Map::Learnt(whitening) = self.map {
                self.whiten(whitening)?;
                self.next_policy = self.reports;
            }
        }
        if self.reports >= self.next_policy {
            self.next_policy = match self.reports {
                ..200 => self.reports + 1,
                reports => reports + (reports / 50).max(20),
            };
            self.learn()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use reticent::noise::Noise;

    use super::*;

    /// Next to no noise: theta is found in the coordinates of x, whatever M is and although long vectors are shortened.
    #[test]
    fn the_parameter_is_found_through_every_map() {
        let whitening = Whitening { reach: 1.0, gate: 1.0, least: 0.0 };
        let never = Whitening { gate: f64::INFINITY, ..whitening };
        let maps = [
            Map::Learnt(never),
            Map::Public { sizes: vec![0.5, 0.02], reach: 1.0 },
            Map::Learnt(whitening),
        ];
        for map in maps {
            let bounds = Bounds::unit(2);
            let pair = || UnitPair::of_axis(&bounds, 60.0).unwrap();
            let mut learner = Mapped::new(
                bounds,
                [pair(), pair()],
                map.clone(),
                Width { bonus: 0.0, width: 2.5 },
                5,
            )
            .unwrap();
            let mut people = FastNoise::seeded(6);
            for round in 1..=60_000 {
                let x =
                    [0.9 * (2.0 * people.uniform() - 1.0), 0.03 * (2.0 * people.uniform() - 1.0)];
                let z = 0.6 * x[0] - 10.0 * x[1];
                let reward = if people.uniform() < 0.5 * (1.0 + z) { 1.0 } else { -1.0 };
                learner.observe(round, &x, reward).unwrap();
            }
            let theta = learner.policy.theta();
            assert!((theta[0] - 0.6).abs() < 0.05, "{map:?} {theta:?}");
            assert!((theta[1] + 10.0).abs() < 1.5, "{map:?} {theta:?}");
        }
    }
}
