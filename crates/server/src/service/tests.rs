//! One round, paragraph by paragraph, on the store's model and a clock that the tests move.
//!
//! Epsilon is large in most of them, and everything is done by a crowd of [`CROWD`] people in the same way: the released sums then tell what one of
//! them contributed.

mod accidents;
mod clocks;
mod continued;
mod counts;
mod devices;
mod fixed;
mod generations;
mod keys;
mod model;
mod people;
mod replica_slots;
mod replicas;
mod rollbacks;
mod tokens;
mod warm;

use std::sync::Arc;

use super::*;
use crate::{
    clock::ManualClock,
    config::ServiceFile,
    loops::{RankAnswer, RankRequest, RewardRequest},
    store::{Fault, MemoryStore, Place},
};

const START: u64 = 1_700_000_000_000;
const TICK: u64 = 60_000;

/// People who do the same.
const CROWD: usize = 64;

/// A service of one loop with its clock.
struct World {
    service: Arc<Service>,
    store: Arc<MemoryStore>,
    clock: Arc<ManualClock>,
}

fn file(privacy: &str, more: &str) -> String {
    format!(
        r#"
        [loop.home]
        privacy = {{ {privacy} }}
        reward = {{ range = [0, 1], window = "2 minutes" }}
        learner = {{ tick = "1 minute", horizon = 100 }}
        {more}
        [loop.home.action]
        topic = {{ categories = ["news", "sport"] }}
        "#
    )
}

const EXACT: &str = "epsilon = 1000.0, delta = 1e-6";

impl World {
    async fn new(text: &str) -> Self {
        let store = Arc::new(MemoryStore::new([1; 16]));
        let clock = Arc::new(ManualClock::at(START));
        let service = open(text, &store, &clock, Secret::from_bytes([3; 32])).await.unwrap();
        World { service, store, clock }
    }

    async fn again(&mut self, text: &str) {
        self.service =
            open(text, &self.store, &self.clock, Secret::from_bytes([3; 32])).await.unwrap();
    }

    /// Rank requests of a crowd; the answer of the first.
    async fn rank(&self, id: &str, person: Option<&str>) -> RankAnswer {
        self.rank_as(id, person, false).await
    }

    async fn rank_as(&self, id: &str, person: Option<&str>, defer: bool) -> RankAnswer {
        let member = |index| {
            let person = person.map(|person| format!("{person}/{index}"));
            RankRequest { defer, ..request(&format!("{id}/{index}"), person.as_deref()) }
        };
        let requests = (0..CROWD).map(member).collect();
        self.service.rank_all("home", requests).await.unwrap().remove(0).unwrap()
    }

    async fn reward(&self, id: &str, value: f64) -> Result<()> {
        self.reward_once(id, value, None).await
    }

    async fn reward_once(&self, id: &str, value: f64, key: Option<&str>) -> Result<()> {
        let request = RewardRequest { value, idempotency_key: key.map(String::from) };
        let rewards = (0..CROWD).map(|index| (format!("{id}/{index}"), request.clone())).collect();
        self.service.reward_all("home", rewards).await.unwrap().remove(0)
    }

    /// Lets this number of ticks pass, one by one.
    async fn ticks(&self, count: u64) {
        for _ in 0..count {
            self.clock.pass(TICK);
            self.service.tick("home").await.unwrap();
        }
    }

    fn number(&self) -> u64 {
        self.service.central("home").unwrap().answering().served.number
    }

    /// Number of events that have contributed, and the sum of their rewards, from the release; each with the deviation of its noise.
    fn learnt(&self) -> [(f64, f64); 2] {
        let loop_ = self.service.central("home").unwrap();
        let answering = loop_.answering();
        let Some(release) = &answering.served.release else { return [(0.0, 0.0); 2] };
        let constant = loop_.plan.features.constant().unwrap();
        let dimension = loop_.plan.learner_params.bounds.dimension;
        let entry = |place: usize, scale: f64| {
            (release.sums()[place] / scale, release.deviations()[place] / scale)
        };
        // The last entry of the triangle, and of the vector.
        let triangle = dimension * (dimension + 1) / 2;
        let people = entry(triangle - 1, constant.powi(2));
        let centred = entry(triangle + dimension - 1, constant);
        [people, (centred.0 + 0.5 * people.0, centred.1 + 0.5 * people.1)]
    }

