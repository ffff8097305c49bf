//! Generations: what the log says of them, and that they count a person's visits together.

use std::{io::Write, sync::Mutex};

use super::*;
use crate::{service::outcomes, store::contract::sample::separate_ledgers};

/// Log lines of this thread.
#[derive(Clone, Default)]
pub(super) struct Captured(Arc<Mutex<Vec<u8>>>);

impl Captured {
    /// Captures until the guards are dropped.
    pub(super) fn begin() -> (Self, (tracing::Dispatch, tracing::subscriber::DefaultGuard)) {
        let (captured, format) = (Captured::default(), tracing_subscriber::fmt().json());
        let writer = captured.clone();
        let subscriber = format.with_writer(move || writer.clone()).finish();
        let guard = tracing::subscriber::set_default(subscriber);
        // With a single subscriber, a line that another thread reaches first is cached as never enabled.
        let other = tracing::Dispatch::new(tracing_subscriber::registry());
        (captured, (other, guard))
    }

    /// Text written since the last call.
    pub(super) fn take(&self) -> String {
        String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
    }
}

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// On one thread, so that the log of this thread is all of it.
#[tokio::test(flavor = "current_thread")]
async fn a_new_generation_is_logged_with_its_changes() {
    let (captured, _guards) = Captured::begin();
    let text = file("epsilon = 1.0, delta = 1e-6, visits = 1, per = \"ever\"", "");
    let mut world = World::new(&text).await;
    let params_hash =
        |world: &World| world.service.params_hash(world.service.central("home").unwrap());
    let logged = captured.take();
    assert!(logged.contains("the first generation begins"), "{logged}");
    assert!(
        logged.contains(&params_hash(&world)) && logged.contains("\"loop\":\"home\""),
        "{logged}"
    );
    world.again(&text).await;
    assert_eq!(captured.take(), "", "nothing has begun");
    let later = text.replace("epsilon = 1.0", "epsilon = 2.0").replace("[0, 1]", "[0, 2]");
    world.again(&later).await;
    let logged = captured.take();
    for words in [
        "a new generation begins and learns anew",
        "\"changed\":\"privacy, reward\"",
        "\"loop\":\"home\"",
        "\"generation\":2",
        &params_hash(&world),
    ] {
        assert!(logged.contains(words), "{words}: {logged}");
    }
}

/// On one thread, as above.
#[tokio::test(flavor = "current_thread")]
async fn an_accepted_rollback_has_a_line_in_the_log() {
    let (captured, _guards) = Captured::begin();
    let world =
        World::new(&file("epsilon = 4.0, delta = 1e-6, visits = 1, per = \"ever\"", "")).await;
    world.ticks(1).await;
    let loop_ = world.service.central("home").unwrap();
    let later = HeadName::new(7, &[7; 32]);
    let token = Token::write(&world.service.tokens, loop_.generation, &later);
    world.service.notice("home", &token).await.unwrap();
    let head = world.service.head(loop_).await.unwrap();
    let named = HeadName::new(head.number, &head.chain).text();
    captured.take();
    world.service.accept_rollback("home", &named).await.unwrap();
    let logged = captured.take();
    for words in [
        "an operator accepted a rollback: epsilon is now 5.94 (was 4.00), for good",
        &named,
        "\"loop\":\"home\"",
    ] {
        assert!(logged.contains(words), "{words}: {logged}");
    }
}

/// Two visits a day, and rewards within a second.
fn twice_a_day() -> String {
    let text = file("epsilon = 1.0, delta = 1e-6, visits = 2, per = \"1 day\"", "");
    text.replace("2 minutes", "1 second")
}

/// Events that are learnt from, by generation.
async fn learnt_from(store: &MemoryStore) -> Vec<usize> {
    let mut found = Vec::new();
    for generation in store.generations().await.unwrap() {
        let rows = store.kept_events(generation.id, Place::default(), 1000).await.unwrap();
        found.push(rows.iter().filter(|(_, event)| event.learnt).count());
    }
    found
}

