//! Personalizer's calls, byte by byte as its clients send them.

use crate::common::{Answer, Server};

const RANK: &str = r#"{"contextFeatures": [{"device": "phone"}, {"user": {"id": "anna", "age": 31}}],
    "actions": [{"id": "a", "features": [{"topic": "news"}, {"size": {"width": 3}}]}, {"id": "b", "features": []}],
    "excludedActions": ["zzz"], "eventId": "e1", "deferActivation": false}"#;

async fn send(server: &Server, path: &str, body: &str) -> Answer {
    let key = format!("Ocp-Apim-Subscription-Key: {}", server.app_key);
    server.send("POST", path, &[&key, "Content-Type: application/json; charset=utf-8"], body).await
}

#[tokio::test]
async fn both_forms_of_addresses_rank_reward_and_activate() {
    for (base, version) in
        [("/personalizer/v1.0", ""), ("/personalizer", "?api-version=2022-09-01-preview")]
    {
        let server = Server::start().await;
        let answer = send(&server, &format!("{base}/rank{version}"), RANK).await.expect(201).json();
        assert_eq!(answer["eventId"], "e1");
        assert_eq!(answer["ranking"].as_array().unwrap().len(), 2);
        assert_eq!(answer["ranking"][0]["id"], answer["rewardActionId"]);
        assert!(answer["ranking"][0]["probability"].as_f64().unwrap() > 0.0);
        assert_eq!(answer.as_object().unwrap().len(), 3);
        let event = format!("{base}/events/e1");
        let reward = send(&server, &format!("{event}/reward{version}"), "{\"value\": 0.5}").await;
        assert!(reward.expect(204).body.is_empty());
        send(&server, &format!("{event}/activate{version}"), "").await.expect(204);
        let each = server.service.central("home").unwrap();
        assert_eq!(each.open_events(), 1);
    }
}

#[tokio::test]
async fn late_and_unknown_events_are_204_and_change_nothing() {
    let server = Server::start().await;
    send(&server, "/personalizer/v1.0/rank", RANK).await.expect(201);
    let reward = "/personalizer/v1.0/events/e1/reward";
    send(&server, reward, "{\"value\": 0.25}").await.expect(204);
    server.pass(120_000).await;
    let export = async || {
        let path = "/v1/loops/home/events/export";
        server.get(&server.admin_key, path).await.expect(200).body
    };
    let before = export().await;
    assert!(before.contains("\"reward\":0.25"), "{before}");
    for path in [reward, "/personalizer/v1.0/events/never/reward"] {
        send(&server, path, "{\"value\": 1}").await.expect(204);
    }
    for id in ["e1", "never"] {
        let path = format!("/personalizer/v1.0/events/{id}/activate");
        send(&server, &path, "").await.expect(204);
    }
    assert_eq!(export().await, before);
    assert_eq!(server.service.central("home").unwrap().open_events(), 0);
}

/// The service's own calls too: `person_from` is a promise of the loop, whatever call a rank request comes by.
#[tokio::test]
async fn the_person_in_the_context_is_taken_out_of_native_calls_and_batches() {
    let server = Server::start().await;
    let rank_request = r#"{"context": {"user": {"id": "PIDMARK"}}, "actions": [{"id": "a"}]}"#;
    server.post(&server.app_key, "/v1/loops/home/rank", rank_request).await.expect(200);
    let batch = format!(r#"{{"requests": [{rank_request}]}}"#);
    server.post(&server.app_key, "/v1/loops/home/rank/batch", &batch).await.expect(200);
    let each = server.service.central("home").unwrap();
    let period = each.plan.ledger.period(crate::common::START);
    let ledger = server.store.ledger(each.generation, period, 2).await.unwrap();
    assert_eq!((ledger.people, ledger.used_up), (1, 1));
    server.pass(120_000).await;
    let path = "/v1/loops/home/events/export";
    let export = server.get(&server.admin_key, path).await.expect(200).body;
    assert_eq!((export.lines().count(), export.contains("PIDMARK")), (2, false), "{export}");
    let erase = r#"{"person": "PIDMARK"}"#;
    server.post(&server.admin_key, "/v1/people/erase", erase).await.expect(200);
    assert_eq!(server.get(&server.admin_key, path).await.expect(200).body, "");
}

#[tokio::test]
async fn the_person_is_counted_and_not_exported() {
    let server = Server::start().await;
    for event in ["e1", "e2", "e3"] {
        send(&server, "/personalizer/v1.0/rank", &RANK.replace("e1", event)).await.expect(201);
    }
    let each = server.service.central("home").unwrap();
    let period = each.plan.ledger.period(crate::common::START);
    let ledger = server.store.ledger(each.generation, period, 2).await.unwrap();
    assert_eq!((ledger.people, ledger.used_up), (1, 1));
    server.pass(120_000).await;
    let export = server.get(&server.admin_key, "/v1/loops/home/events/export").await.expect(200);
    assert_eq!(export.body.lines().count(), 3);
    assert!(!export.body.contains("anna") && export.body.contains("31"), "{}", export.body);
}

#[tokio::test]
async fn errors_have_its_form_and_its_statuses() {
    let server = Server::start().await;
    let rank = "/personalizer/v1.0/rank";
    send(&server, rank, RANK).await.expect(201);
    let other = RANK.replace("31", "32");
    for (path, body, status, code) in [
        (rank, "{", 400, "BadRequest"),
        (rank, "{}", 400, "BadRequest"),
        (rank, r#"{"actions": []}"#, 400, "BadRequest"),
        (rank, other.as_str(), 400, "BadRequest"),
        ("/personalizer/v1.0/events/e1/reward", r#"{"value": "SECRET"}"#, 400, "BadRequest"),
        ("/personalizer/v1.0/events/%ff/reward", r#"{"value": 1}"#, 400, "BadRequest"),
        ("/personalizer/v1.0/models", "{}", 404, "ResourceNotFound"),
    ] {
        let answer = send(&server, path, body).await.expect(status);
        let error = answer.json();
        assert_eq!(error["error"]["code"], code, "{path} {body}");
        assert!(!error["error"]["message"].as_str().unwrap().is_empty());
        assert!(!answer.body.contains("SECRET"));
    }
    let none = server.send("POST", rank, &[], RANK).await.expect(401).json();
    assert_eq!(none["error"]["code"], "Unauthorized");
    let read = format!("Ocp-Apim-Subscription-Key: {}", server.read_key);
    let refused = server.send("POST", rank, &[&read], RANK).await.expect(403).json();
    assert_eq!(refused["error"]["code"], "Forbidden");
    let method = server.send("GET", rank, &[&read], "").await.expect(405).json();
    assert_eq!(method["error"]["code"], "MethodNotAllowed");
}
