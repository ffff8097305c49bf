//! Rollbacks: releases, generations, erasures and charges since the copy are not lost.

use super::{tokens::halt_rolled_back, *};
use reticent_loops::page::epsilon_text;

use crate::loops::{ChainLine, Enforcement, Rollback, verify_chain};

/// Follows the chain of a loop as it is listed to a caller.
async fn verify(service: &Arc<Service>, replays: u64) {
    let loop_ = service.central("home").unwrap();
    let header = serde_json::to_string(&service.chain_header(loop_)).unwrap();
    let records = service.releases("home", 1, 99).await.unwrap();
    let line = |record| serde_json::to_string(&ChainLine::new(record).unwrap()).unwrap();
    let lines = std::iter::once(header).chain(records.iter().map(line)).map(Ok::<_, String>);
    let answering = loop_.answering();
    let head = HeadName::new(answering.served.number, &answering.served.chain);
    let found = verify_chain(lines, Some(head)).unwrap();
    assert!(found.from_the_beginning && found.contains_head == Some(true));
    let charged = found.rollbacks.last().and_then(|link| link.rollback).unwrap().replays;
    assert_eq!(charged, replays);
    // The certificate says it too.
    let certificate = service.certificate("home").await.unwrap();
    assert!(certificate.conditions.iter().any(|one| one.text.contains("rolled back")));
    // A listing may begin behind the numbers that were left out.
    let link = found.rollbacks[0].number;
    let before = service.chain_before(loop_, link).await.unwrap();
    assert_eq!(before, records[0].chain);
}

#[tokio::test]
async fn a_rollback_done_twice_releases_nothing_until_it_is_accepted_and_is_charged_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("witness");
    let clock = Arc::new(ManualClock::at(START));
    let text = file("epsilon = 1.0, delta = 1e-6, visits = 1, per = \"ever\"", "");
    let start = async |store: &Arc<MemoryStore>| witnessed(&text, store, &clock, &path).await;
    let tick = async |service: &Arc<Service>| {
        clock.pass(TICK);
        service.tick("home").await.unwrap()
    };
    let store = Arc::new(MemoryStore::new([1; 16]));
    let service = start(&store).await;
    tick(&service).await;
    let old = Arc::new(store.copy());
    let again = Arc::new(store.copy());
    service.erase("ann").await.unwrap();
    for number in 2..=4 {
        assert_eq!(tick(&service).await, Ticked::Released(number));
    }
    let mut seen: Vec<Vec<u8>> =
        service.releases("home", 2, 9).await.unwrap().into_iter().map(|r| r.release).collect();
    let mut epsilon = 1.0;
    for (copy, replays) in [(&old, 1), (&again, 2)] {
        let service = start(copy).await;
        // Charges from after the copy was made are shown before an operator accepts anything.
        let shown = service.view(service.central("home").unwrap(), false).epsilon;
        assert!(shown > epsilon - 1e-3, "{shown}");
        assert_eq!(tick(&service).await, Ticked::Halted);
        let head = copy.head(1).await.unwrap();
        let named = HeadName::new(head.number, &head.chain).text();
        let trouble = &service.troubles()[0];
        let cost = service.price_rollback("home", &named).await.unwrap();
        for words in [
            format!(
                "rollback: this copy of the store ends at release {}, but release",
                head.number
            ),
            "Restore the newer copy; if it is lost, accept the rollback".into(),
            format!(
                "epsilon rises from {} to {} for good",
                epsilon_text(cost.before),
                epsilon_text(cost.after)
            ),
            named.clone(),
        ] {
            assert!(trouble.contains(&words), "{words}: {trouble}");
        }
        assert!(service.price_rollback("home", "4.00").await.is_err());
        // Erasures in the lost copy are made again.
        assert_eq!(copy.erased().await.unwrap().len(), 1);
        assert!(service.accept_rollback("home", "4.00").await.is_err());
        let accepted = service.accept_rollback("home", &named).await.unwrap();
        assert_eq!(
            (accepted.replays, accepted.cost),
            (replays, cost),
            "the named rollback is charged"
        );
        assert!((cost.before - shown).abs() < 1e-9, "{cost:?}, and {shown} was shown");
        // It is done once.
        assert!(service.accept_rollback("home", &named).await.is_err());
        let charged = service.certificate("home").await.unwrap().guarantee.epsilon();
        assert!(charged > epsilon + 0.2 && charged == cost.after, "{charged}, {cost:?}");
        let view = service.view(service.central("home").unwrap(), false);
        assert_eq!(view.epsilon, charged);
        let together = service.together().await.unwrap().guarantee.unwrap().epsilon();
        assert!((together - charged).abs() < 1e-6, "{together}");
        epsilon = charged;
        let Ticked::Released(number) = tick(&service).await else { panic!("no release") };
        let mut records = service.releases("home", 2, 99).await.unwrap();
        assert!(number > 4 && records.iter().all(|r| r.number >= 5), "{number}");
        verify(&service, replays).await;
        // The rollback itself is a link of the chain and no release.
        records.retain(|record| Rollback::read(&record.release).is_none());
        // No noise is drawn twice.
        seen.extend(records.into_iter().map(|r| r.release));
    }
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!((count, seen.len()), (5, 5));
}

