//! Bodies of requests: read within a size and a time, and checked by field.
//!
//! An error names the field and never what stood in it, which may be a person's feature or reward. The query of an address is no person's,
//! and is named.

use std::time::Duration;

use axum::{
    body::{Bytes, to_bytes},
    extract::{FromRequest, FromRequestParts, Query, Request},
    http::{HeaderMap, StatusCode, Uri, header, request::Parts},
};
use serde::de::DeserializeOwned;

use super::{App, HttpLimits, Problem};
use crate::loops::Object;

/// A JSON body.
pub(super) struct Body<T>(pub(super) T);

impl<T: DeserializeOwned + Send + 'static> FromRequest<App> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        read_json(app, request).await.map(Body)
    }
}

/// The query of an address.
pub(super) struct Ask<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequestParts<App> for Ask<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let query = Query::<T>::from_request_parts(parts, app).await;
        query.map(|Query(query)| Ask(query)).map_err(|rejection| {
            let reason = rejection.body_text();
            let reason = reason.rsplit_once("query string: ").map_or("unreadable", |(_, why)| why);
            let named = reason.split_once(": ").filter(|(field, _)| !field.contains(' '));
            let (path, message) = named.unwrap_or(("", reason));
            let (field, value, remedy) = describe(path, message);
            let field = if field == "body" { "query".to_string() } else { field };
            let value = match message.starts_with("unknown field") {
                true => value,
                false => given(&parts.uri, &field).unwrap_or(value),
            };
            let remedy = number_remedy(message).map_or(remedy, String::from);
            crate::Error::invalid(field, value, remedy).into()
        })
    }
}

/// Value of a field in an address.
fn given(address: &Uri, field: &str) -> Option<String> {
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(address).ok()?;
    let mut values = pairs.into_iter().filter(|(name, _)| name == field).map(|(_, value)| value);
    // One that is given twice is refused for that.
    let value = values.next().filter(|_| values.next().is_none())?;
    Some(format!("{:?}", value.chars().take(64).collect::<String>()))
}

/// Remedy for a text that is no number, or too large a one, by the message of Rust's parser.
fn number_remedy(message: &str) -> Option<&'static str> {
    let messages = [
        ("invalid digit found in string", "expected a whole number that is not negative"),
        (
            "cannot parse integer from empty string",
            "expected a whole number; or leave the field out",
        ),
        ("number too large to fit in target type", "expected a smaller number"),
    ];
    messages.iter().find(|(found, _)| message.ends_with(found)).map(|(_, remedy)| *remedy)
}

/// Bytes that are read as JSON between other requests: longer bodies are read on threads of their own.
const SHORT: usize = 32 << 10;

/// Reads a request's JSON.
pub(super) async fn read_json<T: DeserializeOwned + Send + 'static>(
    app: &App,
    request: Request,
) -> Result<T, Problem> {
    let bytes = read_json_bytes(app, request).await?;
    match bytes.len() <= SHORT {
        true => parse(&bytes),
        false => app.service.compute(move || parse(&bytes)).await?,
    }
}

/// Reads a request's JSON as the bytes it is.
pub(super) async fn read_json_bytes(app: &App, request: Request) -> Result<Bytes, Problem> {
    if !is_json(request.headers()) {
        let detail = "the body has no or another content type";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
    }
    read_bytes(&app.limits, app.limits.body, request).await
}

/// Reads a request's body up to a limit, in bytes.
pub(crate) async fn read_bytes(
    limits: &HttpLimits,
    most: usize,
    request: Request,
) -> Result<Bytes, Problem> {
    let too_large = || {
        let detail = format!("the body is larger than {most} bytes");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
    };
    let declared = request.headers().get(header::CONTENT_LENGTH);
    let declared = declared.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if declared.is_some_and(|length| length > most as u64) {
        return Err(too_large());
    }
    let reading = to_bytes(request.into_body(), most);
    match tokio::time::timeout(limits.body_time, reading).await {
        Err(_) => Err(too_slow(limits.body_time)),
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if is_length_limit(&error) => Err(too_large()),
        Ok(Err(_)) => Err(Problem::new(StatusCode::BAD_REQUEST, "the body ended before its end")),
    }
}

fn too_slow(time: Duration) -> Problem {
    let detail = format!("the body did not come within {} s", time.as_secs());
    Problem::new(StatusCode::REQUEST_TIMEOUT, detail)
}

fn is_length_limit(error: &axum::Error) -> bool {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = source {
        if error.is::<http_body_util::LengthLimitError>() {
            return true;
        }
        source = error.source();
    }
    false
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or("").trim();
    let kind = kind.to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

/// Reads JSON, or says which field cannot be used. Only what cannot be read is read twice, for the path to its field.
pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let error = match serde_json::from_slice(bytes) {
        Ok(Object(value)) => return Ok(value),
        Err(error) => error,
    };
    if !error.is_data() {
        let place = format!("line {}, column {}", error.line(), error.column());
        if error.to_string().starts_with("number out of range") {
            let detail = format!("a number is too large at {place}");
            let problem = Problem::new(StatusCode::BAD_REQUEST, detail);
            return Err(problem.with_remedy("expected numbers of at most 1.7e308"));
        }
        let detail = format!("the body is not JSON at {place}");
        return Err(Problem::new(StatusCode::BAD_REQUEST, detail));
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let path = match serde_path_to_error::deserialize::<_, Object<T>>(&mut reader) {
        Ok(_) => String::new(),
        // The body as a whole has the path `.`.
        Err(error) => error.path().to_string().trim_start_matches('.').to_string(),
    };
    let (field, value, remedy) = describe(&path, &error.to_string());
    let detail = reticent::error::message(&field, &value, &remedy);
    let problem = Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail);
    Err(problem.of_field(field, value).with_remedy(remedy))
}

