//! The parameters of a loop as its file has them.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use reticent::{
    bandit::Rule,
    error::message,
    features::{
        Cross, FeatureTable, FeaturesParams, Fourier, MOST_NAMES, Products, Projection, Weighting,
    },
    privacy::TrustModel,
    schema::{Count, Delta, Positive, RequestedDelta, Share},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::json;

use super::{Continuation, Origin, Span, span};
use crate::{Error, Result};

/// One decision point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoopParams {
    /// Purpose of the loop, in a sentence for people who are asked for their data; it stands on the certificate's page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// Party that is trusted with the raw data.
    #[serde(default)]
    pub trust: Trust,
    /// The privacy budget and its unit.
    pub privacy: PrivacyParams,
    /// Learner.
    #[serde(default)]
    pub learner: LearnerParams,
    /// Reward that it learns from.
    #[serde(default)]
    pub reward: RewardParams,
    /// A share of decisions that is answered with the caller's first action, for a comparison.
    #[serde(default)]
    pub baseline: Baseline,
    /// Mode: it decides, or watches the caller decide.
    #[serde(default)]
    pub mode: LoopMode,
    /// Time for which raw rows are kept after they have been used; by default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retain: Option<Span>,
    /// Releases of which the whole model is kept, the newest ones; of earlier ones number, time and hashes stay for ever. By default 1000, and 64 where people's
    /// devices add the noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Count>")]
    pub keep_models: Option<u64>,
    /// Visits a day that are expected: public, for estimates only. With it `--check` says which parts stay noise, and when the others are learnt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Positive>")]
    pub events_per_day: Option<f64>,
    /// Path of the person in the context, such as `"contextFeatures.user.id"`, for calls that name none, as Personalizer's do. It is taken out
    /// of the features of every call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person_from: Option<String>,
    /// Parameters of loops whose devices add the noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<super::DeviceParams>,
    /// Parameters of loops with a shuffler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shuffle: Option<super::ShuffleTable>,
    /// Path of a file with the model of an earlier loop (`reticent-server store model`), or with public examples, to begin with; relative to the file of
    /// loops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_start: Option<String>,
    /// The generation that `warm_start` comes from: noted when the loop is checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub warm_start_origin: Option<Origin>,
    /// Words that were appended since the generation began: noted when a store is opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub continuation: Option<Continuation>,
    /// Features of the context; other entries are ignored.
    #[serde(default)]
    #[schemars(with = "FeatureTable")]
    pub context: serde_json::Value,
    /// Features of an action.
    #[serde(default)]
    #[schemars(with = "FeatureTable")]
    pub action: serde_json::Value,
    /// Products of both.
    #[serde(default)]
    #[schemars(with = "Cross")]
    pub cross: serde_json::Value,
    /// Actions that are public and the same for all people: rank requests have exactly these, and `learner.rule` is `episodes` unless it is given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixed_action: Vec<super::FixedAction>,
    /// Shares of the squared norm by the name of a part, such as `constant` or `"device*topic"`; that of a feature stands beside it, as `weight`.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    #[schemars(with = "BTreeMap<String, Share>")]
    pub weight: serde_json::Value,
    /// Division of the rest of the squared norm: `"roots"`, by the square roots of parts' sizes, or `"groups"`, a fifth to the constant, two fifths to main
    /// effects of actions and two fifths to crosses.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    #[schemars(with = "Weighting")]
    pub weighting: serde_json::Value,
    /// Products of the numbers.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    #[schemars(with = "Products")]
    pub products: serde_json::Value,
    /// Random Fourier features of the numbers.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    #[schemars(with = "Fourier")]
    pub fourier: serde_json::Value,
    /// A public projection to fewer coordinates.
    #[serde(default)]
    #[schemars(with = "Projection")]
    pub projection: serde_json::Value,
}

/// The names, joined by dots, that lead to the person in a context.
pub fn person_path(person_from: &str) -> &str {
    person_from.strip_prefix("contextFeatures.").unwrap_or(person_from)
}

