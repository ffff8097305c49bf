//! Files that change: lists of words continue a generation, and other changes begin one with what has been released.

use super::*;
use crate::{service::outcomes, store::StoredEvent};

const PERSON: &str = "epsilon = 1000.0, delta = 1e-6, visits = 2, per = \"1 day\"";

/// The file with these words, without a horizon.
fn words(privacy: &str, words: &[&str]) -> String {
    let text = file(privacy, "").replace("horizon = 100", "forget = \"30 days\"");
    text.replace("[\"news\", \"sport\"]", &format!("{words:?}"))
}

/// One person's request for one action with this topic.
fn of_topic(id: &str, person: Option<&str>, topic: &str) -> RankRequest {
    let json = serde_json::json!({
        "event_id": id, "person": person, "actions": [{"id": "a", "features": {"topic": topic}}],
    });
    serde_json::from_value(json).unwrap()
}

/// A crowd of other people each time, whose actions have this topic and whose reward is 1.
async fn crowd(service: &Arc<Service>, id: &str, topic: &str) {
    for index in 0..CROWD {
        let (event, person) = (format!("{id}/{index}"), format!("{id}-{index}"));
        let answer = service.rank("home", of_topic(&event, Some(&person), topic)).await.unwrap();
        let reward = RewardRequest { value: 1.0, idempotency_key: None };
        service.reward("home", &answer.event_id, reward).await.unwrap();
    }
}

/// Crowds that chose a topic, by its coordinate in the release; without noise worth naming.
fn chosen(service: &Service, topic: &str) -> f64 {
    let plan = service.plan("home");
    let place =
        plan.features.names().iter().position(|name| *name == format!("action.topic={topic}"));
    let weight = plan.features.parts()[0].weight;
    let answering = service.central("home").unwrap().answering();
    let release = answering.served.release.as_ref().unwrap();
    release.entry(place.unwrap(), place.unwrap()).unwrap() / weight.powi(2) / CROWD as f64
}

fn close(found: f64, wanted: f64) {
    assert!((found - wanted).abs() < 0.15, "{found}, not {wanted}");
}

impl Service {
    fn plan(&self, name: &str) -> &crate::config::CentralPlan {
        &self.central(name).unwrap().plan
    }
}

/// Epsilon of the loop, of its certificate and of all loops.
async fn epsilons(service: &Service) -> [f64; 3] {
    let certificate = service.certificate("home").await.unwrap().guarantee.epsilon();
    let together = service.together().await.unwrap().guarantee.unwrap().epsilon();
    [service.view(service.central("home").unwrap(), false).epsilon, certificate, together]
}

async fn says(service: &Service, words: &str) -> bool {
    let certificate = service.certificate("home").await.unwrap();
    certificate.conditions.iter().any(|one| one.text.contains(words))
}

#[tokio::test]
async fn an_appended_word_keeps_the_model_and_the_price() {
    let mut world = World::new(&words(PERSON, &["news", "sport"])).await;
    let before = epsilons(&world.service).await;
    crowd(&world.service, "one", "news").await;
    world.ticks(3).await;
    close(chosen(&world.service, "news"), 1.0);
    // Open when the file changes, and learnt from after it.
    crowd(&world.service, "two", "sport").await;
    world.again(&words(PERSON, &["jazz", "news", "sport"])).await;
    assert_eq!((world.number(), world.store.generations().await.unwrap().len()), (3, 1));
    close(chosen(&world.service, "news"), 1.0);
    assert_eq!(chosen(&world.service, "jazz"), 0.0);
    // Releases from before are read as they are.
    let records = world.service.releases("home", 1, 9).await.unwrap();
    let mean = |record: &ReleaseRecord| {
        let release: reticent::release::Release =
            reticent::wire::from_json(&record.release).unwrap();
        crate::loops::Summary::of(world.service.plan("home"), Some(&release)).mean_reward
    };
    assert!((mean(&records[2]).unwrap().value - 1.0).abs() < 0.1);
    assert_eq!(epsilons(&world.service).await, before);
    assert!(says(&world.service, "appended to lists of features once").await);
    crowd(&world.service, "three", "jazz").await;
    world.ticks(3).await;
    for topic in ["news", "sport", "jazz"] {
        close(chosen(&world.service, topic), 1.0);
    }
    // A restart reads the longer state.
    world.again(&words(PERSON, &["jazz", "news", "sport"])).await;
    assert_eq!(world.number(), 6);
    close(chosen(&world.service, "jazz"), 1.0);
    assert_eq!(epsilons(&world.service).await, before);
    let names = &world.service.plan("home").features.names();
    assert_eq!(names[..3], ["action.topic=news", "action.topic=sport", "action.topic=jazz"]);
}

