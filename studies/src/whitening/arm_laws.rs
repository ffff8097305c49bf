//! Environments with well and badly conditioned features: fresh arms in every round, rewards -1 and 1 with a mean z that is linear in the features, and one real table.
//!
//! | environment | an arm's features |
//! | --- | --- |
//! | isotropic | a direction of the sphere |
//! | units | coordinates of sizes from 1 to .01 that matter alike, as lengths in metres and in kilometres do |
//! | decaying | the same, and what is small matters little |
//! | common | much in common, along no axis, and a small part by which arms differ |
//! | rare | one category; the j-th has a share of 2^-j |
//! | crosses | a few numbers and all their products of two |
//! | table | ten measurements of 442 people with diabetes (Efron, Hastie, Johnstone and Tibshirani 2004), brought into [-1, 1] by declared ranges; the reward is how far the disease has progressed a year later |

use reticent::{
    bandit::Arms,
    noise::{Noise, uniform_direction},
    randomize::Bounds,
};

use super::super::click_environment::dot;
use reticent_lab::{
    FastNoise, Result, algorithm::bandit::BanditEnvironment, environment::Environment,
};

/// Arms of a decision set.
pub(super) const ARMS: usize = 10;
/// The smallest coordinate where they have sizes.
const SMALLEST: f64 = 0.01;
const TABLE: &str = include_str!("../../../crates/lab/data/diabetes.csv");

/// Law of the arms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArmLaw {
    Isotropic,
    Units,
    Decaying,
    Common,
    Rare,
    Crosses,
    Table,
}

impl ArmLaw {
    pub(super) const ALL: [ArmLaw; 7] = [
        ArmLaw::Isotropic,
        ArmLaw::Units,
        ArmLaw::Decaying,
        ArmLaw::Common,
        ArmLaw::Rare,
        ArmLaw::Crosses,
        ArmLaw::Table,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            ArmLaw::Isotropic => "isotropic",
            ArmLaw::Units => "units",
            ArmLaw::Decaying => "decaying",
            ArmLaw::Common => "common",
            ArmLaw::Rare => "rare",
            ArmLaw::Crosses => "crosses",
            ArmLaw::Table => "table",
        }
    }

    /// BanditEnvironment of algorithms: the present default knows the table's constant and that arms of the sphere are of norm 1.
    pub(super) fn environment(self, dimension: usize, rounds: u64) -> Result<BanditEnvironment> {
        let constant = 1.0 / (dimension as f64).sqrt();
        let bounds = Bounds {
            unit_arms: matches!(self, ArmLaw::Isotropic | ArmLaw::Rare),
            intercept: (self == ArmLaw::Table).then_some(constant),
            ..Bounds::unit(dimension)
        };
        BanditEnvironment::of(bounds, ARMS, rounds, move |seed| {
            Ok(Box::new(Place::new(self, dimension, seed)?))
        })
    }

    /// The root mean square of every feature over arms that are offered: what public statistics tell.
    pub(super) fn sizes(self, dimension: usize) -> Result<Vec<f64>> {
        const SAMPLE: usize = 20_000;
        let mut place = Place::new(self, dimension, 77)?;
        let mut squares = vec![0.0; dimension];
        let mut x = vec![0.0; dimension];
        for _ in 0..SAMPLE {
            place.draw(&mut x);
            squares.iter_mut().zip(&x).for_each(|(sum, x)| *sum += x * x);
        }
        Ok(squares.iter().map(|sum| (sum / SAMPLE as f64).sqrt().max(1e-6)).collect())
    }
}

/// One trial.
struct Place {
    law: ArmLaw,
    /// Sizes of coordinates.
    sizes: Vec<f64>,
    /// Weights of coordinates, before their size.
    worth: Vec<f64>,
    /// The direction that is common.
    common: Vec<f64>,
    /// Rows of the table: features and z.
    rows: Vec<(Vec<f64>, f64)>,
    arms: Arms,
    means: Vec<f64>,
    noise: FastNoise,
}

/// Takes off what lies along a unit vector, and brings the rest to norm 1.
fn across(x: &mut [f64], along: &[f64]) {
    let product = dot(x, along);
    x.iter_mut().zip(along).for_each(|(x, along)| *x -= product * along);
    let norm = dot(x, x).sqrt().max(1e-100);
    x.iter_mut().for_each(|x| *x /= norm);
}

impl Place {
    fn new(law: ArmLaw, dimension: usize, seed: u64) -> Result<Self> {
        let mut noise = FastNoise::seeded(seed);
        let last = (dimension.max(2) - 1) as f64;
        let sizes = (0..dimension).map(|i| SMALLEST.powf(i as f64 / last)).collect();
        let common = uniform_direction(dimension, &mut noise);
        let mut worth = uniform_direction(dimension, &mut noise);
        match law {
            ArmLaw::Common => across(&mut worth, &common),
            ArmLaw::Rare => worth.iter_mut().for_each(|w| *w = 2.0 * noise.uniform() - 1.0),
            _ => {}
        }
        let rows = if law == ArmLaw::Table { rows(dimension) } else { Vec::new() };
        let arms = Arms::zeros(dimension, ARMS)?;
        let means = vec![0.0; ARMS];
        Ok(Place { law, sizes, worth, common, rows, arms, means, noise })
    }

