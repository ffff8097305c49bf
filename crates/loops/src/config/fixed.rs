//! Actions that a loop's file declares as fixed: public, and the same for all people.
//!
//! ```toml
//! [[loop.home.fixed_action]]
//! id = "banner"
//! features = { topic = "news" }
//! ```

use std::collections::{BTreeMap, HashSet};

use reticent::{
    bandit::{EpisodesParams, Rule},
    features::{FeaturesPlan, Report, Value},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{LoopMode, LoopParams, Trust, refusal::within};
use crate::{Error, Result, learner::LearnerPlan};

/// An action that is fixed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FixedAction {
    /// Its id, as rank requests name it.
    pub id: String,
    /// Features of the action.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub features: serde_json::Value,
}

impl LoopParams {
    /// True if the learner is for fixed actions.
    pub fn has_fixed_actions(&self) -> bool {
        matches!(self.learner.rule, Rule::Episodes { .. })
    }

    /// Refuses keys that a loop with fixed actions cannot keep, and fixed actions without a learner for them.
    pub(super) fn check_fixed(&self, name: &str) -> Result<()> {
        let at = |field: &str| format!("loop.{name}.{field}");
        let count = self.fixed_action.len();
        if !self.has_fixed_actions() {
            let remedy = "give learner.rule = \"episodes\", which is for actions that are the same for all people, or leave them out";
            return match count {
                0 => Ok(()),
                _ => Err(Error::invalid(at("fixed_action"), format!("{count} of them"), remedy)),
            };
        }
        if self.trust != Trust::Curator {
            let remedy = "the service serves fixed actions with trust = \"curator\"; expected that, or another learner.rule";
            return Err(Error::invalid(
                at("trust"),
                format!("{:?}", self.trust).to_lowercase(),
                remedy,
            ));
        }
        if count == 0 {
            let remedy = "it is for actions that are declared fixed and the same for all people: list them as [[loop.NAME.fixed_action]], or give thompson";
            return Err(Error::invalid(at("learner.rule"), "episodes", remedy));
        }
        let mut ids = HashSet::new();
        for action in &self.fixed_action {
            if action.id.is_empty() || !ids.insert(&action.id) {
                let remedy = "give every action an id of its own";
                return Err(Error::invalid(
                    at("fixed_action.id"),
                    format!("{:?}", action.id),
                    remedy,
                ));
            }
        }
        let empty =
            |value: &serde_json::Value| value.as_object().is_none_or(serde_json::Map::is_empty);
        let of_people = "actions that are the same for all people have no features of a person: leave it out, or give another learner.rule";
        let one_action =
            "every decision is the learner's there: leave it out, or give another learner.rule";
        for (field, given, remedy) in [
            ("context", !empty(&self.context), of_people),
            ("cross", !empty(&self.cross), of_people),
            ("baseline.share", self.compares(), one_action),
            ("mode", self.mode == LoopMode::Apprentice, one_action),
            ("warm_start", self.warm_start.is_some(), one_action),
            (
                "learner.horizon",
                self.learner.horizon.is_some(),
                "episodes have no end: leave it out, or give `forget`",
            ),
        ] {
            if given {
                return Err(Error::invalid(at(field), "a value", remedy));
            }
        }
        Ok(())
    }

    /// The learner for fixed actions; `forget` is in ticks.
    pub(super) fn fixed_learner(
        &self,
        name: &str,
        features: &FeaturesPlan,
        params: &reticent::bandit::JointParams,
    ) -> Result<LearnerPlan> {
        let Rule::Episodes { width, growth } = self.learner.rule else {
            return Err(Error::Unavailable("the rule is for other actions".into()));
        };
        let mut arms = Vec::with_capacity(self.fixed_action.len());
        for action in &self.fixed_action {
            let at = |field: &str| format!("loop.{name}.fixed_action.{field}");
            let value: Value = serde_json::from_value(action.features.clone())
                .map_err(|error| Error::invalid(at("features"), &action.id, error))?;
            let mut report = Report::default();
            let mut row = vec![0.0; features.dimension()];
            let mut writer = features.writer(&Value::default(), &mut report);
            writer.write(&value, &mut report, &mut row);
            if let Some((feature, _)) = report.action.iter().next() {
                let remedy = "expected a value that the loop's features know, within its range";
                return Err(Error::invalid(at(&format!("features.{feature}")), &action.id, remedy));
            }
            arms.push(row);
        }
        let episodes = EpisodesParams {
            rewards: params.bounds.rewards,
            contributions_per_person: params.contributions_per_person,
            clock: true,
            forget: params.forget,
            default_reward: params.default_reward,
            width,
            growth,
            ..EpisodesParams::new(arms, params.epsilon, params.delta)
        };
        let plan = episodes.check().map_err(|error| within(name, error.into()))?;
        Ok(LearnerPlan::Episodes(Box::new(plan)))
    }
}
