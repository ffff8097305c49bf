//! The detail of a problem about a field has the form of all errors, and is made of its field, value and remedy.

use serde_json::Value;

use crate::common::{Answer, Server};

/// Checks `detail` against `field: got value; remedy`, or `field: missing; remedy`.
fn check(answer: Answer, status: u16) {
    let problem = answer.expect(status).json();
    let text = |name: &str| problem[name].as_str().unwrap_or_else(|| panic!("{name}: {problem}"));
    let value = match text("value") {
        "missing" => "missing".to_string(),
        value => format!("got {value}"),
    };
    let [field, detail, remedy] = ["field", "detail", "remedy"].map(text);
    assert!(!field.is_empty() && !field.contains(':') && !remedy.is_empty(), "{problem}");
    assert_eq!(detail, format!("{field}: {value}; {remedy}"), "{problem}");
    assert_ne!(problem["type"], Value::Null);
}

#[tokio::test]
async fn problems_about_a_field_have_the_form_of_all_errors() {
    let server = Server::start().await;
    let (app, admin) = (&server.app_key, &server.admin_key);
    for body in [
        r#"{"actions": []}"#,
        r#"{"actions": {}}"#,
        r#"{"context": {}}"#,
        r#"{"actions": [{"id": "a"}], "contxt": {}}"#,
        r#"{"actions": [{"id": "a"}], "actions": []}"#,
        r#"{"actions": [{"id": "a"}, {"id": "a"}]}"#,
        r#"{"actions": [{"id": "a"}], "person": {"SECRET": 1}}"#,
        "[]",
    ] {
        check(server.post(app, "/v1/loops/home/rank", body).await, 422);
    }
    let reward = "/v1/loops/home/events/nothing/reward";
    check(server.post(app, reward, r#"{"value": "much"}"#).await, 422);
    check(server.post(app, reward, "{}").await, 422);
    check(server.post(app, reward, r#"{"value": 0.5}"#).await, 404);
    check(server.get(admin, "/v1/loops/nowhere/certificate").await, 404);
    for query in ["actions=-1", "actions=2&actions=3", "fromat=csv", "format=xml"] {
        check(server.get(admin, &format!("/v1/loops/home/events/export?{query}")).await, 422);
    }
}
