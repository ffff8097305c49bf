//! A choice of forms as cases: which form is meant is told first, and then only that form's complaints are heard.
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
    /// Where it will be in the schema.
    place: String,
    /// What it says, without references.
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

    fn cases(&self, forms: &[Value], place: &str) -> Option<Map<String, Value>> {
        let (mut words, mut types, mut cases) = (Vec::new(), Vec::new(), Vec::new());
        let (mut kinds, mut keys, mut tables) = (Vec::new(), Vec::new(), Vec::new());
        for Form { place, schema } in self.opened(forms, place) {
            let name = kind_of(schema)?;
            if name == "object" {
                let kind = &schema["properties"]["kind"];
                let guard = if let Some(word) = kind.get("const") {
                    kinds.push(word.clone());
                    json!({ "type": "object", "properties": { "kind": kind_is(word) }, "required": ["kind"] })
                } else if kind["type"] == "array" {
                    json!({ "type": "object", "properties": { "kind": { "type": "array" } }, "required": ["kind"] })
                } else {
                    let [key] = schema["required"].as_array()?.as_slice() else { return None };
                    keys.push(key.clone());
                    json!({ "type": "object", "required": [key] })
                };
                tables.push((guard, refer(&place)));
            } else if let (Some(word), "string") = (schema.get("const"), name) {
                words.push(word.clone());
            } else if let (Some(Value::Array(more)), "string") = (schema.get("enum"), name) {
                words.extend_from_slice(more);
            } else if types.contains(&name) {
                return None;
            } else {
                types.push(name);
                cases.push((json!({ "type": name }), schema.clone()));
            }
        }
        if types.contains(&"string") && !words.is_empty() || !kinds.is_empty() && !keys.is_empty() {
            return None;
        }
        if cases.is_empty() && tables.is_empty() {
            return json!({ "enum": words }).as_object().cloned();
        }
        if !words.is_empty() {
            types.push("string");
            cases.push((json!({ "type": "string" }), json!({ "enum": words })));
        }
        let mut none = Map::new();
        if !tables.is_empty() {
            types.push("object");
        }
        if !kinds.is_empty() {
            none.insert("properties".into(), json!({ "kind": { "enum": kinds } }));
            none.insert("required".into(), json!(["kind"]));
        }
        if !keys.is_empty() {
            none.insert("propertyNames".into(), json!({ "enum": keys }));
            none.insert("minProperties".into(), 1.into());
        }
        none.insert("type".into(), types.into());
        cases.append(&mut tables);
        Some(
            cases
                .into_iter()
                .rev()
                .fold(none, |rest, (guard, form)| case(guard, form, rest.into())),
        )
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

fn kind_is(word: &Value) -> Value {
    json!({ "const": word })
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
