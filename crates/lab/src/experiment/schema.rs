//! The schema of an experiment's file: the tables of all families, in which every value may be a list that makes a grid.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::{Experiment, ExperimentToml};
use crate::algorithm::{
    Family, bandit::Bandits, convex::ConvexBandits, online::OnlineGradients, safe::SafeBandits,
};

/// Path of the definitions of a schema.
const DEFINITIONS: &str = "#/definitions/";

impl Experiment {
    /// JSON Schema of the file of an experiment.
    pub fn schema() -> Value {
        let title = "An experiment of reticent";
        let mut schema =
            reticent::schema::with_choices::<ExperimentToml<Environments, Algorithms>>(title);
        let definitions = schema["definitions"].take();
        let mut grids = Grids { plain: &definitions, made: Map::new() };
        let mut environments = grids.table(&definitions["Environment"]);
        // The kind of an environment selects the family, and is not a list.
        environments["oneOf"].as_array_mut().and_then(Vec::pop);
        let algorithms = grids.table(&definitions["Algorithm"]);
        let made = grids.made;
        schema["definitions"] = definitions;
        schema["definitions"]["Environment"] = environments;
        schema["definitions"]["Algorithm"] = algorithms;
        made.into_iter().for_each(|(name, table)| schema["definitions"][name] = table);
        for (key, name) in [("environment", "Environment"), ("algorithm", "Algorithm")] {
            let table = json!({ "$ref": format!("{DEFINITIONS}{name}") });
            let tables = json!({ "type": "array", "items": table, "minItems": 1 });
            let described = &mut schema["properties"][key];
            *described =
                json!({ "description": described["description"], "anyOf": [table, tables] });
        }
        let figure = schema["properties"]["figure"].take();
        let tables = json!({ "type": "array", "items": figure, "maxItems": 1 });
        schema["properties"]["figure"] = json!({ "anyOf": [figure, tables] });
        schema["required"] = json!(["name", "rounds", "environment", "algorithm"]);
        let families = families(&mut reticent::schema::generator());
        schema["allOf"] = families.iter().map(Tables::condition).collect();
        reticent::schema::by_case(schema)
    }
}

/// The tables of a family of problems, one for each kind.
struct Tables {
    environments: Vec<Value>,
    algorithms: Vec<Value>,
}

fn families(generator: &mut SchemaGenerator) -> [Tables; 4] {
    [
        Tables::of::<Bandits>(generator),
        Tables::of::<SafeBandits>(generator),
        Tables::of::<ConvexBandits>(generator),
        Tables::of::<OnlineGradients>(generator),
    ]
}

impl Tables {
    fn of<F: Family>(generator: &mut SchemaGenerator) -> Self {
        let of_kinds = |schema: Schema| match schema.to_value()["oneOf"].take() {
            Value::Array(tables) => tables,
            _ => Vec::new(),
        };
        Tables {
            environments: of_kinds(F::Environment::json_schema(generator)),
            algorithms: of_kinds(F::Algorithm::json_schema(generator)),
        }
    }

    /// An environment of the family has algorithms of the family. Keywords for tables are passed over in lists, and the reverse.
    fn condition(&self) -> Value {
        let environments = json!({ "kind": { "enum": kinds(&self.environments) } });
        let algorithm = json!({ "enum": kinds(&self.algorithms) });
        let listed = json!({ "type": "array", "items": algorithm });
        let algorithms = json!({ "kind": { "anyOf": [algorithm, listed] } });
        json!({
            "if": { "properties": { "environment": {
                "properties": environments,
                "contains": { "properties": environments, "required": ["kind"] },
            } } },
            "then": { "properties": { "algorithm": {
                "properties": algorithms,
                "items": { "properties": algorithms },
            } } },
        })
    }
}

/// The kind of each table; null for one that has none.
fn kinds(tables: &[Value]) -> Vec<&Value> {
    tables.iter().map(|table| &table["properties"]["kind"]["const"]).collect()
}

/// The environments of all families.
enum Environments {}

