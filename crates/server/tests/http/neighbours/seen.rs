//! Everything that a `read` key can see, as lines of text in which noisy numbers are blotted out.
//!
//! Blotted out are functions of released numbers (sums, their hashes, policies, mean rewards, what was chosen by a policy) and what is random or a time
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

/// What is blotted out beside noise.
#[derive(Debug, Clone, Copy, Default)]
pub struct Masks {
    /// Counts of questions and of open events, which say when people asked: public.
    pub questions: bool,
}

/// Everything that a `read` key and nobody at all may ask for, at one moment.
pub async fn everything(server: &Server, slot: u64, masks: Masks) -> Vec<String> {
    let mut lines = Vec::new();
    for (path, methods) in openapi()["paths"].as_object().unwrap() {
        if methods.get("get").is_none() {
            continue;
        }
        let path = path.replace("{loop}", "home");
        let answer = server.get(&server.read_key, &path).await;
        lines.push(masked(&format!("slot {slot}: GET {path}"), &answer, masks));
    }
    let form = format!("key={}&next=%2F", server.read_key);
    let kind = "Content-Type: application/x-www-form-urlencoded";
    let signed_in = server.send("POST", "/sign-in", &[kind], &form).await.expect(303);
    let cookie = signed_in.header("set-cookie").unwrap().split(';').next().unwrap();
    let cookie = format!("Cookie: {cookie}");
    for path in PAGES {
        let mut answer = server.send("GET", path, &[&cookie], "").await.expect(200);
        answer.body = blot_page(&answer.body, server, masks);
        lines.push(masked(&format!("slot {slot}: page {path}"), &answer, masks));
    }
    server.send("POST", "/sign-out", &[&cookie], "").await.expect(303);
    lines
}

/// An answer as one line.
pub fn masked(what: &str, answer: &Answer, masks: Masks) -> String {
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
        Ok(value) if json => blot(value, masks).to_string(),
        _ => blot_count(line, masks),
    });
    let body: Vec<String> = lines.collect();
    format!("{what}: {} {headers:?} {}", answer.status, body.join("\n"))
}

/// The number of a head token: the rest is a hash of released numbers.
fn number_of(token: &str) -> &str {
    token.split('.').next().unwrap_or_default()
}

/// A document without noisy numbers.
fn blot(value: Value, masks: Masks) -> Value {
    match value {
        Value::Object(entries) => Value::Object(
            entries
                .into_iter()
                .map(|(name, value)| (name.clone(), entry(&name, value, masks)))
                .collect(),
        ),
        Value::Array(members) => {
            Value::Array(members.into_iter().map(|member| blot(member, masks)).collect())
        }
        other => other,
    }
}

fn entry(name: &str, value: Value, masks: Masks) -> Value {
    match (name, &value) {
        ("head", Value::String(token)) => number_of(token).into(),
        // A release inside a listing is a text: all of it but its sums is compared.
        ("release", Value::String(text)) => {
            blot(serde_json::from_str(text).expect("a release is JSON"), masks)
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
        ("ranks" | "open_events", Value::Number(_)) if masks.questions => "public".into(),
        _ => blot(value, masks),
    }
}

/// A line of metrics; those of questions end in a blot if they are masked.
fn blot_count(line: &str, masks: Masks) -> String {
    let counted = ["reticent_ranks_total", "reticent_open_events{"];
    match counted.into_iter().find(|name| masks.questions && line.starts_with(name)) {
        Some(name) => format!("{name} public"),
        None => line.to_string(),
    }
}

/// A page without what its releases say about rewards, hashes and the key's own name.
fn blot_page(text: &str, server: &Server, masks: Masks) -> String {
    let key = server.read_key.split('_').nth(1).unwrap();
    let mut text = text.replace(key, "KEY");
    text = without(&text, "<h3>Rewards ", "<h3>Releases and privacy ");
    text = without(&text, "id=\"lift\"", "</section>");
    if masks.questions {
        text = without(&text, "<dt>Questions answered</dt>", "</dd>");
        text = without(&text, "<dt>Open events</dt>", "</dd>");
        text = without(&text, "id=\"calls\"", "</section>");
    }
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
    let text = blot(serde_json::from_str(line).unwrap(), Masks::default()).to_string();
    for kept in ["\"number\":3", "\"time\":7", "\"round\":5", "2 sums", "[0.5]"] {
        assert!(text.contains(kept), "{kept}: {text}");
    }
    assert!(!text.contains("1.5") && !text.contains("aa"), "{text}");
    let counts = Masks { questions: true };
    assert_eq!(blot_count("reticent_rewards_total 7", counts), "reticent_rewards_total 7");
    assert_eq!(without("a<b>c</b>d<b>e</b>", "<b>", "</b>"), "a</b>d</b>");
}