/// The file changes three times within a day, one of them with a word removed and restored, and ends as it began.
#[tokio::test]
async fn three_changes_within_a_day_keep_the_model_and_the_price() {
    let lists: [&[&str]; 5] = [
        &["news", "sport", "jazz"],
        &["film", "news", "jazz", "sport"],
        &["news", "jazz", "film"],
        &["news", "jazz", "film", "sport"],
        &["news", "sport"],
    ];
    let mut world = World::new(&words(PERSON, &["news", "sport"])).await;
    let (before, hash) = (epsilons(&world.service).await, world.service.plan("home").params_hash());
    crowd(&world.service, "sport", "sport").await;
    world.ticks(3).await;
    for (change, list) in lists.iter().enumerate() {
        world.again(&words(PERSON, list)).await;
        let removed = !list.contains(&"sport");
        // A removed word is unknown: its coordinate stays, and nothing comes to it.
        crowd(&world.service, &format!("{change}"), "sport").await;
        world.ticks(3).await;
        let crowds = [2.0, 3.0, 3.0, 4.0, 5.0][change];
        close(chosen(&world.service, "sport"), crowds);
        assert_eq!(removed, change == 2);
        assert_eq!(epsilons(&world.service).await, before, "{list:?}");
        assert_eq!(world.service.plan("home").params_hash(), hash);
        assert!(says(&world.service, "appended to lists of features").await);
    }
    assert_eq!(world.store.generations().await.unwrap().len(), 1);
    assert!(says(&world.service, "appended to lists of features 2 times").await);
    assert!(says(&world.service, "releases or public facts").await);
    // The old file again: its words only.
    crowd(&world.service, "last", "jazz").await;
    world.ticks(3).await;
    close(chosen(&world.service, "jazz"), 0.0);
    close(chosen(&world.service, "sport"), 5.0);
}

/// Two groups, a cross and a match: all cells of a new word are appended, and weights stay.
#[tokio::test]
async fn crosses_matches_and_two_groups_go_on() {
    let text = |words: &[&str]| {
        let more = "[loop.home.context]\nliked = { categories = WORDS }\n[loop.home.cross]\nwith = [[\"liked\", \"topic\"]]\nmatch = [[\"liked\", \"topic\"]]\n";
        let text = self::words(PERSON, words).replace(
            "[loop.home.action]",
            &format!("baseline = {{ share = 0.1 }}\n{more}[loop.home.action]"),
        );
        text.replace("WORDS", &format!("{words:?}"))
    };
    let mut world = World::new(&text(&["news", "sport"])).await;
    let before = epsilons(&world.service).await;
    let weights = |service: &Service| -> Vec<f64> {
        service.plan("home").features.parts().iter().map(|part| part.weight).collect()
    };
    let kept = weights(&world.service);
    crowd(&world.service, "one", "sport").await;
    world.ticks(3).await;
    world.again(&text(&["news", "sport", "jazz"])).await;
    let plan = world.service.plan("home");
    assert_eq!(
        (plan.features.dimension(), plan.learner_params.bounds.dimension),
        (3 + 3 + 9 + 1 + 1, 18)
    );
    assert_eq!(weights(&world.service), kept);
    crowd(&world.service, "two", "jazz").await;
    world.ticks(3).await;
    let loop_ = world.service.central("home").unwrap();
    let events = world.store.head(loop_.generation).await.unwrap().number;
    assert_eq!((events, epsilons(&world.service).await), (6, before));
    let (answering, names) = (loop_.answering(), loop_.plan.features.names());
    let release = answering.served.release.as_ref().unwrap();
    // Requests have no context, so that crosses and the match are zero.
    for (name, part, wanted) in [
        ("action.topic=sport", 1, 1.0),
        ("action.topic=jazz", 1, 1.0),
        ("context.liked=jazz*action.topic=jazz", 2, 0.0),
    ] {
        let place = names.iter().position(|other| other == name).unwrap();
        let crowds = release.entry(place, place).unwrap() / kept[part].powi(2) / CROWD as f64;
        close(crowds, wanted);
    }
}

