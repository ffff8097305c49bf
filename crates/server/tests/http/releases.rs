//! Rank, reward, window, release, certificate: by a clock that the test moves.

use std::sync::Arc;

use axum::{body::Body, extract::Request};
use http_body_util::BodyExt;
use reticent_server::{
    clock::ManualClock,
    http::{App, HttpLimits, router},
    loops::{HeadName, Token, verify_chain},
    secret::{Secret, digest, from_hex, hex},
    service::Ticked,
    store::ReleaseRecord,
};
use tower::ServiceExt;

use crate::common::{LOOPS, START, Server, Setup};

#[tokio::test]
async fn a_rewarded_event_is_released_when_its_window_has_passed() {
    let server = Server::start().await;
    let head =
        server.rank("e1", "anna").await.expect(200).header("reticent-head").unwrap().to_string();
    assert!(head.starts_with("0."), "{head}");
    server.reward("e1", 1.0).await.expect(204);
    assert_eq!(server.pass(5_000).await, Ticked::Nothing);
    assert_eq!(server.pass(10_000).await, Ticked::Released(1));
    let open = server.get(&server.admin_key, "/v1/loops").await.expect(200).json();
    let view = &open["loops"][0];
    assert_eq!(
        (&view["ranks"], &view["open_events"], &view["release"]),
        (&1.into(), &1.into(), &1.into())
    );
    let public = server.get(&server.read_key, "/v1/loops").await.expect(200).json();
    let view = public["loops"][0].as_object().unwrap();
    assert!(!view.contains_key("ranks") && !view.contains_key("open_events"), "{view:?}");
    for release in 2..9 {
        assert_eq!(server.pass(10_000).await, Ticked::Released(release));
    }
    let view = server.get(&server.admin_key, "/v1/loops").await.expect(200).json();
    assert_eq!(view["loops"][0]["open_events"], 0);
    server.reward("e1", 1.0).await.expect(410);
    let answer = server.get(&server.read_key, "/v1/loops/home/certificate").await.expect(200);
    assert!(answer.header("reticent-head").unwrap().starts_with("8."));
    let certificate = answer.json();
    assert_eq!((&certificate["release"], &certificate["name"]), (&8.into(), &"home".into()));
    let conditions = certificate["conditions"].as_array().unwrap();
    assert!(conditions.iter().any(|one| {
        one["text"].as_str().unwrap().starts_with("a person is learnt from at most 2 times")
    }));
    assert_eq!(certificate["periods"].as_array().unwrap().len(), 3);
    let key = format!("Authorization: Bearer {}", server.read_key);
    for (accept, page) in [
        ("text/html", true),
        ("text/html,application/xhtml+xml,*/*;q=0.8", true),
        ("application/json, text/html", false),
        ("*/*", false),
    ] {
        let headers = [key.as_str(), &format!("Accept: {accept}")];
        let answer =
            server.send("GET", "/v1/loops/home/certificate", &headers, "").await.expect(200);
        let kind = answer.header("content-type").unwrap();
        assert_eq!(kind.starts_with("text/html"), page, "{accept}: {kind}");
        assert_eq!(answer.header("vary"), Some("accept"));
        assert_eq!(answer.body.contains("<h1>Privacy certificate: home</h1>"), page, "{accept}");
    }
    let total = server.get(&server.read_key, "/v1/certificate").await.expect(200).json();
    assert_eq!(certificate["together"], total);
    assert_eq!(total["without_persons"], serde_json::json!(["other"]));
    let model = server.get(&server.read_key, "/v1/loops/home/model").await.expect(200).json();
    assert_eq!((&model["number"], &model["chain"]), (&8.into(), &certificate["chain"]));
    assert_eq!(model["names"].as_array().unwrap().len(), 5);
    assert!(model["policy"].is_object());
}

