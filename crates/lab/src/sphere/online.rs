//! `kind = "online_ucb"`, `"anytime"`, `"combiner"` and `"online_linucb"`: paper 0's Algorithms 1, 9, 2 and 4.

use reticent::{
    bandit::{
        AnytimeParams, Arms, CombinerParams, LearnerParams, OnlineEngine, OnlineLinUcb,
        OnlineLinUcbParams, OnlineUcbParams, Width,
    },
    online::Step,
    privacy::{Guarantee, Mode},
    randomize::FeatureRewardParams,
};
use serde::{Deserialize, Serialize};

use super::{Budget, Start, Stepping, World};
use crate::{FastNoise, Result, audit, simulate::Player};

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

impl LearnerName {
    fn text(self) -> &'static str {
        match self {
            LearnerName::Maler => "Maler",
            LearnerName::GradientDescent => "OGD",
        }
    }
}

/// What `kind = "online_ucb"`, `"anytime"` and `"combiner"` take.
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
    /// Whether Maler has its exp-concave experts.
    #[serde(default = "yes")]
    pub exp_concave: bool,
    /// What rewards are clipped to; here they lie in [0, 1], which is the default.
    #[serde(default = "unit")]
    pub rewards: (f64, f64),
}

fn unit() -> (f64, f64) {
    (0.0, 1.0)
}

fn yes() -> bool {
    true
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
            exp_concave: true,
            rewards: unit(),
        }
    }

    /// Algorithm 1.
    pub(super) fn contestant(&self, world: World, rounds: u64) -> Result<Stepping> {
        let params = self.params(world, rounds)?;
        let server = params.check()?;
        let start = move || Ok(params.check()?);
        let mut stepping =
            self.stepping("OnlineUCB", params.randomizer, server.guarantee()?, world, start);
        if let Width::Proved(_) = params.width {
            let width = server.policy().width();
            stepping.remarks.push(format!("the proved width of the confidence set is {width:.1}"));
        }
        Ok(stepping)
    }

    /// Algorithm 9.
    pub(super) fn anytime(&self, world: World, rounds: u64) -> Result<Stepping> {
        let base = self.params(world, rounds)?;
        let params = AnytimeParams::new(base);
        let guarantee = params.check()?.guarantee()?;
        let start = move || Ok(params.check()?);
        Ok(self.stepping("anytime OnlineUCB", base.randomizer, guarantee, world, start))
    }

    /// Algorithm 2.
    pub(super) fn combiner(&self, world: World, rounds: u64) -> Result<Stepping> {
        let base = self.params(world, rounds)?;
        let params = CombinerParams::new(base);
        let combiner = params.check()?;
        let start = move || Ok(params.check()?);
        let mut stepping =
            self.stepping("combiner", base.randomizer, combiner.guarantee()?, world, start);
        if combiner.is_vacuous() {
            let remark = "Theorem 4.1 is vacuous at this horizon: every R_i exceeds the worst regret there is";
            stepping.remarks.push(remark.into());
        }
        Ok(stepping)
    }

    fn params(&self, world: World, rounds: u64) -> Result<OnlineUcbParams> {
        let Budget { epsilon, delta } = self.privacy;
        let descends = self.learner == LearnerName::GradientDescent;
        let ignored = [
            ("gradient_bound", self.gradient_bound.is_some() && descends, "Maler has one"),
            ("step", self.step.is_some() && !descends, "gradient descent has one"),
            ("exp_concave", !self.exp_concave && descends, "Maler has such experts"),
            ("learner", self.literal && descends, "the theory's constants are Maler's"),
            ("gradient_bound", self.gradient_bound.is_some() && self.literal, "theory fixes it"),
        ];
        if let Some((field, _, why)) = ignored.into_iter().find(|(_, given, _)| *given) {
            let remedy = format!("it has no effect here ({why}): leave it out");
            return Err(reticent::Error::invalid(field, "given", remedy).into());
        }
        let (lowest_reward, highest_reward) = self.rewards;
        if lowest_reward > 0.0 || highest_reward < 1.0 {
            let remedy = "rewards of this environment lie in [0, 1]: give a range that holds them";
            let value = format!("[{lowest_reward}, {highest_reward}]");
            return Err(reticent::Error::invalid("rewards", value, remedy).into());
        }
        let mut randomizer = FeatureRewardParams {
            feature_bound: world.norm,
            lowest_reward,
            highest_reward,
            ..FeatureRewardParams::new(world.dimension, epsilon, delta)
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
            LearnerParams::Maler { gradient_bound, exp_concave } => {
                *gradient_bound = self.gradient_bound.unwrap_or(*gradient_bound);
                *exp_concave = self.exp_concave;
            }
            LearnerParams::GradientDescent { step } => {
                *step = self.step.map_or(*step, Step::Constant);
            }
        }
        Ok(params)
    }

    fn stepping<E: OnlineEngine + 'static>(
        &self,
        what: &str,
        randomizer: FeatureRewardParams,
        guarantee: Guarantee,
        world: World,
        engine: impl Fn() -> Result<E> + Send + Sync + 'static,
    ) -> Stepping {
        let Budget { epsilon, delta } = self.privacy;
        let name = self.name.clone().unwrap_or_else(|| {
            let parts = [
                (self.literal, ", the theory's constants"),
                (!self.exp_concave, ", no exp-concave experts"),
                (self.mode == Mode::Paper, ", printed sigma"),
            ];
            let parts: String = parts.iter().filter(|part| part.0).map(|part| part.1).collect();
            format!("{what}, {}{parts} ({epsilon}, {delta:e})", self.learner.text())
        });
        let attacks = audit::local::feature_reward(&randomizer, &guarantee);
        let start: Start = Box::new(move |seed| {
            Ok(Box::new(Protocol { engine: engine()?, noise: FastNoise::seeded(seed) }))
        });
        let certified = self.literal && self.width.is_none();
        let remark = "the width is tuned by simulation: no confidence set is certified";
        Stepping {
            name,
            guarantee: Some(guarantee.simulated()),
            certificates: Vec::new(),
            remarks: if certified { Vec::new() } else { vec![remark.into()] },
            world,
            table: None,
            start,
            attacks,
        }
    }
}