/// A copy of the store from before a word was appended is put back after it.
#[tokio::test]
async fn a_rollback_between_is_charged_once_and_the_word_is_appended_again() {
    let folder = tempfile::tempdir().unwrap();
    let (path, clock) = (folder.path().join("witness"), Arc::new(ManualClock::at(START)));
    let [old, new] =
        [&["news", "sport"][..], &["news", "sport", "jazz"]].map(|list| words(PERSON, list));
    let store = Arc::new(MemoryStore::new([1; 16]));
    let tick = async |service: &Arc<Service>| {
        clock.pass(TICK);
        service.tick("home").await.unwrap()
    };
    let service = witnessed(&old, &store, &clock, &path).await;
    assert_eq!(tick(&service).await, Ticked::Released(1));
    let copy = Arc::new(store.copy());
    let service = witnessed(&new, &store, &clock, &path).await;
    let before = epsilons(&service).await;
    assert_eq!(tick(&service).await, Ticked::Released(2));
    let service = witnessed(&new, &copy, &clock, &path).await;
    assert_eq!(tick(&service).await, Ticked::Halted);
    let head = copy.head(1).await.unwrap();
    let named = HeadName::new(head.number, &head.chain).text();
    service.accept_rollback("home", &named).await.unwrap();
    crowd(&service, "one", "jazz").await;
    for _ in 0..3 {
        assert!(matches!(tick(&service).await, Ticked::Released(_)));
    }
    close(chosen(&service, "jazz"), 1.0);
    // Two lines: what it costs without appended words.
    let charged = epsilons(&service).await;
    let store = Arc::new(MemoryStore::new([2; 16]));
    let path = folder.path().join("other");
    let service = witnessed(&old, &store, &clock, &path).await;
    let copy = Arc::new(store.copy());
    tick(&service).await;
    let service = witnessed(&old, &copy, &clock, &path).await;
    let head = service.head(service.central("home").unwrap()).await.unwrap();
    let named = HeadName::new(head.number, &head.chain).text();
    service.accept_rollback("home", &named).await.unwrap();
    assert_eq!((charged, charged[0] > before[0]), (epsilons(&service).await, true));
}

/// A store has lost a generation that continued, and its witness knows it.
#[tokio::test]
async fn a_lost_generation_with_appended_words_begins_again() {
    let folder = tempfile::tempdir().unwrap();
    let (path, clock) = (folder.path().join("witness"), Arc::new(ManualClock::at(START)));
    let store = Arc::new(MemoryStore::new([1; 16]));
    let cheap = PERSON.replace("1000.0", "900.0");
    witnessed(&words(&cheap, &["news", "sport"]), &store, &clock, &path).await;
    let copy = Arc::new(store.copy());
    for list in [&["news", "sport"][..], &["news", "sport", "jazz"]] {
        let service = witnessed(&words(PERSON, list), &store, &clock, &path).await;
        clock.pass(TICK);
        service.tick("home").await.unwrap();
    }
    let new = words(PERSON, &["news", "sport", "jazz"]);
    let service = witnessed(&new, &copy, &clock, &path).await;
    assert_eq!(copy.generations().await.unwrap().len(), 2);
    assert!(service.troubles()[0].contains("rollback"), "{:?}", service.troubles());
    assert_eq!(service.plan("home").features.dimension(), 4);
}

/// A process with the older file goes on answering, releases nothing beside the newer one, and what it answered is learnt from.
#[tokio::test]
async fn a_process_with_the_older_file_gives_way() {
    let [old, new] =
        [&["news", "sport"][..], &["news", "sport", "jazz"]].map(|list| words(PERSON, list));
    let Some((one, other, clock)) = super::replicas::two(&old).await else { return };
    clock.pass(TICK);
    assert_eq!(one.tick().await, Ticked::Released(1));
    drop(other);
    let newer = one.again(&new, &clock).await;
    crowd(&one.world.service, "old", "sport").await;
    crowd(&newer.world.service, "new", "jazz").await;
    clock.pass(TICK);
    assert_eq!(newer.tick().await, Ticked::Nothing, "the older one has the right to release");
    // Its next step is no later one: the slots of the events above are open.
    assert_eq!(one.tick().await, Ticked::Halted);
    let halted = one.loop_().halted().unwrap();
    assert!(halted.contains("another process has appended words"), "{halted}");
    one.world.service.rank("home", of_topic("late", Some("late"), "news")).await.unwrap();
    for number in 2..=4 {
        clock.pass(TICK);
        assert_eq!(newer.tick().await, Ticked::Released(number));
    }
    close(chosen(&newer.world.service, "sport"), 1.0);
    close(chosen(&newer.world.service, "jazz"), 1.0);
    // Started again with its older file, it leaves the new word out and everything else as it is.
    let again = one.again(&old, &clock).await;
    assert_eq!(again.world.number(), newer.world.number());
    close(chosen(&again.world.service, "jazz"), 1.0);
}

