//! `kind = "linucb"`: no privacy, the yardstick of every private variant.

use std::{path::PathBuf, sync::Arc};

use reticent::{
    bandit::{Arms, LinUcb, LinUcbParams, Regularizer, Rule},
    privacy::Mode,
    randomize::{Bounds, Intercept},
    release::Schedule,
    schema::{Count, Positive},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    BanditEnvironment, BlockPlayed, Start, Stepped, nothing_is_ignored, rule_remarks,
    saved::{SavedLearner, WarmStart},
    summed::Summed,
};
use crate::{
    Result,
    algorithm::{Bound, Card, RunnableAlgorithm, Side},
    environment::{
        GapParams,
        blocks::{GapSteps, largest_variance},
    },
    papers::constants::{local::PublishedLocal, regret},
    play::{
        Knowledge, Learner,
        trial::{Checkpoint, Trial, mix},
    },
};

/// Longer runs in whole blocks do not learn every round.
const MOST_STEPPED: u64 = 1_000_000;

/// Keys of `kind = "linucb"`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LinUcbToml {
    /// Name in the report.
    pub name: Option<String>,
    /// `paper` has the width of the code of Chowdhury and Zhou, regulariser 1e-4.
    pub mode: Mode,
    /// Rule from sums to policies: `tuned`, `certified`, `thompson` or `fixed`.
    pub rule: Option<Rule>,
    /// rho of the certified rule, by default 1.
    #[schemars(with = "Option<Positive>")]
    pub regularizer: Option<f64>,
    /// The last feature of all arms, with which rewards are centred, or `false`: by default the environment's, where there is one.
    pub intercept: Option<Intercept>,
    /// Schedule on which the policy learns: by default every round. Where whole blocks are played, the certified rule, whose widths shrink slowly, and runs of
    /// more than a million rounds have the schedule of private learners, which is far faster to simulate. Elsewhere it loses where arms stay
    /// the same: an arm that is tried once is played until the policy learns (`docs/reference/defaults.md`).
    pub schedule: Option<Schedule>,
    /// Number of rewards after which everything is forgotten: for a theta* that moves.
    #[schemars(with = "Option<Count>")]
    pub restart_every: Option<u64>,
    /// Half-life in rewards: the number after which a contribution counts half.
    #[schemars(with = "Option<Positive>")]
    pub forget: Option<f64>,
    /// A file, or a folder of files one a trial, that an earlier run saved: begin with what it had learnt.
    pub warm_start: Option<PathBuf>,
    /// Folder in which each trial's learner is saved; its sums are people's data.
    pub save: Option<PathBuf>,
    /// Folder in which each trial's decisions are logged, for `kind = "logged"`; they are people's data.
    pub log: Option<PathBuf>,
}

impl LinUcbToml {
    /// The defaults, under a name.
    pub fn named(name: &str) -> Self {
        LinUcbToml { name: Some(name.into()), ..LinUcbToml::default() }
    }

    /// The learner, or what stands in its way.
    pub fn prepare(&self, environment: &BanditEnvironment) -> Result<Box<dyn RunnableAlgorithm>> {
        let name = self.name.clone().unwrap_or_else(|| "LinUCB, not private".into());
        if let Some(Rule::Episodes { width, growth }) = self.rule {
            return Ok(Box::new(self.episodes(environment, (width, growth))?));
        }
        let params = self.params(environment)?;
        params.check()?;
        let certified = matches!(params.rule, Rule::Certified { .. });
        let plain =
            self.restart_every.is_none() && self.warm_start.is_none() && self.save.is_none();
        let plain = plain && self.log.is_none();
        match (environment.blocks, params.schedule) {
            (Some(gap), Schedule::EveryRound)
                if plain
                    && certified
                    && self.forget.is_none()
                    && gap.fresh_arms
                    && gap.dimension >= 3 =>
            {
                let card = Card { name, ..Card::default() };
                Ok(Box::new(EveryRound { card, environment: environment.clone(), gap, params }))
            }
            (Some(gap), schedule)
                if plain && schedule != Schedule::EveryRound && !params.rule.draws() =>
            {
                Ok(Box::new(BlockPlayed::not_private(name, params, environment, gap)?))
            }
            _ => Ok(Box::new(self.stepped(name, environment)?)),
        }
    }

