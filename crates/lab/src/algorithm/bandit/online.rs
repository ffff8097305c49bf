//! `kind = "online_ucb"`, `"anytime"`, `"combiner"` and `"online_linucb"`: paper 0's Algorithms 1, 9, 2 and 4.

use std::{collections::BTreeMap, path::PathBuf};

use reticent::{
    bandit::{
        Anytime, AnytimeParams, Arms, Combiner, CombinerParams, LearnerParams, OnlineLinUcb,
        OnlineLinUcbParams, OnlineUcb, OnlineUcbParams, Policy, Width,
    },
    online::Step,
    privacy::{Guarantee, Mode},
    randomize::{Bounds, FeatureReward, FeatureRewardParams},
    schema::{NotNegative, Positive},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BanditEnvironment, Budget, Stepped};
use crate::{
    FastNoise, Result,
    algorithm::{Bound, Side},
    audit::attack,
    papers::constants::{Problem, online_ucb, regret},
    play::Learner,
};

/// The online learner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
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

/// Keys of `kind = "online_ucb"`, `"anytime"` and `"combiner"`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnlineToml {
    /// Name in the report.
    pub name: Option<String>,
    /// Requested epsilon and delta.
    pub privacy: Budget,
    /// `exact`: exactly calibrated noise; `paper`: the printed sigma.
    #[serde(default)]
    pub mode: Mode,
    /// The online learner.
    #[serde(default)]
    pub learner: LearnerName,
    /// The constants of the theory in place of those of the figure.
    #[serde(default)]
    pub literal: bool,
    /// beta in place of the figure's 10.
    #[schemars(with = "Option<NotNegative>")]
    pub width: Option<f64>,
    /// G in place of the figure's 48.
    #[schemars(with = "Option<Positive>")]
    pub gradient_bound: Option<f64>,
    /// Gradient descent's constant step in place of the figure's 0.001.
    #[schemars(with = "Option<Positive>")]
    pub step: Option<f64>,
    /// Tells whether Maler has its exp-concave experts; true by default.
    pub exp_concave: Option<bool>,
    /// Range that rewards are clipped to; by default the range in which they lie.
    pub rewards: Option<(f64, f64)>,
    /// Folder in which each trial's decisions are logged, for `kind = "logged"`; they are people's data, which no server of this model sees.
    pub log: Option<PathBuf>,
}

impl OnlineToml {
    /// The defaults of a file that gives the budget only.
    pub fn new(privacy: Budget) -> Self {
        OnlineToml { privacy, ..OnlineToml::default() }
    }

    /// Algorithm 1.
    pub(super) fn prepare(&self, environment: &BanditEnvironment) -> Result<Stepped> {
        let params = self.params_in(environment)?;
        let (server, proved) = (params.check()?, matches!(params.width, Width::Proved(_)));
        let (randomizer, guarantee) = (params.randomizer.clone(), server.guarantee()?);
        let start = move || Ok(Server::Known(Box::new(params.check()?)));
        let mut stepping = self.stepping("OnlineUCB", randomizer, guarantee, environment, start);
        if proved {
            let width = server.policy().width();
            stepping
                .card
                .remarks
                .push(format!("the proved width of the confidence set is {width:.1}"));
            let dimension = environment.bounds.dimension;
            stepping.bound = Some(Box::new(move |rounds| Bound {
                theorem: "Theorem 3.4".into(),
                side: Side::Upper,
                value: regret::online_ucb::of_width(width, dimension, rounds),
                // The theorem's means lie in [-1, 1].
                trivial: 2.0 * rounds as f64,
            }));
        }
        Ok(stepping)
    }

    /// Algorithm 9.
    pub(super) fn anytime(&self, environment: &BanditEnvironment) -> Result<Stepped> {
        let params = AnytimeParams::new(self.params_in(environment)?);
        let (randomizer, guarantee) =
            (params.base.randomizer.clone(), params.check()?.guarantee()?);
        let start = move || Ok(Server::Anytime(Box::new(params.check()?)));
        Ok(self.stepping("anytime OnlineUCB", randomizer, guarantee, environment, start))
    }

    /// Algorithm 2.
    pub(super) fn combiner(&self, environment: &BanditEnvironment) -> Result<Stepped> {
        let params = CombinerParams::new(self.params_in(environment)?);
        let (combiner, randomizer) = (params.check()?, params.base.randomizer.clone());
        let start = move || Ok(Server::Combiner(Box::new(params.check()?)));
        let mut stepping =
            self.stepping("combiner", randomizer, combiner.guarantee()?, environment, start);
        if combiner.is_vacuous() {
            let remark = "Theorem 4.1 is vacuous at this horizon: every R_i exceeds the worst regret there is";
            stepping.card.remarks.push(remark.into());
        }
        Ok(stepping)
    }

