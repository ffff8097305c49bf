//! Pages before the first sign-in, and before the first rank request.

use axum::http::{HeaderMap, header};
use maud::{Markup, html};
use reticent::features::Encoding;
use serde_json::{Map, Value, json};

use super::layout::Frame;
use crate::config::{CentralPlan, Ledger};

/// The page for people who are not signed in.
pub(super) fn sign_in(next: &str, refused: bool) -> String {
    let body = html! {
        main.narrow {
            h1 { "Sign in" }
            p { "Use a key with the role " code { "read" } " (public numbers of its loop) or " code { "admin" } " (everything)." }
            @if refused {
                p.notice.bad role="alert" { "This key is not known, was revoked, or has neither of these roles." }
            }
            form.sign-in method="post" action="/sign-in" {
                label for="key" { "Key" }
                input #key name="key" type="password" autocomplete="current-password" required maxlength="300" autofocus;
                input type="hidden" name="next" value=(next);
                button type="submit" { "Sign in" }
            }
            h2 { "No key yet?" }
            p { "On the machine of the service, in its own folder of data:" }
            pre { code { "reticent-server key new --data DIR --role admin\nreticent-server key new --data DIR --loop NAME --role read" } }
            p.quiet { "The key is printed once. The service keeps only its hash." }
        }
    };
    Frame::open().document("Sign in", body)
}

/// The address that the browser used, for examples.
pub(super) fn host(headers: &HeaderMap) -> String {
    let sound = |c: char| c.is_ascii_alphanumeric() || ".-:[]".contains(c);
    let given = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let given = given.filter(|host| host.len() <= 255 && host.chars().all(sound));
    given.unwrap_or("127.0.0.1:8080").to_string()
}

/// The first steps of a loop before its first rank request.
pub(super) fn first_steps(plan: &CentralPlan, host: &str) -> Markup {
    let name = &plan.name;
    let rank = request(plan);
    html! {
        div.begin {
            h3 { "No rank request since this service was started" }
            p { "1. Make a key that may send rank requests and rewards:" }
            pre { code { "KEY=$(reticent-server key new --data DIR --loop " (name) " --role decide,reward)" } }
            p { "2. Send a rank request:" }
            pre { code {
                "curl http://" (host) "/v1/loops/" (name) "/rank \\\n  -H \"Authorization: Bearer $KEY\" -H 'Content-Type: application/json' \\\n  -d " (quoted(&rank.to_string()))
            } }
            p { "3. Send the reward within " (plan.params.reward.window) ":" }
            pre { code {
                "curl http://" (host) "/v1/loops/" (name) "/events/first/reward \\\n  -H \"Authorization: Bearer $KEY\" -H 'Content-Type: application/json' \\\n  -d '{\"value\": " (plan.learner_params.bounds.rewards.1) "}'"
            } }
        }
    }
}

/// A text as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A request that the loop can answer, with values of its own features.
fn request(plan: &CentralPlan) -> Value {
    let params = plan.features.params();
    let record = |features: &std::collections::BTreeMap<String, Encoding>, choice: usize| {
        let mut record = Map::new();
        for (path, encoding) in features {
            insert(&mut record, path, example(encoding, choice));
        }
        Value::Object(record)
    };
    let mut request = json!({
        "event_id": "first",
        "context": record(&params.context, 0),
        "actions": [
            {"id": "a", "features": record(&params.action, 0)},
            {"id": "b", "features": record(&params.action, 1)},
        ],
    });
    if let (Ledger::Person { .. }, Some(fields)) = (plan.ledger, request.as_object_mut()) {
        fields.insert("person".into(), "anna".into());
    }
    request
}

fn example(encoding: &Encoding, choice: usize) -> Value {
    match encoding {
        Encoding::Range(low, high) => (if choice == 0 { *low } else { *high }).into(),
        Encoding::Categories(words) => {
            words.get(choice).or_else(|| words.first()).cloned().unwrap_or_default().into()
        }
        Encoding::Hash { .. } => ["one word", "another word"][choice.min(1)].into(),
        Encoding::Cycle(period) => (period / 4.0 * choice as f64).into(),
        Encoding::Bins(edges) => edges.get(choice).or(edges.last()).copied().into(),
    }
}

/// Puts a value at a path of names with points between them.
fn insert(record: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => drop(record.insert(path.into(), value)),
        Some((name, rest)) => {
            let inner = record.entry(name).or_insert_with(|| json!({}));
            if let Some(inner) = inner.as_object_mut() {
                insert(inner, rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::ServiceFile,
        loops::{Limits, RankRequest},
    };

    #[test]
    fn the_example_is_a_request_that_the_loop_takes() {
        let file = r#"
            [loop.home]
            privacy = { epsilon = 1.0, delta = 1e-6, visits = 2, per = "ever" }
            [loop.home.context]
            user.device = { categories = ["it's", "phone"] }
            user.age = { range = [18, 80] }
            [loop.home.action]
            topic = { hash = { buckets = 8 } }
        "#;
        let plan = ServiceFile::parse(file).unwrap().check().unwrap()[0].central().unwrap().clone();
        let text = request(&plan).to_string();
        let request: RankRequest = serde_json::from_str(&text).unwrap();
        request.check(&Limits::default()).unwrap();
        assert_eq!(
            request.context.at("user.age").map(|age| format!("{age:?}")),
            Some("Number(18.0)".into())
        );
        assert!(quoted(&text).contains(r"it'\''s"));
    }
}
