//! Schemas of files: what a file may hold, as JSON Schema (draft 7), so that editors complete and check it.
//!
//! [`schemars`] makes them from the types that read the files: keys from fields, descriptions from documentation, defaults and refused keys
//! from serde's attributes. Here is what it cannot know: that TOML has no null, that a choice may be its bare name, and which numbers the
//! checks of [`error`](crate::error) take.

mod cases;

pub use cases::by_case;
use schemars::{
    JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, json_schema,
    transform::transform_subschemas,
};
use serde::de::{
    DeserializeOwned,
    value::{Error, StrDeserializer},
};
use serde_json::{Map, Value, json};

/// The schema of a file that is read as `T`.
///
/// ```
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// #[serde(deny_unknown_fields)]
/// struct File {
///     /// Where it goes.
///     rule: Option<reticent::bandit::Rule>,
/// }
/// let schema = reticent::schema::of::<File>("A file");
/// assert_eq!(schema["properties"]["rule"]["description"], "Where it goes.");
/// ```
pub fn of<T: JsonSchema>(title: &str) -> Value {
    by_case(with_choices::<T>(title))
}

/// As [`of`], with choices as lists of forms that [`by_case`] has not seen.
pub fn with_choices<T: JsonSchema>(title: &str) -> Value {
    let mut schema = generator().into_root_schema_for::<T>();
    schema.insert("title".into(), title.into());
    schema.to_value()
}

/// Generator of schemas of files in TOML.
pub fn generator() -> SchemaGenerator {
    let mut settings = SchemaSettings::draft07();
    settings.transforms.insert(0, Box::new(as_in_toml));
    settings.into_generator()
}

/// An optional key is left out and never null; a description has no examples in Rust.
fn as_in_toml(schema: &mut Schema) {
    transform_subschemas(&mut as_in_toml, schema);
    let Some(entries) = schema.as_object_mut() else { return };
    if let Some(Value::Array(types)) = entries.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            entries.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(values)) = entries.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(forms)) = entries.get_mut("anyOf") {
        forms.retain(|form| *form != json!({ "type": "null" }));
        if let [Value::Object(only)] = forms.as_slice() {
            let only = only.clone();
            entries.remove("anyOf");
            for (key, value) in only {
                entries.entry(key).or_insert(value);
            }
        }
    }
    match entries.remove("default").map(without_nulls) {
        None | Some(Value::Null) => {}
        Some(default) => drop(entries.insert("default".into(), default)),
    }
    // Widths of Rust's numbers.
    entries.remove("format");
    if let Some(Value::String(text)) = entries.get_mut("description") {
        *text = plain(text);
    }
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(entries) => {
            let kept = entries.into_iter().filter(|(_, value)| !value.is_null());
            kept.map(|(key, value)| (key, without_nulls(value))).collect::<Map<_, _>>().into()
        }
        other => other,
    }
}

/// Documentation for a person who writes a file: no examples in Rust, and names in place of links to items.
fn plain(documentation: &str) -> String {
    let mut text: String = documentation.split("```").step_by(2).collect();
    while let Some(middle) = text.find("](") {
        let (start, end) = (text[..middle].rfind('['), text[middle..].find(')'));
        let (Some(start), Some(end)) = (start, end) else { break };
        text.replace_range(middle..=middle + end, "");
        text.remove(start);
    }
    let text = text.replace("[`", "`").replace("`]", "`");
    let joined = |paragraph: &str| paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let paragraphs = text.split("\n\n").map(joined).filter(|paragraph| !paragraph.is_empty());
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

/// Adds the bare names of a choice that is read by name (`named`), where its parameters have defaults, to the tables that its derived schema
/// has.
pub(crate) fn add_names<T: DeserializeOwned>(schema: &mut Schema) {
    let Some(Value::Array(forms)) = schema.get_mut("oneOf") else { return };
    let alone = |form: &Value| {
        let name = form["required"][0].as_str()?;
        T::deserialize(StrDeserializer::<Error>::new(name)).ok()?;
        let mut alone = json!({ "type": "string", "const": name });
        if let Some(description) = form.get("description") {
            alone["description"] = description.clone();
        }
        Some(alone)
    };
    let names: Vec<Value> = forms.iter().filter_map(alone).collect();
    forms.extend(names);
}

/// Types that stand for numbers in `#[schemars(with = "...")]`, named as the checks that take them.
macro_rules! numbers {
    ($($(#[$documentation:meta])* $name:ident $schema:tt)*) => {
        $(
            $(#[$documentation])*
            #[derive(Debug)]
            pub enum $name {}

            impl JsonSchema for $name {
                fn inline_schema() -> bool {
                    true
                }

                fn schema_name() -> std::borrow::Cow<'static, str> {
                    stringify!($name).into()
                }

                fn json_schema(_: &mut SchemaGenerator) -> Schema {
                    json_schema!($schema)
                }
            }
        )*
    };
}

numbers! {
    /// A number above 0.
    Positive { "type": "number", "exclusiveMinimum": 0 }
    /// A number of 0 or more.
    NotNegative { "type": "number", "minimum": 0 }
    /// A number strictly between 0 and 1.
    Probability { "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 }
    /// A number from 0 to 1.
    Share { "type": "number", "minimum": 0, "maximum": 1 }
    /// A number above 0, at most 1.
    PositiveShare { "type": "number", "exclusiveMinimum": 0, "maximum": 1 }
    /// A delta that may be asked for.
    RequestedDelta { "type": "number", "exclusiveMinimum": 0, "maximum": 0.1 }
    /// A number from 0 to below 1.
    Delta { "type": "number", "minimum": 0, "exclusiveMaximum": 1 }
    /// A whole number above 0.
    Count { "type": "integer", "minimum": 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bandit::Rule, online::Method, release::Schedule};

    /// The texts that a schema of a choice takes by themselves.
    fn names(schema: &Value) -> Vec<&str> {
        let forms = schema["anyOf"].as_array().unwrap();
        forms.iter().filter_map(|form| form["const"].as_str()).collect()
    }

    #[test]
    fn a_choice_is_its_name_where_the_parser_reads_it_so() {
        assert_eq!(
            names(&of::<Rule>("")),
            ["certified", "tuned", "thompson", "fixed", "two_level", "episodes"]
        );
        assert_eq!(names(&of::<Schedule>("")), ["every_round", "clock", "capped_geometric"]);
        assert_eq!(names(&of::<Method>("")), ["reduction", "coordinatewise", "sum"]);
        // A table of any of them has its parameters, and no others.
        let rule = of::<Rule>("");
        let tuned = &rule["anyOf"][1]["properties"]["tuned"];
        assert!(tuned["additionalProperties"]["not"].is_object());
        assert_eq!(
            tuned["properties"]["ridge"],
            json!({ "type": "number", "minimum": 0, "default": 3.0, "description": "The ridge in units of the accumulated noise." })
        );
    }

    #[test]
    fn nothing_is_null() {
        let text = of::<Method>("").to_string() + &of::<Rule>("").to_string();
        assert!(!text.contains("null"), "{text}");
    }

    #[test]
    fn descriptions_are_for_people_who_write_files() {
        let text = "A [`Rule`] in [-1, 1], as a\n[joint bandit](crate::bandit) has.\n\n```\nlet x = 1;\n```\nMore.";
        assert_eq!(plain(text), "A `Rule` in [-1, 1], as a joint bandit has.\n\nMore.");
    }
}
