//! Log lines.

use std::{
    io::Write,
    sync::{Arc, Mutex},
};

use reticent_server::{
    loops::{HeadName, Token},
    secret::Secret,
};

use crate::common::Server;

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// On one thread, so that the log of this thread is all of it.
#[tokio::test(flavor = "current_thread")]
async fn logs_of_a_whole_session_hold_no_features_rewards_persons_ids_or_keys() {
    let captured = Captured::default();
    let writer = captured.clone();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let server = Server::start().await;
    let key = &server.app_key;
    let rank = r#"{"event_id": "MARKevent", "person": "MARKperson", "context": {"device": "MARKfeature", "MARKname": 1, "weight": 31.4159265},
        "actions": [{"id": "MARKaction", "features": {"topic": "MARKtopic"}}, {"id": "b"}]}"#;
    let path = "/v1/loops/home/rank";
    server.post(key, path, rank).await.expect(200);
    server.post(key, path, &rank.replace("MARKperson", "MARKother")).await.expect(409);
    server
        .post(
            key,
            path,
            &rank.replace("\"defer\"", "\"MARKfield\"").replace("\"person\"", "\"MARKfield\""),
        )
        .await
        .expect(422);
    server.post(key, path, "MARKsyntax").await.expect(400);
    let reward = "/v1/loops/home/events/MARKevent/reward";
    server.post(key, reward, "{\"value\": 0.7182818}").await.expect(204);
    server.post(key, reward, "{\"value\": \"MARKvalue\"}").await.expect(422);
    server.post(key, "/v1/loops/home/events/MARKevent/activate", "").await.expect(204);
    server
        .post(key, "/v1/loops/home/events/MARKunknown/reward", "{\"value\": 1}")
        .await
        .expect(404);
    let facade = r#"{"contextFeatures": [{"user": {"id": "MARKuser"}}], "actions": [{"id": "MARKa"}], "eventId": "MARKe"}"#;
    server.post(key, "/personalizer/v1.0/rank", facade).await.expect(201);
    server.post(key, "/personalizer/v1.0/rank?MARKquery=1", "MARK").await.expect(400);
    let batch = format!("{{\"requests\": [{rank}, {{\"actions\": []}}]}}");
    server.post(key, "/v1/loops/home/rank/batch", &batch).await.expect(200);
    let batch = r#"{"rewards": [{"event_id": "MARKevent", "value": 0.7182818, "idempotency_key": "MARKonce"}, {"event_id": "MARKno", "value": 1}]}"#;
    server.post(key, "/v1/loops/home/rewards/batch", batch).await.expect(200);
    server.post("rt_MARKkey_MARKsecret", path, rank).await.expect(401);
    let form = "Content-Type: application/x-www-form-urlencoded";
    server.send("POST", "/sign-in", &[form], "key=rt_MARKkey_MARKsecret").await.expect(403);
    let signed = format!("key={}&next=%2Floops%2FMARKpage", server.read_key);
    let signed = server.send("POST", "/sign-in", &[form], &signed).await.expect(303);
    let cookie = signed.header("set-cookie").unwrap().split(';').next().unwrap();
    server.send("GET", "/", &[&format!("Cookie: {cookie}")], "").await.expect(200);
    server
        .post(&server.admin_key, "/v1/people/erase", "{\"person\": \"MARKperson\"}")
        .await
        .expect(200);
    server.get(key, "/MARKpath").await.expect(404);
    server.send("MARKMETHOD", "/healthz", &[], "").await.expect(405);
    server
        .send(
            "GET",
            "/v1/loops/home/model",
            &["Authorization: Bearer MARK", "Reticent-Head: MARK"],
            "",
        )
        .await
        .expect(401);
    server.pass(120_000).await;
    server.post(key, reward, "{\"value\": 0.7182818}").await.expect(410);
    server.get(&server.admin_key, "/v1/loops/home/events/export?format=csv&actions=2").await;
    let text = String::from_utf8(captured.0.lock().unwrap().clone()).unwrap();
    // The log is there: the test would notice an empty one.
    assert!(text.contains("/v1/loops/{loop}/events/{id}/reward"), "{text}");
    assert!(text.contains("\"status\":410") && text.contains("\"method\":\"POST\""), "{text}");
    let session = cookie.split_once('=').unwrap().1;
    let keys =
        [key, &server.read_key, &server.admin_key].map(|key| key.rsplit('_').next().unwrap());
    for secret in ["MARK", "7182818", "4159265", session].into_iter().chain(keys) {
        let line = text.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret}");
    }
}

/// Reasons why the service is not ready are logged where they arise: a client that polls must not fill the log.
#[tokio::test(flavor = "current_thread")]
async fn polls_of_a_service_that_is_not_ready_are_not_logged() {
    let captured = Captured::default();
    let writer = captured.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::INFO)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let server = Server::start().await;
    // A client has seen a release that this store does not know.
    let each = server.service.central("home").unwrap();
    let key = server.store.setting("token key".into()).await.unwrap().unwrap();
    let ahead = HeadName { number: 9, hash: [5; 16] };
    let token = Token::write(&Secret::from_bytes(key.try_into().unwrap()), each.generation, &ahead);
    let head = format!("Reticent-Head: {token}");
    let key = format!("Authorization: Bearer {}", server.read_key);
    server.send("GET", "/v1/loops/home/model", &[&key, &head], "").await.expect(200);
    for _ in 0..3 {
        server.send("GET", "/readyz", &[], "").await.expect(503);
    }
    let text = String::from_utf8(captured.0.lock().unwrap().clone()).unwrap();
    assert!(!text.contains("/readyz"), "{text}");
}
