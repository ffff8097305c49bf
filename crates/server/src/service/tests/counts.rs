//! Counts for the curator: a stored event is counted once, whichever caller repeats it or goes away.

use std::time::Duration;

use super::{generations::Captured, *};
use crate::store::{Disk, RedbStore};

/// Rewards and activations that were counted.
fn counted(service: &Service) -> (u64, u64) {
    let counts = &service.central("home").unwrap().counts;
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
    assert!(world.service.reward("home", "unknown", request).await.is_err());
    for event in ["one/1", "two/0", "two/0"] {
        world.service.activate("home", event).await.unwrap();
    }
    assert!(world.service.activate("home", "unknown").await.is_err());
    assert_eq!(counted(&world.service), (0, 1));
    let counts = &world.service.central("home").unwrap().counts;
    assert_eq!(counts.refused_rewards.load(Ordering::Relaxed), 1);
}

/// A caller who leaves `person` out gets answers from which nothing is learnt: an administrator sees it, and the log says it once an hour.
#[tokio::test(flavor = "current_thread")]
async fn rank_requests_without_a_person_are_counted_and_logged() {
    let world = World::new(&file(&format!("{EXACT}, visits = 2, per = \"ever\""), "")).await;
    let (logged, _guard) = Captured::begin();
    let warnings = || logged.take().matches("rank requests come without `person`").count();
    let without = || {
        let counts = &world.service.central("home").unwrap().counts;
        counts.without_person.load(Ordering::Relaxed)
    };
    world.rank("named", Some("a")).await;
    assert_eq!((without(), warnings()), (0, 0));
    for (id, lines) in [("one", 1), ("two", 0)] {
        world.rank(id, None).await;
        assert_eq!(warnings(), lines, "{id}");
    }
    world.rank("two", None).await;
    assert_eq!(without(), 2 * CROWD as u64, "a repetition is not counted");
    world.clock.pass(3_600_000);
    world.rank("three", None).await;
    assert_eq!(warnings(), 1);
    // Where persons are not counted nothing is missing.
    let world = World::new(&file(EXACT, "")).await;
    world.rank("one", None).await;
    assert_eq!(warnings(), 0);
    let counts = &world.service.central("home").unwrap().counts;
    assert_eq!(counts.without_person.load(Ordering::Relaxed), 0);
}

/// A full disk: what a request would meet is known before one comes, while none comes, and as soon as there is room.
#[tokio::test]
async fn a_disk_that_is_full_is_reported_as_requests_meet_it() {
    let (folder, disk) = (tempfile::tempdir().unwrap(), Disk::new());
    let store = RedbStore::open_on(&disk, &folder.path().join("store"), 32).unwrap();
    let clock = Arc::new(ManualClock::at(START));
    let service = serve_by(&Arc::new(store), &clock).await;
    let trouble = async || {
        service.probe_writing().await;
        service.write_trouble()
    };
    assert_eq!(trouble().await, None);
    disk.fail_after(0);
    assert_eq!(service.write_trouble(), None, "a caller waits for no probe");
    assert!(trouble().await.unwrap().contains("503"), "no request has come yet");
    assert!(matches!(service.rank("home", request("one", None)).await, Err(Error::Store(_))));
    clock.pass(20_000);
    assert!(trouble().await.is_some(), "no request comes any more");
    disk.recover();
    assert_eq!(trouble().await, None);
    service.rank("home", request("one", None)).await.unwrap();
    // A request that fails is believed at once, before the next probe.
    disk.fail_after(0);
    assert!(service.rank("home", request("two", None)).await.is_err());
    assert!(service.write_trouble().is_some());
    disk.recover();
    service.rank("home", request("two", None)).await.unwrap();
    assert_eq!(service.write_trouble(), None);
}

