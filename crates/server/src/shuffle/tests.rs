//! The shuffler with its server in one process, on the store's model: every transaction and every call between them may fail before it happens, or after it,
//! when only the answer is lost, and the process dies with it.

mod once;
mod order;
mod parties;
mod server;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use reticent::{bandit::Model, noise::SecureNoise, wire};

use self::parties::*;
use super::*;
use crate::{
    client::Body,
    clock::ManualClock,
    config::ServiceFile,
    sealed::{Envelope, SealedBatch},
    service::{Reports, Service, Taken},
    store::{Fault, FaultAfter, MemoryStore, Pending},
};

#[tokio::test]
async fn no_batch_under_its_size_leaves_and_a_report_leaves_once() {
    let mut world = World::new("sealed", 4, 4).await;
    let envelopes: Vec<Envelope> = (0..5).map(|_| world.envelope()).collect();
    for envelope in &envelopes[..3] {
        assert_eq!(world.take(envelope, "10.0.0.1").await.unwrap(), Taken::Taken);
        assert_eq!(world.take(envelope, "10.0.0.1").await.unwrap(), Taken::Duplicate);
        assert_eq!(world.forward().await.unwrap(), Forwarded::Waiting);
        world.restart().await;
    }
    assert!(world.server.received.lock().unwrap().is_empty());
    for envelope in &envelopes[3..] {
        assert_eq!(world.take(envelope, "10.0.0.2").await.unwrap(), Taken::Taken);
    }
    assert_eq!(world.forward().await.unwrap(), Forwarded::Sent(0));
    assert_eq!(world.forward().await.unwrap(), Forwarded::Waiting);
    world.restart().await;
    // Ids of reports that have left are remembered.
    for envelope in &envelopes {
        assert_eq!(world.take(envelope, "10.0.0.3").await.unwrap(), Taken::Duplicate);
    }
    assert_eq!((world.loop_().waiting(), world.loop_().batches()), (1, 1));
    let batches = world.server.batches();
    assert_eq!(batches.len(), 1);
    let left: BTreeSet<[u8; 16]> = batches[0].iter().copied().collect();
    assert_eq!(left, envelopes[..4].iter().map(|envelope| envelope.id).collect());
    world.server.tick().await;
    assert_eq!(world.server.model().reports(), 4);
}

/// A batch holds nothing about senders, models and waiting: two batches of the same sealed reports are permutations of each other.
#[tokio::test]
async fn what_leaves_is_ids_and_sealed_bytes_alone() {
    let mut world = World::new("sealed", 3, 3).await;
    let envelopes: Vec<Envelope> = (0..3).map(|_| world.envelope()).collect();
    let mut sent = Vec::new();
    for (addresses, ticks) in [(["10.0.0.1"; 3], 0), (["a", "b", "c"], 2)] {
        world.store = Arc::new(MemoryStore::new([3; 16]));
        world.server = Server::new(&world.plans).await;
        for _ in 0..ticks {
            world.server.tick().await;
        }
        world.restart().await;
        for (envelope, address) in envelopes.iter().zip(addresses) {
            world.take(envelope, address).await.unwrap();
        }
        world.forward().await.unwrap();
        sent.push(world.server.received.lock().unwrap().remove(0));
    }
    let subject = world.loop_().subject().clone();
    let header = 1 + 32 + 32 + 8 + 4;
    assert_eq!(sent[0][..header], sent[1][..header]);
    let report = 16 + subject.sealed_length();
    assert_eq!(sent[0].len(), header + 3 * report);
    let members = |bytes: &[u8]| -> BTreeSet<Vec<u8>> {
        bytes[header..].chunks(report).map(<[u8]>::to_vec).collect()
    };
    let expected: BTreeSet<Vec<u8>> =
        envelopes.iter().map(|envelope| [&envelope.id[..], &envelope.sealed].concat()).collect();
    assert_eq!(members(&sent[0]), expected);
    assert_eq!(members(&sent[1]), expected);
}

