//! Event ids belong to the key that asked first: nothing that another key is answered depends on what the first one sent.

use reticent_server::{http::Role, store::Place};
use serde_json::{Value, json};

use crate::common::{Answer, LOOPS, Server, Setup, rank_request};

const RANK: &str = "/v1/loops/home/rank";

/// The rank request of `common` with an undeclared field, and others that an attacker would try.
fn guesses(id: &str) -> Vec<String> {
    let right: Value = serde_json::from_str(&rank_request(id, "anna")).unwrap();
    let with = |pointer: &str, value: Value| {
        let mut body = right.clone();
        *body.pointer_mut(pointer).unwrap() = value;
        body.to_string()
    };
    vec![
        right.to_string(),
        with("/person", json!("berta")),
        with("/context", json!({"device": "phone", "illness": "none"})),
        with("/context/device", json!("computer")),
        with("/actions", json!([{"id": "z"}])),
    ]
}

/// Everything that a caller sees of an answer, but for the date.
fn seen(answer: &Answer) -> String {
    let headers: Vec<_> = answer.headers.iter().filter(|(name, _)| name != "date").collect();
    format!("{} {headers:?} {}", answer.status, answer.body)
}

/// The answers to these bodies under a key, of which all must be the same.
async fn one_answer(server: &Server, key: &str, bodies: &[String]) -> Answer {
    let first = server.post(key, RANK, &bodies[0]).await;
    for body in &bodies[1..] {
        assert_eq!(seen(&server.post(key, RANK, body).await), seen(&first), "{body}");
    }
    first
}

#[tokio::test]
async fn another_key_cannot_test_a_request() {
    let server = Server::start().await;
    let first = server.rank("e1", "anna").await.expect(200).json();
    let second = server.key("home", &[Role::Decide, Role::Reward]).await;
    for key in [&second, &server.admin_key] {
        let refused = one_answer(&server, key, &guesses("e1")).await.expect(409);
        let problem = refused.json();
        assert_eq!((&problem["field"], &problem["action"]), (&json!("event_id"), &Value::Null));
        let requests: Vec<Value> =
            guesses("e1").iter().map(|body| serde_json::from_str(body).unwrap()).collect();
        let batch = json!({ "requests": requests }).to_string();
        let path = "/v1/loops/home/rank/batch";
        let results = server.post(key, path, &batch).await.expect(200).json();
        let results = results["results"].as_array().unwrap();
        assert!(results.iter().all(|result| *result == json!({"problem": problem})), "{results:?}");
    }
    // The caller itself is answered as before, and learns of another body.
    assert_eq!(server.rank("e1", "anna").await.expect(200).json(), first);
    one_answer(&server, &server.app_key, &guesses("e1")[1..]).await.expect(409);
    // Rewards and activations find the event by its id, whichever caller sent it.
    let reward = "/v1/loops/home/events/e1/reward";
    server.post(&second, reward, r#"{"value": 0.5}"#).await.expect(204);
    server.post(&second, "/v1/loops/home/events/e1/activate", "").await.expect(204);
    assert_eq!(server.service.central("home").unwrap().open_events(), 1);
}

#[tokio::test]
async fn personalizers_calls_bind_ids_to_keys_too() {
    let server = Server::start().await;
    let second = server.key("home", &[Role::Decide, Role::Reward]).await;
    let ask = async |key: &str, device: &str| {
        let body = json!({"contextFeatures": [{"device": device}], "actions": [{"id": "a"}], "eventId": "e1"});
        let key = format!("Ocp-Apim-Subscription-Key: {key}");
        let headers = [key.as_str(), "Content-Type: application/json"];
        server.send("POST", "/personalizer/v1.0/rank", &headers, &body.to_string()).await
    };
    ask(&server.app_key, "phone").await.expect(201);
    ask(&server.app_key, "phone").await.expect(201);
    let refused = ask(&second, "phone").await.expect(400);
    assert_eq!(seen(&ask(&second, "computer").await), seen(&refused));
    assert!(refused.body.contains("eventId: got \\\"e1\\\"; it is in use"), "{refused:?}");
}

/// Two keys race for one id: one is answered, the other one refused.
#[tokio::test(flavor = "multi_thread")]
async fn of_two_keys_that_race_for_an_id_one_is_answered() {
    let server = Server::start().await;
    let second = server.key("home", &[Role::Decide, Role::Reward]).await;
    for number in 0..20 {
        let body = rank_request(&format!("e{number}"), "anna");
        let (one, other) = tokio::join!(
            server.post(&server.app_key, RANK, &body),
            server.post(&second, RANK, &body)
        );
        let mut statuses = [one.status, other.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409]);
    }
}

#[tokio::test]
async fn after_an_erasure_no_repetition_depends_on_its_body() {
    let loops = LOOPS.replace("retain = \"30 days\"", "");
    let server = Server::set_up(Setup { loops, ..Setup::default() }).await;
    let second = server.key("home", &[Role::Decide, Role::Reward]).await;
    server.rank("old", "anna").await.expect(200);
    // Its window ends, and its row goes with the release.
    for _ in 0..9 {
        server.pass(10_000).await;
    }
    let generation = server.service.central("home").unwrap().generation;
    let rows = server.store.kept_events(generation, Place::default(), 9).await.unwrap();
    assert!(rows.is_empty(), "{} rows", rows.len());
    server.rank("open", "anna").await.expect(200);
    let berta = server.rank("berta", "berta").await.expect(200).json();
    let body = r#"{"person": "anna"}"#;
    let erased = server.post(&server.admin_key, "/v1/people/erase", body).await.expect(200);
    assert!(erased.body.contains("without a person, a request or an answer"), "{erased:?}");
    for id in ["old", "open"] {
        let of_caller = one_answer(&server, &server.app_key, &guesses(id)).await.expect(409);
        let of_other = one_answer(&server, &second, &guesses(id)).await.expect(409);
        assert_eq!(seen(&of_caller), seen(&of_other));
    }
    assert_eq!(server.rank("berta", "berta").await.expect(200).json(), berta);
}