    /// Core's learner in any environment, round by round.
    pub(super) fn stepped(&self, name: String, environment: &BanditEnvironment) -> Result<Stepped> {
        let params = self.params(environment)?;
        let warm = self.warm_start.as_deref().map(WarmStart::open).transpose()?;
        if let Some(warm) = &warm {
            start(&params, Some(warm.first()))?;
        }
        let begin = warm.clone();
        let seeded = params.clone();
        let plain = warm.is_none() && self.save.is_none() && params.restart_every.is_none();
        let summed =
            environment.features.is_some() && plain && params.schedule != Schedule::EveryRound;
        let start: Start = Arc::new(move |trial, seed| {
            let saved = begin.as_ref().map(|warm| warm.of(trial)).transpose()?;
            let learner = start(&LinUcbParams { seed, ..seeded.clone() }, saved.as_ref())?;
            Ok(match summed {
                true => Box::new(Summed::new(learner, seeded.bounds)),
                false => Box::new(learner),
            })
        });
        let mut stepped = Stepped::by_trial(name, environment, start);
        stepped.warm_start = warm;
        stepped.save.clone_from(&self.save);
        stepped.log.clone_from(&self.log);
        let linearity = params.rule.is_certified().then(|| environment.linearity()).flatten();
        let kept =
            "the saved learner holds people's data as they are: protect the file as you would them";
        Ok(stepped
            .remarking(rule_remarks(&params.rule))
            .remarking(linearity)
            .remarking(self.save.iter().map(|_| kept.to_string())))
    }

    fn params(&self, environment: &BanditEnvironment) -> Result<LinUcbParams> {
        let published = self.mode == Mode::Paper;
        let why = "the code of Chowdhury and Zhou has its own";
        nothing_is_ignored(&[
            ("rule", self.rule.is_some() && published, why),
            ("regularizer", self.regularizer.is_some() && published, why),
            ("intercept", self.intercept.is_some() && published, why),
            ("schedule", self.schedule.is_some() && published, why),
            ("schedule", self.schedule == Some(Schedule::Clock), "an experiment counts rounds"),
        ])?;
        let bounds = match published {
            // That code does not centre rewards.
            true => Bounds { intercept: None, ..environment.bounds },
            false => environment.declaring(self.intercept, None)?.bounds,
        };
        let (norm, dimension) = (bounds.feature_bound, bounds.dimension);
        let rule = match published {
            true => Rule::Fixed {
                ridge: 1e-4 / (norm * norm),
                width: PublishedLocal::public_width(1.0, environment.rounds, dimension, norm),
            },
            false => {
                let rule = environment.informed(self.rule.clone().unwrap_or_default(), &bounds)?;
                match rule {
                    // Proposition 4 leaves half of alpha to the privacy noise, and has it here too.
                    Rule::Certified { failure_probability: None, .. } => {
                        rule.with_failure_probability(0.5 * environment.alpha())
                    }
                    given => given,
                }
            }
        };
        let certified = matches!(rule, Rule::Certified { .. });
        let schedule = match environment.blocks {
            Some(_) if !published && (certified || environment.rounds > MOST_STEPPED) => {
                Schedule::default()
            }
            // Solved anew for each policy.
            _ if matches!(rule, Rule::TwoLevel { .. }) => Schedule::default(),
            _ => Schedule::EveryRound,
        };
        let schedule = self.forget.map_or(schedule, Schedule::for_half_life);
        Ok(LinUcbParams {
            rule,
            regularizer: self.regularizer,
            schedule: self.schedule.unwrap_or(schedule),
            restart_every: self.restart_every,
            forget: self.forget,
            ..LinUcbParams::new(bounds)
        })
    }
}