/// One person comes once, then twice after each change of the file, which ends as it began; all within one day.
async fn three_generations() -> World {
    let texts = [twice_a_day(), twice_a_day().replace("1 second", "2 seconds"), twice_a_day()];
    let mut world = World::new(&texts[0]).await;
    for (generation, text) in texts.iter().enumerate() {
        world.again(text).await;
        for visit in 0..=generation.min(1) {
            let id = format!("{generation}/{visit}");
            world.service.rank("home", request(&id, Some("ann"))).await.unwrap();
        }
        world.clock.pass(1000);
    }
    world
}

#[tokio::test]
async fn a_person_s_visits_are_counted_over_all_generations() {
    let first = World::new(&twice_a_day()).await;
    let alone = first.service.certificate("home").await.unwrap();
    let world = three_generations().await;
    assert_eq!(learnt_from(&world.store).await, [1, 1, 0], "two visits of a day in all");
    let certificate = world.service.certificate("home").await.unwrap();
    let together = world.service.together().await.unwrap();
    let total = together.guarantee.unwrap().epsilon();
    for epsilon in [
        certificate.guarantee.epsilon(),
        total,
        world.service.view(world.service.central("home").unwrap(), false).epsilon,
    ] {
        assert!((epsilon - alone.guarantee.epsilon()).abs() < 1e-9, "{epsilon}");
    }
    assert_eq!(together.generations, ["home (3 generations with one ledger)"]);
    assert!(certificate.sentence.contains("at most 2 times in each calendar window of 1 day"));
    let states = |words: &str| certificate.conditions.iter().any(|one| one.text.contains(words));
    assert!(states("2 earlier generations of this loop counted visits in the same ledger"));
    // The next day they may be learnt from again.
    world.clock.pass(7_200_000);
    for visit in 0..3 {
        let id = format!("tomorrow/{visit}");
        world.service.rank("home", request(&id, Some("ann"))).await.unwrap();
    }
    assert_eq!(learnt_from(&world.store).await.last(), Some(&2));
}

/// In stores of earlier versions every generation counted by itself: six visits were learnt from, and what they cost stays.
#[tokio::test]
async fn generations_of_earlier_stores_stay_composed() {
    let mut world = three_generations().await;
    separate_ledgers(&world.store);
    world.again(&twice_a_day()).await;
    let epsilon = world.service.together().await.unwrap().guarantee.unwrap().epsilon();
    assert!((epsilon - 1.81).abs() < 0.01, "{epsilon}");
    let certificate = world.service.certificate("home").await.unwrap();
    assert!((certificate.guarantee.epsilon() - 1.0).abs() < 1e-3);
    let separate = "2 earlier generations of this loop have ledgers of their own";
    assert!(certificate.conditions.iter().any(|one| one.text.contains(separate)));
    // A change from now on adds nothing.
    world.again(&twice_a_day().replace("1 second", "2 seconds")).await;
    let later = world.service.together().await.unwrap().guarantee.unwrap().epsilon();
    assert!((later - epsilon).abs() < 1e-9, "{later}");
}

/// If noise or caps differ, the largest cost counts; over other periods visits are counted anew, and both are charged.
#[tokio::test]
async fn what_differs_between_generations_is_charged() {
    let epsilon = async |from: &str, to: &str| {
        let mut world = World::new(&twice_a_day()).await;
        world.again(&twice_a_day().replace(from, to)).await;
        let total = world.service.together().await.unwrap().guarantee.unwrap().epsilon();
        let certificate = world.service.certificate("home").await.unwrap();
        (certificate.guarantee.epsilon(), total)
    };
    let (own, total) = epsilon("epsilon = 1.0", "epsilon = 0.5").await;
    assert!((own - 1.0).abs() < 1e-3 && (total - own).abs() < 1e-9, "{own} {total}");
    // mu = .2211 for two visits: three cost at most 3/2 of it, and sqrt 2 of it where each generation stops at its own cap.
    let (own, total) = epsilon("visits = 2", "visits = 3").await;
    assert!((own - 1.45).abs() < 0.01 && (total - own).abs() < 1e-9, "{own} {total}");
    let (own, total) = epsilon("per = \"1 day\"", "per = \"2 days\"").await;
    assert!((own - 1.0).abs() < 1e-3 && (total - 1.45).abs() < 0.01, "{own} {total}");
}

