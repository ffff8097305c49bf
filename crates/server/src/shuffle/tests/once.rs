//! A report leaves once, whatever becomes of the file, the store and the numbers of models before.

use super::*;
use crate::store::{Digest, NewEvent, Payer};

/// Reports that have left, and whose ids are forgotten: their model is too old.
async fn gone(world: &World) -> Vec<Envelope> {
    let envelopes = world.take_new(2).await;
    assert_eq!(world.forward().await.unwrap(), Forwarded::Sent(0));
    world.tick(6).await;
    envelopes
}

async fn refused_for_good(world: &World, envelopes: &[Envelope]) {
    for envelope in envelopes {
        let again = world.take(envelope, "10.0.0.2").await;
        assert!(matches!(again, Err(Error::Late(_) | Error::Core(_))), "{again:?}");
    }
    assert_eq!(world.loop_().waiting(), 0);
}

#[tokio::test]
async fn a_longer_time_for_late_reports_takes_none_again() {
    let mut world = World::new("sealed", 2, 2).await;
    let envelopes = gone(&world).await;
    refused_for_good(&world, &envelopes).await;
    world.plans = plans_of(&text("sealed", 2, 2).replace("3 minutes", "1 hour"));
    world.restart().await;
    assert_eq!(world.plans[0].reports().unwrap().late_models, 60);
    refused_for_good(&world, &envelopes).await;
    // Reports on later models are taken for longer now.
    let kept = world.envelope();
    world.tick(10).await;
    assert_eq!(world.take(&kept, "10.0.0.2").await.unwrap(), Taken::Taken);
}

#[tokio::test]
async fn an_empty_store_takes_later_models_only_and_goes_on_with_the_numbers() {
    let mut world = World::new("sealed", 2, 2).await;
    let left = world.take_new(2).await;
    let older = Arc::new(world.store.copy());
    assert_eq!(world.forward().await.unwrap(), Forwarded::Sent(0));
    world.tick(1).await;
    let before = world.envelope();
    // An older copy stops, and what it says to do helps.
    world.store = older;
    world.restart().await;
    assert_eq!(world.forward().await.unwrap(), Forwarded::Halted);
    world.store = Arc::new(MemoryStore::new([4; 16]));
    world.restart().await;
    refused_for_good(&world, &[left.clone(), vec![before]].concat()).await;
    world.tick(1).await;
    refused_for_good(&world, &left).await;
    world.take_new(2).await;
    assert_eq!(world.forward().await.unwrap(), Forwarded::Sent(1));
    assert_eq!(world.forward().await.unwrap(), Forwarded::Waiting);
    world.restart().await;
    assert_eq!(world.forward().await.unwrap(), Forwarded::Waiting);
    assert_eq!(world.shuffler.troubles(), [""; 0]);
    world.tick(1).await;
    assert_eq!((world.server.model().reports(), world.server.loop_().missing_batches()), (4, 0));
}

#[tokio::test]
async fn reports_of_another_generation_are_foreign_and_one_that_comes_back_stops() {
    let mut world = World::new("sealed", 2, 2).await;
    let left = world.take_new(2).await;
    assert_eq!(world.forward().await.unwrap(), Forwarded::Sent(0));
    world.take_new(1).await;
    let first = world.plans.clone();
    // The randomiser is the same: only the time between two models is another.
    world.plans = plans_of(&text("sealed", 2, 2).replace("1 minute", "2 minutes"));
    let protocol = |plan: &Plan| plan.reports().unwrap().local().protocol();
    assert_eq!(protocol(&first[0]), protocol(&world.plans[0]));
    let (store, clock) = (Arc::clone(&world.server.store), Arc::clone(&world.server.clock));
    world.server = Server::open(&world.plans, store, clock, key(2)).await;
    world.restart().await;
    refused_for_good(&world, &left).await;
    world.take_new(2).await;
    assert_eq!(world.forward().await.unwrap(), Forwarded::Sent(0));
    // Nothing is left of the first one.
    assert!(world.store.kept_events(1, Place::default(), 9).await.unwrap().is_empty());
    world.plans = first;
    let (store, clock) = (Arc::clone(&world.server.store), Arc::clone(&world.server.clock));
    world.server = Server::open(&world.plans, store, clock, key(2)).await;
    world.restart().await;
    assert!(matches!(world.take(&left[0], "a").await, Err(Error::Unavailable(_))));
    assert!(world.shuffler.troubles()[0].contains("another name"));
    assert_eq!(world.forward().await.unwrap(), Forwarded::Halted);
}