/// A process that is asked for readiness probes by itself.
#[tokio::test]
async fn probes_are_made_on_a_timetable() {
    let world = World::new(&file(EXACT, "")).await;
    world.store.fail_next(Fault::Before);
    let probing = tokio::spawn(Arc::clone(&world.service).keep_probing());
    let until = async |refused: bool| {
        while world.service.write_trouble().is_some() != refused {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let shown = async {
        until(true).await;
        until(false).await;
    };
    tokio::time::timeout(Duration::from_secs(60), shown).await.unwrap();
    world.service.stop();
    probing.await.unwrap();
}

/// The caller does not know if the events are there; the store does.
#[tokio::test]
async fn open_events_are_counted_again_after_an_unconfirmed_commit() {
    let world = World::new(&file(EXACT, "")).await;
    let open = || world.service.central("home").unwrap().open_events();
    world.rank("one", None).await;
    for (fault, open_then) in [(Fault::Before, CROWD as u64), (Fault::After, CROWD as u64 + 1)] {
        world.store.fail_next(fault);
        assert!(world.service.rank("home", request("lost", None)).await.is_err());
        assert_eq!(open(), open_then, "{fault:?}");
    }
    // A repeated request is no second event.
    world.service.rank("home", request("lost", None)).await.unwrap();
    assert_eq!(open(), CROWD as u64 + 1);
    world.ticks(3).await;
    assert_eq!(open(), 0);
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

/// A service on this store.
async fn serve(store: &Arc<RedbStore>) -> Arc<Service> {
    serve_by(store, &Arc::new(ManualClock::at(START))).await
}

/// The same by a clock.
async fn serve_by(store: &Arc<RedbStore>, clock: &Arc<ManualClock>) -> Arc<Service> {
    let service = Service::open(Options {
        plans: ServiceFile::parse(&file(EXACT, "")).unwrap().check().unwrap(),
        store: store.clone(),
        clock: clock.clone(),
        people: Secret::from_bytes([3; 32]),
        earlier_people: Vec::new(),
        events: Secret::from_bytes([5; 32]),
        witness: None,
        limits: Limits::default(),
        seal_key: None,
    });
    service.await.unwrap()
}

/// Groups of requests fail before their commit and after it, while others are counted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn open_events_are_right_when_groups_fail_under_load() {
    let folder = tempfile::tempdir().unwrap();
    let store = RedbStore::open_on(&Disk::new(), &folder.path().join("store"), 32).unwrap();
    let store = Arc::new(store);
    let service = serve(&store).await;
    let client = |client: usize, service: Arc<Service>| async move {
        for number in 0..10 {
            let id = format!("{client}/{number}");
            while service.rank("home", request(&id, None)).await.is_err() {}
        }
    };
    let clients: Vec<_> =
        (0..40).map(|number| tokio::spawn(client(number, Arc::clone(&service)))).collect();
    for step in 0..30 {
        store.fail_next(Some(if step % 2 == 0 { Fault::Before } else { Fault::After }));
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    store.fail_next(None);
    for client in clients {
        client.await.unwrap();
    }
    let loop_ = service.central("home").unwrap();
    let stored = store.open_events(loop_.generation).await.unwrap();
    assert_eq!(stored.iter().map(|(_, count)| count).sum::<u64>(), 400);
    assert_eq!(loop_.open_events(), 400);
}

/// A client that was cut off sends its reward again: if the first one was not counted, the second one would not be either, since it changes nothing.
#[tokio::test]
async fn what_a_caller_who_went_away_has_sent_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(RedbStore::open(folder.path().join("store")).unwrap());
    let service = serve(&store).await;
    let loop_ = service.central("home").unwrap();
    abandon(service.rank("home", request("one", None))).await;
    service.rank("home", request("one", None)).await.unwrap();
    let ranks = || loop_.counts.ranks.load(Ordering::Relaxed);
    wait_until(|| (ranks(), loop_.open_events()) == (1, 1)).await;
    let reward = || RewardRequest { value: 1.0, idempotency_key: Some("key".into()) };
    abandon(service.reward("home", "one", reward())).await;
    service.reward("home", "one", reward()).await.unwrap();
    wait_until(|| counted(&service) == (1, 0)).await;
}
