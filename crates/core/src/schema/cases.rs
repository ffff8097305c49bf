//! A choice of forms as cases: the form that is meant is found first, and then only that form's complaints are heard.
//!
//! Of a value that fits none of `anyOf` a validator says just that, for the whole value: one misspelt key marks a whole table. With `if` and `then` it
//! names the key. Editors complete from `anyOf` and look into no `then`, so the forms stay there, beside one that takes everything.

use serde_json::{Map, Value, json};

/// The schema with every choice as cases, and complaints about unknown keys at those keys.
pub fn by_case(mut schema: Value) -> Value {
    let definitions = schema["definitions"].clone();
    Cases { definitions }.visit(&mut schema, "#");
    schema
}

struct Cases {
    /// All definitions as they were.
    definitions: Value,
}

/// One form of a choice.
struct Form<'a> {
    /// Place in the schema.
    place: String,
    /// Content, without references.
    schema: &'a Value,
}

impl Cases {
    fn visit(&self, node: &mut Value, place: &str) {
        if let Value::Object(entries) = node {
            self.choose(entries, place);
            // Of `false` a validator complains at the table; of a schema, at the key.
            if entries.get("additionalProperties") == Some(&Value::Bool(false)) {
                let unknown = json!({ "not": { "description": "a key that this table has not" } });
                entries.insert("additionalProperties".into(), unknown);
            }
            for (key, entry) in entries {
                self.visit(entry, &format!("{place}/{key}"));
            }
        } else if let Value::Array(items) = node {
            for (index, item) in items.iter_mut().enumerate() {
                self.visit(item, &format!("{place}/{index}"));
            }
        }
    }

    /// Puts cases beside the forms of a choice, if each is known by something.
    fn choose(&self, entries: &mut Map<String, Value>, place: &str) {
        let Some(forms) = choice(entries) else { return };
        let place = format!("{place}/anyOf");
        let Some(cases) = self.list(forms, &place).or_else(|| self.cases(forms, &place)) else {
            return;
        };
        let mut forms = forms.to_vec();
        forms.push(Value::Bool(true));
        entries.remove("oneOf");
        entries.insert("anyOf".into(), forms.into());
        entries.extend(cases);
    }

    /// A value or a list of such values, where no value is a list itself.
    fn list(&self, forms: &[Value], place: &str) -> Option<Map<String, Value>> {
        let [value, list] = forms else { return None };
        let known = |form: &Form<'_>| kind_of(form.schema).is_some_and(|kind| kind != "array");
        (list["type"] == "array"
            && self.opened(std::slice::from_ref(value), place).iter().all(known))
        .then(|| {
            case(
                json!({ "type": "array" }),
                refer(&format!("{place}/1")),
                refer(&format!("{place}/0")),
            )
        })
    }

    /// Words, values of one type each, and tables that are distinguished by their kind or by their only key.
    fn cases(&self, forms: &[Value], place: &str) -> Option<Map<String, Value>> {
        let (mut words, mut types, mut cases) = (Vec::new(), Vec::new(), Vec::new());
        let (mut marks, mut tables) = (Marks::default(), Vec::new());
        for Form { place, schema } in self.opened(forms, place) {
            match (kind_of(schema)?, schema.get("const"), schema.get("enum")) {
                ("object", ..) => tables.push((marks.guard(schema)?, refer(&place))),
                ("string", Some(word), _) => words.push(word.clone()),
                ("string", None, Some(Value::Array(more))) => words.extend_from_slice(more),
                (name, ..) if types.contains(&name) => return None,
                (name, ..) => {
                    types.push(name);
                    cases.push((json!({ "type": name }), schema.clone()));
                }
            }
        }
        if cases.is_empty() && tables.is_empty() {
            return json!({ "enum": words }).as_object().cloned();
        }
        if !words.is_empty() {
            if types.contains(&"string") {
                return None;
            }
            types.push("string");
            cases.push((json!({ "type": "string" }), json!({ "enum": words })));
        }
        if !tables.is_empty() {
            types.push("object");
        }
        let mut none = marks.none()?;
        none.insert("type".into(), types.into());
        cases.append(&mut tables);
        let chain = |rest: Map<String, Value>, (guard, form)| case(guard, form, rest.into());
        Some(cases.into_iter().rev().fold(none, chain))
    }