/// An older copy has forgotten visits to releases that people have seen: a generation that begins from it counts by itself, and what it costs is composed.
#[tokio::test]
async fn a_ledger_that_has_lost_visits_does_not_go_on() {
    let other = twice_a_day().replace("1 second", "2 seconds");
    let ledgers = async |store: &MemoryStore| -> Vec<_> {
        store
            .generations()
            .await
            .unwrap()
            .iter()
            .map(|generation| (generation.id, generation.ledger))
            .collect()
    };
    let total =
        async |service: &Service| service.together().await.unwrap().guarantee.unwrap().epsilon();
    // With the copy, and whether a release and a generation came after it.
    for (released, begun, expected, epsilon) in [
        (false, false, vec![(1, 1), (2, 1)], 1.0),
        (true, false, vec![(1, 1), (2, 2)], 1.45),
        (true, true, vec![(1, 1), (2, 2), (3, 3)], 1.81),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (path, clock) = (folder.path().join("witness"), Arc::new(ManualClock::at(START)));
        let store = Arc::new(MemoryStore::new([1; 16]));
        let first = witnessed(&twice_a_day(), &store, &clock, &path).await;
        let copy = Arc::new(store.copy());
        let mut last = first;
        if begun {
            last =
                witnessed(&twice_a_day().replace("1 second", "3 seconds"), &store, &clock, &path)
                    .await;
        }
        if released {
            clock.pass(TICK);
            assert_eq!(last.tick("home").await.unwrap(), Ticked::Released(1));
        }
        let service = witnessed(&other, &copy, &clock, &path).await;
        assert_eq!(ledgers(&copy).await, expected);
        let found = total(&service).await;
        assert!((found - epsilon).abs() < 0.01, "{found}, not {epsilon}");
    }
    // An acceptance charges the line that was lost, and the ledger goes on.
    let folder = tempfile::tempdir().unwrap();
    let (path, clock) = (folder.path().join("witness"), Arc::new(ManualClock::at(START)));
    let store = Arc::new(MemoryStore::new([1; 16]));
    let service = witnessed(&twice_a_day(), &store, &clock, &path).await;
    let copy = Arc::new(store.copy());
    clock.pass(TICK);
    service.tick("home").await.unwrap();
    let service = witnessed(&twice_a_day(), &copy, &clock, &path).await;
    let head = service.head(service.central("home").unwrap()).await.unwrap();
    let named = HeadName::new(head.number, &head.chain).text();
    service.accept_rollback("home", &named).await.unwrap();
    let charged = total(&service).await;
    assert!((charged - 1.45).abs() < 0.01, "{charged}");
    let service = witnessed(&other, &copy, &clock, &path).await;
    assert_eq!(ledgers(&copy).await, [(1, 1), (2, 1)]);
    assert!((total(&service).await - charged).abs() < 1e-9);
}