impl LoopParams {
    /// Refuses a path on which no person stands: loops that count visits would learn nothing.
    pub(super) fn check_person_from(&self, name: &str) -> Result<()> {
        let Some(person_from) = &self.person_from else { return Ok(()) };
        let names = person_path(person_from).split('.');
        let count = names.clone().count();
        if count <= MOST_NAMES && names.into_iter().all(|name| !name.trim().is_empty()) {
            return Ok(());
        }
        let remedy = format!(
            "expected up to {MOST_NAMES} names joined by single dots, such as user.id; or leave it out"
        );
        let field = format!("loop.{name}.person_from");
        Err(Error::invalid(field, format!("{person_from:?}"), remedy))
    }

    /// The rule from records to vectors.
    pub(super) fn features(&self) -> Result<FeaturesParams> {
        let parts = [
            ("context", &self.context),
            ("action", &self.action),
            ("cross", &self.cross),
            ("projection", &self.projection),
            ("weight", &self.weight),
            ("weighting", &self.weighting),
            ("products", &self.products),
            ("fourier", &self.fourier),
        ];
        for (name, part) in parts.iter().filter(|(_, part)| !part.is_null()) {
            if let Some(path) = not_finite(name, part) {
                return Err(Error::invalid(
                    path,
                    "a value that is not finite",
                    "expected finite numbers",
                ));
            }
        }
        let given = parts.into_iter().filter(|(_, part)| !part.is_null());
        let table: serde_json::Map<_, _> =
            given.map(|(name, part)| (name.to_string(), part.clone())).collect();
        serde_json::from_value(table.into())
            .map_err(|error| Error::invalid("features", "what cannot be read", error))
    }

    /// Refuses ranges of rewards without a width.
    pub(super) fn check_rewards(&self, name: &str) -> Result<()> {
        let (low, high) = self.reward.range;
        if low.is_finite() && high.is_finite() && low < high {
            return Ok(());
        }
        let remedy = "expected two finite numbers, the smaller one first";
        Err(Error::invalid(format!("loop.{name}.reward.range"), format!("[{low}, {high}]"), remedy))
    }

    /// Refuses a number of visits that no estimate can be made for.
    pub(super) fn check_pace(&self, name: &str) -> Result<()> {
        match self.events_per_day {
            Some(events) if !(events.is_finite() && events > 0.0) => {
                let field = format!("loop.{name}.events_per_day");
                let remedy = "expected a positive number; give the visits of an ordinary day, or leave it out";
                Err(Error::invalid(field, events, remedy))
            }
            _ => Ok(()),
        }
    }

    /// Warnings about parameters that can be served and are probably mistakes.
    pub fn warnings(&self, name: &str) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.action.as_object().is_none_or(serde_json::Map::is_empty) {
            warnings.push(format!("loop.{name}.action: actions have no features of their own, so that all of them are equal to the learner: list some, such as topic = {{ categories = [\"news\", \"sport\"] }}"));
        }
        let of_features = self.features().map(|features| features.warnings()).unwrap_or_default();
        warnings.extend(of_features.iter().map(|warning| format!("loop.{name}.{warning}")));
        if self.privacy.delta > MEANINGLESS_DELTA {
            let delta = self.privacy.delta;
            let remedy = format!(
                "it allows that one person in {:.0} is published outright; expected {MEANINGLESS_DELTA} or less, and less than one in the number of people",
                1.0 / delta
            );
            warnings.push(message(format!("loop.{name}.privacy.delta"), delta, remedy));
        }
        if self.privacy.epsilon > MEANINGLESS_EPSILON {
            let remedy =
                format!("it promises next to nothing; expected less than {MEANINGLESS_EPSILON}");
            let field = format!("loop.{name}.privacy.epsilon");
            warnings.push(message(field, self.privacy.epsilon, remedy));
        }
        warnings
    }
}

/// Epsilon above which an attacker's guess is as good as certain.
const MEANINGLESS_EPSILON: f64 = 20.0;

