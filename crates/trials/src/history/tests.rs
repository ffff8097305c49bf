//! The checker is silent about sound stores and finds planted faults: in stores that make a mistake, in stores that lose what they acknowledged, and in contents
//! that were changed by hand.

use std::sync::Arc;

use super::*;
use reticent_server::{
    Error, Result,
    clock::ManualClock,
    config::{CentralPlan, Plan, ServiceFile},
    loops::Limits,
    service::{Options, Service},
    store::{
        MemoryStore, Store,
        planted::{Mistake, Planted},
    },
};

const LOOP: &str = r#"
    [loop.home]
    privacy = { epsilon = 1.0, delta = 1e-6, visits = 2, per = "ever" }
    reward = { range = [0, 1], window = "2 minutes", combine = "sum" }
    learner = { tick = "1 minute", horizon = 1000 }
    retain = "30 days"
    [loop.home.action]
    topic = { categories = ["news", "sport"] }
"#;
const TICK: u64 = 60_000;

fn keys() -> Keys {
    let (events, people) = (Secret::from_bytes([5; 32]), Secret::from_bytes([3; 32]));
    Keys { events, people, callers: BTreeMap::new() }
}

fn plan() -> Arc<CentralPlan> {
    ServiceFile::parse(LOOP).unwrap().check().unwrap()[0].central().unwrap().clone()
}

/// A service with one client, who writes everything down.
struct World {
    service: Arc<Service>,
    clock: Arc<ManualClock>,
    history: History,
    moment: u64,
}

impl World {
    async fn new(store: Arc<dyn Store>) -> Self {
        let clock = Arc::new(ManualClock::at(1_700_000_000_000));
        let service = open(store, &clock).await;
        World { service, clock, history: History::default(), moment: 0 }
    }

    /// The process dies, and another one opens this store.
    async fn restart(&mut self, store: Arc<dyn Store>) {
        self.service = open(store, &self.clock).await;
    }

    async fn tick(&self) {
        self.clock.pass(TICK);
        self.service.tick("home").await.unwrap();
    }

    async fn rank(&mut self, requests: Vec<RankRequest>) {
        let sent = requests.clone();
        let replies = self.service.rank_all("home", requests).await.unwrap();
        for (request, answer) in sent.into_iter().zip(replies) {
            let id = request.event_id.clone().unwrap();
            let attempt = self.attempt(request, answer);
            self.history.event(&id).ranks.push(attempt);
        }
    }

    async fn reward(&mut self, id: &str, value: f64, key: Option<&str>) {
        let request = RewardRequest { value, idempotency_key: key.map(String::from) };
        let answer = self.service.reward("home", id, request.clone()).await;
        let attempt = self.attempt(request, answer);
        self.history.event(id).rewards.push(attempt);
    }

    async fn activate(&mut self, id: &str) {
        let answer = self.service.activate("home", id).await;
        let attempt = self.attempt((), answer);
        self.history.event(id).activations.push(attempt);
    }

    fn attempt<Q, A>(&mut self, request: Q, answer: Result<A>) -> Attempt<Q, A> {
        let reply = match answer {
            Ok(answer) => Reply::Taken(answer),
            Err(Error::Conflict(_)) => Reply::Refused(409),
            Err(Error::Late(_)) => Reply::Refused(410),
            Err(Error::Unknown { .. }) => Reply::Refused(404),
            Err(_) => Reply::Lost,
        };
        self.moment += 2;
        Attempt { request, sent: self.moment - 1, answered: self.moment, reply }
    }

    /// Violations in this store, and the contents that were checked.
    async fn check(&self, store: &dyn Store) -> (Vec<Violation>, Contents) {
        let contents = Contents::read(store, &plan()).await.unwrap();
        (check(&plan(), &keys(), &self.history, &contents), contents)
    }
}

async fn open(store: Arc<dyn Store>, clock: &Arc<ManualClock>) -> Arc<Service> {
    let Keys { events, people, .. } = keys();
    let options = Options {
        plans: vec![Plan::Central(plan())],
        store,
        clock: clock.clone(),
        people,
        earlier_people: Vec::new(),
        events,
        witness: None,
        limits: Limits::default(),
        seal_key: None,
    };
    Service::open(options).await.unwrap()
}