#[tokio::test]
async fn a_generation_that_only_the_witness_knows_is_still_charged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("witness");
    let (store, clock) = (Arc::new(MemoryStore::new([1; 16])), Arc::new(ManualClock::at(START)));
    let first = file("epsilon = 1.0, delta = 1e-6, visits = 1, per = \"ever\"", "");
    let second = first.replace("epsilon = 1.0", "epsilon = 2.0");
    let third = first.replace("epsilon = 1.0", "epsilon = 0.5");
    let tick = async |service: &Arc<Service>| {
        clock.pass(TICK);
        service.tick("home").await.unwrap()
    };
    tick(&witnessed(&first, &store, &clock, &path).await).await;
    let backup = Arc::new(store.copy());
    let service = witnessed(&second, &store, &clock, &path).await;
    assert_eq!(tick(&service).await, Ticked::Released(1));
    let total = async |service: &Arc<Service>| {
        service.together().await.unwrap().guarantee.unwrap().epsilon()
    };
    let honest = total(&service).await;
    // With the old file, with the new one, and with another one: the privacy loss of the lost generation is charged.
    for (text, generations, halted) in [(&first, 3, false), (&second, 2, true), (&third, 3, false)]
    {
        let copy = Arc::new(backup.copy());
        let elsewhere =
            folder.path().join(format!("witness-{generations}-{halted}-{}", text.len()));
        std::fs::copy(&path, &elsewhere).unwrap();
        let service = witnessed(text, &copy, &clock, &elsewhere).await;
        assert_eq!(copy.generations().await.unwrap().len(), generations);
        assert!(total(&service).await >= honest - 1e-6, "{}", total(&service).await);
        assert_eq!(tick(&service).await == Ticked::Halted, halted);
        if halted {
            // It is the lost generation itself, from its beginning.
            let head = service.head(service.central("home").unwrap()).await.unwrap();
            let named = HeadName::new(head.number, &head.chain).text();
            assert_eq!(service.accept_rollback("home", &named).await.unwrap().replays, 1);
            assert!(total(&service).await > honest + 0.1);
            assert!(matches!(tick(&service).await, Ticked::Released(_)));
        }
    }
    // Served without its witness before, the store has another generation under the same number.
    let copy = Arc::new(backup.copy());
    drop(open(&third, &copy, &clock, Secret::from_bytes([3; 32])).await.unwrap());
    let refused = Service::open(witnessed_options(&third, &copy, &clock, &path)).await;
    assert!(refused.err().unwrap().to_string().contains("without its witness"));
}

/// The cost of a generation is what the accountant says, and a program that would calibrate it in another way does not begin it again.
#[tokio::test]
async fn a_lost_generation_begins_again_at_its_own_cost_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("witness");
    let (store, clock) = (Arc::new(MemoryStore::new([1; 16])), Arc::new(ManualClock::at(START)));
    let first = file("epsilon = 1.0, delta = 1e-6, visits = 1, per = \"ever\"", "");
    let second = first.replace("epsilon = 1.0", "epsilon = 2.0");
    drop(witnessed(&first, &store, &clock, &path).await);
    let copy = Arc::new(store.copy());
    drop(witnessed(&second, &store, &clock, &path).await);
    let (witness, record) = Witness::open(&path).unwrap();
    let mut record = record.unwrap();
    record.generations.get_mut(&2).unwrap().event = record.generations[&1].event.clone();
    witness.write(&record).unwrap();
    let refused = Service::open(witnessed_options(&first, &copy, &clock, &path)).await;
    let message = refused.err().unwrap().to_string();
    assert!(message.contains("calibrate it in another way"), "{message}");
    assert_eq!(copy.generations().await.unwrap().len(), 1);
}