#[tokio::test]
async fn the_chain_of_releases_can_be_computed_again() {
    let server = Server::start().await;
    for _ in 0..5 {
        server.pass(10_000).await;
    }
    let list = server.get(&server.read_key, "/v1/loops/home/releases").await.expect(200);
    assert_eq!(list.header("content-type"), Some("application/x-ndjson"));
    let lines: Vec<serde_json::Value> =
        list.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 6);
    let bytes = |value: &serde_json::Value| from_hex(value.as_str().unwrap()).unwrap();
    let generation = lines[0]["life"].as_u64().unwrap() as u32;
    let params_hash = u64::from_str_radix(lines[0]["generation"].as_str().unwrap(), 16).unwrap();
    let mut chain = digest(&[
        b"reticent chain 1",
        &bytes(&lines[0]["store"]),
        &generation.to_le_bytes(),
        &params_hash.to_le_bytes(),
    ]);
    assert_eq!(hex(&chain), lines[0]["chain"]);
    for (number, line) in (1_u64..).zip(&lines[1..]) {
        let hash = digest(&[line["release"].as_str().unwrap().as_bytes()]);
        assert_eq!(
            (hex(&hash), &line["number"]),
            (line["hash"].as_str().unwrap().into(), &number.into())
        );
        chain = digest(&[b"release", &chain, &number.to_le_bytes(), &hash]);
        assert_eq!(hex(&chain), line["chain"]);
    }
    let part =
        server.get(&server.read_key, "/v1/loops/home/releases?from=3&limit=2").await.expect(200);
    let part: Vec<&str> = part.body.lines().collect();
    assert_eq!(part[1..], list.body.lines().collect::<Vec<_>>()[3..5]);
    assert!(part[0].contains(lines[2]["chain"].as_str().unwrap()));
    for (bad, value, remedy) in [
        ("from=0", "0", "numbered from 1"),
        ("limit=0", "0", "from 1 to 1000"),
        ("limit=1001", "1001", "from 1 to 1000"),
        ("from=x", "\"x\"", "a whole number that is not negative"),
        ("limit=abc", "\"abc\"", "a whole number that is not negative"),
        ("limit=-1", "\"-1\"", "a whole number that is not negative"),
        ("from=18446744073709551616", "\"18446744073709551616\"", "a smaller number"),
        ("form=1", "an unknown field", "`from`"),
        ("from=99", "99", "the last release has number"),
    ] {
        let path = format!("/v1/loops/home/releases?{bad}");
        let refused = server.get(&server.read_key, &path).await.expect(422).json();
        assert_eq!(refused["field"], bad.split('=').next().unwrap(), "{refused}");
        assert_eq!(refused["value"], value, "{refused}");
        assert!(refused["remedy"].as_str().unwrap().contains(remedy), "{refused}");
    }
}

#[tokio::test]
async fn a_token_ahead_of_the_store_stops_releases_and_a_foreign_one_does_not() {
    let server = Server::start().await;
    server.pass(10_000).await;
    let each = server.service.central("home").unwrap();
    let ahead = HeadName { number: 9, hash: [5; 16] };
    let key = server.store.setting("token key".into()).await.unwrap().unwrap();
    let own = Token::write(&Secret::from_bytes(key.try_into().unwrap()), each.generation, &ahead);
    let foreign = Token::write(&Secret::from_bytes([1; 32]), each.generation, &ahead);
    let send = |token: String| {
        let server = &server;
        async move {
            let key = format!("Authorization: Bearer {}", server.read_key);
            let token = format!("Reticent-Head: {token}");
            server.send("GET", "/v1/loops/home/model", &[&key, &token], "").await.expect(200)
        }
    };
    for ignored in [foreign, "nonsense".into(), format!("{own}0"), each.answering().token.clone()] {
        send(ignored).await;
        server.send("GET", "/readyz", &[], "").await.expect(200);
    }
    assert_eq!(server.pass(10_000).await, Ticked::Released(2));
    send(own).await;
    let troubles = server.send("GET", "/readyz", &[], "").await.expect(503).json();
    assert!(troubles["troubles"][0].as_str().unwrap().contains("accept-rollback"), "{troubles}");
    assert_eq!(server.pass(10_000).await, Ticked::Halted);
    // People are answered all the same.
    server.rank("e1", "anna").await.expect(200);
}