fn request(id: &str, person: &str, first: &str) -> RankRequest {
    let actions = [first, "sport"]
        .map(|topic| serde_json::json!({"id": topic, "features": {"topic": topic}}));
    let body = serde_json::json!({"event_id": id, "person": person, "actions": actions});
    serde_json::from_value(body).unwrap()
}

/// Everything that clients do, with a restart in the middle.
async fn story(store: Arc<dyn Store>) -> World {
    let mut world = World::new(Arc::clone(&store)).await;
    world.tick().await;
    let batch = (0..5).map(|visit| request(&format!("a{visit}"), "anna", "news")).collect();
    world.rank(batch).await;
    world.rank(vec![request("b0", "bert", "news")]).await;
    for body in ["news", "weather", "news"] {
        world.rank(vec![request("b0", "bert", body)]).await;
    }
    world.rank(vec![RankRequest { defer: true, ..request("b1", "bert", "news") }]).await;
    world.rank(vec![RankRequest { defer: true, ..request("c0", "carl", "news") }]).await;
    world.activate("b1").await;
    for (value, key) in [(0.25, Some("k")), (0.25, Some("k")), (0.5, Some("l")), (0.125, None)] {
        world.reward("a0", value, key).await;
    }
    world.reward("unknown", 1.0, None).await;
    world.tick().await;
    world.restart(store).await;
    world.reward("a1", 1.0, Some("k")).await;
    world.reward("a1", 1.0, Some("k")).await;
    world.rank(vec![request("d0", "dora", "news")]).await;
    for _ in 0..4 {
        world.tick().await;
    }
    world.reward("a0", 1.0, Some("late")).await;
    world.activate("c0").await;
    world.rank(vec![request("e0", "emil", "news")]).await;
    world
}

fn has(violations: &[Violation], promise: Promise) -> bool {
    violations.iter().any(|violation| violation.promise == promise)
}

#[tokio::test]
async fn a_sound_store_has_no_violations_and_lost_answers_may_be_in_or_out() {
    let store = Arc::new(MemoryStore::new([1; 16]));
    let mut world = story(store.clone()).await;
    let (violations, contents) = world.check(store.as_ref()).await;
    assert_eq!(violations, []);
    assert_eq!((contents.rows.len(), contents.releases.len()), (10, 6));
    // Answers that were lost on the way say nothing about what happened, one by one and all together.
    for id in ["a0", "a1", "b0", "b1", "c0", "d0"] {
        let event = world.history.event(id);
        event.ranks.iter_mut().for_each(|attempt| attempt.reply = Reply::Lost);
        event.rewards.iter_mut().for_each(|attempt| attempt.reply = Reply::Lost);
        event.activations.iter_mut().for_each(|attempt| attempt.reply = Reply::Lost);
        assert_eq!(check(&plan(), &keys(), &world.history, &contents), []);
    }
    let never =
        Attempt { request: request("f0", "f", "news"), sent: 90, answered: 91, reply: Reply::Lost };
    world.history.event("f0").ranks.push(never);
    assert_eq!(check(&plan(), &keys(), &world.history, &contents), []);
}

#[tokio::test]
async fn stores_with_a_mistake_are_found() {
    for (mistake, promise) in [
        (Mistake::LedgerWithoutAggregation, Promise::Ledger),
        (Mistake::EventTwice, Promise::EventOnce),
        (Mistake::RewardTwice, Promise::RewardOnce),
    ] {
        let store = Arc::new(Planted::new(mistake));
        let world = story(store.clone()).await;
        let (violations, _) = world.check(store.as_ref()).await;
        assert!(has(&violations, promise), "{mistake:?}: {violations:?}");
    }
}