/// Delta above which a mechanism may publish some people's data as they are.
const MEANINGLESS_DELTA: f64 = 1e-3;

/// The path of a number that is not finite: TOML has such numbers and no null, JSON has null in their place.
fn not_finite(path: &str, value: &serde_json::Value) -> Option<String> {
    match value {
        serde_json::Value::Null => Some(path.to_string()),
        serde_json::Value::Array(members) => {
            members.iter().find_map(|member| not_finite(path, member))
        }
        serde_json::Value::Object(fields) => {
            fields.iter().find_map(|(name, field)| not_finite(&format!("{path}.{name}"), field))
        }
        _ => None,
    }
}

/// Party that is trusted with the raw data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// This service.
    #[default]
    Curator,
    /// No party: people's devices add the noise.
    Device,
    /// A process that mixes and is not this service.
    Shuffler,
}

impl Trust {
    /// Trust model of a guarantee.
    pub fn model(self) -> TrustModel {
        match self {
            Trust::Curator => TrustModel::Joint,
            Trust::Device => TrustModel::Local,
            Trust::Shuffler => TrustModel::Shuffle,
        }
    }
}

/// The privacy budget and its unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrivacyParams {
    /// Epsilon of one person in one period, or of one decision.
    #[schemars(with = "Positive")]
    pub epsilon: f64,
    /// Delta.
    #[schemars(with = "RequestedDelta")]
    pub delta: f64,
    /// k: visits of a person in a period that are learnt from, over all generations of the loop.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole_number")]
    #[schemars(with = "Option<Count>")]
    pub visits: Option<u32>,
    /// The period, a calendar window counted from 1970-01-01 UTC: `"30 days"`, or `"ever"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<Period>,
    /// `unit = "decision"`: one decision is protected, and visits of persons are not counted. This is the default without `visits`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<UnitName>,
}

/// Reads a number of visits, or says which value is expected.
fn whole_number<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Option<u32>, D::Error> {
    let Some(given) = Option::<f64>::deserialize(deserializer)? else { return Ok(None) };
    if (0.0..=f64::from(u32::MAX)).contains(&given) && given.fract() == 0.0 {
        return Ok(Some(given as u32));
    }
    Err(D::Error::custom(format!("got {given}; expected a whole number from 1 to {}", u32::MAX)))
}

/// The unit as a file names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnitName {
    /// One decision.
    Decision,
    /// All visits of a person in a period.
    Person,
}

/// The period in which a person's visits are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    /// One period without an end.
    Ever,
    /// Periods of this length since 1970.
    Each(Span),
}

impl Period {
    /// Length of a period; none of the one without an end.
    pub fn span(self) -> Option<Span> {
        match self {
            Period::Ever => None,
            Period::Each(span) => Some(span),
        }
    }
}

impl fmt::Display for Period {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Period::Ever => formatter.write_str("ever"),
            Period::Each(span) => span.fmt(formatter),
        }
    }
}

impl Serialize for Period {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Period::Ever => serializer.serialize_str("ever"),
            Period::Each(span) => span.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Period {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.trim() {
            "ever" => Ok(Period::Ever),
            span => Span::parse(span)
                .map(Period::Each)
                .map_err(|remedy| D::Error::custom(format!("got {text:?}; {remedy}, or \"ever\""))),
        }
    }
}

impl JsonSchema for Period {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Period".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let pattern = format!(r"^(\s*ever\s*|{})$", span::PATTERN);
        json_schema!({ "type": "string", "pattern": pattern, "examples": ["30 days", "ever"] })
    }
}

/// Learner of a loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(transform = add_alias)]
pub struct LearnerParams {
    /// Rule from releases to decisions.
    #[serde(alias = "explore")]
    pub rule: Rule,
    /// Half-life: time after which a contribution counts half.
    pub forget: Option<Span>,
    /// Time between two releases.
    pub tick: Option<Span>,
    /// Ticks after which learning ends, in place of a half-life.
    #[schemars(with = "Option<Count>")]
    pub horizon: Option<u64>,
}

