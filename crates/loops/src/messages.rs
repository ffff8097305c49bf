//! Requests of callers and their answers.

use std::collections::HashSet;

use reticent::features::Value;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::objects;
use crate::{Error, Result, config::LimitParams, records::Digest};

/// A rank request: a call to choose one of these actions for a person.
#[derive(Clone, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RankRequest {
    /// The caller's name for the event, to send its reward under; made if it is missing. The same id with the same body and the same key again gets the
    /// stored answer; with another body or another key, and after its person was erased, an error.
    #[serde(default)]
    #[cfg_attr(
        feature = "openapi",
        schema(min_length = 1, max_length = 512, pattern = "^[^\\x00-\\x1F\\x7F-\\x9F]+$")
    )]
    pub event_id: Option<String>,
    /// The person: any id that the caller uses for the same person every time. It is kept only as a keyed hash.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 512))]
    pub person: Option<String>,
    /// Features of the moment: an object, possibly nested. Entries that the loop does not list are ignored.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub context: Value,
    /// Actions to choose from. The first one is the caller's own choice, for the baseline and for apprentice mode.
    #[serde(deserialize_with = "objects")]
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 1024))]
    pub actions: Vec<Action>,
    /// Ids of actions that must not be chosen.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(max_items = 1024))]
    pub exclude: Vec<String>,
    /// True if the event counts only after it has been activated.
    #[serde(default)]
    pub defer: bool,
}

/// An action that may be chosen.
#[derive(Clone, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// Its id, unique among the actions.
    #[cfg_attr(
        feature = "openapi",
        schema(min_length = 1, max_length = 512, pattern = "^[^\\x00-\\x1F\\x7F-\\x9F]+$")
    )]
    pub id: String,
    /// Features of the action.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub features: Value,
}

/// The answer to a rank request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RankAnswer {
    /// The name of the event.
    pub event_id: String,
    /// The id of the action to take.
    pub action: String,
    /// All actions with the probability with which each would have been chosen, the chosen one first.
    pub ranking: Vec<RankedAction>,
    /// The head of the loop: echo the last one that you saw in the header `Reticent-Head`.
    pub head: String,
}

/// An action with its probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RankedAction {
    /// Its id.
    pub id: String,
    /// The probability with which it would have been chosen; 0 for excluded ones.
    pub probability: f64,
}

/// A reward.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RewardRequest {
    /// Its value. The total of an event is clipped to the loop's range when the event closes.
    pub value: f64,
    /// Repeated under the same key, a reward counts once, for as long as rewards change its event. An event takes 1,024 different keys: rewards under further ones
    /// change nothing.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 512))]
    pub idempotency_key: Option<String>,
}

/// Limits on the size of a request.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Actions, and excluded ids.
    pub actions: usize,
    /// Actions of all requests of a batch together.
    pub batch_actions: usize,
    /// Bytes of an event id, a person or an action's id.
    pub name: usize,
    /// Requests in a batch.
    pub batch: usize,
    /// Open events of a loop.
    pub open_events: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            actions: 1024,
            batch_actions: 32 * 1024,
            name: 512,
            batch: 1000,
            open_events: 10_000_000,
        }
    }
}

impl Limits {
    /// The limits of a file of loops.
    pub fn of(params: &LimitParams) -> Self {
        let limits = Limits::default();
        Limits {
            actions: LimitParams::size(params.actions, limits.actions),
            batch: LimitParams::size(params.batch, limits.batch),
            batch_actions: LimitParams::size(params.batch_actions, limits.batch_actions),
            open_events: params.open_events.map_or(limits.open_events, |most| most.get().into()),
            ..limits
        }
    }
}

/// Values that take as long as one action does.
const VALUES_OF_ACTION: usize = 16;

impl RankRequest {
    /// The work that an answer takes, in values that are read.
    pub fn work(&self) -> usize {
        let features: usize = self.actions.iter().map(|action| values(&action.features)).sum();
        let names = self.actions.len() * VALUES_OF_ACTION + self.exclude.len();
        names + features + values(&self.context)
    }

    /// Refuses requests that cannot be answered.
    pub fn check(&self, limits: &Limits) -> Result<()> {
        let count = self.actions.len();
        if count == 0 || count > limits.actions {
            let remedy = format!("expected from 1 to {} actions", limits.actions);
            return Err(Error::invalid("actions", format!("{count} actions"), remedy));
        }
        if self.exclude.len() > limits.actions {
            let remedy = format!("expected at most {} ids of `actions`", limits.actions);
            return Err(Error::invalid("exclude", format!("{} ids", self.exclude.len()), remedy));
        }
        let mut seen = HashSet::with_capacity(count);
        for action in &self.actions {
            check_name("actions.id", &action.id, limits)?;
            if !seen.insert(action.id.as_str()) {
                let remedy = "it is given twice: give every action an id of its own";
                return Err(Error::invalid("actions.id", format!("{:?}", action.id), remedy));
            }
        }
        if let Some(id) = self.exclude.iter().find(|id| !seen.contains(id.as_str())) {
            let remedy = "no action has this id: exclude ids of `actions`";
            return Err(Error::invalid("exclude", format!("{id:?}"), remedy));
        }
        if let Some(id) = &self.event_id {
            check_name("event_id", id, limits)?;
        }
        match &self.person {
            // A person is not repeated in an error, which may be logged.
            Some(person) if person.is_empty() || person.len() > limits.name => {
                let remedy = format!("expected 1 to {} bytes; or leave it out", limits.name);
                let bytes = format!("{} bytes", person.len());
                Err(Error::invalid("person", bytes, remedy))
            }
            _ => Ok(()),
        }
    }
}

