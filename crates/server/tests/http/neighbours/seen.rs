//! Everything that a `read` key can see, as lines of text in which noisy numbers are blotted out.
//!
//! Blotted out are functions of released numbers (sums, their hashes, policies, mean rewards, choices by a policy) and values that are random or a time
//! of the machine (keys, sessions, the date). How many numbers there are, and everything else, is compared.

use reticent_server::http::openapi;
use serde_json::Value;

use crate::common::{Answer, Server};

/// Pages, without the documents that do not change.
const PAGES: [&str; 7] = [
    "/",
    "/live",
    "/loops/home",
    "/loops/home/live",
    "/loops/home/certificate",
    "/certificate",
    "/docs",
];

/// Everything that a caller may ask for with a `read` key or without any key, at one moment.
pub async fn everything(server: &Server, slot: u64) -> Vec<String> {
    let mut lines = Vec::new();
    for (path, methods) in openapi()["paths"].as_object().unwrap() {
        if methods.get("get").is_none() {
            continue;
        }
        let path = path.replace("{loop}", "home");
        let answer = server.get(&server.read_key, &path).await;
        lines.push(masked(&format!("slot {slot}: GET {path}"), &answer));
    }
    let form = format!("key={}&next=%2F", server.read_key);
    let kind = "Content-Type: application/x-www-form-urlencoded";
    let signed_in = server.send("POST", "/sign-in", &[kind], &form).await.expect(303);
    let cookie = signed_in.header("set-cookie").unwrap().split(';').next().unwrap();
    let cookie = format!("Cookie: {cookie}");
    for path in PAGES {
        let mut answer = server.send("GET", path, &[&cookie], "").await.expect(200);
        answer.body = blot_page(&answer.body, server);
        lines.push(masked(&format!("slot {slot}: page {path}"), &answer));
    }
    server.send("POST", "/sign-out", &[&cookie], "").await.expect(303);
    lines
}

/// An answer as one line.
pub fn masked(what: &str, answer: &Answer) -> String {
    let mut headers = Vec::new();
    for (name, value) in &answer.headers {
        match name.as_str() {
            "date" | "set-cookie" | "content-length" => {}
            "reticent-head" => headers.push(format!("{name}: {}", number_of(value))),
            _ => headers.push(format!("{name}: {value}")),
        }
    }
    let json = answer.header("content-type").is_some_and(|kind| kind.contains("json"));
    let lines = answer.body.lines().map(|line| match serde_json::from_str(line) {
        Ok(value) if json => blot(value).to_string(),
        _ => line.to_string(),
    });
    let body: Vec<String> = lines.collect();
    format!("{what}: {} {headers:?} {}", answer.status, body.join("\n"))
}

/// The number of a head token: the rest is a hash of released numbers.
fn number_of(token: &str) -> &str {
    token.split('.').next().unwrap_or_default()
}

/// A document without noisy numbers.
fn blot(value: Value) -> Value {
    match value {
        Value::Object(entries) => Value::Object(
            entries.into_iter().map(|(name, value)| (name.clone(), entry(&name, value))).collect(),
        ),
        Value::Array(members) => Value::Array(members.into_iter().map(blot).collect()),
        other => other,
    }
}

fn entry(name: &str, value: Value) -> Value {
    match (name, &value) {
        ("head", Value::String(token)) => number_of(token).into(),
        // A release inside a listing is a text: all of it but its sums is compared.
        ("release", Value::String(text)) => {
            blot(serde_json::from_str(text).expect("a release is JSON"))
        }
        ("sums", Value::Array(sums)) => format!("{} sums", sums.len()).into(),
        ("policy" | "summary" | "chain" | "hash", value) if !value.is_null() => "noisy".into(),
        // What a policy chose, and with which probability, follows from the release and a coin.
        ("action", Value::String(_)) => "chosen".into(),
        ("ranking", Value::Array(ranking)) => {
            let mut ids: Vec<String> = ranking.iter().map(|each| each["id"].to_string()).collect();
            ids.sort();
            ids.join(" ").into()
        }
        _ => blot(value),
    }
}

/// A page without what its releases say about rewards, hashes and the key's own name.
fn blot_page(text: &str, server: &Server) -> String {
    let key = server.read_key.split('_').nth(1).unwrap();
    let mut text = text.replace(key, "KEY");
    text = without(&text, "<h3>Rewards ", "<h3>Releases and privacy ");
    text = without(&text, "id=\"lift\"", "</section>");
    // Hashes of released numbers: 32 and more hexadecimal digits.
    let pieces = text.split_inclusive(|c: char| !c.is_ascii_hexdigit());
    let blotted = pieces.map(|piece| if piece.len() > 32 { "#" } else { piece });
    blotted.collect()
}

/// The text with every part from `begin` to `end` left out.
fn without(text: &str, begin: &str, end: &str) -> String {
    let mut parts = text.split(begin);
    let mut kept = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let rest = part.find(end).map(|at| &part[at..]);
        kept += rest.unwrap_or_else(|| panic!("{end} is missing after {begin}"));
    }
    kept
}

#[test]
fn only_noise_is_blotted_out() {
    let line = r#"{"number":3,"time":7,"hash":"aa","release":"{\"round\":5,\"sums\":[1.5,2.5],\"deviations\":[0.5]}"}"#;
    let text = blot(serde_json::from_str(line).unwrap()).to_string();
    for kept in ["\"number\":3", "\"time\":7", "\"round\":5", "2 sums", "[0.5]"] {
        assert!(text.contains(kept), "{kept}: {text}");
    }
    assert!(!text.contains("1.5") && !text.contains("aa"), "{text}");
    assert_eq!(without("a<b>c</b>d<b>e</b>", "<b>", "</b>"), "a</b>d</b>");
}
