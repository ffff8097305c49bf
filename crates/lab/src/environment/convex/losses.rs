//! `kind = "losses"`: where losses come from.
//!
//! - `distance`: `f_t(x) = |x - x*|` for a point x* of the trial, `depth` of the way from the centre to a vertex drawn by the
//!   trial's seed. The loss of the design notes' table, with `depth = 0.8`.
//! - `linear`: every coordinate has a mean cost in [0, 1] of the trial; in every round it costs 1 with that probability, else
//!   0, and the loss is what the point costs in all, over the most it could. For sets in the nonnegative orthant.

use reticent::{
    Result,
    convex::{AnySet, LinearOracle},
    noise::Noise,
    schema::PositiveShare,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sets::SetToml;
use crate::{FastNoise, play::trial::mix};

/// The `[environment]` table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum LossEnvironment {
    /// A set with losses on it.
    Losses(LossToml),
}

/// Keys of `kind = "losses"`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LossToml {
    /// The set that is played on.
    pub set: SetToml,
    /// Kind of losses.
    #[serde(default)]
    pub loss: LossKind,
    /// For `distance`: how far out x* lies, 0 at the centre, 1 at a vertex.
    #[serde(default = "default_depth")]
    #[schemars(with = "PositiveShare")]
    pub depth: f64,
}

fn default_depth() -> f64 {
    0.8
}

/// Losses by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossKind {
    /// Euclidean distance from a point.
    #[default]
    Distance,
    /// Random costs of the coordinates.
    Linear,
}

impl LossToml {
    /// The distance losses of the design notes on a set.
    pub fn distance(set: SetToml) -> Self {
        LossToml { set, loss: LossKind::Distance, depth: default_depth() }
    }

    /// Refuses lines that are wrong.
    pub fn check(&self) -> Result<()> {
        let remedy = "expected a number above 0, at most 1";
        reticent::refuse_if(!(self.depth > 0.0 && self.depth <= 1.0), "depth", self.depth, remedy)?;
        self.scale(&self.set.build()?).map(drop)
    }

    /// Divisor of a linear loss: the most that costs of 1 can come to.
    fn scale(&self, set: &AnySet) -> Result<f64> {
        if self.loss == LossKind::Distance {
            return Ok(1.0);
        }
        let n = set.shape().dimension();
        let mut vertex = vec![0.0; n];
        for axis in 0..n {
            let mut direction = vec![0.0; n];
            direction[axis] = 1.0;
            set.oracle().minimize(&direction, &mut vertex);
            let remedy = "linear losses are for sets without negative coordinates: use distance";
            reticent::refuse_if(vertex[axis] < -1e-9, "loss", "linear", remedy)?;
        }
        set.oracle().minimize(&vec![-1.0; n], &mut vertex);
        Ok(vertex.iter().sum())
    }

    /// L of the losses.
    pub fn lipschitz(&self, set: &AnySet) -> Result<f64> {
        match self.loss {
            LossKind::Distance => Ok(1.0),
            LossKind::Linear => Ok((set.shape().dimension() as f64).sqrt() / self.scale(set)?),
        }
    }

    /// The range of their values on the set, where it is not `[0, L D]`.
    pub fn values(&self) -> Option<(f64, f64)> {
        match self.loss {
            LossKind::Distance => None,
            LossKind::Linear => Some((0.0, 1.0)),
        }
    }

    /// The losses of one trial.
    pub fn losses(&self, seed: u64) -> Result<TrialLosses> {
        let set = self.set.build()?;
        let n = set.shape().dimension();
        let mut noise = FastNoise::seeded(mix(seed, 0x6c6f_7373));
        let mut best = vec![0.0; n];
        let law = match self.loss {
            LossKind::Distance => {
                let direction: Vec<f64> = (0..n).map(|_| noise.standard_normal()).collect();
                set.oracle().minimize(&direction, &mut best);
                let centre = set.shape().centre();
                best.iter_mut().zip(centre).for_each(|(x, c)| *x = c + self.depth * (*x - c));
                Law::Distance
            }
            LossKind::Linear => {
                let means: Vec<f64> = (0..n).map(|_| noise.uniform()).collect();
                set.oracle().minimize(&means, &mut best);
                Law::Linear { means, scale: self.scale(&set)? }
            }
        };
        let mut losses = TrialLosses { best, law, noise, least: 0.0, centre: 0.0 };
        losses.least = losses.mean(&losses.best);
        losses.centre = losses.mean(set.shape().centre()) - losses.least;
        Ok(losses)
    }
}

/// The losses of one trial.
#[derive(Debug, Clone)]
pub struct TrialLosses {
    best: Vec<f64>,
    law: Law,
    noise: FastNoise,
    least: f64,
    /// Regret of a round at the centre.
    centre: f64,
}

#[derive(Debug, Clone)]
enum Law {
    Distance,
    Linear { means: Vec<f64>, scale: f64 },
}

impl TrialLosses {
    /// The expected loss at a point.
    fn mean(&self, point: &[f64]) -> f64 {
        match &self.law {
            Law::Distance => {
                point.iter().zip(&self.best).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt()
            }
            Law::Linear { means, scale } => {
                means.iter().zip(point).map(|(m, x)| m * x).sum::<f64>() / scale
            }
        }
    }

    /// The next loss at a point, and the point's expected regret.
    pub fn play(&mut self, point: &[f64]) -> (f64, f64) {
        let mean = self.mean(point);
        let value = match &self.law {
            Law::Distance => mean,
            Law::Linear { means, scale } => {
                let noise = &mut self.noise;
                let costs = means.iter().zip(point);
                costs.map(|(m, x)| if noise.uniform() < *m { *x } else { 0.0 }).sum::<f64>() / scale
            }
        };
        (value, mean - self.least)
    }

    /// Expected regret of a round at the centre.
    pub fn centre(&self) -> f64 {
        self.centre
    }
}