    /// Six deviations of the noise, which must be small beside one person: a false alarm has probability below 1e-8.
    fn assert_learnt(&self, people: f64, rewards: f64) {
        for ((found, deviation), expected) in self.learnt().into_iter().zip([people, rewards]) {
            let (found, deviation) = (found / CROWD as f64, deviation / CROWD as f64);
            assert!(deviation < 0.02, "{deviation}");
            assert!((found - expected).abs() < 0.12, "{found}, not {expected}");
        }
    }
}

async fn open(
    text: &str,
    store: &Arc<impl Store>,
    clock: &Arc<ManualClock>,
    people: Secret,
) -> Result<Arc<Service>> {
    Service::open(Options {
        plans: ServiceFile::parse(text)?.check()?,
        store: store.clone(),
        clock: clock.clone(),
        people,
        earlier_people: Vec::new(),
        events: Secret::from_bytes([5; 32]),
        witness: None,
        limits: Limits::default(),
        seal_key: None,
    })
    .await
}

/// The same with a witness.
fn witnessed_options(
    text: &str,
    store: &Arc<impl Store>,
    clock: &Arc<ManualClock>,
    path: &std::path::Path,
) -> Options {
    Options {
        plans: ServiceFile::parse(text).unwrap().check().unwrap(),
        store: store.clone(),
        clock: clock.clone(),
        people: Secret::from_bytes([3; 32]),
        earlier_people: Vec::new(),
        events: Secret::from_bytes([5; 32]),
        witness: Some(Witness::open(path).unwrap()),
        limits: Limits::default(),
        seal_key: None,
    }
}

async fn witnessed(
    text: &str,
    store: &Arc<MemoryStore>,
    clock: &Arc<ManualClock>,
    path: &std::path::Path,
) -> Arc<Service> {
    Service::open(witnessed_options(text, store, clock, path)).await.unwrap()
}

fn request(id: &str, person: Option<&str>) -> RankRequest {
    let json = serde_json::json!({
        "event_id": id, "person": person,
        "actions": [{"id": "a", "features": {"topic": "news"}}, {"id": "b", "features": {"topic": "sport"}}],
    });
    serde_json::from_value(json).unwrap()
}

#[tokio::test]
async fn an_event_contributes_once_when_its_window_has_ended() {
    let world = World::new(&file(EXACT, "")).await;
    world.rank("one", None).await;
    world.rank("two", None).await;
    world.reward("one", 1.0).await.unwrap();
    world.ticks(2).await;
    world.assert_learnt(0.0, 0.0);
    // The window of two minutes ends in the slot that has passed now.
    world.ticks(1).await;
    world.assert_learnt(2.0, 1.0);
    world.ticks(5).await;
    world.assert_learnt(2.0, 1.0);
}

#[tokio::test]
async fn releases_are_made_by_the_clock_whoever_comes() {
    let (empty, full) = (World::new(&file(EXACT, "")).await, World::new(&file(EXACT, "")).await);
    full.rank("everybody", None).await;
    for _ in 0..7 {
        empty.ticks(1).await;
        full.ticks(1).await;
        assert_eq!(empty.number(), full.number());
    }
    assert_eq!(full.number(), 7);
    // A tick that comes too early makes no release.
    assert_eq!(full.service.tick("home").await.unwrap(), Ticked::Nothing);
    // After time away there is one step over all slots that have passed, and rewards may be sent again before it.
    full.clock.pass(10 * TICK);
    assert_eq!(full.service.tick("home").await.unwrap(), Ticked::Released(8));
}

#[tokio::test]
async fn late_rewards_change_nothing_and_say_so() {
    let world = World::new(&file(EXACT, "")).await;
    world.rank("one", None).await;
    world.ticks(3).await;
    assert!(matches!(world.reward("one", 1.0).await, Err(Error::Late(_))));
    assert!(matches!(world.reward("none", 1.0).await, Err(Error::Unknown { .. })));
    assert!(matches!(world.service.activate("home", "one/0").await, Err(Error::Late(_))));
    world.ticks(3).await;
    world.assert_learnt(1.0, 0.0);
}

#[tokio::test]
async fn rewards_are_added_unclipped_and_the_total_is_clipped() {
    let text = file(EXACT, "").replace("window =", "combine = \"sum\", window =");
    let world = World::new(&text).await;
    world.rank("one", None).await;
    for value in [5.0, -4.75] {
        world.reward("one", value).await.unwrap();
    }
    world.rank("two", None).await;
    world.reward("two", 7.0).await.unwrap();
    world.rank("three", None).await;
    for _ in 0..3 {
        world.reward_once("three", 0.5, Some("key")).await.unwrap();
    }
    world.ticks(3).await;
    world.assert_learnt(3.0, 0.25 + 1.0 + 0.5);
}

