//! `kind = "online_ucb"`: paper 0's Algorithm 1.

use reticent::{
    bandit::{Arms, LearnerParams, OnlineUcb, OnlineUcbParams, Width},
    online::Step,
    privacy::Mode,
    randomize::{FeatureRewardParams, FeatureRewardReport},
};
use serde::{Deserialize, Serialize};

use super::{Budget, Stepping, World};
use crate::{FastNoise, Result, simulate::Player};

/// Which online learner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LearnerName {
    /// Maler, as in the paper's figure.
    #[default]
    Maler,
    /// Projected gradient descent.
    GradientDescent,
}

/// What `kind = "online_ucb"` takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnlineLines {
    /// What the report calls it.
    #[serde(default)]
    pub name: Option<String>,
    /// Requested epsilon and delta.
    pub privacy: Budget,
    /// `exact`: exactly calibrated noise; `paper`: the printed sigma.
    #[serde(default)]
    pub mode: Mode,
    /// Which online learner.
    #[serde(default)]
    pub learner: LearnerName,
    /// The constants of the theory in place of those of the figure.
    #[serde(default)]
    pub literal: bool,
    /// beta in place of the figure's 10.
    #[serde(default)]
    pub width: Option<f64>,
    /// G in place of the figure's 48.
    #[serde(default)]
    pub gradient_bound: Option<f64>,
    /// Gradient descent's constant step in place of the figure's 0.001.
    #[serde(default)]
    pub step: Option<f64>,
}

impl OnlineLines {
    /// The defaults of a file that gives the budget only.
    pub fn new(privacy: Budget) -> Self {
        OnlineLines {
            name: None,
            privacy,
            mode: Mode::Exact,
            learner: LearnerName::default(),
            literal: false,
            width: None,
            gradient_bound: None,
            step: None,
        }
    }

    pub(super) fn contestant(&self, world: World, rounds: u64) -> Result<Stepping> {
        let Budget { epsilon, delta } = self.privacy;
        let mut randomizer = FeatureRewardParams {
            feature_bound: world.norm,
            ..FeatureRewardParams::new(world.dimension, epsilon, delta).with_unit_rewards()
        };
        if self.mode == Mode::Paper {
            randomizer = randomizer.published();
        }
        let mut params = match (self.literal, self.learner) {
            (true, _) => OnlineUcbParams::literal(randomizer, rounds, 0.0)?,
            (false, LearnerName::Maler) => OnlineUcbParams::tuned(randomizer, rounds),
            (false, LearnerName::GradientDescent) => {
                OnlineUcbParams::tuned_descent(randomizer, rounds)
            }
        };
        if let Some(width) = self.width {
            params.width = Width::Constant(width);
        }
        match &mut params.learner {
            LearnerParams::Maler { gradient_bound, .. } => {
                *gradient_bound = self.gradient_bound.unwrap_or(*gradient_bound);
            }
            LearnerParams::GradientDescent { step } => {
                *step = self.step.map_or(*step, Step::Constant);
            }
        }
        let guarantee = params.check()?.guarantee()?.simulated();
        let name = self.name.clone().unwrap_or_else(|| {
            let mode = if self.mode == Mode::Paper { ", printed sigma" } else { "" };
            let learner = match self.learner {
                LearnerName::Maler => "Maler",
                LearnerName::GradientDescent => "OGD",
            };
            format!("OnlineUCB, {learner}{mode} ({epsilon}, {delta:e})")
        });
        let start = move |seed| {
            let (server, noise) = (params.check()?, FastNoise::seeded(seed));
            let report = FeatureRewardReport::default();
            Ok(Box::new(Protocol { server, noise, report }) as Box<dyn Player>)
        };
        let remarks = if self.literal {
            Vec::new()
        } else {
            vec!["the width is tuned by simulation: no confidence set is certified".into()]
        };
        Ok(Stepping {
            name,
            guarantee: Some(guarantee),
            certificates: Vec::new(),
            remarks,
            world,
            start: Box::new(start),
        })
    }
}

/// People and server of one trial.
struct Protocol {
    server: OnlineUcb,
    noise: FastNoise,
    report: FeatureRewardReport,
}

impl Player for Protocol {
    fn choose(&mut self, arms: &Arms, _: u64) -> Result<usize> {
        Ok(self.server.choose(arms)?)
    }

    fn observe(&mut self, features: &[f64], reward: f64) -> Result<()> {
        let randomizer = self.server.randomizer();
        randomizer.randomize_into(features, reward, &mut self.noise, &mut self.report)?;
        Ok(self.server.absorb(&self.report)?)
    }
}