/// People and server of one trial, without messages between them.
struct Protocol<E> {
    engine: E,
    noise: FastNoise,
}

impl<E: OnlineEngine> Player for Protocol<E> {
    fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize> {
        Ok(self.engine.policy().choose(arms, round)?)
    }

    fn observe(&mut self, features: &[f64], reward: f64) -> Result<()> {
        let report = self.engine.randomizer().randomize(features, reward, &mut self.noise)?;
        Ok(self.engine.learn(self.engine.base(), &report)?)
    }
}

/// What `kind = "online_linucb"` takes: Algorithm 4, not private.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnlineLinUcbLines {
    /// What the report calls it.
    #[serde(default)]
    pub name: Option<String>,
    /// Which online learner.
    #[serde(default)]
    pub learner: LearnerName,
    /// beta in place of the theorem's.
    #[serde(default)]
    pub width: Option<f64>,
    /// Gradient descent's step is this over the root of the round; by default what its theorem wants.
    #[serde(default)]
    pub step: Option<f64>,
}

impl OnlineLinUcbLines {
    pub(super) fn contestant(&self, world: World, rounds: u64) -> Result<Stepping> {
        // theta* is shorter by as much as arms are longer. Bernoulli rewards are 1/2-sub-Gaussian.
        let radius = 1.0 / world.norm;
        let steepest = 2.0 * world.norm * 2.0;
        let params = OnlineLinUcbParams {
            feature_bound: world.norm,
            parameter_bound: radius,
            noise: 0.5,
            confidence: (1.0 / rounds.max(1) as f64).min(0.25),
            descent: match self.learner {
                LearnerName::Maler => None,
                LearnerName::GradientDescent => {
                    Some(Step::InverseRoot(self.step.unwrap_or(radius / steepest)))
                }
            },
            width: self.width,
            ..OnlineLinUcbParams::new(world.dimension, rounds)
        };
        params.check()?;
        let name = self
            .name
            .clone()
            .unwrap_or_else(|| format!("online LinUCB, {}, not private", self.learner.text()));
        let remark = "the width is tuned by simulation: no confidence set is certified";
        Ok(Stepping {
            name,
            guarantee: None,
            certificates: Vec::new(),
            remarks: self.width.map(|_| remark.into()).into_iter().collect(),
            world,
            table: None,
            attacks: Vec::new(),
            start: Box::new(move |_| Ok(Box::new(Open(params.check()?)))),
        })
    }
}

/// A learner that sees features and rewards as they are.
struct Open(OnlineLinUcb);

impl Player for Open {
    fn choose(&mut self, arms: &Arms, _: u64) -> Result<usize> {
        Ok(self.0.choose(arms)?)
    }

    fn observe(&mut self, features: &[f64], reward: f64) -> Result<()> {
        Ok(self.0.update(features, reward)?)
    }
}