/// Acknowledgements that leave before the commit: what came since the last commit is lost with the process.
#[tokio::test]
async fn an_acknowledgement_before_the_commit_is_found() {
    for (lost, promise) in [
        ("rank", Promise::EventOnce),
        ("reward", Promise::RewardOnce),
        ("activate", Promise::RewardOnce),
        ("tick", Promise::OneChain),
    ] {
        let store = Arc::new(MemoryStore::new([1; 16]));
        let mut world = story(store.clone()).await;
        world.rank(vec![RankRequest { defer: true, ..request("g0", "gerd", "news") }]).await;
        let committed = Arc::new(store.copy());
        match lost {
            "rank" => world.rank(vec![request("h0", "hans", "news")]).await,
            "reward" => world.reward("g0", 0.5, Some("k")).await,
            "activate" => world.activate("g0").await,
            // A client sees the release before it is committed, and another one gets its number.
            _ => {
                world.tick().await;
                world.rank(vec![request("h0", "hans", "news")]).await;
            }
        }
        world.restart(committed.clone()).await;
        if lost == "tick" {
            world.tick().await;
            world.rank(vec![request("h0", "hans", "news")]).await;
        }
        let (violations, _) = world.check(committed.as_ref()).await;
        assert!(has(&violations, promise), "{lost}: {violations:?}");
    }
}

/// A fault that is planted in what was read.
type Change = fn(&mut Contents, &mut History);

#[tokio::test]
async fn contents_that_were_changed_are_found() {
    let store = Arc::new(MemoryStore::new([1; 16]));
    let world = story(store.clone()).await;
    let (violations, contents) = world.check(store.as_ref()).await;
    assert_eq!(violations, []);
    let faults: &[(&str, &[Promise], Change)] = &[
        ("an event is dropped", &[Promise::EventOnce, Promise::ExactSums], |contents, _| {
            contents.rows.remove(0);
        }),
        ("an event is there twice", &[Promise::EventOnce, Promise::ExactSums], |contents, _| {
            let row = contents.rows[0].clone();
            contents.rows.insert(1, row);
        }),
        ("an event that no client sent", &[Promise::EventOnce], |_, history| {
            history.events.remove("a0");
        }),
        ("a body that no client sent", &[Promise::EventOnce], |_, history| {
            let ranks = &mut history.event("d0").ranks;
            ranks[0].request = request("d0", "dora", "weather");
        }),
        ("an id is forgotten", &[Promise::EventOnce], |contents, _| {
            contents.remembered.pop_first();
        }),
        ("another answer was given", &[Promise::EventOnce], |contents, _| {
            contents.remembered.values_mut().for_each(|(_, answer)| answer.action ^= 1);
        }),
        ("an event is in a later slot", &[Promise::ExactSums], |contents, _| {
            let last =
                contents.rows.iter().rposition(|(place, _)| place.slot <= contents.head.folded);
            contents.rows[last.unwrap()].0.slot += 100;
        }),
        ("a reward is one unit larger", &[Promise::RewardOnce], |contents, _| {
            contents.rows[0].1.reward = contents.rows[0].1.reward.map(|units| units + 1);
        }),
        ("a reward counts twice", &[Promise::RewardOnce], |contents, _| {
            let keys = &mut contents.rows[0].1.reward_keys;
            keys.push(keys[0]);
        }),
        ("the sums have another reward", &[Promise::ExactSums], |contents, history| {
            // 2^-20 more in the row and in the history, and not in the sums.
            let unkeyed = history
                .event("a0")
                .rewards
                .iter_mut()
                .rfind(|a| a.request.idempotency_key.is_none());
            unkeyed.unwrap().request.value += 2_f64.powi(-20);
            contents.rows[0].1.reward = contents.rows[0].1.reward.map(|units| units + (1 << 12));
        }),
        ("an activation is lost", &[Promise::RewardOnce, Promise::ExactSums], |contents, _| {
            contents.rows[6].1.active = false;
        }),
        ("a third visit is learnt from", &[Promise::Ledger, Promise::ExactSums], |contents, _| {
            contents.rows[4].1.learnt = true;
        }),
        (
            "a later visit is learnt from in place of an earlier one",
            &[Promise::Ledger],
            |contents, _| {
                contents.rows[1].1.learnt = false;
                contents.rows[4].1.learnt = true;
            },
        ),
        ("several processes learn from too many", &[Promise::Ledger], |contents, _| {
            contents.is_shared = true;
            contents.rows[4].1.learnt = true;
        }),
        ("several processes learn from too few", &[Promise::Ledger], |contents, _| {
            contents.is_shared = true;
            contents.rows[1].1.learnt = false;
        }),
        ("the ledger is below the truth", &[Promise::Ledger], |contents, _| {
            contents.visits.values_mut().for_each(|people| people[1] -= 1);
        }),
        ("a release was replaced", &[Promise::OneChain], |contents, _| {
            contents.releases[2].release.push(b' ');
        }),
        ("a number is left out", &[Promise::OneChain], |contents, _| {
            contents.releases.remove(2);
        }),
        ("a number is there twice", &[Promise::OneChain], |contents, _| {
            let again = contents.releases[2].clone();
            contents.releases.insert(3, again);
        }),
        ("a head that was seen is gone", &[Promise::OneChain], |_, history| {
            let ranks = &mut history.event("d0").ranks;
            let Reply::Taken(answer) = &mut ranks[0].reply else { return };
            answer.head = format!("3.{}.00", "0".repeat(32));
        }),
    ];
    for (fault, promises, change) in faults {
        let (mut contents, mut history) = (contents.clone(), world.history.clone());
        change(&mut contents, &mut history);
        let found = check(&plan(), &keys(), &history, &contents);
        for promise in *promises {
            assert!(has(&found, *promise), "{fault}: {promise:?} is not among {found:?}");
        }
    }
}