#[tokio::test]
async fn keys_that_were_revoked_since_a_copy_was_made_are_revoked_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("witness");
    let (store, clock) = (Arc::new(MemoryStore::new([1; 16])), Arc::new(ManualClock::at(START)));
    let text = file("epsilon = 1.0, delta = 1e-6, visits = 1, per = \"ever\"", "");
    for id in ["noted", "unnoted", "kept"] {
        store.add_key(crate::store::contract::sample::key(id)).await.unwrap();
    }
    let copy = Arc::new(store.copy());
    let service = witnessed(&text, &store, &clock, &path).await;
    service.witness_revoked("noted").await.unwrap();
    // A key that was revoked while nothing was served is written to the witness by the next start.
    store.revoke_key("unnoted".into(), START).await.unwrap();
    drop(witnessed(&text, &store, &clock, &path).await);
    drop(witnessed(&text, &copy, &clock, &path).await);
    let keys = copy.keys().await.unwrap().into_iter();
    let revoked: Vec<String> = keys.filter(|key| key.revoked.is_some()).map(|key| key.id).collect();
    assert_eq!(revoked, ["noted", "unnoted"]);
}

/// Two copies of a store release beside each other: a client that has seen the other one's release stops this one.
#[tokio::test]
async fn two_releases_of_one_number_are_noticed_by_tokens_and_by_the_witness() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("witness");
    let (store, clock) = (Arc::new(MemoryStore::new([1; 16])), Arc::new(ManualClock::at(START)));
    let text = file("epsilon = 1.0, delta = 1e-6, visits = 1, per = \"ever\"", "");
    let service = witnessed(&text, &store, &clock, &path).await;
    let tick = async |service: &Arc<Service>| {
        clock.pass(TICK);
        service.tick("home").await.unwrap()
    };
    tick(&service).await;
    let (copy, elsewhere) = (Arc::new(store.copy()), folder.path().join("elsewhere"));
    let start = async || open(&text, &copy, &clock, Secret::from_bytes([3; 32])).await.unwrap();
    let token = |service: &Service| service.central("home").unwrap().answering().token.clone();
    tick(&service).await;
    let seen = token(&service);
    let beside = start().await;
    assert_eq!(tick(&beside).await, Ticked::Released(2));
    let (own, same_number) = (token(&beside), Arc::new(copy.copy()));
    assert_eq!(tick(&beside).await, Ticked::Released(3));
    beside.notice("home", &own).await.unwrap();
    assert!(beside.troubles().is_empty(), "its own earlier release is no fork");
    beside.notice("home", &seen).await.unwrap();
    let trouble = |service: &Service| service.troubles().remove(0);
    assert!(trouble(&beside).contains("two releases of number 2"), "{}", trouble(&beside));
    assert_eq!(tick(&beside).await, Ticked::Halted);
    // It is remembered, and goes on when it was accepted and charged.
    let beside = start().await;
    assert!(trouble(&beside).contains("two releases of number 2"), "{}", trouble(&beside));
    let head = copy.head(1).await.unwrap();
    let named = HeadName::new(head.number, &head.chain).text();
    assert_eq!(beside.accept_rollback("home", &named).await.unwrap().replays, 1);
    assert!(matches!(tick(&beside).await, Ticked::Released(5)));
    // The witness of the other copy notices it at a start, ahead of it or not.
    for store in [same_number, Arc::new(copy.copy())] {
        std::fs::copy(&path, &elsewhere).unwrap();
        let beside = witnessed(&text, &store, &clock, &elsewhere).await;
        assert!(trouble(&beside).contains("two releases of number 2"), "{}", trouble(&beside));
    }
}

/// Knowledge of a witness, and the loss of one, stand in the certificate, for good.
#[tokio::test]
async fn a_certificate_says_where_the_witness_is_and_that_one_was_lost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("witness");
    let (store, clock) = (Arc::new(MemoryStore::new([1; 16])), Arc::new(ManualClock::at(START)));
    let text = file("epsilon = 1.0, delta = 1e-6, visits = 1, per = \"ever\"", "");
    let conditions = async |data: Option<&str>| {
        let mut options = witnessed_options(&text, &store, &clock, &path);
        let opened = options.witness.take();
        options.witness = data
            .zip(opened)
            .map(|(data, (witness, record))| (witness.beside(std::path::Path::new(data)), record));
        let service = Service::open(options).await.unwrap();
        let conditions = service.certificate("home").await.unwrap().conditions;
        // The page of all loops says the same.
        for shared in service.together().await.unwrap().conditions {
            assert!(conditions.contains(&shared), "{}", shared.text);
        }
        let about = |words: &str| {
            let found = conditions.iter().find(|condition| condition.text.contains(words));
            found.map(|condition| (condition.enforcement, condition.by.clone()))
        };
        (
            about("no release is made from an older copy").unwrap(),
            about("the witness was lost"),
            about("was started without a witness on another filesystem"),
        )
    };
    let own = folder.path().to_str().unwrap();
    for (data, words) in [(None, "no witness file"), (Some(own), "on the filesystem of the data")] {
        let ((enforcement, by), lost, _) = conditions(data).await;
        assert_eq!((enforcement, lost), (Enforcement::Assumed, None));
        assert!(by.contains(words), "{by}");
    }
    // Other filesystems of every machine with Linux.
    let ((enforcement, by), _, unwatched) = conditions(Some("/proc")).await;
    // A snapshot of the machine has both: no number of a device shows that they are not restored together.
    assert_eq!((enforcement, unwatched), (Enforcement::Assumed, None));
    assert!(by.contains("never restores the witness file together with the data"), "{by}");
    // `run` notes a start without one.
    store.raise_floor(UNWATCHED.into(), START).await.unwrap();
    let (enforcement, _) = conditions(Some("/proc")).await.2.unwrap();
    assert_eq!(enforcement, Enforcement::Assumed);
    store.keep_setting(WITNESS_LOST.into(), START.to_le_bytes().to_vec()).await.unwrap();
    for _ in 0..2 {
        let (enforcement, by) = conditions(Some("/proc")).await.1.unwrap();
        assert_eq!(enforcement, Enforcement::Assumed);
        assert!(by.contains("--witness-lost"), "{by}");
    }
}