impl JsonSchema for Environments {
    fn schema_name() -> Cow<'static, str> {
        "Environment".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "oneOf": families(generator).map(|family| family.environments).concat() })
    }
}

/// The algorithms of all families.
enum Algorithms {}

impl JsonSchema for Algorithms {
    fn schema_name() -> Cow<'static, str> {
        "Algorithm".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "oneOf": families(generator).map(|family| family.algorithms).concat() })
    }
}

/// Makes schemas of tables in which a list may stand in place of each value; what stands in such a list is plain, as in `grid`.
struct Grids<'a> {
    /// All definitions.
    plain: &'a Value,
    /// Definitions with grids.
    made: Map<String, Value>,
}

impl Grids<'_> {
    /// A table whose values may be lists.
    fn table(&mut self, plain: &Value) -> Value {
        let Value::Object(entries) = plain else { return plain.clone() };
        let mut table = Map::new();
        for (key, entry) in entries {
            let entry = match (key.as_str(), entry) {
                ("properties", Value::Object(keys)) => {
                    keys.iter().map(|(name, value)| (name.clone(), self.value(value))).collect()
                }
                // A feature by its keys: lists are inside of it.
                ("additionalProperties", Value::Object(cases)) if cases.contains_key("if") => {
                    self.table(entry)
                }
                ("additionalProperties", Value::Object(_)) => self.value(entry),
                ("oneOf" | "anyOf" | "allOf", Value::Array(forms)) => self.forms(forms),
                ("then" | "else", Value::Object(_)) => self.table(entry),
                ("$ref", Value::String(reference)) => self.reference(reference),
                _ => entry.clone(),
            };
            table.insert(key.clone(), entry);
        }
        table.into()
    }

    /// The forms of a table. Where each has a kind, there may be a list of kinds, with keys that they all take.
    fn forms(&mut self, plain: &[Value]) -> Value {
        let mut forms: Vec<Value> = plain.iter().map(|form| self.table(form)).collect();
        let kinds = kinds(plain);
        if !kinds.iter().any(|kind| kind.is_null()) {
            let keys = |form: &Value| -> Vec<String> {
                form["properties"].as_object().into_iter().flat_map(Map::keys).cloned().collect()
            };
            let taken = plain.iter().zip(&kinds).map(|(form, kind)| {
                json!({
                    "if": { "properties": { "kind": { "contains": { "const": kind } } } },
                    "then": { "propertyNames": { "enum": keys(form) } },
                })
            });
            let taken: Vec<Value> = taken.collect();
            let kinds = json!({ "type": "array", "items": { "enum": kinds }, "minItems": 1 });
            forms.push(json!({
                "type": "object", "properties": { "kind": kinds }, "required": ["kind"], "allOf": taken,
            }));
        }
        forms.into()
    }

    /// A value, or a list of values.
    fn value(&mut self, plain: &Value) -> Value {
        let (Value::Object(mut entries), None) = (plain.clone(), plain.get("const")) else {
            return plain.clone();
        };
        let mut value = Map::new();
        value
            .extend(["description", "default"].iter().filter_map(|key| entries.remove_entry(*key)));
        let plain = Value::Object(entries);
        let list = json!({ "type": "array", "items": plain, "minItems": 1 });
        value.insert("anyOf".into(), json!([self.table(&plain), list]));
        value.into()
    }

    /// The definition with grids in place of a plain one, or that one if nothing in it can be a list.
    fn reference(&mut self, plain: &str) -> Value {
        let name = plain.trim_start_matches(DEFINITIONS);
        let grid = format!("{name}Grid");
        if !self.made.contains_key(&grid) {
            // A table that contains itself, as nested records do, refers to what is being made.
            self.made.insert(grid.clone(), Value::Null);
            let table = self.table(&self.plain[name]);
            if table == self.plain[name] {
                self.made.remove(&grid);
                return plain.into();
            }
            self.made.insert(grid.clone(), table);
        }
        format!("{DEFINITIONS}{grid}").into()
    }
}
