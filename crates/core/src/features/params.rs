//! Parameters of a rule, as a file writes them, and the values that are refused.

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use super::{
    Encoder, Encoding, FeaturesPlan, MOST_NAMES, Map, Projection, Value, plan::Part,
    projection::LAST_SEED,
};
use crate::{Error, Result, wire};

/// Coordinates before a projection, at most.
pub const WIDEST: usize = 1 << 20;

/// Coordinates of a vector, at most: a learner keeps a matrix of their square.
pub const MOST_DIMENSION: usize = 1 << 12;

/// The rule from records to vectors: public, and the same for all people.
///
/// ```toml
/// [context]                          # what is not listed is not looked at
/// age = { range = [18, 80] }
/// user.device = { categories = ["phone", "computer"] }
/// [action]
/// topic = { hash = { buckets = 32 } }
/// [cross]
/// with = [["user.device", "topic"]]  # of the context, of the action
/// ```
///
/// Features stand in the order of their names whatever the file's, so that a rule is the same however it was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeaturesParams {
    /// Features of the context by their path; in a file also as nested tables.
    #[serde(default, deserialize_with = "table")]
    pub context: Map<Encoding>,
    /// Features of an action.
    #[serde(default, deserialize_with = "table")]
    pub action: Map<Encoding>,
    /// Products of both.
    #[serde(default)]
    pub cross: Cross,
    /// True if the last coordinate is a constant: see [`FeaturesPlan::constant`].
    #[serde(default = "yes")]
    pub constant: bool,
    /// A projection to fewer coordinates.
    #[serde(default)]
    pub projection: Option<Projection>,
}

/// Products of a feature of the context and one of the action: a coordinate for each pair of theirs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Cross {
    /// Pairs of names: the context's, then the action's.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<(String, String)>"))]
    pub with: Vec<Vec<String>>,
}

fn yes() -> bool {
    true
}

impl wire::Checked for FeaturesParams {
    fn check_message(&self) -> Result<()> {
        self.check().map(drop)
    }
}

impl wire::Message for FeaturesParams {
    const KIND: wire::Kind = wire::kinds::FEATURES;
}

impl FeaturesParams {
    /// These features and a constant, without products.
    pub fn new<N: Into<String>>(
        context: impl IntoIterator<Item = (N, Encoding)>,
        action: impl IntoIterator<Item = (N, Encoding)>,
    ) -> Self {
        let named = |(name, encoding): (N, Encoding)| (name.into(), encoding);
        FeaturesParams {
            context: context.into_iter().map(named).collect(),
            action: action.into_iter().map(named).collect(),
            cross: Cross::default(),
            constant: true,
            projection: None,
        }
    }

    /// Refuses what no record could be encoded by.
    pub fn check(&self) -> Result<FeaturesPlan> {
        let context = checked("context", &self.context)?;
        let action = checked("action", &self.action)?;
        if context.is_empty() && action.is_empty() {
            let remedy = "give at least one feature, such as age = { range = [18, 80] }";
            return Err(Error::invalid("context", "{}", remedy));
        }
        // In 64 bits: the product of two parts may be more than a machine's word.
        let size = |(_, encoder): &(String, Encoder)| encoder.dimension() as u64;
        let mut dimensions: Vec<u64> = context.iter().chain(&action).map(size).collect();
        let mut crosses = Vec::new();
        for names in &self.cross.with {
            let refuse =
                |remedy: String| Error::invalid("cross.with", format!("{names:?}"), remedy);
            let place = |side: &str, features: &[(String, Encoder)], name: &String| {
                let found = features.iter().position(|(other, _)| other == name);
                found.ok_or_else(|| {
                    refuse(format!("{name:?} is no feature of the {side}: name one of the context first, then one of the action"))
                })
            };
            let [left, right] = names.as_slice() else {
                return Err(refuse("name one feature of the context and one of the action".into()));
            };
            let places = (place("context", &context, left)?, place("action", &action, right)?);
            if crosses.contains(&places) {
                return Err(refuse("it is given twice: give it once".into()));
            }
            crosses.push(places);
            dimensions.push(size(&context[places.0]).saturating_mul(size(&action[places.1])));
        }
        dimensions.extend(self.constant.then_some(1));
        let full = dimensions.iter().fold(0_u64, |sum, next| sum.saturating_add(*next));
        if full > WIDEST as u64 {
            let remedy =
                format!("give at most {WIDEST} coordinates: fewer buckets, categories or crosses");
            return Err(Error::invalid("dimension", full, remedy));
        }
        let full = full as usize;
        if let Some(projection) = &self.projection {
            projection.check(full, self.constant)?;
        }
        let dimension = self.projection.map_or(full, |projection| projection.dimension);
        if dimension > MOST_DIMENSION {
            let remedy = format!(
                "a vector has at most {MOST_DIMENSION} coordinates: give fewer buckets, categories or crosses, or a projection"
            );
            return Err(Error::invalid("dimension", dimension, remedy));
        }
        let mut parts = Part::weighted(&dimensions);
        let constant = if self.constant { parts.pop().map(|part| part.weight) } else { None };
        Ok(FeaturesPlan {
            params: self.clone(),
            context,
            action,
            crosses,
            parts,
            constant,
            dimension,
        })
    }
}

