//! Keys, roles, loops, headers, the OpenAPI document, metrics.

use std::{collections::BTreeSet, sync::Arc};

use reticent_server::{
    http::{Role, openapi},
    store::{Fault, MemoryStore},
};

use crate::common::{LOOPS, START, Server, Setup, rank_request};

/// Every route that needs a key: method, template, the roles that may call it.
const GUARDED: [(&str, &str, &[Role]); 24] = [
    ("POST", "/v1/loops/{loop}/rank", &[Role::Decide]),
    ("POST", "/v1/loops/{loop}/rank/batch", &[Role::Decide]),
    ("POST", "/v1/loops/{loop}/events/{id}/reward", &[Role::Reward]),
    ("POST", "/v1/loops/{loop}/rewards/batch", &[Role::Reward]),
    ("POST", "/v1/loops/{loop}/events/{id}/activate", &[Role::Decide, Role::Reward]),
    ("GET", "/v1/loops", &[Role::Read]),
    ("GET", "/v1/loops/{loop}/certificate", &[Role::Read]),
    ("GET", "/v1/loops/{loop}/releases", &[Role::Read]),
    ("GET", "/v1/loops/{loop}/model", &[Role::Read, Role::Device, Role::Shuffle]),
    ("GET", "/v1/loops/{loop}/protocol", &[Role::Read, Role::Device]),
    ("POST", "/v1/loops/{loop}/reports", &[Role::Device]),
    ("POST", "/v1/loops/{loop}/reports/batch", &[Role::Device]),
    ("GET", "/v1/loops/{loop}/sealing", &[Role::Read, Role::Device, Role::Shuffle]),
    ("GET", "/v1/loops/{loop}/batches", &[Role::Shuffle]),
    ("POST", "/v1/loops/{loop}/batches", &[Role::Shuffle]),
    ("GET", "/v1/certificate", &[Role::Read]),
    ("GET", "/metrics", &[Role::Read]),
    ("GET", "/v1/loops/{loop}/events/export", &[]),
    ("POST", "/personalizer/v1.0/rank", &[Role::Decide]),
    ("POST", "/personalizer/rank", &[Role::Decide]),
    ("POST", "/personalizer/v1.0/events/{id}/reward", &[Role::Reward]),
    ("POST", "/personalizer/events/{id}/reward", &[Role::Reward]),
    ("POST", "/personalizer/v1.0/events/{id}/activate", &[Role::Decide, Role::Reward]),
    ("POST", "/personalizer/events/{id}/activate", &[Role::Decide, Role::Reward]),
];

const OPEN: [(&str, &str); 4] = [
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/readyz/requests"),
    ("GET", "/openapi.json"),
];

fn address(template: &str) -> String {
    template.replace("{loop}", "home").replace("{id}", "e1")
}

#[tokio::test]
async fn calls_without_a_key_are_401_and_with_another_role_or_loop_403() {
    let server = Server::start().await;
    for role in [Role::Decide, Role::Reward, Role::Device, Role::Shuffle, Role::Read] {
        let key = server.key("home", &[role]).await;
        let foreign = server.key("other", &[role]).await;
        for (method, template, roles) in GUARDED {
            let path = address(template);
            let send = |key: String| {
                let (server, path) = (&server, path.clone());
                async move {
                    let key = format!("Authorization: Bearer {key}");
                    server
                        .send(method, &path, &[&key, "Content-Type: application/json"], "{}")
                        .await
                }
            };
            let status = send(key.clone()).await.status;
            assert_eq!(status == 403, !roles.contains(&role), "{role:?} {method} {path}: {status}");
            assert_ne!(status, 401);
            if template.contains("{loop}") {
                assert_eq!(send(foreign.clone()).await.status, 403, "{role:?} {path}");
            }
            for bad in ["rt_000000000000_00", &key[..key.len() - 1], ""] {
                let refused = send(bad.to_string()).await.expect(401);
                assert!(refused.header("www-authenticate").is_some());
            }
            server.send(method, &path, &[], "{}").await.expect(401);
        }
    }
    for key in [&server.app_key, &server.read_key] {
        server.post(key, "/v1/people/erase", "{\"person\": \"a\"}").await.expect(403);
    }
    // An admin key passes everywhere, except where the loop is that of the key.
    for (method, template, _) in GUARDED {
        let key = format!("Authorization: Bearer {}", server.admin_key);
        let status = server.send(method, &address(template), &[&key], "{}").await.status;
        assert_eq!(status == 403, template.starts_with("/personalizer"), "{template}: {status}");
    }
}

#[tokio::test]
async fn a_revoked_key_is_401_when_the_keys_were_read_again() {
    let server = Server::start().await;
    server.get(&server.read_key, "/v1/loops").await.expect(200);
    let id = server.read_key.split('_').nth(1).unwrap().to_string();
    assert!(server.store.revoke_key(id, 1).await.unwrap());
    server.keys.reload(server.store.as_ref()).await.unwrap();
    server.get(&server.read_key, "/v1/loops").await.expect(401);
    let header = format!("Ocp-Apim-Subscription-Key: {}", server.admin_key);
    server.send("GET", "/v1/loops", &[&header], "").await.expect(200);
}