/// The order of numbers is not that of charges where several processes add events.
#[tokio::test]
async fn several_processes_may_learn_from_any_k_of_a_persons_events() {
    let store = Arc::new(MemoryStore::new([1; 16]));
    let world = story(store.clone()).await;
    let (_, mut contents) = world.check(store.as_ref()).await;
    contents.is_shared = true;
    let ledger = |contents: &Contents| {
        let mut violations = Vec::new();
        totals::ledger(&plan(), contents, &mut violations);
        violations
    };
    contents.rows[1].1.learnt = false;
    contents.rows[4].1.learnt = true;
    assert_eq!(ledger(&contents), []);
    contents.is_shared = false;
    assert!(has(&ledger(&contents), Promise::Ledger));
}

/// A store is rolled back, a client shows it, and an operator accepts it: the history is that of the copy, and the rollback is charged.
#[tokio::test]
async fn an_accepted_rollback_is_charged_and_the_rest_holds() {
    let store = Arc::new(MemoryStore::new([1; 16]));
    let mut world = story(store.clone()).await;
    let (copy, before) = (Arc::new(store.copy()), world.history.clone());
    world.rank(vec![request("lost", "lisa", "news")]).await;
    world.tick().await;
    let token = world.service.central("home").unwrap().answering().token.clone();
    world.history = before;
    world.restart(copy.clone()).await;
    world.service.notice("home", &token).await.unwrap();
    let head = copy.head(1).await.unwrap();
    let named = reticent_server::loops::HeadName::new(head.number, &head.chain).text();
    world.service.accept_rollback("home", &named).await.unwrap();
    world.rank(vec![request("n0", "nina", "news")]).await;
    for _ in 0..4 {
        world.tick().await;
    }
    let (violations, contents) = world.check(copy.as_ref()).await;
    assert_eq!(violations, []);
    let is_link = |record: &reticent_server::store::ReleaseRecord| {
        reticent_server::loops::Rollback::read(&record.release).is_some()
    };
    assert_eq!(contents.releases.iter().filter(|record| is_link(record)).count(), 1);
    // A state without the charge.
    let mut unpaid = contents.clone();
    let last = unpaid.releases.iter().position(is_link).unwrap();
    let text = String::from_utf8(unpaid.releases[last].release.clone()).unwrap();
    unpaid.releases[last].release = text.replace("\"replays\":1", "\"replays\":2").into_bytes();
    assert!(has(&check(&plan(), &keys(), &world.history, &unpaid), Promise::Certificate));
}
