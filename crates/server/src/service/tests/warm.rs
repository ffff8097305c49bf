//! Warm starts: from what a loop has released, and from public examples.

use super::*;
use crate::loops::LearnerPlan;
use reticent::{
    bandit::Curator,
    noise::{Noise, SecureNoise},
};

const PERSONS: &str = "epsilon = 1.0, delta = 1e-6, visits = 1, per = \"ever\"";

fn warm(privacy: &str, path: &std::path::Path) -> String {
    file(privacy, &format!("warm_start = {:?}", path.display().to_string()))
}

fn refusal(text: &str) -> String {
    let refused = ServiceFile::parse(text).and_then(|file| file.check());
    refused.err().map(|error| error.to_string()).unwrap_or_default()
}

/// Number of times that sport is shown to a hundred people.
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
        assert!(certificate.conditions.iter().any(|one| one.text.contains("public examples")));
        // No person has come: examples are not in the statements about people.
        world.ticks(3).await;
        let loop_ = world.service.central("home").unwrap();
        assert_eq!(world.service.view(loop_, false).summary.mean_reward, None);
    }
    for (examples, field) in [
        (vec![example("weather", 0.5)], "examples[0].action.topic"),
        (vec![example("news", 0.5), example("news", 1.5)], "examples[1].reward: got 1.5"),
        (
            vec![serde_json::json!({"action": {"topic": "news"}, "reward": 0, "weight": -1})],
            "examples[0].weight: got -1",
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
        elsewhere
            .together()
            .await
            .unwrap()
            .generations
            .iter()
            .any(|name| name.contains("began with"))
    );
    let certificate = elsewhere.certificate("home").await.unwrap();
    assert!((certificate.guarantee.epsilon() - 1.0).abs() < 1e-3);
    let condition = certificate.conditions.iter().find(|one| one.text.contains("released before"));
    let condition = condition.unwrap();
    assert_eq!(condition.enforcement, crate::loops::Enforcement::Assumed);
    assert!(condition.text.contains("states its cost truly"), "{}", condition.text);
    // A check before anything is served says the same.
    let plans = ServiceFile::parse(&text).unwrap().check().unwrap();
    let checked = crate::loops::Together::of_plans(&plans).unwrap().guarantee.unwrap().epsilon();
    assert!((checked - both).abs() < 1e-9, "{checked} {both}");
    // In the same store the generation it comes from is in the total already, once, and in the same ledger: it costs more than the one that begins with it.
    world.again(&text).await;
    assert!(sport(&world.service).await > 70);
    let shared = total(&world.service).await;
    assert!(shared < both - 1e-3 && (shared - 30.0).abs() < 1e-6, "{shared} {both}");
    let generations = world.service.together().await.unwrap().generations;
    assert_eq!(generations, ["home (2 generations with one ledger)"]);
    // Another model is another generation, and the same one is not.
    let generation = world.service.central("home").unwrap().generation;
    world.again(&text).await;
    assert_eq!(world.service.central("home").unwrap().generation, generation);
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
        refusal(&file(PERSONS, "warm_start_origin = { store = \"00\", life = 1, generation = \"00\", release = 1, chain = \"00\", units = [] }"))
            .contains("warm_start_origin: got a value")
    );
}

const STRONG: &str = "epsilon = 30.0, delta = 1e-6, visits = 1, per = \"ever\"";
const DECISIONS: &str = "epsilon = 30.0, delta = 1e-6, unit = \"decision\"";

/// Noise that says of itself that it protects no person.
struct Simulated(SecureNoise);

impl Noise for Simulated {
    const PROTECTS_PEOPLE: bool = false;
    const NAME: &'static str = "simulated";

    fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    fn refresh(&mut self) -> reticent::Result<()> {
        self.0.refresh()
    }

    fn split(&mut self) -> reticent::Result<Self> {
        self.0.split().map(Simulated)
    }
}

/// The model file with another value in one place.
fn edited(model: &str, at: &str, value: serde_json::Value) -> String {
    let mut json: serde_json::Value = serde_json::from_str(model).unwrap();
    *json.pointer_mut(at).unwrap() = value;
    json.to_string()
}

/// Epsilon of the total, the number of its loops, and the loops that are not in it.
async fn total(service: &Arc<Service>) -> (f64, usize, Vec<String>) {
    let together = service.together().await.unwrap();
    let epsilon = together.guarantee.map_or(0.0, |guarantee| guarantee.epsilon());
    (epsilon, together.generations.len(), together.without_persons)
}

