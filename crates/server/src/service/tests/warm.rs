//! Warm starts: from what a loop has released, and from public examples.

use super::*;

const PERSONS: &str = "epsilon = 1.0, delta = 1e-6, visits = 1, per = \"ever\"";

fn warm(privacy: &str, path: &std::path::Path) -> String {
    file(privacy, &format!("warm_start = {:?}", path.display().to_string()))
}

fn refusal(text: &str) -> String {
    let refused = ServiceFile::parse(text).and_then(|file| file.check());
    refused.err().map(|error| error.to_string()).unwrap_or_default()
}

/// How often sport is shown to a hundred people.
async fn sport(service: &Arc<Service>) -> usize {
    let requests = (0..100).map(|index| request(&format!("ask-{index}"), None)).collect();
    let answers = service.rank_all("home", requests).await.unwrap();
    answers.into_iter().filter(|answer| answer.as_ref().unwrap().action == "b").count()
}

#[tokio::test]
async fn a_public_prior_is_known_from_the_start_and_costs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prior.json");
    let example = |topic: &str, reward: f64| serde_json::json!({"action": {"topic": topic}, "reward": reward, "weight": 10_000});
    let write = |examples: Vec<serde_json::Value>| {
        let prior = serde_json::json!({"kind": "reticent prior 1", "examples": examples});
        std::fs::write(&path, prior.to_string()).unwrap();
    };
    write(vec![example("news", 0.1), example("sport", 0.9)]);
    for baseline in ["", "baseline = { share = 0.1 }\n"] {
        let text = warm(PERSONS, &path).replace("warm_start", &format!("{baseline}warm_start"));
        let world = World::new(&text).await;
        let shown = sport(&world.service).await;
        assert!(shown > 70, "{shown}");
        let cold = World::new(&file(PERSONS, baseline)).await;
        let (warm, cold) = (&world.service, &cold.service);
        let total = async |service: &Arc<Service>| {
            service.together().await.unwrap().guarantee.unwrap().epsilon()
        };
        assert_eq!(total(warm).await, total(cold).await);
        let certificate = warm.certificate("home").await.unwrap();
        assert!(certificate.conditions.iter().any(|each| each.text.contains("public examples")));
        // Nobody has come: examples are not in what is said about people.
        world.ticks(3).await;
        let each = world.service.find("home").unwrap();
        assert_eq!(world.service.view(each).summary.mean_reward, None);
    }
    for (examples, field) in [
        (vec![example("weather", 0.5)], "examples[0].action.topic"),
        (vec![example("news", 0.5), example("news", 1.5)], "examples[1].reward = 1.5"),
        (
            vec![serde_json::json!({"action": {"topic": "news"}, "reward": 0, "weight": -1})],
            "examples[0].weight = -1",
        ),
        (vec![serde_json::json!({"action": {"topic": "news"}})], "reward"),
    ] {
        write(examples);
        let message = refusal(&warm(PERSONS, &path));
        assert!(message.contains("loop.home.warm_start") && message.contains(field), "{message}");
    }
}

#[tokio::test]
async fn a_private_model_is_begun_with_and_its_cost_is_in_the_total() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.json");
    let strong = "epsilon = 30.0, delta = 1e-6, visits = 1, per = \"ever\"";
    let mut world = World::new(&file(strong, "")).await;
    assert!(world.service.model_file("home").await.is_err(), "nothing has been released");
    for group in 0..8 {
        let id = group.to_string();
        let member =
            |index: usize| request(&format!("{id}/{index}"), Some(&format!("{id}/{index}")));
        let answers =
            world.service.rank_all("home", (0..CROWD).map(member).collect()).await.unwrap();
        for answer in answers {
            let answer = answer.unwrap();
            let value = f64::from(answer.action == "b");
            let reward = RewardRequest { value, idempotency_key: None };
            world.service.reward("home", &answer.event_id, reward).await.unwrap();
        }
    }
    world.ticks(3).await;
    let model = world.service.model_file("home").await.unwrap();
    std::fs::write(&path, &model).unwrap();
    let total = async |service: &Arc<Service>| {
        service.together().await.unwrap().guarantee.unwrap().epsilon()
    };
    // In another store: what the model has cost is added.
    let text = warm(PERSONS, &path);
    let other = World::new(&text).await;
    let other_store = Arc::new(MemoryStore::new([2; 16]));
    let elsewhere =
        open(&text, &other_store, &other.clock, Secret::from_bytes([3; 32])).await.unwrap();
    assert!(sport(&elsewhere).await > 70);
    let (own, both) = (1.0, total(&elsewhere).await);
    assert!(both > 30.0 && both > own, "{both}");
    assert!(
        elsewhere.together().await.unwrap().lives.iter().any(|name| name.contains("began with"))
    );
    let certificate = elsewhere.certificate("home").await.unwrap();
    assert!((certificate.guarantee.epsilon() - 1.0).abs() < 1e-3);
    assert!(certificate.conditions.iter().any(|each| each.text.contains("released before")));
    // What is checked before anything is served says the same.
    let plans = ServiceFile::parse(&text).unwrap().check().unwrap();
    let checked = crate::loops::Together::of_plans(&plans).unwrap().guarantee.unwrap().epsilon();
    assert!((checked - both).abs() < 1e-9, "{checked} {both}");
    // In the same store the life it comes from is in the total already, once.
    world.again(&text).await;
    assert!(sport(&world.service).await > 70);
    assert!((total(&world.service).await - both).abs() < 1e-6);
    assert_eq!(world.service.together().await.unwrap().lives.len(), 2);
    // Another model is another generation, and the same one is not.
    let life = world.service.find("home").unwrap().life;
    world.again(&text).await;
    assert_eq!(world.service.find("home").unwrap().life, life);
    // What does not fit is refused by field.
    let broken = |text: String, words: &str, loops: &str| {
        std::fs::write(&path, text).unwrap();
        let message = refusal(loops);
        assert!(message.contains("loop.home.warm_start") && message.contains(words), "{message}");
    };
    broken("not json".into(), "kind", &text);
    broken(model.replace("reticent model 1", "reticent model 9"), "reticent model 9", &text);
    broken(model.replace("\"legacy\":\"", "\"legacy\":\"00"), "legacy", &text);
    broken(model.clone(), "other features", &text.replace("\"sport\"", "\"music\""));
    broken(model.clone(), "bounds", &text.replace("range = [0, 1]", "range = [0, 2]"));
    broken(model[..model.len() / 2].into(), "kind", &text);
    std::fs::remove_file(&path).unwrap();
    assert!(refusal(&text).contains("can be read"));
    assert!(
        refusal(&file(PERSONS, "warm_start_origin = { store = \"00\", life = 1 }"))
            .contains("warm_start_origin")
    );
}
