//! A checked central loop: its features, its learner, its clock, its generation.

use std::path::Path;

use reticent::{
    bandit::JointParams, features::FeaturesPlan, hash, noise::SecureNoise, randomize::Bounds,
    release::Schedule,
};
use serde::{Deserialize, Serialize};

use super::{
    LoopParams, Period, Span, UnitName, WarmStart,
    refusal::{check_name, within},
};
use crate::{
    Error, Result,
    learner::{CentralLearner, LearnerPlan},
    time::Time,
};

/// Default half-life, without a horizon.
const DEFAULT_FORGET: Span = Span::seconds(90 * 86_400);

/// Ticks in a half-life, by default.
const TICKS_IN_HALF_LIFE: u64 = 4096;

/// Event ids are remembered for this long after their slot has closed, so that a late repetition is not a second event.
pub const REMEMBERED: u64 = 24 * 3_600_000;

/// Owner of the visits that are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Ledger {
    /// No owner: the unit is a decision.
    Decision,
    /// A person, of whom this many visits are learnt from in each period.
    Person {
        /// k.
        #[serde(rename = "visits")]
        most: u32,
        /// The period.
        #[serde(rename = "per")]
        period: Period,
    },
}

impl Ledger {
    /// Contributions of one person in a period, at most; none where the cost of a loop for its unit is not that for a person.
    pub fn visits(&self) -> Option<u64> {
        match self {
            Ledger::Decision => None,
            Ledger::Person { most, .. } => Some(u64::from(*most)),
        }
    }

    /// The number of the period that a time lies in.
    pub fn period(&self, time: Time) -> u64 {
        match self {
            Ledger::Person { period: Period::Each(span), .. } => time / span.as_milliseconds(),
            // Other numbers are for other periods.
            _ => 0,
        }
    }
}

/// A central loop that can be served.
#[derive(Debug, Clone)]
pub struct CentralPlan {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub params: LoopParams,
    /// Rule from records to vectors.
    pub features: FeaturesPlan,
    /// Its learner.
    pub learner: LearnerPlan,
    /// Released sums and their mechanism.
    pub learner_params: JointParams,
    /// Time between two releases, in milliseconds.
    pub tick: u64,
    /// Unit whose contributions are counted.
    pub ledger: Ledger,
    /// Warm start.
    pub warm_start: Option<WarmStart>,
}

impl LoopParams {
    /// Calibrates a central loop, or says which field stands in the way.
    pub(super) fn check_central(&self, name: &str) -> Result<CentralPlan> {
        let at = |field: &str| format!("loop.{name}.{field}");
        check_name(name)?;
        if self.device.is_some() || self.shuffle.is_some() {
            let remedy =
                "leave `device` and `shuffle` out, or give trust = \"device\" or \"shuffler\"";
            return Err(Error::invalid(at("trust"), "curator", remedy));
        }
        if !(0.0..1.0).contains(&self.baseline.share) {
            let remedy = "give a share from 0 to below 1";
            return Err(Error::invalid(at("baseline.share"), self.baseline.share, remedy));
        }
        self.check_rewards(name)?;
        self.check_person_from(name)?;
        self.check_kept_models(name)?;
        let ledger = self.ledger(name)?;
        let features = self.features().and_then(|features| Ok(features.check()?));
        let features = features.map_err(|error| within(name, error))?;
        let (tick, forget) = self.ticks(name)?;
        let (low, high) = self.reward.range;
        let bounds = Bounds {
            rewards: (low, high),
            intercept: features.constant(),
            ..Bounds::unit(features.dimension() + usize::from(self.compares()))
        };
        let mut params = match forget {
            Some(ticks) => {
                let (epsilon, delta) = (self.privacy.epsilon, self.privacy.delta);
                JointParams::forgetting(bounds, epsilon, delta, ticks)
            }
            None => JointParams::new(
                bounds,
                self.privacy.epsilon,
                self.privacy.delta,
                self.learner.horizon,
            ),
        };
        params.schedule = Schedule::Clock;
        params.horizon = self.learner.horizon;
        params.rule = self.learner.rule.clone();
        if let Ledger::Person { most, .. } = ledger {
            params.contributions_per_person = most.into();
        }
        if let Some(default) = self.reward.default {
            params.default_reward = default;
        }
        let learner = match self.has_fixed_actions() {
            true => self.fixed_learner(name, &features, &params)?,
            false => {
                let plan = params.check().map_err(|error| within(name, error.into()))?;
                LearnerPlan::Sums(Box::new(plan))
            }
        };
        let opened = self
            .warm_start
            .as_ref()
            .map(|file| WarmStart::open(Path::new(file), &params, &features, self.compares()));
        let warm_start = opened.transpose().map_err(|error| within(name, error))?;
        let mut noted = self.clone();
        noted.warm_start_origin = warm_start.as_ref().and_then(|warm| warm.origin.clone());
        let plan = CentralPlan {
            name: name.to_string(),
            params: noted,
            features,
            learner,
            learner_params: params,
            tick,
            ledger,
            warm_start,
        };
        if let Some(file) = &self.warm_start {
            let refused = |error| Error::invalid(at("warm_start"), file, error);
            plan.begin().map(drop).map_err(refused)?;
        }
        Ok(plan)
    }

    /// True if a share of decisions is the caller's, and compared.
    pub fn compares(&self) -> bool {
        self.baseline.share > 0.0
    }