#[tokio::test]
async fn a_read_key_sees_its_own_loop_only() {
    let server = Server::start().await;
    let names = |answer: crate::common::Answer| {
        let loops = answer.expect(200).json()["loops"].as_array().unwrap().clone();
        loops.iter().map(|each| each["name"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(server.get(&server.read_key, "/v1/loops").await), ["home"]);
    assert_eq!(names(server.get(&server.admin_key, "/v1/loops").await), ["home", "other"]);
    assert!(!server.get(&server.read_key, "/metrics").await.body.contains("other"));
}

#[tokio::test]
async fn every_route_is_in_the_openapi_document_and_every_path_of_it_is_served() {
    let server = Server::start().await;
    let document = server.send("GET", "/openapi.json", &[], "").await.expect(200).json();
    assert_eq!(&document, openapi());
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"), "{}", document["openapi"]);
    let mut documented = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            documented.insert((method.to_uppercase(), path.clone()));
            let id = operation["operationId"].as_str().unwrap().to_string();
            assert!(ids.insert(id.clone()), "{id} twice");
            let answer = server.send(&method.to_uppercase(), &address(path), &[], "{}").await;
            assert!(![404, 405].contains(&answer.status), "{method} {path}: {}", answer.status);
            let statuses = operation["responses"].as_object().unwrap();
            assert!(statuses.contains_key(&answer.status.to_string()), "{path} {}", answer.status);
        }
    }
    let guarded = GUARDED.iter().map(|(method, path, _)| (*method, *path));
    let erase = [("POST", "/v1/people/erase")];
    let served: BTreeSet<_> = guarded
        .chain(OPEN)
        .chain(erase)
        .map(|(method, path)| (method.to_string(), path.to_string()))
        .collect();
    assert_eq!(documented, served);
    // Every reference leads somewhere.
    let mut open = vec![&document];
    while let Some(value) = open.pop() {
        if let Some(reference) = value.get("$ref").and_then(|r| r.as_str()) {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
        open.extend(value.as_object().into_iter().flat_map(|object| object.values()));
        open.extend(value.as_array().into_iter().flatten());
    }
}

#[tokio::test]
async fn every_answer_has_the_security_headers() {
    let server = Server::start().await;
    for (method, path) in
        [("GET", "/healthz"), ("GET", "/nowhere"), ("GET", "/v1/loops"), ("DELETE", "/healthz")]
    {
        let answer = server.send(method, path, &[], "").await;
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
        assert_eq!(answer.header("strict-transport-security"), None);
    }
}

/// Names of metrics in a text.
fn names(text: &str) -> BTreeSet<String> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    lines.map(|line| line.split(' ').next().unwrap().to_string()).collect()
}

#[tokio::test]
async fn metrics_of_rewards_activations_and_errors_are_for_admin_only() {
    let server = Server::start().await;
    let public = server.get(&server.read_key, "/metrics").await.expect(200);
    let before = public.body.clone();
    assert_eq!(
        names(&before).into_iter().collect::<Vec<_>>(),
        [
            "reticent_clock_doubted",
            "reticent_epsilon",
            "reticent_finished",
            "reticent_halted",
            "reticent_ready",
            "reticent_release",
            "reticent_released_timestamp_seconds",
            "reticent_store_readable",
            "reticent_store_writable",
            "reticent_tick_failing",
            "reticent_tick_seconds",
            "reticent_witness_apart",
        ]
    );
    let all = names(&server.get(&server.admin_key, "/metrics").await.expect(200).body);
    let hidden: Vec<_> = all.difference(&names(&before)).cloned().collect();
    assert_eq!(
        hidden,
        [
            "reticent_activate_seconds",
            "reticent_activations",
            "reticent_apprentice_matches",
            "reticent_clipped_features",
            "reticent_missing_features",
            "reticent_open_events",
            "reticent_rank_seconds",
            "reticent_ranks",
            "reticent_ranks_without_person",
            "reticent_refused_rewards",
            "reticent_requests",
            "reticent_reward_seconds",
            "reticent_rewards",
            "reticent_unusable_rows",
        ]
    );
    // Ranks, rewards, activations and errors do not change what a read key sees.
    server.rank("e1", "anna").await.expect(200);
    let reward = r#"{"value": 1.0, "idempotency_key": "once"}"#;
    for _ in 0..3 {
        server.post(&server.app_key, "/v1/loops/home/events/e1/reward", reward).await.expect(204);
    }
    server.reward("no", 1.0).await.expect(404);
    server.post(&server.app_key, "/v1/loops/home/events/e1/activate", "").await.expect(204);
    server.post(&server.app_key, "/v1/loops/home/rank", "{").await.expect(400);
    server.rank("e1", "berta").await.expect(409);
    assert_eq!(server.get(&server.read_key, "/metrics").await.expect(200).body, before);
    let curator = server.get(&server.admin_key, "/metrics").await.expect(200).body;
    // A repetition is no reward.
    assert!(curator.contains("reticent_rewards_total{loop=\"home\"} 1\n"), "{curator}");
    assert!(curator.contains("reticent_ranks_total{loop=\"home\"} 1"), "{curator}");
}