    fn params_in(&self, environment: &BanditEnvironment) -> Result<OnlineUcbParams> {
        let (lowest, highest) = environment.bounds.rewards;
        let (lowest_reward, highest_reward) = self.rewards.unwrap_or(environment.bounds.rewards);
        if lowest_reward > lowest || highest_reward < highest {
            let remedy = format!(
                "rewards of this environment lie in [{lowest}, {highest}]; expected a range that holds them"
            );
            let value = format!("[{lowest_reward}, {highest_reward}]");
            return Err(reticent::Error::invalid("rewards", value, remedy).into());
        }
        let bounds = Bounds {
            feature_bound: environment.bounds.feature_bound,
            rewards: environment.bounds.rewards,
            ..Bounds::unit(environment.bounds.dimension)
        };
        self.params(bounds, environment.rounds)
    }

    /// Work of a person's device, within these bounds.
    pub fn randomizer(&self, bounds: Bounds) -> Result<FeatureRewardParams> {
        let Budget { epsilon, delta } = self.privacy;
        let bounds = Bounds { rewards: self.rewards.unwrap_or(bounds.rewards), ..bounds };
        let randomizer = FeatureRewardParams::new(bounds, epsilon, delta);
        match self.mode {
            Mode::Exact => Ok(randomizer),
            Mode::Paper => Ok(online_ucb::printed_noise(randomizer)?),
        }
    }

    /// Core's parameters with these choices, within these bounds, for this number of reports.
    pub fn params(&self, bounds: Bounds, rounds: u64) -> Result<OnlineUcbParams> {
        let descends = self.learner == LearnerName::GradientDescent;
        let ignored = [
            ("gradient_bound", self.gradient_bound.is_some() && descends, "Maler has one"),
            ("step", self.step.is_some() && !descends, "gradient descent has one"),
            ("exp_concave", self.exp_concave.is_some() && descends, "Maler has such experts"),
            ("learner", self.literal && descends, "the theory's constants are Maler's"),
            ("gradient_bound", self.gradient_bound.is_some() && self.literal, "theory fixes it"),
        ];
        if let Some((field, _, why)) = ignored.into_iter().find(|(_, given, _)| *given) {
            let remedy = format!("it has no effect here ({why}): leave it out");
            return Err(reticent::Error::invalid(field, "a value", remedy).into());
        }
        let randomizer = self.randomizer(bounds)?;
        let mut params = match (self.literal, self.learner) {
            (true, _) => online_ucb::literal(randomizer, rounds, 0.0)?,
            (false, LearnerName::Maler) => match self.mode {
                Mode::Exact => OnlineUcbParams::new(randomizer, rounds),
                Mode::Paper => online_ucb::tuned(randomizer, rounds),
            },
            (false, LearnerName::GradientDescent) => online_ucb::tuned_descent(randomizer, rounds),
        };
        if let Some(width) = self.width {
            params.width = Width::Constant(width);
        }
        match &mut params.learner {
            LearnerParams::Maler { gradient_bound, exp_concave } => {
                *gradient_bound = self.gradient_bound.unwrap_or(*gradient_bound);
                *exp_concave = self.exp_concave.unwrap_or(*exp_concave);
            }
            LearnerParams::GradientDescent { step } => {
                *step = self.step.map_or(*step, Step::Constant);
            }
        }
        Ok(params)
    }

    fn stepping(
        &self,
        what: &str,
        randomizer: FeatureRewardParams,
        guarantee: Guarantee,
        environment: &BanditEnvironment,
        start: impl Fn() -> Result<Server> + Send + Sync + 'static,
    ) -> Stepped {
        let Budget { epsilon, delta } = self.privacy;
        let name = self.name.clone().unwrap_or_else(|| {
            let parts = [
                (self.literal, ", the theory's constants"),
                (self.exp_concave == Some(false), ", no exp-concave experts"),
                (self.mode == Mode::Paper, ", printed sigma"),
            ];
            let parts: String = parts.iter().filter(|part| part.0).map(|part| part.1).collect();
            format!("{what}, {}{parts} ({epsilon}, {delta:e})", self.learner.text())
        });
        let certified = guarantee.clone();
        let attacks = move || Ok(attack::local::feature_reward(&randomizer, &certified));
        let start = move |seed| {
            let (server, noise) = (start()?, FastNoise::seeded(seed));
            let learner = Protocol { server, noise, bases: BTreeMap::new(), sent: None };
            Ok(Box::new(learner) as Box<dyn Learner>)
        };
        let certified = self.literal && self.width.is_none();
        let remark = "the width is tuned by simulation: no confidence set is certified";
        let mut stepped = Stepped::new(name, environment, start)
            .certified_by(guarantee.simulated())
            .remarking((!certified).then(|| remark.to_string()))
            .attacked_by(attacks);
        stepped.log.clone_from(&self.log);
        stepped
    }
}

/// The three servers of paper 0.
enum Server {
    Known(Box<OnlineUcb>),
    Anytime(Box<Anytime>),
    Combiner(Box<Combiner>),
}

