//! Arms and parameter on a sphere that makes every mean a probability.
//!
//! ```text
//! theta*, x = (u / sqrt 2, 1 / sqrt 2),   u uniform on the unit sphere of d - 1 dimensions
//! reward    = 1 with probability <x, theta*> = (1 + <u_x, u_theta>) / 2, else 0
//! ```
//!
//! Section 5 of "Improved rate for locally differentially private linear bandits", after Chowdhury and Zhou, "Shuffle
//! Private Linear Contextual Bandits" (2022): d = 5, 100 arms. There arms have norm 1; the code of the latter has the same arms at norm
//! `sqrt 2` and theta* shorter by the same factor. The means are the same, but the effect of a given noise is not. The text does not say
//! whether the arms are drawn once per trial or once per round; both are available here. Only fixed arms show whether a policy explores:
//! fresh arms vary by themselves.

use reticent::{
    Error, Result,
    bandit::Arms,
    noise::Noise,
    randomize::Bounds,
    schema::{Count, Positive},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Environment;
use crate::{FastNoise, papers::constants::Problem};

/// Parameters of [`Sphere`], as an experiment states them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SphereParams {
    /// Features of an arm, d, the constant one included.
    #[serde(default = "five")]
    #[schemars(range(min = 2, max = 1024))]
    pub dimension: usize,
    /// Arms of a decision set, K.
    #[serde(default = "hundred")]
    #[schemars(with = "Count")]
    pub arms: usize,
    /// A fresh set every round; otherwise one set for the whole trial.
    #[serde(default)]
    pub fresh_arms: bool,
    /// Norm of the arms.
    #[serde(default = "crate::lines::unity")]
    #[schemars(with = "Positive")]
    pub norm: f64,
}

fn five() -> usize {
    5
}

fn hundred() -> usize {
    100
}

impl SphereParams {
    /// The paper's setting: d = 5, K = 100, arms drawn once.
    pub fn published() -> Self {
        SphereParams { dimension: 5, arms: 100, fresh_arms: false, norm: 1.0 }
    }

    /// Refuses parameters out of range.
    pub fn check(&self) -> Result<()> {
        let remedy = "expected a whole number above 1: one feature is the constant";
        reticent::refuse_if(self.dimension < 2, "dimension", self.dimension, remedy)?;
        super::check_size(self.dimension, self.arms)?;
        if !self.norm.is_finite() || self.norm <= 0.0 {
            return Err(Error::invalid("norm", self.norm, "expected a finite number above 0"));
        }
        self.bounds().check()
    }

    /// The bounds on people's data that are known in advance.
    pub fn bounds(&self) -> Bounds {
        Bounds {
            feature_bound: self.norm,
            rewards: (0.0, 1.0),
            intercept: Some(self.norm * 0.5_f64.sqrt()),
            unit_arms: true,
            ..Bounds::unit(self.dimension)
        }
    }

    /// S where rewards are centred, for features of norm 1 and rewards in [-1, 1]: theta* is `(w, c)` with `|w| = c = 1/sqrt 2`, centring
    /// removes c, and rewards are divided by 1/2.
    pub const CENTRED_PARAMETER_BOUND: f64 = std::f64::consts::SQRT_2;

    /// The same for learners with a confidence set: rewards in [0, 1] are 1/2-sub-Gaussian, and theta* is shorter by the factor by which
    /// arms are longer.
    pub fn problem(&self) -> Problem {
        Problem {
            parameter_bound: 1.0 / self.norm,
            reward_noise: 0.5,
            ..Problem::unit(self.dimension).within(self.norm, 1.0)
        }
    }

    /// `E x x^T` of an arm drawn uniformly, upper triangle by rows: `1/(2 (d - 1))` on the diagonal, 1/2 for the constant, times the squared
    /// norm.
    pub fn uniform_gram(&self) -> Vec<f64> {
        let d = self.dimension;
        let mut gram = Vec::new();
        for row in 0..d {
            for column in row..d {
                let entry = if row != column {
                    0.0
                } else if row + 1 == d {
                    0.5
                } else {
                    0.5 / (d - 1) as f64
                };
                gram.push(entry * self.norm * self.norm);
            }
        }
        gram
    }

    /// One trial; an error names the parameter to change.
    ///
    /// ```
    /// use reticent_lab::environment::{Environment, SphereParams};
    /// let mut environment = SphereParams::published().start(7)?;
    /// assert_eq!(environment.arms().count(), 100);
    /// assert!(environment.means().iter().all(|mean| (0.0..=1.0).contains(mean)));
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn start(&self, seed: u64) -> Result<Sphere> {
        self.check()?;
        let mut noise = FastNoise::seeded(seed);
        let mut theta = vec![0.0; self.dimension];
        draw(&mut theta, &mut noise);
        let mut sphere = Sphere {
            params: *self,
            arms: Arms::zeros(self.dimension, self.arms)?,
            means: vec![0.0; self.arms],
            best_mean: 0.0,
            arm: vec![0.0; self.dimension],
            theta,
            noise,
        };
        sphere.draw_arms();
        Ok(sphere)
    }
}