#[tokio::test]
async fn the_first_reward_counts_unless_rewards_are_summed() {
    let world = World::new(&file(EXACT, "")).await;
    world.rank("one", None).await;
    world.reward("one", 0.25).await.unwrap();
    world.reward("one", 1.0).await.unwrap();
    assert!(world.reward("one", f64::NAN).await.is_err());
    world.ticks(3).await;
    world.assert_learnt(1.0, 0.25);
}

#[tokio::test]
async fn deferred_events_count_when_they_are_activated() {
    let world = World::new(&file(EXACT, "")).await;
    for id in ["shown", "hidden"] {
        world.rank_as(id, None, true).await;
        // A reward does not activate.
        world.reward(id, 1.0).await.unwrap();
    }
    for index in 0..CROWD {
        world.service.activate("home", &format!("shown/{index}")).await.unwrap();
    }
    world.ticks(3).await;
    world.assert_learnt(1.0, 1.0);
}

#[tokio::test]
async fn the_ledger_is_charged_at_rank_for_deferred_and_held_out_events_too() {
    let once = format!("{EXACT}, visits = 1, per = \"ever\"");
    let world = World::new(&file(&once, "")).await;
    // Never shown, so that it contributes zero; the visit is used up all the same, or showing would decide who is learnt from.
    world.rank_as("hidden", Some("a"), true).await;
    world.rank("again", Some("a")).await;
    world.ticks(3).await;
    world.assert_learnt(0.0, 0.0);
    let world = World::new(&file(&once, "baseline = { share = 0.99 }")).await;
    world.rank("held out", Some("b")).await;
    let loop_ = world.service.central("home").unwrap();
    let count = world.service.ledger_count(loop_).await.unwrap().unwrap();
    assert_eq!((count.people, count.used_up), (CROWD as u64, CROWD as u64));
}

#[tokio::test]
async fn an_apprentice_learns_from_every_event_and_its_matches_are_for_the_curator() {
    let world = World::new(&file(EXACT, "mode = \"apprentice\"")).await;
    let answer = world.rank("one", None).await;
    assert_eq!((answer.action.as_str(), answer.ranking[0].probability), ("a", 1.0));
    world.reward("one", 1.0).await.unwrap();
    world.ticks(3).await;
    // Matching or not: all of the crowd.
    world.assert_learnt(1.0, 1.0);
    let loop_ = world.service.central("home").unwrap();
    let matches = loop_.counts.matches.load(Ordering::Relaxed);
    assert!(matches > 0 && matches < CROWD as u64, "{matches}");
    let public = serde_json::to_string(&world.service.view(loop_, false)).unwrap();
    assert!(!public.contains("match"), "{public}");
}

#[tokio::test]
async fn the_end_of_learning_is_said_before_the_start() {
    let world = World::new(&file(EXACT, "")).await;
    let ends = world.service.certificate("home").await.unwrap().ends.unwrap();
    assert!(ends.contains("release 100"), "{ends}");
    let forgetting = file(EXACT, "").replace(", horizon = 100", ", forget = \"10 days\"");
    let world = World::new(&forgetting).await;
    assert_eq!(world.service.certificate("home").await.unwrap().ends, None);
}

#[tokio::test]
async fn a_repetition_gets_the_stored_answer_and_another_body_is_refused() {
    let world = World::new(&file(EXACT, "")).await;
    let first = world.rank("one", None).await;
    for _ in 0..20 {
        assert_eq!(world.rank("one", None).await, first);
    }
    let other = world.service.rank("home", request("one/0", Some("ann"))).await;
    assert!(matches!(other, Err(Error::Conflict(_))));
    world.ticks(4).await;
    // A late repetition is no second event.
    assert_eq!(world.rank("one", None).await, first);
    world.ticks(4).await;
    world.assert_learnt(1.0, 0.0);
    assert_eq!(world.service.central("home").unwrap().open_events(), 0);
}

