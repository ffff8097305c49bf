//! `method` of `kind = "online_learner"`: core's, whose known noise may be that of the people.

use std::borrow::Cow;

use reticent::{
    online::Method,
    schema::{NotNegative, Positive},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use toml::{Table, Value};

const KNOWN_NOISE: &str = "known_noise";

/// The method of an online learner, by the names and parameters of core and Python: a name, or a table with its name and its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged, try_from = "Value")]
pub enum MethodToml {
    /// `known_noise`: only here its deviation may be left out, because an experiment knows its people.
    KnownNoise {
        /// Its parameters.
        known_noise: KnownNoiseToml,
    },
    /// Every other method.
    Core(Method),
}

/// Parameters of the method that knows the noise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnownNoiseToml {
    /// `sqrt(E||xi||^2)` of the noisiest person, by default what follows from `privacy`.
    #[schemars(with = "Option<NotNegative>")]
    pub deviation: Option<f64>,
    /// The direction learner's step.
    #[serde(default = "crate::lines::unity")]
    #[schemars(with = "Positive")]
    pub step: f64,
}

impl Default for MethodToml {
    fn default() -> Self {
        MethodToml::Core(Method::default())
    }
}

impl From<Method> for MethodToml {
    fn from(method: Method) -> Self {
        MethodToml::Core(method)
    }
}

impl TryFrom<Value> for MethodToml {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let parameters = match &value {
            Value::String(name) if name == KNOWN_NOISE => Some(Value::Table(Table::new())),
            Value::Table(table) if table.len() == 1 => table.get(KNOWN_NOISE).cloned(),
            _ => None,
        };
        Ok(match parameters {
            Some(parameters) => MethodToml::KnownNoise { known_noise: read(parameters)? },
            None => MethodToml::Core(read(value)?),
        })
    }
}

impl JsonSchema for MethodToml {
    fn schema_name() -> Cow<'static, str> {
        "MethodToml".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let core = generator.subschema_for::<Method>();
        let known_noise = generator.subschema_for::<KnownNoiseToml>();
        json_schema!({
            "anyOf": [
                core,
                { "type": "string", "const": KNOWN_NOISE },
                {
                    "type": "object", "properties": { KNOWN_NOISE: known_noise },
                    "required": [KNOWN_NOISE], "additionalProperties": false,
                },
            ],
        })
    }
}

/// The value as the parser reads it, or the parser's message.
fn read<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    value.try_into().map_err(|error: toml::de::Error| error.message().into())
}

impl MethodToml {
    /// Core's method, where the noisiest person's noise has this deviation.
    pub(super) fn with_people(self, deviation: f64) -> Method {
        match self {
            MethodToml::KnownNoise { known_noise } => Method::KnownNoise {
                deviation: known_noise.deviation.unwrap_or(deviation),
                step: known_noise.step,
            },
            MethodToml::Core(method) => method,
        }
    }
}

/// Default name of the learner in a report.
pub(super) fn title(method: &Method) -> String {
    match method {
        Method::Reduction { prior, .. } => format!("Algorithm 2, {prior}"),
        Method::Coordinatewise { prior } => format!("Algorithm 3, {prior}"),
        Method::Sum { prior, .. } => format!("sum of 2 and 3, {prior}"),
        Method::KnownNoise { .. } => "knows the largest noise".into(),
        Method::GradientDescent { radius, .. } => format!("gradient descent, D = {radius}"),
        Method::Adagrad { radius, .. } => format!("AdaGrad, D = {radius}"),
    }
}

/// Replacement for a `kind` that is the name of a method, as in earlier files; `None` for other kinds.
pub(crate) fn instead_of_kind(algorithm: &Table) -> Option<String> {
    const PARAMETERS: [&str; 5] = ["deviation", "geometry", "prior", "radius", "step"];
    let kind = algorithm.get("kind")?.as_str().filter(|kind| Method::NAMES.contains(kind))?;
    let given = algorithm.iter().filter(|(key, _)| PARAMETERS.contains(&key.as_str()));
    let given: Table = given.map(|(key, value)| (key.clone(), value.clone())).collect();
    let method = match given.is_empty() {
        true => Value::String(kind.into()),
        false => Value::Table(Table::from_iter([(kind.to_string(), Value::Table(given))])),
    };
    Some(format!("it is a method: write kind = \"online_learner\" and method = {method}"))
}