/// Core's learner, which begins with what an earlier one left, if that had the same parameters.
fn start(params: &LinUcbParams, saved: Option<&SavedLearner>) -> Result<LinUcb> {
    let Some(saved) = saved else { return Ok(params.check()?) };
    let refuse =
        |remedy: &str| Err(reticent::Error::invalid("warm_start", &saved.name, remedy).into());
    match &saved.knowledge {
        Knowledge::Exact(bytes) => {
            let learner = LinUcb::load(bytes)?;
            // The seed is public randomness, and stays that of the earlier learner.
            if *learner.params() == (LinUcbParams { seed: learner.params().seed, ..params.clone() })
            {
                return Ok(learner);
            }
            refuse(
                "it was trained on other data: use the environment, the rounds and the keys it was trained with",
            )
        }
        Knowledge::Server(_) => {
            refuse("it holds the server of a local protocol: start a `local` learner with it")
        }
        Knowledge::Releases(_) => {
            refuse("it holds the releases of a curator: start a `joint` learner with it")
        }
    }
}

impl Learner for LinUcb {
    fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize> {
        Ok(LinUcb::choose(self, arms, self.randomness(round - 1))?.arm)
    }

    fn probabilities(&self, arms: &Arms) -> Result<Option<Vec<f64>>> {
        let drawn = self.policy().ensemble().map(|_| LinUcb::probabilities(self, arms));
        Ok(drawn.transpose()?)
    }

    fn observe(&mut self, round: u64, features: &[f64], reward: f64) -> Result<()> {
        Learner::observe_in_block(self, round, 0, features, reward)
    }

    fn observe_in_block(
        &mut self,
        _: u64,
        block: usize,
        features: &[f64],
        reward: f64,
    ) -> Result<()> {
        LinUcb::observe_in_block(self, block, features, reward)?;
        Ok(())
    }

    fn knowledge(&self) -> Option<Knowledge> {
        Some(Knowledge::Exact(self.save()))
    }
}

/// LinUCB that learns every round, on decision sets of which only the arms that may win are drawn.
struct EveryRound {
    card: Card,
    environment: BanditEnvironment,
    gap: GapParams,
    params: LinUcbParams,
}

impl crate::algorithm::sealed::Sealed for EveryRound {}

impl RunnableAlgorithm for EveryRound {
    fn card(&self) -> &Card {
        &self.card
    }

    fn bounds(&self, rounds: u64) -> Vec<Bound> {
        let norm = self.params.bounds.feature_bound;
        let regularizer = Regularizer::constant(self.params.certified_regularizer() * norm * norm);
        let (problem, alpha) = (&self.environment.problem, self.environment.alpha());
        // Means lie in [-1, 1].
        let bound = |theorem: &str, value| Bound {
            theorem: theorem.into(),
            side: Side::Upper,
            value,
            trivial: 2.0 * rounds as f64,
        };
        let mut all =
            vec![bound("Theorem 5", regret::regret(problem, &regularizer, alpha, rounds))];
        let gap = self.gap.gap;
        if gap > 0.0 {
            let value = regret::gap_regret(problem, &regularizer, alpha, rounds, gap);
            all.push(bound("Theorem 6", value));
        }
        all
    }

    fn trial(&self, seed: u64, trial: u64, checkpoints: &[u64]) -> Result<Trial> {
        let gap = &self.gap;
        let mut steps = GapSteps::new(gap.check()?.fresh(mix(seed, trial)))?;
        let mut learner = self.params.check()?;
        let (mut round, mut regret, mut next, mut largest) = (0, 0.0, 0, 0.0);
        let mut curve = Vec::with_capacity(checkpoints.len());
        let best = gap.rewards.mean(crate::environment::BEST);
        let gauge = crate::play::watch::Gauge::current();
        for &checkpoint in checkpoints {
            while round < checkpoint {
                gauge.reached(round)?;
                if round == next {
                    largest = largest_variance(learner.policy())?;
                    next = round + (round / 50).max(8);
                }
                round += 1;
                let choice = steps.choose(learner.policy(), largest)?;
                regret += best - gap.rewards.mean(choice.product);
                let reward = gap.rewards.draw(choice.product, steps.noise());
                learner.observe(&choice.features, reward)?;
            }
            curve.push(Checkpoint { round, regret });
        }
        Ok(curve.into())
    }
}
