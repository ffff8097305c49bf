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
            json_schema!({
                "type": "object", "required": ["buckets"], "additionalProperties": false,
                "description": "Number of coordinates.",
                "properties": { "buckets": { "type": "integer", "minimum": 1, "maximum": MOST_BUCKETS } },
            }),
        );
        let cycle = only(
            "cycle",
            "A number that begins again after this period, such as 24 for the hour of a day.",
            json_schema!({ "type": "number", "exclusiveMinimum": 0 }),
        );
        let bins = only(
            "bins",
            "A number as one of the intervals between these increasing edges; the first and the last interval are open.",
            json_schema!({ "type": "array", "minItems": 1, "uniqueItems": true, "items": { "type": "number" } }),
        );
        let record = json_schema!({ "allOf": [nested], "minProperties": 1, "description": "Features of a nested record." });
        let listed = |key: &str| json_schema!({ "type": "object", "properties": { key: { "type": "array" } }, "required": [key] });
        let number = |key: &str| json_schema!({ "type": "object", "properties": { key: { "not": { "type": "object" } } }, "required": [key] });
        let hashed = json_schema!({
            "type": "object", "required": ["hash"],
            "properties": { "hash": { "type": "object", "required": ["buckets"], "properties": { "buckets": { "not": { "type": "object" } } } } },
        });
        json_schema!({
            "type": "object",
            "propertyNames": { "pattern": r"^[^.]+(\.[^.]+)*$" },
            "additionalProperties": {
                "if": listed("range"), "then": range, "else": {
                    "if": listed("categories"), "then": categories, "else": {
                        "if": listed("bins"), "then": bins, "else": {
                            "if": number("cycle"), "then": cycle, "else": { "if": hashed, "then": hash, "else": record },
                        },
                    },
                },
                // For editors, which complete from here and not from cases.
                "anyOf": [range, categories, hash, cycle, bins, record, true],
            },
        })
    }
}

/// A feature with this key and no other but its weight.
fn only(key: &str, description: &str, value: Schema) -> Schema {
    json_schema!({
        "type": "object", "description": description,
        "properties": { key: value, "weight": {
            "type": "number", "minimum": 0, "maximum": 1,
            "description": "Share of the squared norm; 0: read for crosses only.",
        } },
        "required": [key], "additionalProperties": false,
    })
}
