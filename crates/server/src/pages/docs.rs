//! The API as a page, from its OpenAPI description.

use maud::{Markup, html};
use serde_json::{Map, Value};

use super::layout::Frame;

const METHODS: [&str; 7] = ["get", "post", "put", "patch", "delete", "head", "options"];

/// A page of an OpenAPI description. Missing parts are left out.
pub fn docs_page(openapi: &Value) -> String {
    let info = |name: &str| openapi.pointer(&format!("/info/{name}")).and_then(Value::as_str);
    let paths = openapi.get("paths").and_then(Value::as_object);
    let schemas = openapi.pointer("/components/schemas").and_then(Value::as_object);
    let title = info("title").unwrap_or("API");
    let body = html! {
        main.narrow {
            h1 { (title) @if let Some(version) = info("version") { " " span.quiet { (version) } } }
            @if let Some(description) = info("description") { p { (description) } }
            p { "The same description for programs: " a href="/openapi.json" { code { "/openapi.json" } } }
            @if paths.is_none_or(Map::is_empty) { p.quiet { "No call is described." } }
            @for (path, item) in paths.into_iter().flatten() { (path_item(path, item)) }
            @if schemas.is_some_and(|schemas| !schemas.is_empty()) { h2 { "Types" } }
            @for (name, schema) in schemas.into_iter().flatten() { (named_schema(name, schema)) }
        }
    };
    Frame::open().document(title, body)
}

fn path_item(path: &str, item: &Value) -> Markup {
    let calls = METHODS.iter().filter_map(|method| Some((*method, item.get(*method)?)));
    html! { @for (method, call) in calls { (operation(method, path, call)) } }
}

fn operation(method: &str, path: &str, call: &Value) -> Markup {
    let text = |name: &str| call.get(name).and_then(Value::as_str);
    let parameters = call.get("parameters").and_then(Value::as_array);
    let body = call.pointer("/requestBody/content").and_then(Value::as_object);
    let responses = call.get("responses").and_then(Value::as_object);
    html! {
        section.call {
            h2 { span.method { (method.to_uppercase()) } " " code { (path) } }
            @if let Some(summary) = text("summary") { p { (summary) } }
            @if let Some(description) = text("description") { p.quiet { (description) } }
            @if parameters.is_some_and(|list| !list.is_empty()) {
                h3 { "Parameters" }
                dl.facts { @for parameter in parameters.into_iter().flatten() {
                    dt { code { (string(parameter, "name")) } " (" (string(parameter, "in")) ")" }
                    dd { (string(parameter, "description")) " " (kind(parameter.get("schema"))) }
                } }
            }
            @if let Some(body) = body {
                h3 { "Body" }
                @for (media, content) in body { p { code { (media) } ": " (kind(content.get("schema"))) } }
            }
            @if let Some(responses) = responses {
                h3 { "Answers" }
                dl.facts { @for (status, response) in responses {
                    dt { (status) }
                    dd {
                        (string(response, "description"))
                        @for content in response.get("content").and_then(Value::as_object).into_iter().flat_map(Map::values) { " " (kind(content.get("schema"))) }
                    }
                } }
            }
        }
    }
}

fn named_schema(name: &str, schema: &Value) -> Markup {
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |field: &str| required.is_some_and(|list| list.iter().any(|one| one == field));
    html! {
        section.call id=(format!("type-{name}")) {
            h3 { code { (name) } }
            p { (string(schema, "description")) @if properties.is_none() { " " (kind(Some(schema))) } }
            @if let Some(properties) = properties {
                dl.facts { @for (field, schema) in properties {
                    dt { code { (field) } @if !is_required(field) { " (optional)" } }
                    dd { (string(schema, "description")) " " (kind(Some(schema))) }
                } }
            }
        }
    }
}

fn string<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The type of a schema in a few words, with links to named ones.
fn kind(schema: Option<&Value>) -> Markup {
    described(schema, 8)
}

/// Depth of levels, at most: a description that holds itself would have no end.
fn described(schema: Option<&Value>, levels: u32) -> Markup {
    let (Some(schema), 1..) = (schema, levels) else { return html! {} };
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let name = name.rsplit('/').next().unwrap_or_default();
        return html! { a href=(format!("#type-{name}")) { (name) } };
    }
    let alternatives =
        ["oneOf", "anyOf", "allOf"].iter().find_map(|name| schema.get(*name)?.as_array());
    if let Some(list) = alternatives {
        return html! { @for (index, one) in list.iter().enumerate() { @if index > 0 { " or " } (described(Some(one), levels - 1)) } };
    }
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        let words: Vec<String> = words.iter().map(Value::to_string).collect();
        return html! { code { (words.join(" | ")) } };
    }
    let types = match schema.get("type") {
        Some(Value::String(one)) => one.clone(),
        Some(Value::Array(list)) => {
            list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ")
        }
        _ => String::new(),
    };
    html! {
        span.quiet { (types) }
        @if let Some(items) = schema.get("items") { span.quiet { " of " } (described(Some(items), levels - 1)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn calls_and_types_are_listed() {
        let page = docs_page(&json!({
            "info": {"title": "Reticent", "version": "1"},
            "paths": {"/v1/loops/{loop}/rank": {"post": {
                "summary": "Asks.",
                "parameters": [{"name": "loop", "in": "path", "schema": {"type": "string"}}],
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/RankRequest"}}}},
                "responses": {"200": {"description": "The answer."}}
            }}},
            "components": {"schemas": {"RankRequest": {"required": ["actions"], "properties": {
                "actions": {"type": "array", "items": {"$ref": "#/components/schemas/Action"}, "description": "What may be chosen."},
                "person": {"type": ["string", "null"]}
            }}}}
        }));
        for words in [
            "POST",
            "/v1/loops/{loop}/rank",
            "Asks.",
            "href=\"#type-RankRequest\"",
            "id=\"type-RankRequest\"",
            "string or null",
            "(optional)",
            "The answer.",
        ] {
            assert!(page.contains(words), "{words}");
        }
        assert!(docs_page(&Value::Null).contains("No call is described."));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let names = prop_oneof![
            Just("type".to_string()),
            Just("items".into()),
            Just("properties".into()),
            Just("enum".into()),
            Just("oneOf".into()),
            Just("$ref".into()),
            Just("get".into()),
            Just("parameters".into()),
            Just("responses".into()),
            "<[a-z]{1,6}>"
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            "<script>.{0,9}".prop_map(Value::from)
        ];
        leaf.prop_recursive(5, 40, 5, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map(names.clone(), inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_description_makes_a_page_without_its_markup(paths in any_json(), schemas in any_json(), title in "<script>.{0,20}") {
            let page = docs_page(&json!({"info": {"title": title}, "paths": paths, "components": {"schemas": schemas}}));
            prop_assert_eq!(page.matches("<script").count(), 1);
        }
    }
}