impl RewardRequest {
    /// The value in units of 2^-32. Values beyond 2^30 count as that.
    pub fn units(&self) -> Result<i64> {
        if !self.value.is_finite() {
            return Err(Error::invalid(
                "value",
                "a value that is not finite",
                "expected a finite number",
            ));
        }
        let most = (1_i64 << 30) as f64;
        Ok((self.value.clamp(-most, most) * (1_i64 << 32) as f64).round_ties_even() as i64)
    }
}

/// The number of values that a value is made of.
fn values(value: &Value) -> usize {
    1 + match value {
        Value::List(members) => members.iter().map(values).sum(),
        Value::Record(entries) => entries.values().map(values).sum(),
        _ => 0,
    }
}

/// Refuses names that are empty, too long or not printable.
pub fn check_name(field: &str, name: &str, limits: &Limits) -> Result<()> {
    let printable = !name.chars().any(char::is_control);
    if (1..=limits.name).contains(&name.len()) && printable {
        return Ok(());
    }
    let shown: String = name.chars().take(40).filter(|c| !c.is_control()).collect();
    let remedy = format!("expected 1 to {} bytes without control characters", limits.name);
    Err(Error::invalid(field, format!("{shown:?}"), remedy))
}

/// The hash of a request without its event id, to distinguish a repetition from another request under the same id.
pub fn request_digest(request: &RankRequest) -> Digest {
    let mut hasher = Hasher(Sha256::new());
    hasher.text(request.person.as_deref().unwrap_or(""));
    hasher.0.update([u8::from(request.person.is_some()), u8::from(request.defer)]);
    hasher.value(&request.context);
    hasher.count(request.actions.len());
    for action in &request.actions {
        hasher.text(&action.id);
        hasher.value(&action.features);
    }
    hasher.count(request.exclude.len());
    request.exclude.iter().for_each(|id| hasher.text(id));
    hasher.0.finalize().into()
}

/// Feeds values with their types and lengths, so that no two of them run into each other.
struct Hasher(Sha256);

impl Hasher {
    fn count(&mut self, count: usize) {
        self.0.update((count as u64).to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.count(text.len());
        self.0.update(text.as_bytes());
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Missing => self.0.update([0]),
            Value::Bool(value) => self.0.update([1, u8::from(*value)]),
            Value::Integer(value) => {
                self.0.update([2]);
                self.0.update(value.to_le_bytes());
            }
            Value::Number(value) => {
                self.0.update([3]);
                self.0.update(value.to_bits().to_le_bytes());
            }
            Value::Text(text) => {
                self.0.update([4]);
                self.text(text);
            }
            Value::List(members) => {
                self.0.update([5]);
                self.count(members.len());
                members.iter().for_each(|member| self.value(member));
            }
            Value::Record(entries) => {
                self.0.update([6]);
                self.count(entries.len());
                for (name, value) in entries {
                    self.text(name);
                    self.value(value);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> RankRequest {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_repetition_differs_from_another_request() {
        let one = request(r#"{"event_id": "a", "context": {"x": 1}, "actions": [{"id": "p"}]}"#);
        let same = request(r#"{"context": {"x": 1}, "actions": [{"id": "p"}], "event_id": "b"}"#);
        assert_eq!(request_digest(&one), request_digest(&same));
        for other in [
            r#"{"context": {"x": 2}, "actions": [{"id": "p"}]}"#,
            r#"{"context": {"x": 1}, "actions": [{"id": "p"}], "defer": true}"#,
            r#"{"context": {"x": 1}, "actions": [{"id": "p"}], "person": ""}"#,
            r#"{"context": {"x": 1}, "actions": [{"id": "p"}], "exclude": ["p"]}"#,
            r#"{"context": {"x": "1"}, "actions": [{"id": "p"}]}"#,
        ] {
            assert_ne!(request_digest(&one), request_digest(&request(other)), "{other}");
        }
    }

    #[test]
    fn bad_requests_are_refused_by_field() {
        let limits = Limits { actions: 2, name: 4, ..Limits::default() };
        for (text, field) in [
            (r#"{"actions": []}"#, "actions"),
            (r#"{"actions": [{"id":"a"},{"id":"b"},{"id":"c"}]}"#, "actions"),
            (r#"{"actions": [{"id":"a"},{"id":"a"}]}"#, "actions.id"),
            (r#"{"actions": [{"id":""}]}"#, "actions.id"),
            (r#"{"actions": [{"id":"a"}], "exclude": ["b"]}"#, "exclude"),
            (r#"{"actions": [{"id":"a"}], "exclude": ["a", "a", "a"]}"#, "exclude"),
            (r#"{"actions": [{"id":"a"}], "event_id": "12345"}"#, "event_id"),
            (r#"{"actions": [{"id":"a"}], "person": "12345"}"#, "person"),
        ] {
            match request(text).check(&limits) {
                Err(Error::Invalid { field: found, value, .. }) => {
                    assert_eq!(found, field);
                    assert!(!value.contains("12345") || field != "person");
                }
                _ => panic!("{text} was taken"),
            }
        }
    }

    #[test]
    fn rewards_are_whole_numbers_of_units() {
        let units = |value| RewardRequest { value, idempotency_key: None }.units();
        assert_eq!(units(1.0).unwrap(), 1 << 32);
        assert_eq!(units(-0.5).unwrap(), -(1 << 31));
        assert_eq!(units(1e300).unwrap(), 1 << 62);
        assert!(units(f64::NAN).is_err() && units(f64::INFINITY).is_err());
    }
}