/// Every transaction of the shuffler's store and every call to the server fails once, before and after it has happened.
#[tokio::test]
async fn a_death_between_any_two_steps_loses_no_acknowledged_report_and_forwards_none_twice() {
    let mut deaths = 0;
    for of_store in [true, false] {
        for fault in [Fault::Before, Fault::After] {
            for step in 0.. {
                let mut world = World::new("sealed", 2, 2).await;
                match of_store {
                    true => world.store.fail_after(step, fault),
                    false => *world.server.fault.lock().unwrap() = FaultAfter::new(step, fault),
                }
                let mut acknowledged = BTreeSet::new();
                for round in 0..6 {
                    let envelope = world.envelope();
                    while world.take(&envelope, "10.0.0.1").await.is_err() {
                        world.restart().await;
                    }
                    acknowledged.insert(envelope.id);
                    while world.forward().await.is_err() {
                        world.restart().await;
                    }
                    if round % 2 == 1 {
                        world.server.tick().await;
                        while world.follow().await.is_err() {
                            world.restart().await;
                        }
                    }
                }
                let fired = match of_store {
                    true => !world.store.will_fail(),
                    false => !world.server.fault.lock().unwrap().is_to_come(),
                };
                deaths += u64::from(fired);
                while world.forward().await.unwrap() != Forwarded::Waiting {}
                let batches = world.server.batches();
                let left: Vec<[u8; 16]> = batches.concat();
                let what = format!("{of_store} {fault:?} at {step}");
                assert!(batches.iter().all(|batch| batch.len() == 2), "{what}");
                assert_eq!(left.len(), 6, "{what}");
                assert_eq!(left.into_iter().collect::<BTreeSet<_>>(), acknowledged, "{what}");
                world.server.tick().await;
                assert_eq!(world.server.model().reports(), 6, "{what}");
                if !fired {
                    break;
                }
            }
        }
    }
    assert!(deaths >= 40, "{deaths}");
}

#[tokio::test]
async fn a_death_without_a_restart_is_the_same() {
    // The process runs on after the failure: its state in memory must not be ahead of or behind the store.
    for fault in [Fault::Before, Fault::After] {
        for step in 0..20 {
            let world = World::new("sealed", 2, 2).await;
            world.store.fail_after(step, fault);
            for _ in 0..6 {
                let envelope = world.envelope();
                while world.take(&envelope, "10.0.0.1").await.is_err() {
                    // A sender at its cap by a report that may not be stored waits until counts are read again.
                    let _ = world.forward().await;
                }
                while world.forward().await.is_err() {}
            }
            while world.forward().await.unwrap() != Forwarded::Waiting {}
            assert_eq!(world.server.batches().concat().len(), 6, "{fault:?} at {step}");
            assert_eq!(world.loop_().waiting(), 0);
        }
    }
}

#[tokio::test]
async fn senders_have_a_cap_and_old_models_foreign_keys_and_damaged_bytes_are_refused() {
    let world = World::new("sealed", 4, 1).await;
    let early = world.envelope();
    assert_eq!(world.take(&world.envelope(), "10.0.0.1").await.unwrap(), Taken::Taken);
    let error = world.take(&world.envelope(), "10.0.0.1").await.unwrap_err();
    assert!(matches!(error, Error::TooMany { .. }), "{error}");
    assert_eq!(world.take(&world.envelope(), "10.0.0.2").await.unwrap(), Taken::Taken);
    world.tick(4).await;
    assert_eq!(world.take(&world.envelope(), "10.0.0.3").await.unwrap(), Taken::Taken);
    let Err(Error::Late(words)) = world.take(&early, "10.0.0.4").await else { panic!() };
    assert!(words.contains("model 0"), "{words}");
    let bytes = world.envelope().bytes();
    assert!(world.shuffler.take("news", &bytes[1..], "10.0.0.4").await.is_err());
    assert!(world.shuffler.take("shop", &bytes, "10.0.0.4").await.is_err());
    assert_eq!(world.loop_().waiting(), 3);
}

/// An older copy of the shuffler's store would send reports a second time among others: it stops before anything leaves.
#[tokio::test]
async fn an_older_copy_of_the_store_sends_nothing() {
    let mut world = World::new("sealed", 2, 2).await;
    for _ in 0..2 {
        world.take(&world.envelope(), "10.0.0.1").await.unwrap();
    }
    let older = Arc::new(world.store.copy());
    assert_eq!(world.forward().await.unwrap(), Forwarded::Sent(0));
    world.store = older;
    world.restart().await;
    assert_eq!(world.forward().await.unwrap(), Forwarded::Halted);
    assert_eq!(world.server.received.lock().unwrap().len(), 1);
    assert!(world.shuffler.troubles()[0].contains("older copy"));
    // Reports acknowledged now would be lost with this store.
    let Err(Error::Unavailable(words)) = world.take(&world.envelope(), "10.0.0.1").await else {
        panic!()
    };
    assert!(words.contains("older copy") && words.contains("empty folder"), "{words}");
    world.restart().await;
    assert!(matches!(world.take(&world.envelope(), "a").await, Err(Error::Unavailable(_))));
    assert_eq!(
        world
            .store
            .kept_events(world.loop_().generation().unwrap(), Place::default(), 9)
            .await
            .unwrap()
            .len(),
        4, // two reports, each with the mark of its sealed bytes
    );
}