/// A file that is wrong at the shuffler alone gives nothing up, and with the right one everything goes on.
#[tokio::test]
async fn a_wrong_file_of_loops_changes_nothing() {
    let mut world = World::new("sealed", 4, 4).await;
    let waiting = world.take_new(3).await;
    let (right, more) = (world.plans.clone(), world.envelope());
    let before = world.store.generations().await.unwrap();
    world.plans = plans("sealed", 2, 2);
    world.restart().await;
    for _ in 0..2 {
        let Err(error @ Error::Unavailable(_)) = world.follow().await else { panic!() };
        world.loop_().fail(&error);
        assert!(world.shuffler.troubles()[0].contains("same file of loops"));
        assert!(world.forward().await.is_err());
        let taken = world.take(&more, "10.0.0.2").await;
        assert!(matches!(taken, Err(Error::Unavailable(_))), "{taken:?}");
    }
    assert!(world.store.generations().await.unwrap() == before);
    world.plans = right;
    world.restart().await;
    assert_eq!((world.loop_().waiting(), world.shuffler.troubles()), (3, vec![]));
    let last = world.take_new(1).await;
    assert_eq!(world.forward().await.unwrap(), Forwarded::Sent(0));
    let left: BTreeSet<[u8; 16]> = world.server.batches().concat().into_iter().collect();
    assert_eq!(left, waiting.iter().chain(&last).map(|envelope| envelope.id).collect());
}