/// `explore` is another name of `rule`; only one of them is given.
fn add_alias(schema: &mut Schema) {
    let rule = schema.pointer("/properties/rule").cloned();
    if let (Some(rule), Some(keys)) = (rule, schema.pointer_mut("/properties")) {
        keys["explore"] = rule;
        schema.insert("not".into(), json!({ "required": ["rule", "explore"] }));
    }
}

impl Default for LearnerParams {
    fn default() -> Self {
        LearnerParams { rule: Rule::THOMPSON, forget: None, tick: None, horizon: None }
    }
}

/// Reward of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RewardParams {
    /// The least and the largest total reward of an event; others are clipped.
    pub range: (f64, f64),
    /// Time for which rewards are taken.
    pub window: Span,
    /// The reward of an event without a reward; by default the value in the range that is nearest to 0.
    pub default: Option<f64>,
    /// Combination of several rewards of one event.
    pub combine: Combine,
}

impl Default for RewardParams {
    fn default() -> Self {
        RewardParams {
            range: (0.0, 1.0),
            window: Span::seconds(600),
            default: None,
            combine: Combine::First,
        }
    }
}

/// Combination of several rewards of one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Combine {
    /// The first one counts.
    #[default]
    First,
    /// They are added up, and the total is clipped.
    Sum,
}

/// A share of decisions that is answered with the caller's first action.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Baseline {
    /// From 0, none, to below 1.
    #[schemars(with = "Delta")]
    pub share: f64,
}

/// Mode of a loop: it decides, or watches the caller decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoopMode {
    /// The learner decides.
    #[default]
    Online,
    /// Every decision is the caller's first action, and the learner learns from its reward.
    Apprentice,
}

#[cfg(test)]
mod tests {
    use crate::config::ServiceFile;

    /// Of all texts of a file only a purpose may be empty.
    #[test]
    fn what_is_empty_is_refused_by_field_and_value() {
        let check = |more: &str| {
            let file = format!(
                "[loop.home]\nprivacy = {{ epsilon = 1.0, delta = 1e-6 }}\naction.topic.categories = [\"a\", \"b\"]\n{more}"
            );
            ServiceFile::parse(&file).and_then(|file| file.check())
        };
        for sound in [
            "purpose = \"\"",
            "person_from = \"id\"",
            "person_from = \"contextFeatures.user.id\"",
            "context.a.b.range = [0, 1]",
        ] {
            assert!(check(sound).is_ok(), "{sound}: {:?}", check(sound).err());
        }
        for (more, field, value) in [
            ("person_from = \"\"", "loop.home.person_from", "\"\""),
            ("person_from = \" \"", "loop.home.person_from", "\" \""),
            ("person_from = \"contextFeatures.\"", "loop.home.person_from", "\"contextFeatures.\""),
            ("person_from = \"user..id\"", "loop.home.person_from", "\"user..id\""),
            ("person_from = \".id\"", "loop.home.person_from", "\".id\""),
            (
                "person_from = \"a.b.c.d.e.f.g.h.i\"",
                "loop.home.person_from",
                "\"a.b.c.d.e.f.g.h.i\"",
            ),
            ("warm_start = \"\"", "loop.home.warm_start", "\"\""),
            ("context.\"\".range = [0, 1]", "loop.home", "context: got \"\""),
            ("context.\"a..b\".range = [0, 1]", "loop.home", "context: got \"a..b\""),
            ("context.a.\"\".range = [0, 1]", "loop.home", "context: got \"a.\""),
            ("context.word.categories = [\"\"]", "loop.home", "\"\" for context.word"),
            ("context.word.categories = []", "loop.home", "[] for context.word"),
            ("cross.with = [[\"\", \"topic\"]]", "loop.home", "cross.with: got [\"\", \"topic\"]"),
            ("retain = \"\"", "loops", "\"\""),
            ("mode = \"\"", "loops", "\"\""),
        ] {
            let message = check(more).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(message.contains(field) && message.contains(value), "{more}: {message}");
        }
    }
}
