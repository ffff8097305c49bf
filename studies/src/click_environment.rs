//! People who click or do not: fresh arms in every round, `P(click) = 1 / (1 + exp(-b - <u, theta>))`.
//!
//! The intercept b is such that a random arm is clicked at the given rate. With `Sphere` features every direction is alike, and a linear fit finds the
//! right direction whatever the link is (Brillinger 1982). With `Categories`, four properties that an arm has or has not, effects multiply the odds
//! while a linear model adds them up, so that it ranks combinations wrongly however many people it sees.

use reticent::{bandit::Arms, noise::Noise, randomize::Bounds};

use reticent_lab::{
    FastNoise, Result, algorithm::bandit::BanditEnvironment, environment::Environment,
};

/// Features of an arm, the constant one included.
pub(super) const DIMENSION: usize = 5;
const ARMS: usize = 10;
/// Number of arms that the intercept is fitted on.
const SAMPLE: usize = 2000;
/// The last feature, the same for all arms.
const CONSTANT: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// Law of the arms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Features {
    /// A direction of the sphere; its effect on the log-odds is at most 3.
    Sphere,
    /// Four properties, each with probability .3; each changes the log-odds by 1 to 2.5, up or down.
    Categories,
}

impl Features {
    pub(super) fn name(self) -> &'static str {
        match self {
            Features::Sphere => "sphere",
            Features::Categories => "categories",
        }
    }

    pub(super) fn bounds(self) -> Bounds {
        Bounds {
            rewards: (0.0, 1.0),
            intercept: Some(CONSTANT),
            unit_arms: self == Features::Sphere,
            ..Bounds::unit(DIMENSION)
        }
    }

    fn draw(self, x: &mut [f64; DIMENSION], noise: &mut FastNoise) {
        x[DIMENSION - 1] = CONSTANT;
        let free = &mut x[..DIMENSION - 1];
        match self {
            Features::Sphere => {
                free.iter_mut().for_each(|u| *u = noise.standard_normal());
                let norm = free.iter().map(|u| u * u).sum::<f64>().sqrt().max(1e-100);
                free.iter_mut().for_each(|u| *u *= CONSTANT / norm);
            }
            Features::Categories => {
                let present = CONSTANT / (free.len() as f64).sqrt();
                let draw = |u: &mut f64| *u = if noise.uniform() < 0.3 { present } else { 0.0 };
                free.iter_mut().for_each(draw);
            }
        }
    }

    /// Effects of the features on the log-odds, without the intercept.
    fn effects(self, noise: &mut FastNoise) -> [f64; DIMENSION] {
        let mut theta = [0.0; DIMENSION];
        match self {
            Features::Sphere => {
                Features::Sphere.draw(&mut theta, noise);
                theta.iter_mut().for_each(|t| *t *= 3.0 / (CONSTANT * CONSTANT));
            }
            Features::Categories => {
                let present = CONSTANT / ((DIMENSION - 1) as f64).sqrt();
                for (index, effect) in theta.iter_mut().enumerate() {
                    let size = (1.0 + 1.5 * noise.uniform()) / present;
                    *effect = if index % 2 == 0 { size } else { -size };
                }
            }
        }
        theta[DIMENSION - 1] = 0.0;
        theta
    }
}

pub(super) fn sigmoid(logit: f64) -> f64 {
    1.0 / (1.0 + (-logit).exp())
}

pub(super) fn dot(one: &[f64], two: &[f64]) -> f64 {
    one.iter().zip(two).map(|(a, b)| a * b).sum()
}

/// BanditEnvironment of people who click.
pub(super) fn environment(features: Features, rate: f64, rounds: u64) -> Result<BanditEnvironment> {
    BanditEnvironment::of(features.bounds(), ARMS, rounds, move |seed| {
        Ok(Box::new(ClickEnvironment::new(features, rate, seed)?))
    })
}

/// One trial.
struct ClickEnvironment {
    features: Features,
    theta: [f64; DIMENSION],
    arms: Arms,
    means: [f64; ARMS],
    noise: FastNoise,
}

impl ClickEnvironment {
    fn new(features: Features, rate: f64, seed: u64) -> Result<Self> {
        let mut noise = FastNoise::seeded(seed);
        let mut theta = features.effects(&mut noise);
        let logits: Vec<f64> = (0..SAMPLE)
            .map(|_| {
                let mut x = [0.0; DIMENSION];
                features.draw(&mut x, &mut noise);
                dot(&x, &theta)
            })
            .collect();
        let (mut low, mut high) = (-30.0, 30.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            let mean: f64 =
                logits.iter().map(|logit| sigmoid(logit + middle)).sum::<f64>() / SAMPLE as f64;
            if mean < rate { low = middle } else { high = middle }
        }
        theta[DIMENSION - 1] = low / CONSTANT;
        let arms = Arms::zeros(DIMENSION, ARMS)?;
        Ok(ClickEnvironment { features, theta, arms, means: [0.0; ARMS], noise })
    }
}

impl Environment for ClickEnvironment {
    fn arms(&mut self) -> &Arms {
        let mut x = [0.0; DIMENSION];
        for arm in 0..ARMS {
            self.features.draw(&mut x, &mut self.noise);
            self.means[arm] = sigmoid(dot(&x, &self.theta));
            self.arms.set(arm, &x).expect("finite");
        }
        &self.arms
    }

    fn means(&self) -> &[f64] {
        &self.means
    }

    fn reward(&mut self, arm: usize) -> f64 {
        f64::from(u8::from(self.noise.uniform() < self.means[arm]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_arms_are_clicked_at_the_given_rate() {
        for features in [Features::Sphere, Features::Categories] {
            for rate in [0.5, 0.05, 0.005] {
                let mut mean = 0.0;
                let environments = 20;
                for seed in 0..environments {
                    let mut environment = ClickEnvironment::new(features, rate, seed).unwrap();
                    for _ in 0..200 {
                        let arms = environment.arms();
                        let norms = (0..ARMS).map(|arm| dot(&arms.arm(arm), &arms.arm(arm)));
                        assert!(norms.fold(0.0, f64::max) < 1.0 + 1e-12);
                        mean += environment.means().iter().sum::<f64>() / ARMS as f64 / 200.0;
                    }
                }
                let mean = mean / environments as f64;
                assert!((mean / rate - 1.0).abs() < 0.1, "{features:?} {rate}: {mean}");
            }
        }
    }
}