/// Ids are forgotten while a report is on its way to the store, which had looked at the floor before.
#[tokio::test]
async fn a_report_is_compared_with_the_floor_when_it_is_stored() {
    let world = World::new("sealed", 2, 2).await;
    let envelope = world.envelope();
    let floor = contact::floor_name(world.loop_().generation().unwrap());
    assert_eq!(world.store.raise_floor(floor, 1).await.unwrap(), 1);
    assert!(matches!(
        world.take(&envelope, "10.0.0.1").await,
        Err(Error::Late(_) | Error::Unavailable(_))
    ));
    assert_eq!(world.loop_().waiting(), 0);
    let generation = world.loop_().generation().unwrap();
    assert!(world.store.kept_events(generation, Place::default(), 9).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_batch_holds_reports_that_are_sealed_to_one_key() {
    let mut world = World::new("sealed", 3, 3).await;
    world.take_new(2).await;
    let old = world.envelope();
    // The server comes back with another key.
    let (store, clock) = (Arc::clone(&world.server.store), Arc::clone(&world.server.clock));
    world.server = Server::open(&world.plans, store, clock, key(9)).await;
    world.restart().await;
    assert_eq!(world.forward().await.unwrap(), Forwarded::Waiting);
    assert_eq!(world.loop_().waiting(), 0);
    // Whether the key is an old or a new one is not the device's fault.
    assert!(matches!(world.take(&old, "a").await, Err(Error::Unavailable(_))));
    let new = world.take_new(3).await;
    assert_eq!(world.forward().await.unwrap(), Forwarded::Sent(0));
    let ids: BTreeSet<[u8; 16]> = world.server.batches().concat().into_iter().collect();
    assert_eq!(ids, new.iter().map(|envelope| envelope.id).collect());
    world.server.tick().await;
    assert_eq!(world.server.model().reports(), 3);
    // The others are given up with it, and nothing waits for ever.
    world.restart().await;
    assert_eq!(world.forward().await.unwrap(), Forwarded::Waiting);
    // Two rows of each of five reports: the mark of its sealed bytes, and the report.
    assert_eq!(world.loop_().state().consumed.number, 10);
}

#[tokio::test]
async fn a_damaged_row_stops_nothing() {
    let mut world = World::new("sealed", 2, 2).await;
    world.take_new(1).await;
    let damaged = NewEvent {
        generation: world.loop_().generation().unwrap(),
        event: [9; 16],
        request: Digest::default(),
        answer: Vec::new(),
        person: None,
        payer: Payer::Decision,
        slot: 1,
        time: 0,
        deferred: false,
        features: Vec::new(),
        raw: vec![1, 2, 3],
    };
    world.store.insert_events(vec![damaged]).await.unwrap();
    world.restart().await;
    world.take_new(1).await;
    assert_eq!(world.forward().await.unwrap(), Forwarded::Sent(0));
    assert_eq!(world.server.batches().concat().len(), 2);
}

/// A sender who has the bytes cannot send them again under another salt or model, before and after their batch has left and the process has ended: the server
/// would see one ciphertext several times.
#[tokio::test]
async fn sealed_bytes_are_taken_under_one_outer_id_only() {
    let mut world = World::new("sealed", 2, 2).await;
    let envelope = world.envelope();
    assert_eq!(world.take(&envelope, "10.0.0.1").await.unwrap(), Taken::Taken);
    let others = |model| {
        [7, 8].map(|salt| {
            let other = Envelope { salt: [salt; 16], model, ..envelope.clone() };
            world.loop_().subject.read(&other.bytes()).unwrap()
        })
    };
    let (same_model, later_model) = (others(0), others(1));
    for other in &same_model {
        assert_ne!(other.id, envelope.id);
        assert_eq!(world.take(other, "10.0.0.2").await.unwrap(), Taken::Duplicate);
    }
    assert_eq!(world.loop_().waiting(), 1);
    world.restart().await;
    assert_eq!(world.take(&same_model[0], "10.0.0.2").await.unwrap(), Taken::Duplicate);
    assert_eq!(world.take(&envelope, "10.0.0.2").await.unwrap(), Taken::Duplicate);
    world.take_new(1).await;
    assert_eq!(world.forward().await.unwrap(), Forwarded::Sent(0));
    world.tick(1).await;
    for other in same_model.iter().chain(&later_model) {
        assert_eq!(world.take(other, "10.0.0.3").await.unwrap(), Taken::Duplicate);
    }
    assert_eq!((world.loop_().waiting(), world.server.batches().concat().len()), (0, 2));
}

/// The process dies between the mark of the sealed bytes and the report: the same bytes again are taken.
#[tokio::test]
async fn a_report_whose_mark_alone_was_stored_is_taken_when_it_comes_again() {
    let mut world = World::new("sealed", 2, 2).await;
    let envelope = world.envelope();
    for after in [0, 1] {
        world.store.fail_after(after, Fault::Before);
        assert!(world.take(&envelope, "10.0.0.1").await.is_err());
    }
    world.restart().await;
    assert_eq!(world.take(&envelope, "10.0.0.1").await.unwrap(), Taken::Taken);
    assert_eq!(world.take(&envelope, "10.0.0.1").await.unwrap(), Taken::Duplicate);
    assert_eq!(world.loop_().waiting(), 1);
}

/// A sender who has the bytes cannot send them again as a report on a newer model.
#[tokio::test]
async fn the_model_is_bound_to_what_is_sealed() {
    let world = World::new("sum", 2, 2).await;
    let envelope = world.envelope();
    world.tick(1).await;
    let newer = Envelope { model: 1, ..envelope.clone() };
    let Err(Error::Invalid { value, .. }) = world.take(&newer, "a").await else { panic!() };
    assert_eq!(value, "what cannot be read");
    assert_eq!(world.take(&envelope, "a").await.unwrap(), Taken::Taken);
}
