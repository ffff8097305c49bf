//! A server that is away, refuses, is rolled back or gives inconsistent answers: devices keep their reports, and nothing is believed for ever.

use reticent::privacy::Guarantee;

use super::*;

fn unavailable<T: std::fmt::Debug>(result: Result<T>) -> String {
    match result {
        Err(Error::Unavailable(words)) => words,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_the_server_refuses_is_no_reason_to_drop_a_report() {
    let mut world = World::new("sealed", 2, 2).await;
    // A key of role `shuffle` that was revoked is answered with 401, which a client reads as a field that cannot be used.
    struct Refusing;
    impl Upstream for Refusing {
        fn news(&self, _: &str) -> Pending<News> {
            Box::pin(async { Err(Error::invalid("request", "401", "use another key")) })
        }
        fn send(&self, _: &str, _: Body) -> Pending<()> {
            Box::pin(async { Err(Error::invalid("key_id", "00", "give the server its old one")) })
        }
    }
    let (store, clock) = (world.store.clone(), world.server.clock.clone());
    let secrets = || (key(3), Secret::from_bytes([4; 32]));
    let refused = Shuffler::open(world.plans.clone(), store, Arc::new(Refusing), clock, secrets());
    let refused = refused.await.unwrap();
    assert!(refused.follow("news").await.is_err());
    let bytes = world.envelope().bytes();
    assert!(unavailable(refused.take("news", &bytes, "a").await).contains("not heard"));
    // One that has heard from the server takes reports while it is away.
    world.restart().await;
    world.take_new(2).await;
    let heard = world.loop_().state().heard;
    let loop_ = refused.find("news").unwrap();
    loop_.begin(world.store.as_ref()).await.unwrap();
    loop_.state().heard = heard;
    assert_eq!(refused.take("news", &bytes, "b").await.unwrap(), Taken::Taken);
}

#[tokio::test]
async fn a_batch_that_is_refused_is_named_and_sent_again() {
    let mut world = World::new("sealed", 2, 2).await;
    world.take_new(2).await;
    *world.server.fault.lock().unwrap() = FaultAfter::new(0, Fault::Before);
    assert!(world.forward().await.is_err());
    // Before that the server lost its key: the batch is committed under the old one.
    let (store, clock) = (Arc::clone(&world.server.store), Arc::clone(&world.server.clock));
    world.server = Server::open(&world.plans, store.clone(), clock.clone(), key(9)).await;
    world.restart().await;
    let words = unavailable(world.forward().await);
    assert!(words.contains("refuses batch 0") && words.contains("key_id"), "{words}");
    let error = Error::Unavailable(words.clone());
    world.loop_().fail(&error);
    assert!(world.shuffler.troubles()[0].contains("refuses batch 0"));
    // Reports are still taken, and the batch arrives when the key is back.
    world.take_new(1).await;
    world.server = Server::open(&world.plans, store, clock, key(2)).await;
    world.restart().await;
    assert_eq!(world.forward().await.unwrap(), Forwarded::Sent(0));
    assert_eq!(world.server.batches().concat().len(), 2);
}

#[tokio::test]
async fn no_request_of_a_stranger_makes_a_call() {
    let world = World::new("sealed", 4, 1).await;
    let calls = || world.server.calls.load(Ordering::SeqCst);
    let before = calls();
    let good = world.envelope();
    let subject = world.loop_().subject().clone();
    let newer = seal(&subject, &key(2), 99, &vec![0.0; subject.values]);
    let foreign = seal(&subject, &key(9), 0, &vec![0.0; subject.values]);
    for envelope in [&newer, &foreign, &good, &good, &world.envelope()] {
        let _ = world.take(envelope, "10.0.0.1").await;
        let _ = world.shuffler.take("news", &envelope.bytes()[1..], "10.0.0.1").await;
        let _ = world.shuffler.take("shop", &envelope.bytes(), "10.0.0.1").await;
    }
    assert_eq!((calls(), world.loop_().waiting()), (before, 1));
    // A model and a key that are not known here may be the server's newest.
    assert!(unavailable(world.take(&newer, "b").await).contains("model 99"));
    assert!(unavailable(world.take(&foreign, "b").await).contains("key"));
    world.follow().await.unwrap();
    assert_eq!(calls(), before + 1);
}

#[tokio::test]
async fn a_number_that_no_server_can_have_reached_is_not_believed() {
    let world = World::new("sealed", 4, 4).await;
    let envelope = world.envelope();
    let truth = world.server.news();
    for model in [17, 1_000_000, u64::MAX] {
        *world.server.says.lock().unwrap() = Some(News { model, ..truth });
        assert!(unavailable(world.follow().await).contains("not believed"), "{model}");
    }
    *world.server.says.lock().unwrap() = None;
    world.follow().await.unwrap();
    assert_eq!(world.take(&envelope, "a").await.unwrap(), Taken::Taken);
    // Models of the clock are believed, however many there are.
    world.server.clock.pass(1000 * TICK);
    *world.server.says.lock().unwrap() = Some(News { model: 1000, ..truth });
    world.follow().await.unwrap();
    assert!(matches!(world.take(&world.envelope(), "a").await, Err(Error::Late(_))));
    // At the beginning of a store there is nothing to compare with but the clock.
    let store = Arc::new(MemoryStore::new([5; 16]));
    *world.server.says.lock().unwrap() = Some(News { model: u64::MAX, ..truth });
    let born = open(&world.plans, &store, &world.server).await.unwrap();
    assert!(unavailable(born.follow("news").await).contains("1970"));
    *world.server.says.lock().unwrap() = None;
    born.follow("news").await.unwrap();
}

#[tokio::test]
async fn a_server_of_another_protocol_or_that_was_rolled_back_makes_no_device_drop_its_report() {
    let world = World::new("sealed", 4, 4).await;
    world.tick(6).await;
    let truth = world.server.news();
    *world.server.says.lock().unwrap() = Some(News { model: 0, ..truth });
    world.follow().await.unwrap();
    let subject = world.loop_().subject().clone();
    let early = seal(&subject, &key(2), 0, &vec![0.0; subject.values]);
    assert!(unavailable(world.take(&early, "a").await).contains("rolled back"));
    assert!(world.shuffler.troubles()[0].contains("rolled back from model 6 to 0"));
    *world.server.says.lock().unwrap() = None;
    world.follow().await.unwrap();
    assert!(matches!(world.take(&early, "a").await, Err(Error::Late(_))));
    assert_eq!(world.shuffler.troubles(), [""; 0]);
    *world.server.says.lock().unwrap() = Some(News { protocol: [7; 32], ..truth });
    assert!(unavailable(world.follow().await).contains("same file of loops"));
    // What it would acknowledge now the server would refuse.
    assert!(unavailable(world.take(&world.envelope(), "a").await).contains("another file"));
    *world.server.says.lock().unwrap() = None;
    world.follow().await.unwrap();
    world.take_new(1).await;
}

/// A server may state larger batches, more noise or other features than the shuffler's file has: devices then price another protocol than the shuffled one.
#[tokio::test]
async fn reports_that_were_priced_for_another_protocol_are_refused() {
    let world = World::new("sealed", 4, 4).await;
    let (own, subject) = (text("sealed", 4, 4), world.loop_().subject().clone());
    let protocol_of = |text: &str| plans_of(text)[0].reports().unwrap().subject().unwrap().protocol;
    assert_eq!(protocol_of(&own), subject.protocol);
    let mut different = BTreeSet::from([subject.protocol]);
    for stated in [
        text("sealed", 40, 4),
        own.replace("batch = 4,", "batch = 4, honest = 3,"),
        own.replace("epsilon = 4.0", "epsilon = 3.0"),
        own.replace("range = [0, 1]", "range = [0, 2]"),
        own.replace("1 minute", "2 minutes"),
        text("sum", 4, 4),
    ] {
        assert!(different.insert(protocol_of(&stated)), "{stated}");
        let subject = Subject { protocol: protocol_of(&stated), ..subject.clone() };
        let sealed = seal(&subject, &key(2), 0, &vec![0.0; subject.values]);
        let refused = world.take(&sealed, "a").await.unwrap_err().to_string();
        assert!(refused.starts_with("protocol: got "), "{refused}");
    }
    assert_eq!(world.loop_().waiting(), 0);
}

#[tokio::test]
async fn batches_that_a_server_lost_are_missed_by_it() {
    let mut world = World::new("sealed", 2, 2).await;
    let older = Arc::new(world.server.store.copy());
    for number in 0..3 {
        world.take_new(2).await;
        assert_eq!(world.forward().await.unwrap(), Forwarded::Sent(number));
    }
    world.server = Server::open(&world.plans, older, world.server.clock.clone(), key(2)).await;
    world.restart().await;
    // Only the last can be sent again.
    assert_eq!(world.forward().await.unwrap(), Forwarded::Sent(2));
    assert_eq!((world.server.loop_().next_batch(), world.server.loop_().missing_batches()), (3, 2));
    world.server.tick().await;
    assert_eq!(world.server.loop_().missing_batches(), 2);
    let reopened =
        Server::open(&world.plans, world.server.store.clone(), world.server.clock.clone(), key(2));
    assert_eq!(reopened.await.loop_().missing_batches(), 2);
}

/// A second shuffler is noticed by what the server has, before this one has acknowledged a batch that it will never send.
#[tokio::test]
async fn batches_of_another_shuffler_stop_this_one_when_it_hears_of_them() {
    let world = World::new("sealed", 2, 2).await;
    world.take_new(2).await;
    assert_eq!(world.forward().await.unwrap(), Forwarded::Sent(0));
    world.take_new(1).await;
    let truth = world.server.news();
    *world.server.says.lock().unwrap() = Some(News { next_batch: truth.next_batch + 1, ..truth });
    world.follow().await.unwrap();
    assert!(unavailable(world.take(&world.envelope(), "a").await).contains("another shuffler"));
    assert_eq!(world.forward().await.unwrap(), Forwarded::Halted);
}

/// Server and shuffler together read all reports of an installation, and not one of them.
#[test]
fn what_is_said_of_both_together_counts_all_reports() {
    let three = plans_of(&text("sum", 4, 4).replace("visits = 1", "visits = 3"));
    let local = three[0].reports().unwrap().local();
    let all = local.guarantee(0).unwrap();
    let event = local.event(0).unwrap();
    let one = Guarantee::of(&event, all.model(), all.delta()).unwrap();
    let of_three = Guarantee::of_person(&event, 3, all.model(), all.delta()).unwrap();
    assert_eq!((all.unit(), all.epsilon()), (of_three.unit(), of_three.epsilon()));
    assert!(all.epsilon() > 1.5 * one.epsilon(), "{} and {}", all.epsilon(), one.epsilon());
}

#[test]
fn batches_have_a_size_that_can_be_opened_in_time() {
    let refused = |mode: &str, batch: u64| {
        let parsed = ServiceFile::parse(&text(mode, batch, 1)).unwrap();
        parsed.check().err().map(|error| error.to_string())
    };
    let error = refused("sealed", crate::config::MOST_SEALED + 1).unwrap();
    assert!(error.contains("loop.news.shuffle.batch") && error.contains("65536"), "{error}");
    assert_eq!(refused("sealed", crate::config::MOST_SEALED), None);
    assert_eq!(refused("sum", crate::config::MOST_SEALED + 1), None);
    assert!(refused("sum", 1 << 40).is_some());
}