    /// Features of an arm, and z.
    fn draw(&mut self, x: &mut [f64]) -> f64 {
        let root = (x.len() as f64).sqrt();
        match self.law {
            ArmLaw::Isotropic => {
                x.copy_from_slice(&uniform_direction(x.len(), &mut self.noise));
                dot(x, &self.worth)
            }
            ArmLaw::Units | ArmLaw::Decaying => {
                let decays = self.law == ArmLaw::Decaying;
                let (mut z, mut most) = (0.0, 0.0);
                for ((x, size), worth) in x.iter_mut().zip(&self.sizes).zip(&self.worth) {
                    let value = 2.0 * self.noise.uniform() - 1.0;
                    let worth = if decays { worth * size } else { *worth };
                    z += worth * value;
                    most += worth.abs();
                    *x = size * value / root;
                }
                z / most
            }
            ArmLaw::Common => {
                x.copy_from_slice(&uniform_direction(x.len(), &mut self.noise));
                across(x, &self.common);
                let z = dot(x, &self.worth);
                let share = 0.85 * (1.0 - 0.2 * self.noise.uniform());
                x.iter_mut().zip(&self.common).for_each(|(x, q)| *x = 0.5 * *x + share * q);
                z
            }
            ArmLaw::Rare => {
                let draw = self.noise.uniform().max(f64::MIN_POSITIVE);
                let category = ((-draw.log2()) as usize).min(x.len() - 1);
                x.fill(0.0);
                x[category] = 1.0;
                self.worth[category]
            }
            ArmLaw::Crosses => {
                let mut base = Vec::new();
                while base.len() + base.len() * (base.len() + 1) / 2 < x.len() {
                    base.push(2.0 * self.noise.uniform() - 1.0);
                }
                let products = base.iter().enumerate();
                let products = products.flat_map(|(i, a)| base[i..].iter().map(move |b| a * b));
                let all: Vec<f64> = base.iter().copied().chain(products).collect();
                x.iter_mut().zip(&all).for_each(|(x, value)| *x = value / root);
                let most: f64 = self.worth.iter().map(|worth| worth.abs()).sum();
                dot(x, &self.worth) * root / most
            }
            ArmLaw::Table => {
                let (features, z) = &self.rows[self.noise.below(self.rows.len() as u64) as usize];
                x.copy_from_slice(features);
                *z
            }
        }
    }
}

/// Columns brought into [-1, 1] by ranges that are natural to declare, products with the body-mass index where there is room, a constant.
fn rows(dimension: usize) -> Vec<(Vec<f64>, f64)> {
    const RANGES: [(f64, f64); 10] = [
        (18.0, 100.0),
        (1.0, 2.0),
        (15.0, 45.0),
        (50.0, 150.0),
        (50.0, 350.0),
        (20.0, 300.0),
        (10.0, 120.0),
        (1.0, 12.0),
        (2.0, 8.0),
        (40.0, 200.0),
    ];
    const MASS: usize = 2;
    let most = 350.0;
    let parse = |line: &str| {
        let values: Vec<f64> = line.split(',').map(|v| v.parse().expect("a number")).collect();
        let (target, columns) = values.split_last().expect("eleven columns");
        let base: Vec<f64> = columns
            .iter()
            .zip(RANGES)
            .map(|(value, (low, high))| 2.0 * (value - low) / (high - low) - 1.0)
            .collect();
        let crosses = (0..base.len()).map(|i| base[i] * base[MASS]);
        let mut x: Vec<f64> = base.iter().copied().chain(crosses).take(dimension - 1).collect();
        x.push(1.0);
        let root = (dimension as f64).sqrt();
        x.iter_mut().for_each(|x| *x /= root);
        (x, 2.0 * target / most - 1.0)
    };
    TABLE.lines().skip(1).map(parse).collect()
}

impl Environment for Place {
    fn arms(&mut self) -> &Arms {
        let mut x = vec![0.0; self.sizes.len()];
        for arm in 0..ARMS {
            self.means[arm] = self.draw(&mut x);
            self.arms.set(arm, &x).expect("finite");
        }
        &self.arms
    }

    fn means(&self) -> &[f64] {
        &self.means
    }

    fn reward(&mut self, arm: usize) -> f64 {
        if self.noise.uniform() < 0.5 * (1.0 + self.means[arm]) { 1.0 } else { -1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_in_the_unit_ball_and_means_between_the_rewards() {
        for law in ArmLaw::ALL {
            for dimension in [5, 20] {
                let mut place = Place::new(law, dimension, 3).unwrap();
                let mut spread = 0.0;
                for _ in 0..300 {
                    let arms = place.arms().clone();
                    for arm in 0..ARMS {
                        let x = arms.arm(arm);
                        assert!(dot(&x, &x) < 1.0 + 1e-9, "{law:?} {dimension}");
                    }
                    let means = place.means();
                    assert!(means.iter().all(|mean| mean.abs() < 1.0 + 1e-9), "{means:?}");
                    spread += place.best_mean() - means[0];
                }
                assert!(spread / 300.0 > 0.05, "{law:?} {dimension}: {spread}");
            }
        }
    }
}
