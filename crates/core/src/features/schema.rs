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

    /// The kind of feature of a table follows from its keys, as in `params`; a table of no kind is a nested record.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let nested = generator.subschema_for::<FeatureTable>();
        let range = only(
            "range",
            "A number between the lowest and the highest; what lies outside is clipped.",
            json_schema!({
                "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2,
            }),
        );
        let categories = only(
            "categories",
            "One of these words.",
            json_schema!({
                "type": "array", "minItems": 1, "uniqueItems": true,
                "items": { "type": ["string", "number", "boolean"], "pattern": r"\S" },
            }),
        );
        let hash = only(
            "hash",
            "Any word, of a vocabulary that is not listed. Words in one bucket are one to the learner.",
            only(
                "buckets",
                "How many coordinates there are.",
                json_schema!({
                    "type": "integer", "minimum": 1, "maximum": MOST_BUCKETS,
                }),
            ),
        );
        let record = json_schema!({ "allOf": [nested], "minProperties": 1, "description": "Features of a nested record." });
        let listed = |key: &str| json_schema!({ "type": "object", "properties": { key: { "type": "array" } }, "required": [key] });
        let hashed = json_schema!({
            "type": "object", "required": ["hash"],
            "properties": { "hash": { "type": "object", "required": ["buckets"], "properties": { "buckets": { "not": { "type": "object" } } } } },
        });
        json_schema!({
            "type": "object",
            "propertyNames": { "pattern": r"^[^.]+(\.[^.]+)*$" },
            "additionalProperties": {
                "if": listed("range"), "then": range, "else": {
                    "if": listed("categories"), "then": categories, "else": { "if": hashed, "then": hash, "else": record },
                },
                // For editors, which complete from here and not from cases.
                "anyOf": [range, categories, hash, record, true],
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
