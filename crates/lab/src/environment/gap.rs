//! Gap instances: one optimal arm, all others behind it by at least a gap.
//!
//! ```text
//! theta*   uniform on the unit sphere
//! optimal  uniform on { |x| = 1, <x, theta*> = 0.75 }, at a random slot
//! others   uniform on { |x| = 1, <x, theta*> in [-0.75, 0.75 - gap] }, independent
//! ```
//!
//! Shariff and Sheffet (2018), Appendix D; a fresh set every round. The slot is random because unit arms tie before anything is learned: a
//! policy that takes the first of tied arms would always find an optimal arm in slot 0.

use reticent::{Result, bandit::Arms, noise::Noise, randomize::Bounds, schema::Count};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Environment, Frame, Rewards, Slice};
use crate::{FastNoise, papers::constants::Problem};

/// `<x, theta*>` of the optimal arm, and minus that of the worst possible one.
pub(crate) const BEST: f64 = 0.75;

/// Parameters of [`Gap`], as an experiment states them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GapParams {
    /// Features of an arm, d.
    #[schemars(range(min = 2, max = 1024))]
    pub dimension: usize,
    /// Arms of a decision set, K.
    #[schemars(with = "Count")]
    pub arms: usize,
    /// The least distance of the other arms' `<x, theta*>` from the optimal one's 0.75.
    #[serde(default)]
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1.5))]
    pub gap: f64,
    /// A fresh set every round, as in the paper; otherwise one set for the whole trial.
    #[serde(default = "yes")]
    pub fresh_arms: bool,
    /// The law of rewards.
    #[serde(default)]
    pub rewards: Rewards,
}

fn yes() -> bool {
    true
}

impl GapParams {
    /// The paper's left figure: no gap, fresh arms, sign rewards.
    pub fn new(dimension: usize, arms: usize) -> Self {
        GapParams { dimension, arms, gap: 0.0, fresh_arms: true, rewards: Rewards::Sign }
    }

    /// The checked plan; an error names the parameter to change.
    pub fn check(&self) -> Result<GapPlan> {
        let remedy = "expected a whole number above 1: in one dimension no direction is orthogonal to theta*";
        reticent::refuse_if(self.dimension < 2, "dimension", self.dimension, remedy)?;
        super::check_size(self.dimension, self.arms)?;
        let remedy =
            "expected a number from 0 up to, not including, 1.5: means lie in [-0.75, 0.75]";
        reticent::refuse_if(!(0.0..2.0 * BEST).contains(&self.gap), "gap", self.gap, remedy)?;
        let others = Slice::new(self.dimension, -BEST, BEST - self.gap);
        Ok(GapPlan { params: *self, others })
    }

    /// The environment of one trial; an error names the parameter to change.
    ///
    /// ```
    /// use reticent_lab::environment::GapParams;
    /// let gap = GapParams { gap: 0.1, ..GapParams::new(5, 25) };
    /// assert_eq!(gap.environment(7)?.arms().count(), 25);
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn environment(&self, seed: u64) -> Result<Box<dyn Environment>> {
        let plan = self.check()?;
        Ok(Box::new(if self.fresh_arms { plan.fresh(seed) } else { plan.fixed(seed) }))
    }

    /// Knowledge in advance of a learner that plays this number of rounds.
    pub fn problem(&self, rounds: u64) -> Problem {
        let problem = Problem::unit(self.dimension);
        match self.rewards {
            // A mean in [-1, 1] plus standard noise leaves this with probability 1/n in all n rounds together.
            Rewards::Gaussian => {
                problem.within(1.0, 1.0 + (4.0 * (rounds.max(2) as f64).ln()).sqrt())
            }
            Rewards::Sign | Rewards::Bernoulli => problem,
        }
    }

    /// The bounds that people's data are clipped to: unit arms, no constant feature.
    pub fn bounds(&self, rounds: u64) -> Bounds {
        let bound = self.problem(rounds).reward_bound();
        let rewards = if self.rewards == Rewards::Bernoulli { (0.0, 1.0) } else { (-bound, bound) };
        Bounds { rewards, unit_arms: true, ..Bounds::unit(self.dimension) }
    }
}

/// Checked parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GapPlan {
    params: GapParams,
    others: Slice,
}

impl GapPlan {
    /// The parameters.
    pub fn params(&self) -> &GapParams {
        &self.params
    }

    /// The slice of the sphere that holds the suboptimal arms.
    pub(crate) fn others(&self) -> Slice {
        self.others
    }

    /// A trial with a fresh decision set every round.
    pub fn fresh(&self, seed: u64) -> Gap {
        let mut noise = FastNoise::seeded(seed);
        let mut theta = vec![0.0; self.params.dimension];
        direction(&mut theta, 1.0, &mut noise);
        let arms = Arms::zeros(self.params.dimension, self.params.arms);
        Gap {
            plan: *self,
            frame: Frame::new(&theta),
            theta,
            noise,
            arms: arms.expect("the plan has dimensions and arms"),
            products: vec![0.0; self.params.arms],
            means: vec![0.0; self.params.arms],
            best_mean: self.params.rewards.mean(BEST),
            fixed: false,
        }
    }

    /// A trial whose decision set is drawn once and kept. With fresh sets every direction is played sooner or later under any policy,
    /// because the arms vary. Here a policy that does not explore has linear regret.
    pub fn fixed(&self, seed: u64) -> Gap {
        let mut gap = self.fresh(seed);
        gap.arms();
        gap.fixed = true;
        gap
    }
}

/// Overwrites `x` with a uniform direction of this length.
fn direction(x: &mut [f64], length: f64, noise: &mut impl Noise) {
    loop {
        x.iter_mut().for_each(|x| *x = noise.standard_normal());
        let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        if norm > 1e-100 {
            return x.iter_mut().for_each(|x| *x *= length / norm);
        }
    }
}