/// Overwrites `x` with `(u / sqrt 2, 1 / sqrt 2)`.
fn draw(x: &mut [f64], noise: &mut FastNoise) {
    let (last, direction) = x.split_last_mut().expect("two dimensions or more");
    loop {
        direction.iter_mut().for_each(|u| *u = noise.standard_normal());
        let square = direction.iter().map(|u| u * u).sum::<f64>();
        if square > 1e-200 {
            let scale = (0.5 / square).sqrt();
            direction.iter_mut().for_each(|u| *u *= scale);
            *last = 0.5_f64.sqrt();
            return;
        }
    }
}

/// One trial in the sphere environment.
#[derive(Debug, Clone)]
pub struct Sphere {
    params: SphereParams,
    theta: Vec<f64>,
    noise: FastNoise,
    arms: Arms,
    means: Vec<f64>,
    best_mean: f64,
    /// Scratch space for one arm.
    arm: Vec<f64>,
}

impl Sphere {
    fn draw_arms(&mut self) {
        self.best_mean = 0.0;
        for slot in 0..self.params.arms {
            draw(&mut self.arm, &mut self.noise);
            let product: f64 = self.arm.iter().zip(&self.theta).map(|(x, t)| x * t).sum();
            // Rounding errors may leave the unit interval.
            self.means[slot] = product.clamp(0.0, 1.0);
            self.best_mean = self.best_mean.max(self.means[slot]);
            self.arm.iter_mut().for_each(|x| *x *= self.params.norm);
            self.arms.set(slot, &self.arm).expect("a bounded vector is finite");
        }
    }
}

impl Environment for Sphere {
    fn arms(&mut self) -> &Arms {
        if self.params.fresh_arms {
            self.draw_arms();
        }
        &self.arms
    }

    fn means(&self) -> &[f64] {
        &self.means
    }

    fn best_mean(&self) -> f64 {
        self.best_mean
    }

    fn reward(&mut self, arm: usize) -> f64 {
        f64::from(u8::from(self.noise.uniform() < self.means[arm]))
    }

    fn direction(&self) -> Option<Vec<f64>> {
        let free = &self.theta[..self.params.dimension - 1];
        Some(free.iter().map(|t| t * std::f64::consts::SQRT_2).collect())
    }

    fn face(&mut self, direction: &[f64]) {
        self.theta.iter_mut().zip(direction).for_each(|(t, u)| *t = u * 0.5_f64.sqrt());
        self.best_mean = 0.0;
        for slot in 0..self.params.arms {
            let arm = self.arms.arm(slot);
            let product: f64 = arm.iter().zip(&self.theta).map(|(x, t)| x * t).sum();
            self.means[slot] = (product / self.params.norm).clamp(0.0, 1.0);
            self.best_mean = self.best_mean.max(self.means[slot]);
        }
    }

    fn other_people(&mut self, seed: u64) {
        self.noise = FastNoise::seeded(seed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_are_unit_vectors_whose_means_are_probabilities() {
        for fresh_arms in [false, true] {
            let params = SphereParams { fresh_arms, ..SphereParams::published() };
            let mut environment = params.start(3).unwrap();
            let theta = environment.theta.clone();
            let first = environment.arms().clone();
            for _ in 0..50 {
                let set = environment.arms().clone();
                assert_eq!(set == first, !fresh_arms);
                let mut best = 0.0_f64;
                for (slot, &mean) in environment.means().iter().enumerate() {
                    let x = set.arm(slot);
                    let dot = |y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
                    assert!((dot(&x) - 1.0).abs() < 1e-14 && (x[4] - 0.5_f64.sqrt()).abs() < 1e-15);
                    assert!((dot(&theta) - mean).abs() < 1e-14 && (0.0..=1.0).contains(&mean));
                    best = best.max(mean);
                }
                assert_eq!(best, environment.best_mean());
            }
        }
    }

    #[test]
    fn rewards_have_their_means_and_the_average_arm_has_one_half() {
        let mut environment = SphereParams::published().start(4).unwrap();
        environment.arms();
        let mean = environment.means()[17];
        let hits: f64 = (0..100_000).map(|_| environment.reward(17)).sum();
        // 5.33 standard errors: a false alarm of 1e-7.
        assert!((hits / 1e5 - mean).abs() < 5.33 * (mean * (1.0 - mean) / 1e5).sqrt());
        // E<x, theta*> = 1/2; the mean of a fresh set's 100 arms deviates by 1/(2 sqrt 4) / 10.
        let mut fresh =
            SphereParams { fresh_arms: true, ..SphereParams::published() }.start(5).unwrap();
        let mut sum = 0.0;
        for _ in 0..1000 {
            fresh.arms();
            sum += fresh.means().iter().sum::<f64>() / 100.0;
        }
        assert!((sum / 1000.0 - 0.5).abs() < 5.33 * 0.025 / 1000_f64.sqrt());
    }

    #[test]
    fn bad_parameters_are_named() {
        let good = SphereParams::published();
        for (params, field) in [
            (SphereParams { dimension: 1, ..good }, "dimension: got 1"),
            (SphereParams { arms: 0, ..good }, "arms: got 0"),
        ] {
            assert!(params.start(1).unwrap_err().to_string().starts_with(field));
        }
    }
}