impl Server {
    fn randomizer(&self) -> &FeatureReward {
        match self {
            Server::Known(server) => server.randomizer(),
            Server::Anytime(server) => server.randomizer(),
            Server::Combiner(server) => server.randomizer(),
        }
    }

    /// Published policy, and its server if there are several.
    fn policy(&self) -> (&Policy, usize) {
        match self {
            Server::Known(server) => (server.policy(), 0),
            Server::Anytime(server) => (server.policy(), 0),
            Server::Combiner(server) => (server.policy(), server.current()),
        }
    }

    fn absorb(&mut self, base: usize, report: &[f64]) -> reticent::Result<()> {
        match self {
            Server::Known(server) => server.absorb(report),
            Server::Anytime(server) => server.absorb(report),
            Server::Combiner(server) => server.absorb(base, report),
        }
    }
}

/// People and server of one trial, without messages between them.
struct Protocol {
    server: Server,
    noise: FastNoise,
    /// Server whose policy was followed in each round whose reward has not come.
    bases: BTreeMap<u64, usize>,
    /// The last report, until it is read.
    sent: Option<Vec<f64>>,
}

impl Learner for Protocol {
    fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize> {
        let (policy, base) = self.server.policy();
        let arm = policy.choose(arms, round)?;
        self.bases.insert(round, base);
        Ok(arm)
    }

    fn dismiss(&mut self, round: u64) {
        self.bases.remove(&round);
    }

    fn observe(&mut self, round: u64, features: &[f64], reward: f64) -> Result<()> {
        let Some(base) = self.bases.remove(&round) else { return Ok(()) };
        let report = self.server.randomizer().report(features, reward, &mut self.noise)?;
        self.server.absorb(base, &report)?;
        self.sent = Some(report);
        Ok(())
    }

    fn sent(&mut self) -> Option<Vec<f64>> {
        self.sent.take()
    }
}

/// Keys of `kind = "online_linucb"`: Algorithm 4, not private.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OnlineLinUcbToml {
    /// Name in the report.
    pub name: Option<String>,
    /// The online learner.
    pub learner: LearnerName,
    /// beta in place of the theorem's.
    #[schemars(with = "Option<NotNegative>")]
    pub width: Option<f64>,
    /// Gradient descent's step is this over the root of the round; by default what its theorem wants.
    #[schemars(with = "Option<Positive>")]
    pub step: Option<f64>,
    /// Folder in which each trial's decisions are logged, for `kind = "logged"`; they are people's data.
    pub log: Option<PathBuf>,
}

impl OnlineLinUcbToml {
    /// Core's parameters with these choices in place of those given.
    pub fn params(&self, params: OnlineLinUcbParams) -> Result<OnlineLinUcbParams> {
        // |gradient| = 2 |x| |<theta, x> - y|, and means are no larger than rewards.
        let steepest = 2.0 * params.bounds.feature_bound * (2.0 * params.reward_bound());
        let descent = match (self.learner, self.step) {
            (LearnerName::Maler, None) => None,
            (LearnerName::Maler, Some(step)) => {
                let remedy = "it has no effect here (gradient descent has one): leave it out";
                return Err(reticent::Error::invalid("step", step, remedy).into());
            }
            (LearnerName::GradientDescent, step) => {
                Some(Step::InverseRoot(step.unwrap_or(params.parameter_bound / steepest)))
            }
        };
        Ok(OnlineLinUcbParams { descent, width: self.width, ..params })
    }

    pub(super) fn prepare(&self, environment: &BanditEnvironment) -> Result<Stepped> {
        let Problem { bounds, parameter_bound, reward_noise } = environment.problem;
        let params = self.params(OnlineLinUcbParams {
            parameter_bound,
            reward_noise,
            failure_probability: (1.0 / environment.rounds.max(1) as f64).min(0.25),
            ..OnlineLinUcbParams::new(bounds, environment.rounds)
        })?;
        params.check()?;
        let name = self
            .name
            .clone()
            .unwrap_or_else(|| format!("online LinUCB, {}, not private", self.learner.text()));
        let remark = "the width is tuned by simulation: no confidence set is certified";
        let start = move |_| Ok(Box::new(Open(params.check()?)) as Box<dyn Learner>);
        let mut stepped = Stepped::new(name, environment, start);
        stepped.log.clone_from(&self.log);
        Ok(stepped.remarking(self.width.map(|_| remark.to_string())))
    }
}

/// A learner that sees features and rewards as they are.
struct Open(OnlineLinUcb);

impl Learner for Open {
    fn choose(&mut self, arms: &Arms, _: u64) -> Result<usize> {
        Ok(self.0.choose(arms)?.arm)
    }

    fn observe(&mut self, _: u64, features: &[f64], reward: f64) -> Result<()> {
        // A Gaussian reward has no bound: as for everybody else, it is cut off where all of them together seldom get.
        Ok(self.0.observe(features, reward).map(drop)?)
    }
}
