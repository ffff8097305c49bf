//! Ranks, rewards, activations, batches, erasure: every status of every call.

use std::sync::atomic::Ordering;

use serde_json::json;

use crate::common::{Server, rank_request};

#[tokio::test]
async fn a_rank_answers_an_action_with_probabilities_and_a_head() {
    let server = Server::start().await;
    let answer = server.rank("e1", "anna").await.expect(200);
    let body = answer.json();
    assert_eq!(body["event_id"], "e1");
    assert_eq!(body["ranking"][0]["id"], body["action"]);
    let sum: f64 = body["ranking"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| a["probability"].as_f64().unwrap())
        .sum();
    assert!((sum - 1.0).abs() < 1e-9, "{body}");
    assert_eq!(answer.header("reticent-head"), body["head"].as_str());
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let made = r#"{"actions": [{"id": "a"}]}"#;
    let made = server.post(&server.app_key, "/v1/loops/home/rank", made).await.expect(200);
    assert_eq!(made.json()["event_id"].as_str().unwrap().len(), 32);
}

#[tokio::test]
async fn the_same_event_again_gets_the_stored_answer_and_another_body_409() {
    let server = Server::start().await;
    let first = server.rank("e1", "anna").await.expect(200);
    for _ in 0..5 {
        assert_eq!(server.rank("e1", "anna").await.expect(200).body, first.body);
    }
    let problem = server.rank("e1", "berta").await.expect(409).json();
    assert_eq!(problem["type"], "urn:reticent:problem:conflict");
    assert_eq!(server.service.central("home").unwrap().open_events(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn racing_ranks_of_one_id_make_one_event() {
    let server = std::sync::Arc::new(Server::start().await);
    let racing: Vec<_> = (0..24)
        .map(|_| {
            let server = server.clone();
            tokio::spawn(async move { server.rank("e1", "anna").await.expect(200).body })
        })
        .collect();
    let mut bodies = Vec::new();
    for one in racing {
        bodies.push(one.await.unwrap());
    }
    assert!(bodies.iter().all(|body| *body == bodies[0]), "{bodies:?}");
    let each = server.service.central("home").unwrap();
    assert_eq!((each.open_events(), each.counts.ranks.load(Ordering::Relaxed)), (1, 1));
}

#[tokio::test]
async fn a_reward_is_204_an_unknown_event_404_and_a_late_one_410() {
    let server = Server::start().await;
    server.rank("e1", "anna").await.expect(200);
    let taken = server.reward("e1", 1.0).await.expect(204);
    assert!(taken.body.is_empty() && taken.header("reticent-head").is_some());
    let problem = server.reward("e2", 1.0).await.expect(404).json();
    assert_eq!(problem["type"], "urn:reticent:problem:unknown");
    assert!(problem["remedy"].as_str().unwrap().contains("event_id"));
    server.pass(120_000).await;
    let problem = server.reward("e1", 1.0).await.expect(410).json();
    assert_eq!(
        (&problem["status"], &problem["type"]),
        (&json!(410), &json!("urn:reticent:problem:late"))
    );
    let late = server.post(&server.app_key, "/v1/loops/home/events/e1/activate", "").await;
    late.expect(410);
    let unknown = server.post(&server.app_key, "/v1/loops/home/events/e2/activate", "").await;
    unknown.expect(404);
}

/// The total reward of the only closed event.
async fn exported_reward(server: &Server) -> serde_json::Value {
    server.pass(120_000).await;
    let export = server.get(&server.admin_key, "/v1/loops/home/events/export").await.expect(200);
    serde_json::from_str::<serde_json::Value>(export.body.trim()).unwrap()["reward"].clone()
}

#[tokio::test]
async fn a_reward_repeated_under_one_key_counts_once() {
    let server = Server::start().await;
    server.rank("e1", "anna").await.expect(200);
    let path = "/v1/loops/home/events/e1/reward";
    let key = format!("Authorization: Bearer {}", server.app_key);
    let kind = "Content-Type: application/json";
    for _ in 0..3 {
        let headers = [key.as_str(), kind, "Idempotency-Key: k1"];
        server.send("POST", path, &headers, r#"{"value": 0.25}"#).await.expect(204);
    }
    let body = r#"{"value": 0.25, "idempotency_key": "k1"}"#;
    server.post(&server.app_key, path, body).await.expect(204);
    let headers = [key.as_str(), kind, "Idempotency-Key: k2"];
    let problem = server.send("POST", path, &headers, body).await.expect(422).json();
    assert_eq!(problem["field"], "Idempotency-Key");
    server.post(&server.app_key, path, r#"{"value": 0.125}"#).await.expect(204);
    assert_eq!(exported_reward(&server).await, 0.375);
}

#[tokio::test]
async fn a_deferred_event_is_exported_only_when_it_was_activated() {
    for activated in [false, true] {
        let server = Server::start().await;
        let body = r#"{"event_id": "e1", "defer": true, "actions": [{"id": "a"}]}"#;
        server.post(&server.app_key, "/v1/loops/home/rank", body).await.expect(200);
        server.reward("e1", 1.0).await.expect(204);
        if activated {
            let path = "/v1/loops/home/events/e1/activate";
            server.post(&server.app_key, path, "").await.expect(204);
        }
        server.pass(120_000).await;
        let export = server.get(&server.admin_key, "/v1/loops/home/events/export").await;
        assert_eq!(export.expect(200).body.lines().count(), usize::from(activated));
    }
}

#[tokio::test]
async fn what_is_wrong_with_one_of_a_batch_does_not_touch_the_others() {
    let server = Server::start().await;
    let good: serde_json::Value = serde_json::from_str(&rank_request("e1", "anna")).unwrap();
    let other: serde_json::Value = serde_json::from_str(&rank_request("e2", "berta")).unwrap();
    let body = json!({"requests": [good, {"actions": []}, other]}).to_string();
    let answer = server.post(&server.app_key, "/v1/loops/home/rank/batch", &body).await.expect(200);
    let results = answer.json()["results"].clone();
    assert_eq!(results[0]["answer"]["event_id"], "e1");
    assert_eq!(results[1]["problem"]["field"], "actions");
    assert_eq!(results[2]["answer"]["event_id"], "e2");
    let body = json!({"rewards": [{"event_id": "e1", "value": 1}, {"event_id": "no", "value": 1}]});
    let path = "/v1/loops/home/rewards/batch";
    let answer = server.post(&server.app_key, path, &body.to_string()).await.expect(200).json();
    assert_eq!(answer["results"][0], json!({"taken": true}));
    assert_eq!(answer["results"][1]["problem"]["status"], 404);
    for (path, body) in [("rank", "{\"requests\": []}"), ("rewards", "{\"rewards\": []}")] {
        let path = format!("/v1/loops/home/{path}/batch");
        server.post(&server.app_key, &path, body).await.expect(422);
    }
}

#[tokio::test]
async fn bad_requests_are_problems_with_field_and_remedy_and_change_nothing() {
    let server = Server::start().await;
    let rank = "/v1/loops/home/rank";
    let many: Vec<_> = (0..1025).map(|i| json!({"id": i.to_string()})).collect();
    let many = json!({"actions": many}).to_string();
    let long = json!({"person": "SECRET".repeat(100), "actions": [{"id": "a"}]}).to_string();
    for (path, body, status, field) in [
        (rank, "{", 400, None),
        (rank, "", 400, None),
        (rank, r#"{"actions": [{"id": "a"}], "contxt": {}}"#, 422, Some("contxt")),
        (rank, r#"{"actions": [{"id": "a", "x": 1}]}"#, 422, Some("actions[0].x")),
        (rank, r#"{"actions": 7}"#, 422, Some("actions")),
        (rank, r#"{"actions": []}"#, 422, Some("actions")),
        (rank, &many, 422, Some("actions")),
        (rank, &long, 422, Some("person")),
        (rank, r#"{"actions": [{"id": "a"}], "exclude": ["a"]}"#, 422, Some("exclude")),
        (rank, r#"{"actions": [{"id": "a"}, {"id": "a"}]}"#, 422, Some("actions.id")),
        ("/v1/loops/home/events/e/reward", r#"{"value": "SECRET"}"#, 422, Some("value")),
        ("/v1/loops/home/events/e/reward", r#"{"value": 1e999}"#, 400, None),
        ("/v1/loops/home/events/e/reward", r#"{"reward": 1}"#, 422, Some("reward")),
        ("/v1/loops/home/events/%ff/reward", r#"{"value": 1}"#, 400, None),
        ("/v1/loops/home/nothing", "{}", 404, None),
    ] {
        let answer = server.post(&server.app_key, path, body).await.expect(status);
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{body}");
        let problem = answer.json();
        assert_eq!(problem["status"], status);
        assert_eq!(problem["field"].as_str(), field, "{problem}");
        assert!(!problem["remedy"].as_str().unwrap().is_empty());
        assert!(!answer.body.contains("SECRET"), "{problem}");
    }
    let key = format!("Authorization: Bearer {}", server.app_key);
    server.send("POST", rank, &[&key], &rank_request("e", "p")).await.expect(415);
    server.send("PUT", rank, &[&key], "{}").await.expect(405);
    let plain = server.send("POST", rank, &[&key, "Content-Type: text/plain"], "{}").await;
    assert_eq!(plain.expect(415).json()["type"], "urn:reticent:problem:not-json");
    let unknown = server.post(&server.admin_key, "/v1/loops/nowhere/rank", "{}").await.expect(404);
    assert!(unknown.json()["remedy"].as_str().unwrap().contains("home"));
    assert_eq!(server.service.central("home").unwrap().open_events(), 0);
}

/// Features never fail a rank: a refusal would show something about a person.
#[tokio::test]
async fn strange_features_are_answered() {
    let server = Server::start().await;
    let deep = format!("{}1{}", "[".repeat(20_000), "]".repeat(20_000));
    for context in ["null", "7", "[]", "{\"device\": \"fridge\"}", "{\"device\": [[{}]]}", &deep] {
        let body = format!(
            r#"{{"context": {{"x": {context}, "device": {context}}}, "actions": [{{"id": "a", "features": {context}}}]}}"#
        );
        let answer = server.post(&server.app_key, "/v1/loops/home/rank", &body).await;
        assert_eq!(answer.status, 200, "{:.80} {answer:?}", context);
    }
}

#[tokio::test]
async fn an_erased_person_is_gone_from_exports_and_the_answer_says_what_remains() {
    let server = Server::start().await;
    server.rank("e1", "anna").await.expect(200);
    server.rank("e2", "berta").await.expect(200);
    let erase = "/v1/people/erase";
    let answer = server.post(&server.admin_key, erase, r#"{"person": "anna"}"#).await.expect(200);
    assert_eq!(answer.json()["rows"], 1);
    assert!(!answer.json()["remains"].as_array().unwrap().is_empty());
    // Whether an event was erased changes no answer.
    server.reward("e1", 1.0).await.expect(204);
    server.pass(120_000).await;
    let export = server.get(&server.admin_key, "/v1/loops/home/events/export").await.expect(200);
    assert_eq!(export.body.lines().count(), 1);
    for bad in ["{}", "{\"person\": \"\"}", "{\"person\": 7}", "{\"who\": \"anna\"}"] {
        server.post(&server.admin_key, erase, bad).await.expect(422);
    }
}