/// A listing is read from the store while it is sent: it is in memory a page at a time, however many releases there are.
#[tokio::test]
async fn a_listing_is_made_in_pages_of_bytes() {
    // Some 120 coordinates: a release has hundreds of kilobytes.
    let topics: Vec<String> = (0..120).map(|topic| format!("\"{topic}\"")).collect();
    let loops = LOOPS.replace("\"news\", \"sport\"", &topics.join(", "));
    let server = Server::set_up(Setup { loops, ..Setup::default() }).await;
    for _ in 0..10 {
        server.clock.pass(10_000);
        server.service.tick("home").await.unwrap();
    }
    let app = App::new(server.service.clone(), server.keys.clone(), HttpLimits::default(), false);
    let request = Request::get("/v1/loops/home/releases")
        .header("authorization", format!("Bearer {}", server.read_key))
        .body(Body::empty())
        .unwrap();
    let mut body = router(app).oneshot(request).await.unwrap().into_body();
    let mut text = Vec::new();
    while let Some(part) = body.frame().await {
        let part = part.unwrap().into_data().unwrap();
        assert!(part.len() < 3 << 19, "{} bytes at once", part.len());
        text.extend_from_slice(&part);
    }
    let text = String::from_utf8(text).unwrap();
    assert!(text.len() > 2 << 20, "{} bytes are no test", text.len());
    let verified = verify_chain(text.lines().map(|line| Ok::<_, String>(line.into())), None);
    assert_eq!(verified.unwrap().whole, 10);
}

/// Whole models are kept for as many releases as the file says; of earlier ones number, time and hashes stay, and the chain is followed through them.
#[tokio::test]
async fn compacted_releases_keep_number_time_and_hashes() {
    let loops = LOOPS.replace("[loop.home]\n", "[loop.home]\n    keep_models = 2\n");
    let server = Server::set_up(Setup { loops: loops.clone(), ..Setup::default() }).await;
    let head = server.pass(10_000).await;
    assert_eq!(head, Ticked::Released(1));
    let token =
        server.rank("e1", "anna").await.expect(200).header("reticent-head").unwrap().to_string();
    for _ in 2..=6 {
        server.pass(10_000).await;
    }
    let again = async |loops: String, clock: u64| {
        let store = server.store.clone();
        for key in store.keys().await.unwrap() {
            store.revoke_key(key.id, clock).await.unwrap();
        }
        let clock = Arc::new(ManualClock::at(clock));
        Server::set_up(Setup { loops, store, clock, ..Setup::default() }).await
    };
    let now = START + 60_000;
    // After a restart too.
    for server in [&server, &again(loops.clone(), now).await] {
        let list = server.get(&server.read_key, "/v1/loops/home/releases").await.expect(200).body;
        let lines: Vec<serde_json::Value> =
            list.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for (number, line) in lines.iter().enumerate().skip(1) {
            let compacted = number <= 4;
            assert_eq!(
                (line["number"].as_u64(), line["time"].is_u64()),
                (Some(number as u64), true)
            );
            assert_eq!(line["release"].is_null(), compacted, "{line}");
            assert_eq!(
                line["compacted"],
                if compacted { true.into() } else { serde_json::Value::Null }
            );
        }
        let head = HeadName::parse(token.rsplit_once('.').unwrap().0);
        let verified =
            verify_chain(list.lines().map(|line| Ok::<_, String>(line.into())), head).unwrap();
        assert_eq!((verified.last, verified.whole, verified.hashes), (6, 2, 4));
        assert!(verified.from_the_beginning && verified.contains_head == Some(true));
        // A client that saw the first release echoes it, and nothing was rolled back.
        let headers = [
            format!("Authorization: Bearer {}", server.read_key),
            format!("Reticent-Head: {token}"),
        ];
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        server.send("GET", "/v1/loops", &headers, "").await.expect(200);
        server.send("GET", "/readyz", &[], "").await.expect(200);
    }
    // A generation that has ended keeps its last model.
    let later = again(loops.replace("range = [0, 1]", "range = [0, 2]"), now).await;
    let first = |records: Vec<ReleaseRecord>| {
        records.iter().map(|record| (record.number, !record.release.is_empty())).collect::<Vec<_>>()
    };
    later.service.sweep().await.unwrap();
    let kept = first(later.store.releases(1, 5, 9).await.unwrap());
    assert_eq!(kept, [(5, false), (6, true)]);
}
