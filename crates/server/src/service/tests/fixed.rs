//! A loop with fixed actions: it learns by the clock, and refuses other requests by their own shape.

use super::*;
use crate::loops::{Certificate, RankRequest};

fn fixed(privacy: &str, more: &str) -> String {
    format!(
        r#"
        [loop.home]
        privacy = {{ {privacy} }}
        reward = {{ range = [0, 1], window = "2 minutes" }}
        learner = {{ tick = "1 minute" }}
        {more}
        [loop.home.action]
        topic = {{ categories = ["news", "sport", "music"] }}
        [[loop.home.fixed_action]]
        id = "a"
        features = {{ topic = "news" }}
        [[loop.home.fixed_action]]
        id = "b"
        features = {{ topic = "sport" }}
        [[loop.home.fixed_action]]
        id = "c"
        features = {{ topic = "music" }}
        "#
    )
}

const SMALL: &str = "epsilon = 1.0, delta = 1e-6, visits = 1, per = \"ever\"";

fn asked(id: &str, person: &str, actions: &str, more: &str) -> RankRequest {
    serde_json::from_str(&format!(
        r#"{{"event_id": "{id}", "person": "{person}", "actions": [{actions}]{more}}}"#
    ))
    .unwrap()
}

const ALL: &str = r#"{"id": "a", "features": {"topic": "news"}}, {"id": "b", "features": {"topic": "sport"}}, {"id": "c", "features": {"topic": "music"}}"#;

#[tokio::test]
async fn a_loop_with_fixed_actions_learns_the_best_one_and_goes_on_after_a_restart() {
    let text = fixed(SMALL, "");
    let mut world = World::new(&text).await;
    let mut shown = Vec::new();
    for tick in 0..120 {
        if tick == 60 {
            world.again(&text).await;
        }
        let mut rewards = Vec::new();
        let ids = (0..60).map(|index| format!("{tick}/{index}"));
        let requests = ids.map(|id| asked(&id, &id, ALL, "")).collect();
        for answer in world.service.rank_all("home", requests).await.unwrap() {
            let answer = answer.unwrap();
            let best = answer.action == "b";
            shown.push(best);
            let value = f64::from(u8::from(best));
            rewards.push((answer.event_id, RewardRequest { value, idempotency_key: None }));
        }
        for outcome in world.service.reward_all("home", rewards).await.unwrap() {
            outcome.unwrap();
        }
        world.ticks(1).await;
    }
    assert_eq!(world.number(), 120);
    let best = shown[5400..].iter().filter(|best| **best).count();
    assert!(best > 1700, "{best} of 1800");
    let loop_ = world.service.central("home").unwrap();
    let release = loop_.answering().served.release.clone().unwrap();
    assert_eq!((release.upper_triangle().len(), release.round()), (3, 120));
    let certificate: Certificate = world.service.certificate("home").await.unwrap();
    let epsilon = certificate.guarantee.epsilon();
    assert!((0.99..=1.0).contains(&epsilon), "{epsilon}");
}

/// Planted misuse: requests whose actions depend on the person are refused, whatever has been learnt, and change nothing.
#[tokio::test]
async fn requests_with_other_actions_are_refused_by_their_own_shape() {
    let world = World::new(&fixed(SMALL, "")).await;
    let refusals = |world: &World| {
        let service = Arc::clone(&world.service);
        async move {
            let two = r#"{"id": "a", "features": {"topic": "news"}}, {"id": "b", "features": {"topic": "sport"}}"#;
            let four = format!(r#"{ALL}, {{"id": "d", "features": {{"topic": "news"}}}}"#);
            let mut found = Vec::new();
            for (actions, more) in [
                (two, ""),
                (&four, ""),
                (&ALL.replace("sport", "music"), ""),
                (&ALL.replace("\"b\"", "\"x\""), ""),
                (&ALL.replace(r#"{"topic": "sport"}"#, "{}"), ""),
                (ALL, r#", "exclude": ["c"]"#),
            ] {
                let request = asked("e", "p", actions, more);
                found.push(service.rank("home", request).await.unwrap_err().to_string());
            }
            found
        }
    };
    let before = refusals(&world).await;
    for (error, field) in before.iter().zip([
        "actions: got 2",
        "actions: got 4",
        "actions: got \"b\"",
        "actions: got \"x\"",
        "actions: got \"b\"",
        "exclude",
    ]) {
        assert!(error.starts_with(field) && error.contains("fixed"), "{error}");
    }
    // The order is free, and context is ignored.
    let turned = r#"{"id": "c", "features": {"topic": "music"}}, {"id": "a", "features": {"topic": "news"}}, {"id": "b", "features": {"topic": "sport"}}"#;
    world
        .service
        .rank("home", asked("f", "q", turned, r#", "context": {"age": 40}"#))
        .await
        .unwrap();
    world.ticks(5).await;
    assert_eq!(refusals(&world).await, before, "a refusal depends on the request alone");
}

#[test]
fn files_that_cannot_keep_actions_fixed_are_refused() {
    let check = |text: &str| ServiceFile::parse(text).and_then(|file| file.check());
    assert!(check(&fixed(SMALL, "")).is_ok());
    let learner = |rule: &str| {
        fixed(SMALL, "").replace("tick = \"1 minute\"", &format!("tick = \"1 minute\", {rule}"))
    };
    for sound in
        ["rule = \"episodes\"", "rule = { episodes = { width = 1.2 } }", "forget = \"30 days\""]
    {
        assert!(check(&learner(sound)).is_ok(), "{sound}");
    }
    let none = file(SMALL, "").replace("horizon = 100", "rule = \"episodes\"");
    let twice = fixed(SMALL, "").replace("id = \"b\"", "id = \"a\"");
    let unknown = fixed(SMALL, "").replace("topic = \"sport\" }", "topic = \"weather\" }");
    let cases = [
        (learner("rule = \"thompson\""), "loop.home.fixed_action: got 3"),
        (learner("explore = \"tuned\""), "loop.home.fixed_action: got 3"),
        (learner("horizon = 100"), "loop.home.learner.horizon"),
        (none, "loop.home.learner.rule: got episodes"),
        (twice, "loop.home.fixed_action.id: got \"a\""),
        (unknown, "loop.home.fixed_action.features.topic: got b"),
        (fixed(SMALL, "trust = \"device\""), "loop.home.trust: got device"),
        (fixed(SMALL, "trust = \"shuffler\""), "loop.home.trust: got shuffler"),
        (fixed(SMALL, "mode = \"apprentice\""), "loop.home.mode"),
        (fixed(SMALL, "baseline = { share = 0.1 }"), "loop.home.baseline.share"),
        (fixed(SMALL, "context.age = { range = [0, 1] }"), "loop.home.context"),
        (fixed("epsilon = -1.0, delta = 1e-6", ""), "loop.home.privacy.epsilon"),
    ];
    for (text, field) in cases {
        let error = check(&text).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.starts_with(field), "{field}: {error}");
    }
}
