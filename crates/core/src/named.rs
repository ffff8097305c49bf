//! Choices by name: how an enum with parameters is written in files, in Python and in messages.
//!
//! A choice is its name, `"tuned"`, or a table with its name and its parameters, `{ tuned = { ridge = 3.0 } }`. A parameter that is left out has
//! its default; a choice without a default for each of its parameters has no bare name.

/// Reads `$choice` from a bare name as well, and gives its names.
///
/// `$choice` derives serde's traits with `#[serde(remote = "Self")]`, and is written as derived. Each line has the name, the pattern of the
/// variant, and the value of the bare name, if there is one.
macro_rules! named {
    ($choice:ident, $example:literal, { $($name:literal: $pattern:pat $(=> $value:expr)?),+ $(,)? }) => {
        impl $choice {
            /// The names of all choices, in files, in Python and in messages.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// The name of this choice.
            pub fn name(&self) -> &'static str {
                match self {
                    $($pattern => $name),+
                }
            }
        }

        /// The name, without parameters.
        impl std::fmt::Display for $choice {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(self.name())
            }
        }

        impl serde::Serialize for $choice {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                $choice::serialize(self, serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $choice {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                struct NameOrTable;

                impl<'de> serde::de::Visitor<'de> for NameOrTable {
                    type Value = $choice;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        let names = $choice::NAMES.join(", ");
                        write!(formatter, "one of {names}, or one with parameters, as {}", $example)
                    }

                    fn visit_str<E: serde::de::Error>(self, name: &str) -> std::result::Result<$choice, E> {
                        match name {
                            $($name => $crate::named::bare!(E, $name, $example $(, $value)?),)+
                            other => Err(E::unknown_variant(other, $choice::NAMES)),
                        }
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> std::result::Result<$choice, A::Error> {
                        $choice::deserialize(serde::de::value::MapAccessDeserializer::new(map))
                    }
                }

                if deserializer.is_human_readable() {
                    deserializer.deserialize_any(NameOrTable)
                } else {
                    $choice::deserialize(deserializer)
                }
            }
        }
    };
}

/// The value of a bare name, or that there is none.
macro_rules! bare {
    ($error:ident, $name:literal, $example:literal, $value:expr) => {
        Ok($value)
    };
    ($error:ident, $name:literal, $example:literal) => {
        Err($error::custom(concat!(
            "got ",
            $name,
            " alone; expected a table with its parameters, as ",
            $example
        )))
    };
}

pub(crate) use {bare, named};