/// Notes in a store that another process has begun with this file.
async fn note(store: &MemoryStore, text: &str) {
    let plan = ServiceFile::parse(text).unwrap().check().unwrap().remove(0);
    let plan =
        crate::service::generations::continuing_generation(store, plan, START).await.unwrap();
    let new = crate::service::mechanism::new_generation(&plan, START).unwrap();
    store.begin_generation(new).await.unwrap();
}

/// Persons do not decide when a process with the older file stops: it does at its next due tick, with and without events.
#[tokio::test]
async fn a_process_with_the_older_file_gives_way_without_events() {
    let [old, new] =
        [&["news", "sport"][..], &["news", "sport", "jazz"]].map(|list| words(PERSON, list));
    for events in [false, true] {
        let world = World::new(&old).await;
        if events {
            crowd(&world.service, "old", "sport").await;
        }
        world.ticks(3).await;
        assert_eq!(world.number(), 3);
        note(&world.store, &new).await;
        assert_eq!(world.service.tick("home").await.unwrap(), Ticked::Nothing, "none is due");
        assert!(world.service.central("home").unwrap().halted().is_none());
        world.clock.pass(TICK);
        assert_eq!(world.service.tick("home").await.unwrap(), Ticked::Halted);
        let halted = world.service.central("home").unwrap().halted().unwrap();
        assert!(halted.contains("another process has appended words"), "{halted}");
        assert_eq!(world.number(), 3);
    }
}

/// A word is appended, and a person ranked with it, between the look of a process with the older file and its step.
#[tokio::test]
async fn a_longer_event_contributes_zeros_and_stops_nothing() {
    let [old, new] =
        [&["news", "sport"][..], &["news", "sport", "jazz"]].map(|list| words(PERSON, list));
    let mut newer = World::new(&old).await;
    let older = newer.service.clone();
    let head = older.head(older.central("home").unwrap()).await.unwrap();
    newer.again(&new).await;
    newer.service.rank("home", of_topic("new", Some("new"), "jazz")).await.unwrap();
    let events = newer.store.kept_events(1, Place::default(), 10).await.unwrap();
    assert_eq!((events.len(), events[0].1.features.len()), (1, 4));
    let mut step = older.find("home").unwrap().begin_step(&head).unwrap();
    assert_eq!(step.fold(&events), 1);
    let stepped = step.finish(&head, START + TICK).unwrap();
    assert_eq!(stepped.record.number, 1);
}

/// Rows that came before a word was appended stay readable, of any layout.
#[tokio::test]
async fn events_of_every_layout_are_learnt_from() {
    let mut world = World::new(&words(PERSON, &["news", "sport"])).await;
    let lists: [&[&str]; 3] =
        [&["news", "sport"], &["news", "sport", "jazz"], &["news", "sport", "jazz", "film"]];
    for (index, list) in lists.iter().enumerate() {
        world.again(&words(PERSON, list)).await;
        crowd(&world.service, &format!("{index}"), "sport").await;
    }
    let events = world.store.kept_events(1, Place::default(), 1000).await.unwrap();
    let lengths: std::collections::BTreeSet<usize> =
        events.iter().map(|(_, event): &(Place, StoredEvent)| event.features.len()).collect();
    assert_eq!(lengths.into_iter().collect::<Vec<_>>(), [3, 4, 5]);
    world.ticks(3).await;
    close(chosen(&world.service, "sport"), 3.0);
}