    pub(super) fn ledger(&self, name: &str) -> Result<Ledger> {
        let privacy = self.privacy;
        let at = |field: &str| format!("loop.{name}.privacy.{field}");
        match (privacy.visits, privacy.per, privacy.unit) {
            (Some(0), ..) => {
                let remedy = "give a whole number of visits above 0";
                Err(Error::invalid(at("visits"), 0, remedy))
            }
            (Some(_), _, Some(UnitName::Decision)) => {
                let remedy = "visits are those of a person: leave one of `unit` and `visits` out";
                Err(Error::invalid(at("unit"), "decision", remedy))
            }
            (Some(visits), None, _) => {
                let remedy = "give their period as `per`, such as \"30 days\" or \"ever\"";
                Err(Error::invalid(at("visits"), visits, remedy))
            }
            (Some(most), Some(period), _) => Ok(Ledger::Person { most, period }),
            (None, _, Some(UnitName::Person)) => {
                let remedy = "give the number of visits of a person that may be learnt from, such as `visits = 10, per = \"30 days\"`";
                Err(Error::invalid(at("unit"), "person", remedy))
            }
            (None, Some(_), _) => {
                let remedy = "it is the period of `visits`: give them too, or leave it out";
                Err(Error::invalid(at("per"), "without visits", remedy))
            }
            (None, None, _) => Ok(Ledger::Decision),
        }
    }

    /// Milliseconds of a tick, and the half-life in ticks.
    fn ticks(&self, name: &str) -> Result<(u64, Option<f64>)> {
        let learner = self.learner.clone();
        if let (Some(forget), Some(_)) = (learner.forget, learner.horizon) {
            let remedy =
                "learning has no end if it forgets: leave one of `forget` and `horizon` out";
            return Err(Error::invalid(format!("loop.{name}.learner.forget"), forget, remedy));
        }
        let forget = self.forget().map(Span::as_milliseconds);
        let tick = self.tick_milliseconds();
        if let (Some(given), Some(tick)) = (learner.forget, Span::milliseconds(tick))
            && given < tick
        {
            let remedy = format!(
                "what is learnt would fade before it is released: give at least learner.tick, which is {tick}"
            );
            return Err(Error::invalid(format!("loop.{name}.learner.forget"), given, remedy));
        }
        Ok((tick, forget.map(|forget| forget as f64 / tick as f64)))
    }
}

impl LoopParams {
    /// The half-life; none where a horizon is given.
    pub(super) fn forget(&self) -> Option<Span> {
        match self.learner.horizon {
            Some(_) => None,
            None => Some(self.learner.forget.unwrap_or(DEFAULT_FORGET)),
        }
    }

    /// Milliseconds of a tick.
    pub fn tick_milliseconds(&self) -> u64 {
        let suited =
            self.forget().map_or(600_000, |forget| forget.as_milliseconds() / TICKS_IN_HALF_LIFE);
        self.learner.tick.map_or(suited.clamp(1000, 3_600_000), Span::as_milliseconds)
    }

    /// Time for which whole rank requests are kept after use, in milliseconds.
    pub fn retain_milliseconds(&self) -> u64 {
        self.retain.map_or(0, Span::as_milliseconds)
    }
}

impl CentralPlan {
    /// The slot that a moment lies in.
    pub fn slot(&self, time: Time) -> u64 {
        time / self.tick
    }

    /// The slot in which the window of an event ends whose rank request is made at this time.
    pub fn due(&self, time: Time) -> u64 {
        self.slot(time.saturating_add(self.params.reward.window.as_milliseconds()))
    }

    /// The learner as it begins.
    pub fn begin(&self) -> Result<CentralLearner> {
        let (learner, noise) = (self.learner.clone(), SecureNoise::from_system()?);
        let plan = match learner {
            LearnerPlan::Episodes(plan) => {
                return Ok(CentralLearner::Episodes(Box::new(plan.start(noise))));
            }
            LearnerPlan::Sums(plan) => plan,
        };
        Ok(CentralLearner::Sums(Box::new(match &self.warm_start {
            None => plan.curator(noise),
            Some(warm) => plan.curator_from(warm.legacy.clone(), noise)?,
        })))
    }

    /// The hash of everything that a generation is: features, privacy, reward, forgetting, what it began with, and the rule, which is part of a
    /// learner's state.
    pub fn params_hash(&self) -> u64 {
        let LoopParams { trust, privacy, reward, .. } = &self.params;
        let learner = &self.learner_params;
        let parts = (
            trust,
            privacy,
            reward,
            self.params.compares(),
            self.tick,
            learner.forget,
            learner.horizon,
            learner.rule.clone(),
            self.features.params(),
        );
        let fixed = &self.params.fixed_action;
        match &self.warm_start {
            None if !fixed.is_empty() => hash::of_params("generation 1, fixed", &(parts, fixed)),
            None => hash::of_params("generation 1", &parts),
            Some(warm) => hash::of_params("generation 1, warm", &(parts, warm.hash)),
        }
    }
}

/// Moves the constant of a vector to the coordinate of its group, where there are two.
pub fn set_group(row: &mut [f64], compares: bool, holdout: bool) {
    if compares && let [.., constant, last] = row {
        let value = *constant;
        (*constant, *last) = if holdout { (value, 0.0) } else { (0.0, value) };
    }
}