#[tokio::test]
async fn mean_rewards_of_the_policy_and_of_the_hold_out_are_in_the_release() {
    let text = file(EXACT, "baseline = { share = 0.5 }");
    let world = World::new(&text).await;
    let mut first = 0;
    for index in 0..400 {
        let id = index.to_string();
        let answer = world.service.rank("home", request(&id, None)).await.unwrap();
        first += u32::from(answer.action == "a");
        assert!(answer.ranking.iter().all(|action| action.id != "a" || action.probability >= 0.5));
        let value = if answer.action == "a" { 0.25 } else { 0.75 };
        let request = RewardRequest { value, idempotency_key: None };
        world.service.reward("home", &id, request).await.unwrap();
    }
    world.ticks(3).await;
    let loop_ = world.service.central("home").unwrap();
    let summary = world.service.view(loop_, false).summary;
    let baseline = summary.baseline_reward.unwrap();
    assert!((baseline.value - 0.25).abs() < 0.02, "{baseline:?}");
    assert!(baseline.low < 0.25 && baseline.high > 0.25);
    let lift = summary.lift.unwrap();
    assert!(lift.low < lift.value && lift.value < lift.high && lift.value > 0.0, "{lift:?}");
    assert!(first > 200, "{first}");
}

#[tokio::test]
async fn what_is_retained_can_be_exported_with_its_propensities() {
    let world = World::new(&file(EXACT, "retain = \"1 hour\"")).await;
    let answer = world.rank("one", Some("a person")).await;
    world.reward("one", 2.0).await.unwrap();
    let (rows, _) = world.service.export("home", Place::default(), 10).await.unwrap();
    assert!(matches!(&rows[0], Exported::Event(event) if event.reward.is_none()));
    world.ticks(3).await;
    let (rows, _) = world.service.export("home", Place::default(), 10).await.unwrap();
    let Exported::Event(row) = &rows[0] else { panic!("{rows:?}") };
    assert_eq!((row.reward, &row.action), (Some(1.0), &answer.action));
    assert_eq!(row.probability, answer.ranking[0].probability);
    assert!(!serde_json::to_string(row).unwrap().contains("a person"));
    world.ticks(70).await;
    assert!(world.service.export("home", Place::default(), 10).await.unwrap().0.is_empty());
    // A loop that retains nothing has nothing to export.
    let world = World::new(&file(EXACT, "")).await;
    assert!(world.service.export("home", Place::default(), 10).await.is_err());
}

#[tokio::test]
async fn limits_on_open_events_depend_on_visits_only() {
    let text = file(EXACT, "");
    let (store, clock) = (Arc::new(MemoryStore::new([1; 16])), Arc::new(ManualClock::at(START)));
    let limits = Limits { open_events: 3, ..Limits::default() };
    let service = Service::open(Options {
        plans: ServiceFile::parse(&text).unwrap().check().unwrap(),
        store,
        clock,
        people: Secret::from_bytes([3; 32]),
        earlier_people: Vec::new(),
        events: Secret::from_bytes([5; 32]),
        witness: None,
        limits,
        seal_key: None,
    })
    .await
    .unwrap();
    for id in ["1", "2", "3"] {
        service.rank("home", request(id, None)).await.unwrap();
        // Rewarded events stay open: else the limit would tell who was rewarded.
        let reward = RewardRequest { value: 1.0, idempotency_key: None };
        service.reward("home", id, reward).await.unwrap();
    }
    let refused = service.rank("home", request("4", None)).await;
    assert!(matches!(refused, Err(Error::TooMany { .. })));
}

#[tokio::test]
async fn files_that_cannot_be_served_are_refused_by_field() {
    for (privacy, more, field) in [
        ("epsilon = 1.0, delta = 1e-6, visits = 3", "", "privacy.visits"),
        ("epsilon = 1.0, delta = 1e-6, visits = 0, per = \"ever\"", "", "privacy.visits"),
        ("epsilon = 1.0, delta = 1e-6, per = \"ever\"", "", "privacy.per"),
        ("epsilon = -1.0, delta = 1e-6", "", "epsilon"),
        ("epsilon = 1.0, delta = 0.0", "", "delta"),
        ("epsilon = 1.0, delta = 1e-6, unit = \"person\"", "", "privacy.unit"),
        (EXACT, "baseline = { share = 1.0 }", "baseline.share"),
        (EXACT, "trust = \"device\"", "learner.horizon"),
        (EXACT, "mode = \"batch\"", "mode"),
        (EXACT, "retain = \"0 days\"", "retain"),
        (EXACT, "surprise = 1", "surprise"),
    ] {
        let refused =
            ServiceFile::parse(&file(privacy, more)).and_then(|file| file.check().map(drop));
        let message = refused.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(message.contains(field), "{privacy} {more}: {message}");
    }
}
