//! Forms in which files and Python write [`Bounds::intercept`](super::Bounds::intercept): the number, or `false` for none.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The last feature of every arm where it is the same for all, or that none is declared.
///
/// ```
/// use reticent::randomize::Intercept;
/// assert_eq!(serde_json::from_str::<Intercept>("0.5")?, Intercept(Some(0.5)));
/// assert_eq!(serde_json::from_str::<Intercept>("false")?, Intercept(None));
/// assert!(serde_json::from_str::<Intercept>("true").is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Intercept(pub Option<f64>);

impl Serialize for Intercept {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(number) => serializer.serialize_f64(number),
            None => serializer.serialize_bool(false),
        }
    }
}

impl<'de> Deserialize<'de> for Intercept {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrFalse;

        impl de::Visitor<'_> for NumberOrFalse {
            type Value = Intercept;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("the last feature that all arms share, as a number, or false if they share none")
            }

            fn visit_bool<E: de::Error>(self, declared: bool) -> Result<Intercept, E> {
                match declared {
                    false => Ok(Intercept(None)),
                    true => Err(E::invalid_value(de::Unexpected::Bool(true), &self)),
                }
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Intercept, E> {
                Ok(Intercept(Some(number)))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Intercept, E> {
                Ok(Intercept(Some(number as f64)))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Intercept, E> {
                Ok(Intercept(Some(number as f64)))
            }
        }

        deserializer.deserialize_any(NumberOrFalse)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Intercept {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Intercept".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "anyOf": [{ "type": "number" }, { "const": false }] })
    }
}