/// Field, description of the value and remedy of a message of serde. What stood in the field is left out.
fn describe(path: &str, message: &str) -> (String, String, String) {
    let message = message.rsplit_once(" at line ").map_or(message, |(message, _)| message);
    let parent = |name: &str| match path.rsplit_once('.') {
        Some((parent, last)) if last == name => format!("{parent}.{name}"),
        None if path == name || path.is_empty() => name.to_string(),
        _ => format!("{path}.{name}"),
    };
    let quoted = |prefix: &str| {
        let rest = message.strip_prefix(prefix)?.strip_prefix(" `")?;
        let (name, rest) = rest.split_once('`')?;
        Some((parent(name), rest.trim_start_matches(", ").to_string()))
    };
    if let Some((field, expected)) = quoted("unknown field") {
        let remedy = match expected.is_empty() {
            true => "leave it out".to_string(),
            false => expected,
        };
        return (field, "an unknown field".into(), remedy);
    }
    if let Some((field, _)) = quoted("missing field") {
        return (field, "missing".into(), "add it, as /openapi.json describes it".into());
    }
    if let Some((field, _)) = quoted("duplicate field") {
        return (field, "two values".into(), "expected one".into());
    }
    let field = if path.is_empty() { "body" } else { path };
    let expected = message
        .rsplit_once("expected ")
        .map_or("a value as /openapi.json describes it", |(_, rest)| rest);
    (field.to_string(), kind_of(message).into(), format!("expected {}", in_words(expected)))
}

/// Type of the value that stood in the field.
fn kind_of(message: &str) -> &'static str {
    let Some(found) = message.strip_prefix("invalid type: ") else { return "another value" };
    let kinds = [
        ("string", "a string"),
        ("integer", "a whole number"),
        ("floating point", "a number"),
        ("boolean", "true or false"),
        ("null", "null"),
        ("unit", "null"),
        ("sequence", "a list"),
        ("map", "an object"),
    ];
    kinds.iter().find(|(name, _)| found.starts_with(name)).map_or("another type", |kind| kind.1)
}

/// Type that a field should hold, in the words of JSON rather than of Rust.
fn in_words(expected: &str) -> &str {
    match expected {
        "a sequence" => "a list",
        "a map" => "an object",
        "a boolean" => "true or false",
        "f64" | "f32" => "a number",
        "u64" | "u32" | "usize" => "a whole number that is not negative",
        "i64" | "i32" | "isize" => "a whole number",
        text if text.starts_with("struct ") => "an object",
        text => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loops::{RankRequest, RewardRequest};

    fn refused<T: DeserializeOwned>(text: &str) -> Problem {
        match parse::<T>(text.as_bytes()) {
            Err(problem) => problem,
            Ok(_) => panic!("{text} was taken"),
        }
    }

    #[test]
    fn a_refusal_names_the_field_and_not_what_stood_in_it() {
        for (text, field) in [
            (r#"{"actions": [{"id": "a"}], "contxt": {}}"#, "contxt"),
            (r#"{"actions": [{"id": "a", "feature": "SECRET"}]}"#, "actions[0].feature"),
            (r#"{"actions": [{"id": "a"}, {"features": {}}]}"#, "actions[1].id"),
            (r#"{"context": {}}"#, "actions"),
            (r#"{"actions": "SECRET"}"#, "actions"),
            (r#"{"actions": [{"id": "a"}], "person": {"SECRET": 1}}"#, "person"),
            (r#"{"actions": [], "actions": []}"#, "actions"),
            (r#"["SECRET"]"#, "body"),
            (r#"["e1", "SECRET", {}, [{"id": "a"}], [], false]"#, "body"),
            (r#"{"actions": [["SECRET", {}]]}"#, "actions[0]"),
        ] {
            let problem = refused::<RankRequest>(text);
            assert_eq!((problem.status, problem.field.as_deref()), (422, Some(field)), "{text}");
            assert!(!format!("{problem:?}").contains("SECRET"), "{problem:?}");
        }
        let problem = refused::<RewardRequest>(r#"{"value": "SECRET, expected nothing"}"#);
        assert_eq!(problem.field.as_deref(), Some("value"));
        assert!(!format!("{problem:?}").contains("SECRET"), "{problem:?}");
        assert_eq!(
            (problem.value.as_deref(), &*problem.remedy),
            (Some("a string"), "expected a number")
        );
        let problem = refused::<RankRequest>(r#"{"actions": {}}"#);
        assert_eq!(
            (problem.value.as_deref(), &*problem.remedy),
            (Some("an object"), "expected a list")
        );
        for text in ["", "{", "{\"value\": }", "\u{1}", "{\"value\": 1e999}"] {
            assert_eq!(refused::<RewardRequest>(text).status, 400, "{text}");
        }
        let problem = refused::<RewardRequest>("{\"value\": 1e999}");
        assert!(problem.detail.contains("too large") && !problem.detail.contains("999"));
    }
}