#[tokio::test]
async fn a_restart_before_the_first_release_is_no_rollback() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("witness");
    let (store, clock) = (Arc::new(MemoryStore::new([1; 16])), Arc::new(ManualClock::at(START)));
    let text = file("epsilon = 1.0, delta = 1e-6, visits = 1, per = \"ever\"", "");
    drop(witnessed(&text, &store, &clock, &path).await);
    let service = witnessed(&text, &store, &clock, &path).await;
    assert_eq!(service.troubles(), Vec::<String>::new());
    clock.pass(TICK);
    assert_eq!(service.tick("home").await.unwrap(), Ticked::Released(1));
}

#[tokio::test]
async fn a_head_that_is_served_under_a_doubted_clock_is_known_to_the_witness() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("witness");
    let (store, clock) = (Arc::new(MemoryStore::new([1; 16])), Arc::new(ManualClock::at(START)));
    let text = file("epsilon = 1.0, delta = 1e-6, visits = 1, per = \"ever\"", "");
    let service = witnessed(&text, &store, &clock, &path).await;
    clock.pass(TICK);
    service.tick("home").await.unwrap();
    let copy = Arc::new(store.copy());
    let before = std::fs::read(&path).unwrap();
    clock.pass(TICK);
    assert_eq!(service.tick("home").await.unwrap(), Ticked::Released(2));
    // The process had died before it wrote to the witness, and the machine was away for ten days.
    std::fs::write(&path, before).unwrap();
    clock.pass(10 * 24 * 3_600_000);
    let service = witnessed(&text, &store, &clock, &path).await;
    assert!(!service.troubles().is_empty());
    assert_eq!(service.central("home").unwrap().answering().served.number, 2);
    // A rollback to the older copy is noticed now.
    let service = witnessed(&text, &copy, &clock, &path).await;
    assert!(service.troubles().iter().any(|why| why.contains("rollback: ")));
}

#[tokio::test]
async fn another_key_of_the_events_is_refused() {
    let clock = Arc::new(ManualClock::at(START));
    let text = file("epsilon = 1.0, delta = 1e-6, visits = 1, per = \"ever\"", "");
    let (copy, _) = halt_rolled_back(&text, &clock).await;
    let folder = tempfile::tempdir().unwrap();
    let mut options = witnessed_options(&text, &copy, &clock, &folder.path().join("witness"));
    options.events = Secret::from_bytes([77; 32]);
    let refused = Service::open(options).await.err().unwrap().to_string();
    assert!(refused.contains("events.key"), "{refused}");
}

/// A machine that is cloned, or an unnoticed rollback: the same noise on other data would show them by subtraction.
#[tokio::test]
async fn copies_of_one_state_never_draw_the_same_noise() {
    let (store, clock) = (Arc::new(MemoryStore::new([1; 16])), Arc::new(ManualClock::at(START)));
    let text = file("epsilon = 1.0, delta = 1e-6, visits = 1, per = \"ever\"", "");
    let start = async |store: &Arc<MemoryStore>| {
        open(&text, store, &clock, Secret::from_bytes([3; 32])).await.unwrap()
    };
    let service = start(&store).await;
    clock.pass(TICK);
    assert_eq!(service.tick("home").await.unwrap(), Ticked::Released(1));
    clock.pass(TICK);
    let mut releases = Vec::new();
    for copy in [Arc::new(store.copy()), Arc::new(store.copy())] {
        let service = start(&copy).await;
        assert_eq!(service.tick("home").await.unwrap(), Ticked::Released(2));
        releases.extend(service.releases("home", 2, 1).await.unwrap());
    }
    assert_eq!(releases[0].time, releases[1].time);
    assert_ne!(releases[0].release, releases[1].release);
}
