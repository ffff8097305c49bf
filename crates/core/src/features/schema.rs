//! The schema of a table of features, which no type is read as: `params` reads it.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::MOST_BUCKETS;

/// Features by their path, also as nested tables: `context` or `action` of a file.
#[derive(Debug)]
pub enum FeatureTable {}

impl JsonSchema for FeatureTable {
    fn schema_name() -> Cow<'static, str> {
        "Features".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let nested = generator.subschema_for::<FeatureTable>();
        json_schema!({
            "type": "object",
            "propertyNames": { "pattern": r"^[^.]+(\.[^.]+)*$" },
            "additionalProperties": {
                "anyOf": [
                    only("range", "A number between the lowest and the highest; what lies outside is clipped.", json_schema!({
                        "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2,
                    })),
                    only("categories", "One of these words.", json_schema!({
                        "type": "array", "minItems": 1, "uniqueItems": true,
                        "items": { "type": ["string", "number", "boolean"], "pattern": r"\S" },
                    })),
                    only("hash", "Any word, of a vocabulary that nobody lists. Words in one bucket are one to the learner.",
                        only("buckets", "How many coordinates there are.", json_schema!({
                            "type": "integer", "minimum": 1, "maximum": MOST_BUCKETS,
                        }))),
                    { "allOf": [nested], "minProperties": 1, "description": "Features of a nested record." },
                ],
            },
        })
    }
}

/// A table with this key and no other.
fn only(key: &str, description: &str, value: Schema) -> Schema {
    json_schema!({
        "type": "object", "description": description,
        "properties": { key: value }, "required": [key], "additionalProperties": false,
    })
}
