//! The sphere environment at a given norm of its arms.
//!
//! OnlineUCB's section 5 has arms of norm 1; the code it takes the baselines from has the same arms at norm `sqrt 2` and
//! theta* shorter by as much. Means are the same; what a given noise hides is not.

use reticent::{bandit::Arms, randomize::Bounds};
use serde::{Deserialize, Serialize};

use super::TableLines;
use crate::{
    Result,
    environment::{Environment, Sphere, SphereParams},
};

/// The `[environment]` table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SphereEnvironment {
    /// Section 5 of paper 0.
    Sphere(World),
    /// A file of people and their classes.
    Table(TableLines),
}

/// What `kind = "sphere"` takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct World {
    /// Features of an arm, the constant one included.
    #[serde(default = "five")]
    pub dimension: usize,
    /// Arms of a decision set.
    #[serde(default = "hundred")]
    pub arms: usize,
    /// A fresh set every round; otherwise one set for the whole trial.
    #[serde(default)]
    pub fresh_arms: bool,
    /// Norm of the arms.
    #[serde(default = "one")]
    pub norm: f64,
}

fn five() -> usize {
    5
}

fn hundred() -> usize {
    100
}

fn one() -> f64 {
    1.0
}

impl World {
    /// The paper's setting.
    pub fn published(fresh_arms: bool) -> Self {
        World { dimension: 5, arms: 100, fresh_arms, norm: 1.0 }
    }

    fn params(&self) -> SphereParams {
        SphereParams { dimension: self.dimension, arms: self.arms, fresh_arms: self.fresh_arms }
    }

    /// Refuses what has no sphere.
    pub fn check(&self) -> Result<()> {
        self.params().check()?;
        self.bounds().check()?;
        Ok(())
    }

    /// What may be known of its people in advance.
    pub fn bounds(&self) -> Bounds {
        Bounds {
            dimension: self.dimension,
            feature_bound: self.norm,
            rewards: (0.0, 1.0),
            intercept: Some(self.norm * 0.5_f64.sqrt()),
            unit_arms: true,
        }
    }

    /// One trial.
    pub fn start(&self, seed: u64) -> Result<Scaled> {
        let mut sphere = self.params().start(seed)?;
        let arms = scaled(sphere.arms(), self.norm)?;
        let renewed = self.fresh_arms && self.norm != 1.0;
        Ok(Scaled { sphere, arms, norm: self.norm, renewed })
    }
}

fn scaled(arms: &Arms, norm: f64) -> Result<Arms> {
    let mut scaled = Arms::zeros(arms.dimension(), arms.count())?;
    for index in 0..arms.count() {
        let arm: Vec<f64> = arms.arm(index).iter().map(|x| norm * x).collect();
        scaled.set(index, &arm)?;
    }
    Ok(scaled)
}

/// A sphere whose arms are longer or shorter.
#[derive(Debug, Clone)]
pub struct Scaled {
    sphere: Sphere,
    arms: Arms,
    norm: f64,
    renewed: bool,
}

impl Environment for Scaled {
    fn arms(&mut self) -> &Arms {
        if self.norm == 1.0 {
            return self.sphere.arms();
        }
        if self.renewed {
            self.arms = scaled(self.sphere.arms(), self.norm).expect("finite arms stay finite");
        }
        &self.arms
    }

    fn means(&self) -> &[f64] {
        self.sphere.means()
    }

    fn best_mean(&self) -> f64 {
        self.sphere.best_mean()
    }

    fn reward(&mut self, arm: usize) -> f64 {
        self.sphere.reward(arm)
    }
}