/// An older copy is served with a changed file, without a witness: the ledger goes on, until a client shows what the copy lacks. It is charged once.
#[tokio::test]
async fn a_token_of_an_earlier_generation_shows_that_its_ledger_lacks_visits() {
    let (store, clock) = (Arc::new(MemoryStore::new([1; 16])), Arc::new(ManualClock::at(START)));
    let people = || Secret::from_bytes([3; 32]);
    let other = twice_a_day().replace("1 second", "2 seconds");
    let service = open(&twice_a_day(), &store, &clock, people()).await.unwrap();
    let copy = Arc::new(store.copy());
    clock.pass(TICK);
    assert_eq!(service.tick("home").await.unwrap(), Ticked::Released(1));
    let token = |service: &Service| service.central("home").unwrap().answering().token.clone();
    let lost = token(&service);
    let service = open(&other, &copy, &clock, people()).await.unwrap();
    assert_eq!(copy.generations().await.unwrap()[1].ledger, 1);
    let total = async || service.together().await.unwrap().guarantee.unwrap().epsilon();
    assert!((total().await - 1.0).abs() < 0.01);
    service.notice("home", &token(&service)).await.unwrap();
    assert_eq!(service.troubles(), Vec::<String>::new());
    service.notice("home", &lost).await.unwrap();
    assert!(service.troubles()[0].contains("visits may be missing"), "{:?}", service.troubles());
    let head = service.head(service.central("home").unwrap()).await.unwrap();
    let named = HeadName::new(head.number, &head.chain).text();
    service.accept_rollback("home", &named).await.unwrap();
    assert!((total().await - 1.45).abs() < 0.01, "{}", total().await);
    // Clients that echo it later show nothing new.
    service.notice("home", &lost).await.unwrap();
    assert_eq!(service.troubles(), Vec::<String>::new());
}

/// A rollback was noticed, and the file changed instead of accepting it: what both copies have released is charged.
#[tokio::test]
async fn a_changed_file_does_not_evade_the_charge_of_a_rollback() {
    let (store, clock) = (Arc::new(MemoryStore::new([1; 16])), Arc::new(ManualClock::at(START)));
    let people = || Secret::from_bytes([3; 32]);
    let service = open(&twice_a_day(), &store, &clock, people()).await.unwrap();
    let copy = Arc::new(store.copy());
    clock.pass(TICK);
    service.tick("home").await.unwrap();
    let lost = service.central("home").unwrap().answering().token.clone();
    let service = open(&twice_a_day(), &copy, &clock, people()).await.unwrap();
    service.tick("home").await.unwrap();
    service.notice("home", &lost).await.unwrap();
    assert!(!service.troubles().is_empty());
    for text in ["2 seconds", "2 seconds", "3 seconds"] {
        let text = twice_a_day().replace("1 second", text);
        let service = open(&text, &copy, &clock, people()).await.unwrap();
        let total = service.together().await.unwrap().guarantee.unwrap().epsilon();
        // Two lines of the first generation, and one ledger for those after it: three at the price of one.
        assert!((total - 1.81).abs() < 0.01, "{total}");
    }
}

/// `serve --check --data` predicts the effect of a changed file.
#[tokio::test]
async fn what_a_file_will_do_is_said_before() {
    let mut world = World::new(&twice_a_day()).await;
    let cases = [
        (twice_a_day(), true, ""),
        (twice_a_day().replace("1 second", "2 seconds"), false, "reward"),
        (twice_a_day().replace("epsilon = 1.0", "epsilon = 2.0"), false, "privacy, reward"),
        (twice_a_day().replace("1 day", "2 days"), false, "privacy"),
    ];
    for (text, continues, changed) in cases {
        let before = world.service.together().await.unwrap().guarantee.unwrap().epsilon();
        let stored = crate::service::stored_loops(world.store.as_ref()).await.unwrap();
        let plans = ServiceFile::parse(&text).unwrap().check().unwrap();
        let outcome = outcomes(&stored, &plans).unwrap().remove(0);
        assert_eq!((outcome.continues, outcome.changed.join(", ")), (continues, changed.into()));
        assert!((outcome.epsilon_before.unwrap() - before).abs() < 1e-9, "{outcome}");
        world.again(&text).await;
        let after = world.service.together().await.unwrap().guarantee.unwrap().epsilon();
        assert!((outcome.epsilon_after - after).abs() < 1e-9, "{outcome}, and it is {after}");
    }
    let plans = ServiceFile::parse(&twice_a_day()).unwrap().check().unwrap();
    let outcome = outcomes(&[], &plans).unwrap().remove(0).to_string();
    assert_eq!(outcome, "loop home begins its first generation: epsilon 1.00");
}
