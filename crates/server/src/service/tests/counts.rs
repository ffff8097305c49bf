//! Counts for the curator: what was taken is counted once, whoever repeats it and whoever goes away.

use super::*;
use crate::store::RedbStore;

/// Rewards and activations that were counted.
fn counted(service: &Service) -> (u64, u64) {
    let counts = &service.find("home").unwrap().counts;
    (counts.rewards.load(Ordering::Relaxed), counts.activations.load(Ordering::Relaxed))
}

#[tokio::test]
async fn a_repeated_reward_is_counted_once() {
    let reward = "reward = { range = [0, 1], window = \"2 minutes\" }";
    let sum = "reward = { range = [0, 1], window = \"2 minutes\", combine = \"sum\" }";
    for (text, third) in [(file(EXACT, ""), 1), (file(EXACT, "").replace(reward, sum), 2)] {
        let world = World::new(&text).await;
        world.rank("one", None).await;
        let crowd = CROWD as u64;
        for _ in 0..3 {
            world.reward_once("one", 0.5, Some("key")).await.unwrap();
            assert_eq!(counted(&world.service).0, crowd);
        }
        // Under another key it is another reward, where rewards add up.
        world.reward_once("one", 0.5, Some("other key")).await.unwrap();
        assert_eq!(counted(&world.service).0, third * crowd);
        // Twice in one batch.
        let request = RewardRequest { value: 0.5, idempotency_key: Some("batch".into()) };
        let twice = vec![("one/0".to_string(), request.clone()), ("one/0".to_string(), request)];
        let answers = world.service.reward_all("home", twice).await.unwrap();
        assert!(answers.iter().all(Result::is_ok));
        assert_eq!(counted(&world.service).0, third * crowd + third - 1);
    }
}

#[tokio::test]
async fn what_is_refused_erased_or_activated_again_is_no_reward_and_no_activation() {
    let text = file(&format!("{EXACT}, visits = 2, per = \"ever\""), "");
    let world = World::new(&text).await;
    world.rank("one", Some("a")).await;
    world.rank_as("two", Some("b"), true).await;
    world.service.erase("a/0").await.unwrap();
    // The answer does not tell that the row is gone.
    let request = RewardRequest { value: 1.0, idempotency_key: None };
    world.service.reward("home", "one/0", request.clone()).await.unwrap();
    assert!(world.service.reward("home", "nobody", request).await.is_err());
    for event in ["one/1", "two/0", "two/0"] {
        world.service.activate("home", event).await.unwrap();
    }
    assert!(world.service.activate("home", "nobody").await.is_err());
    assert_eq!(counted(&world.service), (0, 1));
    let counts = &world.service.find("home").unwrap().counts;
    assert_eq!(counts.refused_rewards.load(Ordering::Relaxed), 1);
}

/// Polls a call once, and goes away before it is answered.
async fn abandon(call: impl Future) {
    tokio::select! {
        biased;
        _ = call => panic!("it was answered at once"),
        () = std::future::ready(()) => {}
    }
}

/// Waits until a condition holds: at most for some seconds.
async fn wait_until(holds: impl Fn() -> bool) {
    for _ in 0..2000 {
        if holds() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    panic!("it does not come to pass");
}

/// A client that was cut off sends its reward again: if the first one was not counted, the second one would not be either, since it changes nothing.
#[tokio::test]
async fn what_a_caller_who_went_away_has_sent_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(RedbStore::open(folder.path().join("store")).unwrap());
    let service = Service::open(Options {
        plans: ServiceFile::parse(&file(EXACT, "")).unwrap().check().unwrap(),
        store,
        clock: Arc::new(ManualClock::at(START)),
        people: Secret::from_bytes([3; 32]),
        earlier_people: Vec::new(),
        events: Secret::from_bytes([5; 32]),
        witness: None,
        limits: Limits::default(),
    });
    let service = service.await.unwrap();
    let each = service.find("home").unwrap();
    abandon(service.rank("home", request("one", None))).await;
    service.rank("home", request("one", None)).await.unwrap();
    let ranks = || each.counts.ranks.load(Ordering::Relaxed);
    wait_until(|| (ranks(), each.open_events()) == (1, 1)).await;
    let reward = || RewardRequest { value: 1.0, idempotency_key: Some("key".into()) };
    abandon(service.reward("home", "one", reward())).await;
    service.reward("home", "one", reward()).await.unwrap();
    wait_until(|| counted(&service) == (1, 0)).await;
}