#[tokio::test]
async fn a_model_of_decisions_is_no_person_s_cost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.json");
    let first = World::new(&file(DECISIONS, "")).await;
    first.ticks(1).await;
    let model = first.service.model_file("home").await.unwrap();
    std::fs::write(&path, &model).unwrap();
    let text = warm(PERSONS, &path);
    let (clock, people) = (first.clock.clone(), || Secret::from_bytes([3; 32]));
    let store = Arc::new(MemoryStore::new([2; 16]));
    let second = open(&text, &store, &clock, people()).await.unwrap();
    let (epsilon, generations, without) = total(&second).await;
    assert!((epsilon - 1.0).abs() < 1e-3 && generations == 1, "{epsilon}");
    assert_eq!(without, ["home (the model it began with)"]);
    let plans = ServiceFile::parse(&text).unwrap().check().unwrap();
    let checked = crate::loops::Together::of_plans(&plans).unwrap();
    assert_eq!(checked.without_persons, without);
    let certificate = second.certificate("home").await.unwrap();
    let condition = certificate.conditions.iter().find(|one| one.text.contains("it began with"));
    let condition = condition.unwrap();
    assert!(condition.text.contains("one decision of it"), "{}", condition.text);
    assert_eq!(condition.enforcement, crate::loops::Enforcement::Assumed);
    // What comes after it names the units of both: of the three only the decisions are no person's.
    clock.pass(TICK);
    second.tick("home").await.unwrap();
    let later = folder.path().join("later.json");
    std::fs::write(&later, second.model_file("home").await.unwrap()).unwrap();
    let store = Arc::new(MemoryStore::new([4; 16]));
    let third = open(&warm(PERSONS, &later), &store, &clock, people()).await.unwrap();
    let (epsilon, generations, without) = total(&third).await;
    assert!(epsilon > 1.2 && epsilon < 2.0 && generations == 2, "{epsilon}");
    assert_eq!(without, ["home (the model it began with, learner 1 of 2)"]);
    // A file that does not say whose cost it states is refused.
    let mut json: serde_json::Value = serde_json::from_str(&model).unwrap();
    json["origin"].as_object_mut().unwrap().remove("units");
    let two = serde_json::json!(["decision", "decision"]);
    let hour = serde_json::json!(["hour"]);
    for (broken, words) in [
        (json.to_string(), "missing field `units`"),
        (edited(&model, "/origin/units", two), "what is protected in 2"),
        (edited(&model, "/origin/units", hour), "unknown variant `hour`"),
    ] {
        std::fs::write(&path, broken).unwrap();
        let message = refusal(&text);
        assert!(message.contains("loop.home.warm_start") && message.contains(words), "{message}");
        assert!(message.contains("`reticent-server store model`"), "{message}");
    }
}