/// The contextual environment of the paper: a fresh decision set every round, or one for the whole trial.
#[derive(Debug, Clone)]
pub struct Gap {
    plan: GapPlan,
    theta: Vec<f64>,
    frame: Frame,
    noise: FastNoise,
    arms: Arms,
    /// `<x, theta*>` of this round's arms.
    products: Vec<f64>,
    means: Vec<f64>,
    best_mean: f64,
    fixed: bool,
}

impl Gap {
    /// The parameter to be learned, theta*.
    pub fn theta(&self) -> &[f64] {
        &self.theta
    }

    pub(crate) fn plan(&self) -> &GapPlan {
        &self.plan
    }

    pub(crate) fn frame(&self) -> &Frame {
        &self.frame
    }

    pub(crate) fn noise(&mut self) -> &mut FastNoise {
        &mut self.noise
    }

    /// The arms that [`Environment::arms`] drew last.
    pub(crate) fn current(&self) -> &Arms {
        &self.arms
    }

    /// `<x, theta*>` of those arms.
    pub(crate) fn products(&self) -> &[f64] {
        &self.products
    }
}

impl Environment for Gap {
    fn arms(&mut self) -> &Arms {
        if self.fixed {
            return &self.arms;
        }
        let GapParams { dimension, arms, rewards, .. } = self.plan.params;
        let optimal = self.noise.below(arms as u64) as usize;
        let mut x = vec![0.0; dimension];
        for slot in 0..arms {
            let product =
                if slot == optimal { BEST } else { self.plan.others.draw(&mut self.noise) };
            x[0] = product;
            let length = ((1.0 - product) * (1.0 + product)).sqrt();
            direction(&mut x[1..], length, &mut self.noise);
            self.frame.turn(&mut x);
            self.arms.set(slot, &x).expect("a turned unit vector is finite");
            self.products[slot] = product;
            self.means[slot] = rewards.mean(product);
        }
        self.best_mean = rewards.mean(BEST);
        &self.arms
    }

    fn means(&self) -> &[f64] {
        &self.means
    }

    fn best_mean(&self) -> f64 {
        self.best_mean
    }

    fn reward(&mut self, arm: usize) -> f64 {
        self.plan.params.rewards.draw(self.products[arm], &mut self.noise)
    }

    fn direction(&self) -> Option<Vec<f64>> {
        Some(self.theta.clone())
    }

    /// The current arms stay; those of the next set are drawn around the new theta*.
    fn face(&mut self, direction: &[f64]) {
        self.theta.copy_from_slice(direction);
        self.frame = Frame::new(direction);
        for slot in 0..self.arms.count() {
            let arm = self.arms.arm(slot);
            let product: f64 = arm.iter().zip(direction).map(|(x, t)| x * t).sum();
            self.products[slot] = product.clamp(-1.0, 1.0);
            self.means[slot] = self.plan.params.rewards.mean(self.products[slot]);
        }
        self.best_mean = self.means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    }

    fn other_people(&mut self, seed: u64) {
        self.noise = FastNoise::seeded(seed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_set_never_changes() {
        let mut environment = GapParams::new(3, 4).check().unwrap().fixed(5);
        let first = environment.arms().clone();
        for _ in 0..10 {
            environment.reward(2);
            assert_eq!(environment.arms(), &first);
        }
        let best = environment.means().iter().copied().fold(f64::MIN, f64::max);
        assert_eq!(best, environment.best_mean());
        // Another trial has another set.
        assert_ne!(GapParams::new(3, 4).check().unwrap().fixed(6).arms(), &first);
    }

    #[test]
    fn every_set_has_one_optimal_unit_arm_and_respects_the_gap() {
        for (dimension, arms, gap) in [(2, 1, 0.0), (2, 3, 1.49), (5, 25, 0.1), (40, 7, 0.5)] {
            let params = GapParams { gap, ..GapParams::new(dimension, arms) };
            let mut environment = params.check().unwrap().fresh(3);
            let theta = environment.theta().to_vec();
            let mut slots = vec![0; arms];
            for _ in 0..200 {
                let set = environment.arms().clone();
                let best = environment.best_mean();
                for (slot, &mean) in environment.means().iter().enumerate() {
                    let x = set.arm(slot);
                    let dot = |y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
                    assert!((dot(&x) - 1.0).abs() < 1e-13 && (dot(&theta) - mean).abs() < 1e-13);
                    if mean == best {
                        slots[slot] += 1;
                    } else {
                        assert!((-0.75..=0.75 - gap).contains(&mean));
                    }
                }
                assert!([1.0, -1.0].contains(&environment.reward(0)));
            }
            assert_eq!(slots.iter().sum::<i32>(), 200);
            // A slot is left out with probability 25 (24/25)^200 < 0.01 at most; the seed is fixed.
            assert!(slots.iter().all(|&count| count > 0), "{slots:?}");
        }
    }

    #[test]
    fn bad_parameters_are_named() {
        let good = GapParams::new(5, 25);
        for (params, field) in [
            (GapParams { dimension: 1, ..good }, "dimension: got 1"),
            (GapParams { arms: 0, ..good }, "arms: got 0"),
            (GapParams { gap: 1.5, ..good }, "gap: got 1.5"),
            (GapParams { gap: -0.1, ..good }, "gap: got -0.1"),
            (GapParams { gap: f64::NAN, ..good }, "gap: got NaN"),
        ] {
            let message = params.check().unwrap_err().to_string();
            assert!(message.starts_with(field), "{message}");
        }
    }
}