#[tokio::test]
async fn health_needs_no_key_and_readiness_tells_troubles() {
    let server = Server::start().await;
    assert_eq!(server.send("GET", "/healthz", &[], "").await.expect(200).body, "ok\n");
    let ready = server.send("GET", "/readyz", &[], "").await.expect(200).json();
    assert_eq!(ready, serde_json::json!({"ready": true, "troubles": []}));
    let key = format!("Authorization: Bearer {}", server.app_key);
    let headers = [key.as_str(), "Content-Type: application/json; charset=utf-8"];
    server.send("POST", "/v1/loops/home/rank", &headers, &rank_request("e", "p")).await.expect(200);
}

/// Gauges that alerts look at: `packaging/prometheus`.
#[tokio::test]
async fn gauges_follow_releases_readiness_and_the_clock() {
    let (home, other) = LOOPS.split_once("[loop.other]").unwrap();
    let other = other.replace("forget = \"1 day\"", "horizon = 2");
    let loops = format!("{home}[loop.other]{other}");
    let server = Server::set_up(Setup { loops, ..Setup::default() }).await;
    let metrics = async || server.get(&server.admin_key, "/metrics").await.expect(200).body;
    let expect = |text: &str, lines: &[&str]| {
        for line in lines {
            assert!(text.lines().any(|found| found.starts_with(line)), "{line}: {text}");
        }
    };
    let start = format!("reticent_released_timestamp_seconds{{loop=\"home\"}} {}", START / 1000);
    let well = ["reticent_ready 1", "reticent_store_readable 1", "reticent_clock_doubted 0"];
    expect(&metrics().await, &well);
    expect(
        &metrics().await,
        &[
            "reticent_witness_apart 0",
            "reticent_tick_seconds{loop=\"home\"} 10",
            "reticent_tick_failing{loop=\"home\"} 0",
            "reticent_halted{loop=\"home\"} 0",
            "reticent_epsilon{loop=\"home\"} 0.99",
            "reticent_finished{loop=\"other\"} 0",
            &start,
        ],
    );
    for _ in 0..3 {
        server.pass(10_000).await;
    }
    let released =
        format!("reticent_released_timestamp_seconds{{loop=\"home\"}} {}", START / 1000 + 30);
    expect(&metrics().await, &well);
    expect(
        &metrics().await,
        &[
            "reticent_finished{loop=\"other\"} 1",
            "reticent_finished{loop=\"home\"} 0",
            "reticent_release{loop=\"home\"} 3",
            &released,
        ],
    );
    // The service does not believe a clock that is two days ahead, and answers requests all the same.
    server.clock.jump(START + 2 * 86_400_000);
    let doubted =
        ["reticent_ready 0", "reticent_clock_doubted 1", "reticent_halted{loop=\"home\"} 1"];
    expect(&metrics().await, &doubted);
    server.send("GET", "/readyz", &[], "").await.expect(503);
    let answers = server.send("GET", "/readyz/requests", &[], "").await.expect(200).json();
    assert_eq!(answers, serde_json::json!({"ready": true, "troubles": []}));
}

/// A store that refuses writes, as a full disk does: the process runs, and is not ready.
#[tokio::test]
async fn readiness_follows_what_a_request_would_meet() {
    let store = Arc::new(MemoryStore::new([7; 16]));
    let server = Server::set_up(Setup { store: store.clone(), ..Setup::default() }).await;
    store.fail_next(Fault::Before);
    server.service.probe_writing().await;
    for path in ["/readyz", "/readyz/requests"] {
        let answer = server.send("GET", path, &[], "").await.expect(503).json();
        let trouble = answer["troubles"][0].as_str().unwrap();
        assert!(trouble.contains("refuses the writes of requests"), "{trouble}");
    }
    let metrics = server.get(&server.read_key, "/metrics").await.expect(200).body;
    assert!(metrics.contains("reticent_store_writable 0\n"), "{metrics}");
    server.send("GET", "/healthz", &[], "").await.expect(200);
    // A request that meets it shows it at once, though the last probe was well.
    server.service.probe_writing().await;
    server.send("GET", "/readyz", &[], "").await.expect(200);
    store.fail_next(Fault::Before);
    server.rank("e1", "anna").await.expect(503);
    server.send("GET", "/readyz/requests", &[], "").await.expect(503);
    server.rank("e1", "anna").await.expect(200);
    server.send("GET", "/readyz/requests", &[], "").await.expect(200);
}
