//! A checked central loop: its features, its learner, its clock, its generation.

use std::path::Path;

use reticent::{
    bandit::{JointParams, Legacy},
    features::FeaturesPlan,
    hash,
    noise::SecureNoise,
    randomize::Bounds,
    release::Schedule,
};
use serde::{Deserialize, Serialize};

use super::{
    LoopParams, Period, Span, UnitName, WarmStart,
    continued::Continued,
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
    /// The generation that it continues, with other lists of words.
    pub(super) continued: Option<Continued>,
    /// Release of the previous generation.
    pub(super) carried: Option<Legacy>,
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
            let remedy = "expected a share from 0 to below 1";
            return Err(Error::invalid(at("baseline.share"), self.baseline.share, remedy));
        }
        self.check_rewards(name)?;
        self.check_person_from(name)?;
        self.check_kept_models(name)?;
        self.check_pace(name)?;
        let features = self.features().and_then(|features| Ok(features.check()?));
        let features = features.map_err(|error| within(name, error))?;
        self.check_central_over(name, features, None)
    }

    /// The same over these features, with a warm start that has been read, if any.
    pub(super) fn check_central_over(
        &self,
        name: &str,
        features: FeaturesPlan,
        read: Option<WarmStart>,
    ) -> Result<CentralPlan> {
        let at = |field: &str| format!("loop.{name}.{field}");
        let ledger = self.ledger(name)?;
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
        let groups = 1 + u32::from(self.compares());
        let levels = || features.levels().and_then(|levels| levels.with_groups(groups));
        let rule = self.learner.rule.clone().with_levels(levels);
        params.rule = rule.map_err(|error| within(name, error.into()))?;
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
            .filter(|_| read.is_none())
            .map(|file| WarmStart::open(Path::new(file), &params, &features, self.compares()));
        let is_read = read.is_some();
        let warm_start = read.or(opened.transpose().map_err(|error| within(name, error))?);
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
            continued: None,
            carried: None,
        };
        if let Some(file) = self.warm_start.as_ref().filter(|_| !is_read) {
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
                let remedy = "expected a whole number of visits above 0";
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
                let remedy = "expected the number of visits of a person that may be learnt from, such as `visits = 10, per = \"30 days\"`";
                Err(Error::invalid(at("unit"), "person", remedy))
            }
            (None, Some(_), _) => {
                let remedy = "it is the period of `visits`: give them too, or leave it out";
                Err(Error::invalid(at("per"), "a period without visits", remedy))
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
                "what is learnt would fade before it is released; expected at least learner.tick, which is {tick}"
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
        let warm = self.warm_start.as_ref().map(|warm| &warm.legacy).or(self.carried.as_ref());
        Ok(CentralLearner::Sums(Box::new(match warm {
            None => plan.curator(noise),
            Some(legacy) => plan.curator_from(legacy.clone(), noise)?,
        })))
    }

    /// The hash of everything that a generation is: features, privacy, reward, forgetting, what it began with, and the rule, which is part of a
    /// learner's state.
    pub fn params_hash(&self) -> u64 {
        if let Some(continued) = &self.continued {
            return continued.params_hash;
        }
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

#[cfg(test)]
mod tests {
    use reticent::{bandit::Rule, features::Level};

    use super::*;
    use crate::config::{Plan, ServiceFile};

    fn checked(more: &str) -> Result<Plan> {
        let text = format!(
            "[loop.home]\nprivacy.epsilon = 4.0\nprivacy.delta = 1e-6\nlearner.rule = \"two_level\"\ncontext.device.categories = [\"phone\", \"computer\"]\naction.topic.categories = [\"news\", \"sport\"]\ncross.with = [[\"device\", \"topic\"]]\n{more}"
        );
        let mut plans = ServiceFile::parse(&text)?.check()?;
        Ok(plans.remove(0))
    }

    #[test]
    fn the_two_level_rule_takes_its_levels_from_the_features() {
        for (more, groups, dimension) in [
            ("weighting = \"groups\"", 1, 2 + 4 + 1),
            ("weighting = \"groups\"\nbaseline.share = 0.1", 2, 2 + 4 + 2),
            ("", 1, 2 + 2 + 4 + 1),
        ] {
            let Plan::Central(plan) = checked(more).unwrap() else { unreachable!() };
            let Rule::TwoLevel { levels: Some(levels), .. } = &plan.learner_params.rule else {
                unreachable!()
            };
            assert_eq!(levels.dimension(), dimension);
            assert_eq!(levels.parts().last().unwrap().1.len(), groups);
            let crosses = levels.parts().filter(|(part, _)| part.level() == Level::Cross);
            assert_eq!(crosses.count(), 1);
            // One tick: a policy comes of it, and the learner is read as it was saved.
            let mut learner = plan.begin().unwrap();
            let mut sums = learner.no_sums();
            let mut row = vec![0.0; dimension];
            set_group(&mut row, groups == 2, true);
            learner.contribute(&row, 1.0, &mut sums).unwrap();
            learner.tick(&mut sums).unwrap();
            let again = CentralLearner::resume(&learner.save(), 1).unwrap();
            assert_eq!(again.policy(), learner.policy());
        }
    }

    #[test]
    fn features_without_levels_are_refused_by_name() {
        for (more, field) in [
            ("projection = { dimension = 4, seed = 1 }", "projection"),
            ("action.price.range = [0, 1]\nproducts = { degree = 2 }", "products"),
            (
                "trust = \"device\"\nprivacy.visits = 3\nprivacy.per = \"ever\"",
                "learner.rule: got two_level; it is for sums of a trusted curator",
            ),
            (
                "trust = \"shuffler\"\nshuffle = { batch = 1000 }\nprivacy.visits = 1\nprivacy.per = \"ever\"",
                "learner.rule: got two_level; it is for sums of a trusted curator",
            ),
        ] {
            let error = checked(more).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains("loop.home") && error.contains(field), "{more}: {error}");
        }
    }
}
