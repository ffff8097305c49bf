//! `mechanism` and `mode` of files and of Python: core's mechanisms and the publication's, by one name each, and whose constants they have.

use std::{borrow::Cow, fmt};

use reticent::{Error, Result, privacy::Mode, release::Mechanism};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, IntoDeserializer},
};

use super::{Constants, PublishedNoise};

/// Source of a curator's constants. `mode` of files and of Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JointMode {
    /// Calibrated by the accountant: what is requested is what holds.
    #[default]
    Exact,
    /// Those of a publication, as its authors ran it.
    Paper,
    /// Those of a publication as its text has them, where the authors ran something else.
    Printed,
}

/// Both readings of a publication are `paper` mode to core.
impl From<JointMode> for Mode {
    fn from(mode: JointMode) -> Self {
        match mode {
            JointMode::Exact => Mode::Exact,
            JointMode::Paper | JointMode::Printed => Mode::Paper,
        }
    }
}

impl JointMode {
    /// The reading of the publication, if it is one.
    pub fn constants(self) -> Option<Constants> {
        match self {
            JointMode::Exact => None,
            JointMode::Paper => Some(Constants::Authors),
            JointMode::Printed => Some(Constants::Printed),
        }
    }
}

/// Mechanism of a curator's noise: of core, or of the publication. `mechanism` of files and of Python.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum JointMechanism {
    /// The mechanism that suits the budget, by core's rule: `suited`.
    #[default]
    Suited,
    /// Indexed by release.
    Core(Mechanism),
    /// The publication's trees over rounds, for `paper` mode.
    Published(PublishedNoise),
}

/// Name of `suited`.
const SUITED: &str = "suited";

impl Serialize for JointMechanism {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        match self {
            JointMechanism::Suited => serializer.serialize_str(SUITED),
            // The trait's method is named in full: the derived one, of the same name, writes tables only.
            JointMechanism::Core(mechanism) => Serialize::serialize(mechanism, serializer),
            JointMechanism::Published(noise) => Serialize::serialize(noise, serializer),
        }
    }
}

impl From<PublishedNoise> for JointMechanism {
    fn from(noise: PublishedNoise) -> Self {
        JointMechanism::Published(noise)
    }
}

impl JointMechanism {
    /// The publication's noise, if it is one of its trees.
    pub fn published(self) -> Option<PublishedNoise> {
        match self {
            JointMechanism::Suited | JointMechanism::Core(_) => None,
            JointMechanism::Published(noise) => Some(noise),
        }
    }

    /// Core's mechanism, if it is one; `None` leaves the choice to core.
    pub fn of_core(self) -> Result<Option<Mechanism>> {
        match self {
            JointMechanism::Suited => Ok(None),
            JointMechanism::Core(mechanism) => Ok(Some(mechanism)),
            JointMechanism::Published(_) => {
                let names = Mechanism::NAMES.join(", ");
                let remedy = format!("it is for `paper` mode; expected one of {names}");
                Err(Error::invalid("mechanism", self, remedy))
            }
        }
    }

    /// The names of all.
    fn names() -> impl Iterator<Item = &'static str> {
        let published = PublishedNoise::NAMED.iter().map(|(name, _)| *name);
        [SUITED].into_iter().chain(Mechanism::NAMES.iter().copied()).chain(published)
    }
}

/// The name, without parameters.
impl fmt::Display for JointMechanism {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JointMechanism::Suited => formatter.write_str(SUITED),
            JointMechanism::Core(mechanism) => mechanism.fmt(formatter),
            JointMechanism::Published(noise) => {
                let own = PublishedNoise::NAMED.iter().find(|(_, named)| named == noise);
                formatter.write_str(own.map_or("", |(name, _)| name))
            }
        }
    }
}

impl<'de> Deserialize<'de> for JointMechanism {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        /// The trait's method is named in full: the derived one, of the same name, reads tables only.
        struct NameOrTable;

        impl<'de> de::Visitor<'de> for NameOrTable {
            type Value = JointMechanism;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                let names: Vec<&str> = JointMechanism::names().collect();
                write!(formatter, "one of {}", names.join(", "))
            }

            fn visit_str<E: de::Error>(self, word: &str) -> std::result::Result<JointMechanism, E> {
                if let Some((_, noise)) = PublishedNoise::NAMED.iter().find(|(n, _)| *n == word) {
                    return Ok(JointMechanism::Published(*noise));
                }
                if word == SUITED {
                    return Ok(JointMechanism::Suited);
                }
                if Mechanism::NAMES.contains(&word) {
                    return <Mechanism as Deserialize>::deserialize(word.into_deserializer())
                        .map(JointMechanism::Core);
                }
                let names: Vec<String> =
                    JointMechanism::names().map(|n| format!("`{n}`")).collect();
                // The form of serde's own message, which experiments read.
                let names = names.join(", ");
                Err(E::custom(format!("unknown variant `{word}`, expected one of {names}")))
            }

            fn visit_map<A: de::MapAccess<'de>>(
                self,
                map: A,
            ) -> std::result::Result<JointMechanism, A::Error> {
                let table = de::value::MapAccessDeserializer::new(map);
                <Mechanism as Deserialize>::deserialize(table).map(JointMechanism::Core)
            }
        }

        deserializer.deserialize_any(NameOrTable)
    }
}

impl JsonSchema for JointMechanism {
    fn schema_name() -> Cow<'static, str> {
        "JointMechanism".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let core = generator.subschema_for::<Mechanism>();
        let others: Vec<&str> =
            JointMechanism::names().filter(|name| !Mechanism::NAMES.contains(name)).collect();
        json_schema!({ "anyOf": [core, { "type": "string", "enum": others }] })
    }
}