#[tokio::test]
async fn a_summing_shuffler_hands_on_one_sum_and_refuses_what_no_device_makes() {
    let world = World::new("sum", 3, 3).await;
    let subject = world.loop_().subject().clone();
    let odd = seal(&subject, &key(3), 0, &vec![0.1; subject.values]);
    assert!(world.take(&odd, "10.0.0.1").await.unwrap_err().to_string().contains("values"));
    let not_a_number = seal(&subject, &key(3), 0, &vec![f64::NAN; subject.values]);
    assert!(world.take(&not_a_number, "10.0.0.1").await.is_err());
    for _ in 0..3 {
        world.take(&world.envelope(), "10.0.0.1").await.unwrap();
    }
    assert_eq!(world.forward().await.unwrap(), Forwarded::Sent(0));
    let text = String::from_utf8(world.server.received.lock().unwrap()[0].clone()).unwrap();
    let batch: reticent::bandit::Batch = wire::from_json(&text).unwrap();
    assert_eq!((batch.people(), batch.contents().len()), (3, 1));
    world.server.tick().await;
    assert_eq!(world.server.model().reports(), 3);
    let certificate = world.server.service.certificate("news").await.unwrap();
    let of = |words: &str| certificate.conditions.iter().any(|one| one.text.contains(words));
    assert!(of("the shuffler sees every report") && !of("the shuffler and the network read no"));
    // What core says of a shuffler in memory is not said of this one.
    let conditions = certificate.guarantee.conditions().join("; ");
    assert!(conditions.contains("sealed once") && conditions.contains("neither lost"));
    assert!(!conditions.contains("resumed") && !conditions.contains("reaches the shuffler again"));
    assert!(of("floods") && of("do not work together"));
}

/// A sealed report that a malicious device made is left out when the server opens it, and the others count.
#[tokio::test]
async fn one_bad_report_does_not_spoil_a_batch() {
    let world = World::new("sealed", 3, 3).await;
    let subject = world.loop_().subject().clone();
    let bad = seal(&subject, &key(2), 0, &vec![f64::INFINITY; subject.values]);
    world.take(&bad, "10.0.0.1").await.unwrap();
    let mut broken = world.envelope();
    broken.sealed[40] ^= 1;
    world.take(&broken, "10.0.0.1").await.unwrap();
    world.take(&world.envelope(), "10.0.0.1").await.unwrap();
    assert_eq!(world.forward().await.unwrap(), Forwarded::Sent(0));
    world.server.tick().await;
    assert_eq!(world.server.model().reports(), 1);
    // A batch of another size, and the same number with other contents, are refused by the server too.
    let loop_ = world.server.loop_();
    let bytes = world.server.received.lock().unwrap()[0].clone();
    let batch = SealedBatch::read(&subject, 3, &bytes).unwrap();
    let fewer = SealedBatch { reports: batch.reports[..2].to_vec(), number: 1, ..batch.clone() };
    assert!(world.server.service.take_batch(loop_, fewer.bytes(&subject)).await.is_err());
    let mut reordered = batch;
    reordered.reports.rotate_left(1);
    let again = world.server.service.take_batch(loop_, reordered.bytes(&subject)).await;
    assert!(matches!(again, Err(Error::Conflict(_))));
    // A batch that comes again is counted as one that came again, and nothing in it is refused again.
    let refused = || loop_.counts.refused.load(Ordering::Relaxed);
    assert_eq!(refused(), 2);
    assert_eq!(world.server.service.take_batch(loop_, bytes).await.unwrap(), Taken::Duplicate);
    assert_eq!((refused(), loop_.counts.refused_batches.load(Ordering::Relaxed)), (2, 2));
}