    /// The forms of a choice, with those of choices inside it.
    fn opened<'a>(&'a self, forms: &'a [Value], place: &str) -> Vec<Form<'a>> {
        let mut opened = Vec::new();
        for (index, form) in forms.iter().enumerate() {
            let own = format!("{place}/{index}");
            let (mut at, mut schema) = (own.clone(), form);
            loop {
                if let Some(Value::String(reference)) = schema.get("$ref") {
                    let name = reference.trim_start_matches("#/definitions/");
                    (at, schema) = (reference.clone(), &self.definitions[name]);
                } else if let Some([only]) =
                    schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice)
                {
                    (at, schema) = (format!("{at}/allOf/0"), only);
                } else {
                    break;
                }
            }
            match schema.as_object().and_then(choice) {
                Some(inner) => opened.extend(self.opened(inner, &format!("{at}/anyOf"))),
                None => opened.push(Form { place: own, schema }),
            }
        }
        opened
    }
}

/// Key that distinguishes the tables of a choice.
#[derive(Default)]
struct Marks {
    kinds: Vec<Value>,
    keys: Vec<Value>,
}

impl Marks {
    /// A schema that takes what is meant to be this table.
    fn guard(&mut self, table: &Value) -> Option<Value> {
        let kind = &table["properties"]["kind"];
        let with_kind = |kind: Value| json!({ "type": "object", "properties": { "kind": kind }, "required": ["kind"] });
        if let Some(word) = kind.get("const") {
            self.kinds.push(word.clone());
            return Some(with_kind(json!({ "const": word })));
        }
        if kind["type"] == "array" {
            return Some(with_kind(json!({ "type": "array" })));
        }
        let [key] = table["required"].as_array()?.as_slice() else { return None };
        self.keys.push(key.clone());
        Some(json!({ "type": "object", "required": [key] }))
    }

    /// Requirement on a table that is none of them; nothing if two keys distinguish them.
    fn none(self) -> Option<Map<String, Value>> {
        let Marks { kinds, keys } = self;
        let asked = match (kinds.is_empty(), keys.is_empty()) {
            (true, true) => json!({}),
            (false, true) => {
                json!({ "properties": { "kind": { "enum": kinds } }, "required": ["kind"] })
            }
            (true, false) => json!({ "propertyNames": { "enum": keys }, "minProperties": 1 }),
            (false, false) => return None,
        };
        asked.as_object().cloned()
    }
}

/// The forms of a choice.
fn choice(entries: &Map<String, Value>) -> Option<&[Value]> {
    ["oneOf", "anyOf"].iter().find_map(|name| entries.get(*name)?.as_array()).map(Vec::as_slice)
}

/// The type of a form's values, if it has one.
fn kind_of(form: &Value) -> Option<&'static str> {
    let name = match form.get("const").or_else(|| form.get("enum")?.get(0)) {
        Some(Value::String(_)) => "string",
        Some(Value::Bool(_)) => "boolean",
        Some(_) => return None,
        None => form.get("type")?.as_str()?,
    };
    // Of a fraction in place of a whole number the form itself complains.
    ["object", "array", "string", "boolean", "number"]
        .into_iter()
        .find(|known| *known == name)
        .or((name == "integer").then_some("number"))
}

fn refer(place: &str) -> Value {
    json!({ "$ref": place })
}

fn case(guard: Value, then: Value, rest: Value) -> Map<String, Value> {
    [("if", guard), ("then", then), ("else", rest)]
        .map(|(key, value)| (key.to_string(), value))
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_made_by_its_kind_and_keeps_its_forms() {
        let table = |kind: &str, key: &str| {
            json!({
                "type": "object", "required": ["kind"], "additionalProperties": false,
                "properties": { "kind": { "const": kind }, key: { "type": "number" } },
            })
        };
        let schema = by_case(
            json!({ "definitions": { "T": { "oneOf": [table("a", "x"), table("b", "y")] } } }),
        );
        let choice = &schema["definitions"]["T"];
        assert_eq!(choice["if"]["properties"]["kind"], json!({ "const": "a" }));
        assert_eq!(choice["then"], json!({ "$ref": "#/definitions/T/anyOf/0" }));
        assert_eq!(choice["else"]["then"], json!({ "$ref": "#/definitions/T/anyOf/1" }));
        assert_eq!(choice["else"]["else"]["properties"]["kind"], json!({ "enum": ["a", "b"] }));
        assert_eq!((&choice["anyOf"][2], choice.get("oneOf")), (&Value::Bool(true), None));
        assert!(choice["anyOf"][0]["additionalProperties"]["not"].is_object());
    }

    #[test]
    fn indistinguishable_forms_are_left_as_they_are() {
        let lists = json!({ "type": "array", "items": { "type": "array" } });
        let either = json!({ "anyOf": [{ "type": "array" }, lists] });
        assert_eq!(by_case(either.clone())["anyOf"], either["anyOf"]);
        let words = json!({ "oneOf": [{ "const": "a" }, { "enum": ["b", "c"] }] });
        assert_eq!(by_case(words)["enum"], json!(["a", "b", "c"]));
    }
}