impl Projection {
    fn check(&self, full: usize, constant: bool) -> Result<()> {
        let least = 1 + usize::from(constant);
        if !(least..full).contains(&self.dimension) {
            let remedy = format!(
                "the vector has {full} coordinates without a projection: give a whole number of {least} or more below that, or leave the projection out"
            );
            return Err(Error::invalid("projection.dimension", self.dimension, remedy));
        }
        if self.seed > LAST_SEED {
            let remedy = format!("give a whole number from 0 to {LAST_SEED}");
            return Err(Error::invalid("projection.seed", self.seed, remedy));
        }
        Ok(())
    }
}

fn checked(side: &'static str, features: &Map<Encoding>) -> Result<Vec<(String, Encoder)>> {
    let one = |(name, encoding): (&String, &Encoding)| {
        let names = name.split('.').count();
        if name.split('.').any(str::is_empty) {
            let remedy = "give names joined by single dots, such as user.age";
            return Err(Error::invalid(side, format!("{name:?}"), remedy));
        }
        if names > MOST_NAMES {
            let remedy = format!(
                "a path has at most {MOST_NAMES} names, this one {names}: give records that are less nested"
            );
            return Err(Error::invalid(side, format!("{name:?}"), remedy));
        }
        Ok((name.clone(), encoding.check(&format!("{side}.{name}"))?))
    };
    features.iter().map(one).collect()
}

/// Features of one side of a file; nested tables become paths.
fn table<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Map<Encoding>, D::Error> {
    if !deserializer.is_human_readable() {
        return Map::deserialize(deserializer);
    }
    encodings(Value::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// Features by their paths, from a table that may be nested.
pub fn encodings(table: Value) -> std::result::Result<Map<Encoding>, String> {
    let Value::Record(entries) = table else {
        return Err("give a table of features by name".to_string());
    };
    let mut features = Map::new();
    for (name, value) in entries {
        collect(&mut features, name, value)?;
    }
    Ok(features)
}

/// Adds the features at and below one name. What is not an encoding must be a table of more names.
fn collect(
    features: &mut Map<Encoding>,
    path: String,
    value: Value,
) -> std::result::Result<(), String> {
    if let Some(encoding) = encoding(&value) {
        return match features.insert(path.clone(), encoding) {
            None => Ok(()),
            Some(_) => Err(format!("{path:?} is given twice: give it once")),
        };
    }
    match value {
        Value::Record(entries) if !entries.is_empty() && path.matches('.').count() < MOST_NAMES => {
            for (name, value) in entries {
                collect(features, format!("{path}.{name}"), value)?;
            }
            Ok(())
        }
        Value::Record(entries) if !entries.is_empty() => {
            Err(format!("{path:?} is nested too deeply: a path has at most {MOST_NAMES} names"))
        }
        _ => Err(format!(
            "{path:?} is no feature: give {{ range = [low, high] }}, {{ categories = [\"a\", \"b\"] }}, or {{ hash = {{ buckets = 32 }} }}"
        )),
    }
}

/// An encoding, as a file writes it. No table of features looks like one: the values of its names would be tables.
fn encoding(value: &Value) -> Option<Encoding> {
    let Value::Record(entries) = value else { return None };
    let (key, value) = entries.first_key_value().filter(|_| entries.len() == 1)?;
    match (key.as_str(), value) {
        ("range", Value::List(ends)) => match ends.as_slice() {
            [low, high] => Some(Encoding::Range(number(low)?, number(high)?)),
            _ => None,
        },
        ("categories", Value::List(words)) => {
            words.iter().map(word).collect::<Option<_>>().map(Encoding::Categories)
        }
        ("hash", Value::Record(inner)) => match (inner.len(), inner.get("buckets")) {
            (1, Some(Value::Integer(buckets))) => {
                // What is too large for 32 bits is refused by `check`, by name.
                let buckets =
                    u32::try_from(*buckets).unwrap_or(if *buckets < 0 { 0 } else { u32::MAX });
                Some(Encoding::Hash { buckets })
            }
            _ => None,
        },
        _ => None,
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(value) => Some(*value as f64),
        Value::Number(value) => Some(*value),
        _ => None,
    }
}

fn word(value: &Value) -> Option<String> {
    match value {
        Value::Text(word) => Some(word.clone()),
        Value::Integer(value) => Some(value.to_string()),
        Value::Number(value) => Some((value + 0.0).to_string()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}
