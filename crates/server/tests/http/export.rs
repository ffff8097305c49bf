//! Exports of decisions.

use reticent_server::store::{NewEvent, Payer};

use crate::common::{START, Server};

#[tokio::test]
async fn an_export_as_csv_has_a_line_for_each_closed_event() {
    let server = Server::start().await;
    for person in 0..60 {
        server.rank(&format!("e{person}"), &format!("p{person}")).await.expect(200);
        server.reward(&format!("e{person}"), f64::from(person % 4) / 4.0).await.expect(204);
    }
    let path = "/v1/loops/home/events/export?format=csv";
    // Nothing has closed yet.
    server.get(&server.admin_key, path).await.expect(422);
    server.pass(120_000).await;
    let answer = server.get(&server.admin_key, path).await.expect(200);
    assert_eq!(answer.header("content-type"), Some("text/csv; charset=utf-8"));
    let csv = answer.body;
    assert_eq!(csv.lines().count(), 61);
    assert!(csv.starts_with("action,propensity,reward,arm0_0,"), "{:.80}", csv);
}

#[tokio::test]
async fn decisions_among_other_numbers_of_actions_are_kept_apart() {
    let server = Server::start().await;
    server.rank("e1", "anna").await.expect(200);
    let three = r#"{"actions": [{"id": "a"}, {"id": "b"}, {"id": "c"}]}"#;
    server.post(&server.app_key, "/v1/loops/home/rank", three).await.expect(200);
    server.pass(120_000).await;
    let export = async |query: &str| {
        let path = format!("/v1/loops/home/events/export{query}");
        server.get(&server.admin_key, &path).await
    };
    let refused = export("?format=csv").await.expect(422).json();
    assert!(refused["value"].as_str().unwrap().contains("1 decisions among 3"), "{refused}");
    assert_eq!(export("?format=csv&actions=3").await.expect(200).body.lines().count(), 2);
    assert_eq!(export("?actions=3").await.expect(200).body.lines().count(), 1);
    let refused = export("?format=csv&actions=4").await.expect(422).json();
    assert_eq!((&refused["field"], &refused["value"]), (&"actions".into(), &"4".into()));
    assert!(refused["remedy"].as_str().unwrap().contains("1 decisions among 3"), "{refused}");
    for (query, value, remedy) in [
        ("actions=-1", "\"-1\"", "a whole number that is not negative"),
        ("actions=two", "\"two\"", "a whole number that is not negative"),
        ("actions=1e3", "\"1e3\"", "a whole number that is not negative"),
        ("actions=", "\"\"", "leave the field out"),
        ("actions=99999999999999999999999", "\"99999999999999999999999\"", "a smaller number"),
        ("actions=0", "0", "at least one"),
        ("format=csv&actions=0", "0", "at least one"),
        ("actions=2&actions=3", "two values", "expected one"),
        ("format=xml", "\"xml\"", "`jsonl` or `csv`"),
        ("fromat=csv", "an unknown field", "`format`"),
    ] {
        let refused = export(&format!("?{query}")).await.expect(422).json();
        assert_eq!(refused["value"], value, "{query}: {refused}");
        assert!(refused["remedy"].as_str().unwrap().contains(remedy), "{query}: {refused}");
        let (given, _) =
            query.rsplit_once('&').map_or(query, |(_, last)| last).split_once('=').unwrap();
        assert_eq!(refused["field"], given, "{query}");
    }
    let long = export(&format!("?actions={}", "7".repeat(1000))).await.expect(422).json();
    assert_eq!(long["value"].as_str().unwrap().len(), 66, "{long}");
    assert_eq!(export("").await.expect(200).body.lines().count(), 2);
    let other = server.get(&server.admin_key, "/v1/loops/other/events/export").await.expect(422);
    assert!(other.json()["field"].as_str().unwrap().contains("retain"));
}

/// Rows that are not exported do not end an export early.
#[tokio::test]
async fn an_export_has_more_than_one_page() {
    let server = Server::start().await;
    let request = |defer: bool| serde_json::json!({"defer": defer, "actions": [{"id": "a"}]});
    for defer in [true, false] {
        let requests: Vec<_> = (0..1000).map(|_| request(defer)).collect();
        let body = serde_json::json!({ "requests": requests }).to_string();
        server.post(&server.app_key, "/v1/loops/home/rank/batch", &body).await.expect(200);
    }
    let export = server.get(&server.admin_key, "/v1/loops/home/events/export").await.expect(200);
    assert_eq!(export.body.lines().count(), 1000);
}

/// One damaged row is named, and the others are exported.
#[tokio::test]
async fn a_damaged_decision_is_left_out_by_name() {
    let server = Server::start().await;
    for number in 0..3 {
        server.rank(&format!("e{number}"), &format!("p{number}")).await.expect(200);
    }
    let sound =
        server.get(&server.admin_key, "/v1/loops/home/events/export").await.expect(200).body;
    let sound = sound.lines().next().unwrap();
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    for (id, raw) in [
        "{\"time\": 1, \"context\"".to_string(),
        "\u{0}".to_string(),
        sound
            .replace("\"action\":\"a\"", "\"action\":\"x\"")
            .replace("\"action\":\"b\"", "\"action\":\"x\""),
        sound.replace("\"device\":\"phone\"", &format!("\"device\":{deep}")),
    ]
    .into_iter()
    .enumerate()
    {
        assert_ne!(raw, sound);
        server
            .store
            .insert_events(vec![damaged(&server, id as u8, raw.into_bytes())])
            .await
            .unwrap();
    }
    server.rank("e3", "p3").await.expect(200);
    server.pass(120_000).await;
    let json = server.get(&server.admin_key, "/v1/loops/home/events/export").await.expect(200).body;
    let lines: Vec<serde_json::Value> =
        json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let numbers: Vec<_> = lines.iter().map(|line| line["damaged"]["number"].as_u64()).collect();
    let none = None;
    assert_eq!(numbers, [none, none, none, Some(4), Some(5), Some(6), Some(7), none]);
    assert!(lines[3]["damaged"]["slot"].as_u64().unwrap() > START / 10_000);
    assert!(
        lines.iter().filter(|line| line["damaged"].is_null()).all(|line| line["reward"] == 0.0)
    );
    let csv = server.get(&server.admin_key, "/v1/loops/home/events/export?format=csv").await;
    let csv = csv.expect(200);
    assert_eq!(csv.header("reticent-damaged-rows"), Some("4"));
    assert_eq!(csv.body.lines().count(), 5, "{}", csv.body);
}

/// A row of loop `home` of which this is kept.
fn damaged(server: &Server, id: u8, raw: Vec<u8>) -> NewEvent {
    let each = server.service.central("home").unwrap();
    NewEvent {
        generation: each.generation,
        event: [id; 16],
        request: [id; 32],
        answer: Vec::new(),
        person: None,
        payer: Payer::NotLearnt,
        slot: each.plan.due(START),
        time: START,
        deferred: false,
        features: Vec::new(),
        raw,
    }
}