#[tokio::test]
async fn another_reward_begins_a_generation_with_the_last_release() {
    let mut world = World::new(&words(PERSON, &["news", "sport"])).await;
    crowd(&world.service, "one", "sport").await;
    world.ticks(3).await;
    let before = epsilons(&world.service).await;
    let theta = |world: &World| {
        let answering = world.service.central("home").unwrap().answering();
        answering.served.policy.theta().to_vec()
    };
    // All were shown sport, so that its share and the constant's are not distinguished, but their sum is: half of the range, less shrinkage.
    let predicted = |world: &World| {
        let central = world.service.central("home").unwrap();
        let features = &central.plan.features;
        let (word, constant) = (features.parts()[0].weight, features.constant().unwrap());
        word * theta(world)[1] + constant * theta(world)[2]
    };
    assert!(predicted(&world) > 0.25, "{:?}", theta(&world));
    for (from, to) in [("[0, 1]", "[-1, 1]"), ("2 minutes", "3 minutes"), ("1 minute", "2 minutes")]
    {
        let text = words(PERSON, &["film", "sport"]).replace(from, to);
        let stored = crate::service::stored_loops(world.store.as_ref()).await.unwrap();
        let plans = ServiceFile::parse(&text).unwrap().check().unwrap();
        let outcome = outcomes(&stored, &plans).unwrap().remove(0);
        let released = world.number();
        let present = world.service.central("home").unwrap().generation;
        assert_eq!(outcome.begins_with, Some((present, released)), "{to}");
        let line =
            format!("begins a new generation with release {released} of generation {present}");
        assert!(outcome.to_string().contains(&line), "{outcome}");
        // A restart keeps the origin and the model.
        for _ in 0..2 {
            world.again(&text).await;
            assert_eq!((world.number(), theta(&world).len()), (0, 3));
            // All were shown sport, so that its share and the constant's are not distinguished, but their sum is: half of the range, less shrinkage.
            let central = world.service.central("home").unwrap();
            let features = &central.plan.features;
            let (word, constant) = (features.parts()[0].weight, features.constant().unwrap());
            let predicted = word * theta(&world)[1] + constant * theta(&world)[2];
            assert!(predicted > 0.25, "{to}: {predicted}, {:?}", theta(&world));
            assert!(says(&world.service, "adds nothing to any number").await);
            // One ledger, and the same noise: the price of one generation.
            let after = epsilons(&world.service).await;
            for (after, before) in after.iter().zip(before) {
                assert!((after - before).abs() < 1e-6, "{to}: {after}, {before}");
            }
            assert!((outcome.epsilon_after - after[2]).abs() < 1e-6);
        }
        world.clock.pass(2 * TICK);
        world.service.tick("home").await.unwrap();
        assert!(predicted(&world) > 0.25, "{to}: {:?}", theta(&world));
    }
    // Nothing of another feature is known.
    let other = words(PERSON, &["sport"]).replace("topic =", "kind =");
    let stored = crate::service::stored_loops(world.store.as_ref()).await.unwrap();
    let plans = ServiceFile::parse(&other).unwrap().check().unwrap();
    let outcome = outcomes(&stored, &plans).unwrap().remove(0);
    assert!(
        outcome
            .to_string()
            .contains("begins a new generation without knowledge (changed: features"),
        "{outcome}"
    );
    world.again(&other).await;
    assert_eq!(theta(&world), [0.0, 0.0]);
    assert!(!says(&world.service, "adds nothing to any number").await);
}

/// `serve --check --data` predicts what is appended.
#[tokio::test]
async fn what_is_appended_is_said_before() {
    let mut world = World::new(&words(PERSON, &["news", "sport"])).await;
    world.ticks(1).await;
    for (list, appended) in [
        (&["news", "sport", "jazz"][..], "(appended: action.topic=jazz)"),
        (&["film", "jazz", "news"], "(appended: action.topic=film)"),
        (&["news", "sport"], "continues its generation: epsilon stays"),
    ] {
        let text = words(PERSON, list);
        let stored = crate::service::stored_loops(world.store.as_ref()).await.unwrap();
        let plans = ServiceFile::parse(&text).unwrap().check().unwrap();
        let outcome = outcomes(&stored, &plans).unwrap().remove(0);
        assert!(outcome.continues && outcome.to_string().contains(appended), "{outcome}");
        assert_eq!(outcome.epsilon_before, Some(outcome.epsilon_after));
        world.again(&text).await;
        assert_eq!(world.store.generations().await.unwrap().len(), 1);
    }
}

/// With a horizon the noise of new coordinates is rounded too, which costs less than 1e-7.
#[tokio::test]
async fn with_a_horizon_the_number_grows_by_rounding_only() {
    let mut world =
        World::new(&file("epsilon = 1.0, delta = 1e-6, visits = 1, per = \"ever\"", "")).await;
    let before = epsilons(&world.service).await[0];
    let text = file("epsilon = 1.0, delta = 1e-6, visits = 1, per = \"ever\"", "");
    world.again(&text.replace("[\"news\", ", "[\"jazz\", \"news\", ")).await;
    world.ticks(1).await;
    let after = epsilons(&world.service).await[0];
    assert!(after >= before && after < before + 1e-7, "{after} {before}");
    assert!(says(&world.service, "appended").await);
}

/// A change that is no appending begins a generation, with a reason.
#[test]
fn the_note_of_a_store_is_refused_in_a_file() {
    let text = words(PERSON, &["news"])
        .replace("reward =", "continuation = { began = {}, appended = [] }\nreward =");
    let message = ServiceFile::parse(&text).and_then(|file| file.check()).unwrap_err().to_string();
    assert!(message.contains("continuation"), "{message}");
}