/// A model is left out of the total only if the store itself has made that release at that cost; in every other case it is counted.
#[tokio::test]
async fn an_origin_that_the_store_cannot_show_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.json");
    let world = World::new(&file(STRONG, "")).await;
    world.ticks(1).await;
    // A copy that goes another way has the identity, the hash of the generation, its number and the numbers of its releases.
    let (copy, clock) = (Arc::new(world.store.copy()), world.clock.clone());
    let people = || Secret::from_bytes([3; 32]);
    let fork = open(&file(STRONG, ""), &copy, &clock, people()).await.unwrap();
    world.ticks(1).await;
    fork.tick("home").await.unwrap();
    let model = world.service.model_file("home").await.unwrap();
    let forked = fork.model_file("home").await.unwrap();
    // A model that has cost more, and one that was charged for a replay.
    let dear = World::new(&file(&STRONG.replace("30.0", "60.0"), "")).await;
    dear.ticks(2).await;
    let legacy = |model: &str| -> serde_json::Value {
        serde_json::from_str::<serde_json::Value>(model).unwrap()["legacy"].clone()
    };
    let dear = legacy(&dear.service.model_file("home").await.unwrap());
    let state = world.store.head(1).await.unwrap().state;
    let replayed = Curator::<SecureNoise>::resume_charged(&state, 2, 1).unwrap();
    let replayed = serde_json::json!(crate::secret::hex(&replayed.legacy().unwrap().save()));
    let begun = async |model: &str| {
        std::fs::write(&path, model).unwrap();
        let store = Arc::new(world.store.copy());
        let service = open(&warm(PERSONS, &path), &store, &clock, people()).await.unwrap();
        let (epsilon, generations, without) = total(&service).await;
        assert!(without.is_empty());
        (epsilon, generations)
    };
    let (honest, generations) = begun(&model).await;
    assert_eq!(generations, 1, "both generations have one ledger");
    let json = |value: &str| serde_json::json!(value);
    let first = crate::secret::hex(&world.store.releases(1, 1, 1).await.unwrap()[0].chain);
    let before_all = edited(&model, "/origin/release", serde_json::json!(0));
    for (what, untrue) in [
        ("fork", forked),
        ("store", edited(&model, "/origin/store", json(&"02".repeat(16)))),
        ("life", edited(&model, "/origin/life", serde_json::json!(2))),
        ("generation", edited(&model, "/origin/generation", json("0000000000000000"))),
        ("number", edited(&model, "/origin/release", serde_json::json!(1))),
        ("no number", edited(&before_all, "/origin/chain", json(&first))),
        ("later number", edited(&model, "/origin/release", serde_json::json!(99))),
        ("chain", edited(&model, "/origin/chain", json(&"00".repeat(32)))),
        ("cost", edited(&model, "/legacy", dear)),
        ("replays", edited(&model, "/legacy", replayed)),
    ] {
        let (epsilon, generations) = begun(&untrue).await;
        assert!(
            generations == 2 && epsilon > honest + 1.0,
            "{what}: {generations} generations, {epsilon}"
        );
    }
    // A generation has not begun with what it released itself, or with what a later one did.
    let store = Arc::new(world.store.copy());
    std::fs::write(&path, &model).unwrap();
    let service = open(&warm(PERSONS, &path), &store, &clock, people()).await.unwrap();
    let origin = service.central("home").unwrap().plan.params.warm_start_origin.clone().unwrap();
    let (generations, curator) =
        (store.generations().await.unwrap(), service.cost_of(2).await.unwrap());
    for (later, counted) in [(2, true), (1, false), (0, false)] {
        assert_eq!(
            service.is_counted(&generations, &origin, later, &curator).await.unwrap(),
            counted
        );
    }
    // Simulated noise protects no person, whatever it is said to have cost.
    let plans = ServiceFile::parse(&file(STRONG, "")).unwrap().check().unwrap();
    let LearnerPlan::Sums(plan) = plans[0].central().unwrap().learner.clone() else {
        panic!("actions are not fixed");
    };
    let mut simulated = plan.curator(Simulated(SecureNoise::from_system().unwrap()));
    let mut unused = simulated.no_sums();
    simulated.tick(&mut unused).unwrap();
    let simulated = serde_json::json!(crate::secret::hex(&simulated.legacy().unwrap().save()));
    std::fs::write(&path, edited(&model, "/legacy", simulated)).unwrap();
    let message = refusal(&warm(PERSONS, &path));
    assert!(message.contains("loop.home.warm_start"), "{message}");
    assert!(message.contains("simulated and protects no person"), "{message}");
}

#[tokio::test]
async fn a_lost_generation_does_not_begin_again_with_another_file() {
    let folder = tempfile::tempdir().unwrap();
    let (path, witness) = (folder.path().join("prior.json"), folder.path().join("witness"));
    let prior = |reward: f64| {
        let example = serde_json::json!({"action": {"topic": "news"}, "reward": reward});
        serde_json::json!({"kind": "reticent prior 1", "examples": [example]}).to_string()
    };
    std::fs::write(&path, prior(0.5)).unwrap();
    let (store, clock) = (Arc::new(MemoryStore::new([1; 16])), Arc::new(ManualClock::at(START)));
    let cold = file(PERSONS, "");
    drop(witnessed(&cold, &store, &clock, &witness).await);
    let backup = Arc::new(store.copy());
    drop(witnessed(&warm(PERSONS, &path), &store, &clock, &witness).await);
    assert_eq!(store.generations().await.unwrap().len(), 2);
    // The copy lacks the second generation. Its cost does not depend on the file, and its sums do.
    std::fs::write(&path, prior(0.6)).unwrap();
    let copy = Arc::new(backup.copy());
    let refused = Service::open(witnessed_options(&cold, &copy, &clock, &witness)).await;
    let message = refused.err().unwrap().to_string();
    assert!(message.contains("witness") && message.contains("prior.json"), "{message}");
    assert!(message.contains("restore the one that it began with"), "{message}");
    assert_eq!(copy.generations().await.unwrap().len(), 1);
    std::fs::write(&path, prior(0.5)).unwrap();
    drop(witnessed(&cold, &copy, &clock, &witness).await);
    assert!(copy.generations().await.unwrap().len() >= 2);
}
