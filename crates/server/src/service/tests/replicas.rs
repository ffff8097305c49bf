//! Several processes on one PostgreSQL database.

use super::*;
use crate::store::{Committed, PostgresStore, Step, postgres::testing::cluster};

/// A process: a service with a connection of its own. All have one clock, as replicas have that of the database.
struct Replica {
    world: World,
    database: Arc<PostgresStore>,
}

impl Replica {
    async fn open(url: &str, text: &str, clock: &Arc<ManualClock>) -> Self {
        let database = Arc::new(PostgresStore::open(url).await.unwrap());
        let service = open(text, &database, clock, Secret::from_bytes([3; 32])).await.unwrap();
        let world =
            World { service, store: Arc::new(MemoryStore::new([0; 16])), clock: clock.clone() };
        Replica { world, database }
    }

    async fn tick(&self) -> Ticked {
        self.world.service.tick("home").await.unwrap()
    }

    fn halted(&self) -> Option<String> {
        self.world.service.find("home").unwrap().halted()
    }
}

async fn two(text: &str) -> Option<(Replica, Replica, Arc<ManualClock>)> {
    let url = cluster()?.empty().await;
    let clock = Arc::new(ManualClock::at(START));
    Some((Replica::open(&url, text, &clock).await, Replica::open(&url, text, &clock).await, clock))
}

#[tokio::test]
async fn both_answer_one_releases_and_both_serve_it() {
    let Some((one, other, clock)) = two(&file(EXACT, "")).await else { return };
    one.world.rank("one", None).await;
    other.world.rank("two", None).await;
    // A reward may come to another process than the question.
    other.world.reward("one", 1.0).await.unwrap();
    for number in 1..=3 {
        clock.pass(TICK);
        assert_eq!(other.tick().await, Ticked::Nothing, "the second has no right to release");
        assert_eq!(one.tick().await, Ticked::Released(number));
        assert_eq!(other.world.number(), number - 1);
        assert_eq!(other.tick().await, Ticked::Nothing);
        assert_eq!(other.world.number(), number, "it serves what the first has released");
    }
    one.world.assert_learnt(2.0, 1.0);
    other.world.assert_learnt(2.0, 1.0);
    let heads =
        |replica: &Replica| replica.world.service.find("home").unwrap().answering().token.clone();
    assert_eq!(heads(&one), heads(&other));
    assert!(
        matches!(one.world.reward("two", 1.0).await, Err(Error::Late(_))),
        "a slot is closed for all"
    );
}

#[tokio::test]
async fn a_releaser_that_was_stopped_cannot_release_when_it_comes_back() {
    let Some((one, other, clock)) = two(&file(EXACT, "")).await else { return };
    clock.pass(TICK);
    assert_eq!(one.tick().await, Ticked::Released(1));
    let life = one.world.service.find("home").unwrap().life;
    let old = one.database.head(life).await.unwrap();
    // It is stopped for longer than its lease.
    one.database.expire_leases().await;
    clock.pass(TICK);
    assert_eq!(other.tick().await, Ticked::Released(2));
    let head = one.database.head(life).await.unwrap();
    assert!(head.epoch > old.epoch);
    // What it was about to commit when it was stopped, and the same for the number that is next now.
    for number in [2, 3] {
        let release =
            ReleaseRecord { number, time: 1, hash: [9; 32], chain: [9; 32], release: vec![9] };
        let step = Step { life, epoch: old.epoch, state: vec![9], folded: head.folded, release };
        assert!(
            matches!(one.database.release(step).await.unwrap(), Committed::No(found) if found == head)
        );
    }
    clock.pass(TICK);
    assert_eq!(one.tick().await, Ticked::Nothing);
    assert_eq!((one.halted(), one.world.number()), (None, 2), "it follows");
    assert_eq!(other.tick().await, Ticked::Released(3));
    // A process that stops in order gives the right away at once.
    let each = other.world.service.find("home").unwrap();
    other.world.service.give_up_lease(each).await;
    clock.pass(TICK);
    assert_eq!(one.tick().await, Ticked::Released(4));
    let records = one.world.service.releases("home", 1, 9).await.unwrap();
    let numbers: Vec<u64> = records.iter().map(|record| record.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
}

#[tokio::test]
async fn one_id_on_two_processes_has_one_answer() {
    let Some((one, other, _)) = two(&file(EXACT, "")).await else { return };
    for index in 0..24 {
        let id = format!("id {index}");
        let (first, second) = tokio::join!(
            one.world.service.rank("home", request(&id, None)),
            other.world.service.rank("home", request(&id, None)),
        );
        assert_eq!(first.unwrap(), second.unwrap());
    }
    let life = one.world.service.find("home").unwrap().life;
    let kept = one.database.kept_events(life, Place::default(), 100).await.unwrap();
    assert_eq!(kept.len(), 24);
}

#[tokio::test]
async fn a_person_who_races_on_all_processes_is_learnt_from_at_most_k_times() {
    let text = file(&format!("{EXACT}, visits = 3, per = \"ever\""), "");
    let Some((one, other, _)) = two(&text).await else { return };
    let asked = (0..40).map(|index| {
        let replica = if index % 2 == 0 { &one } else { &other };
        let service = Arc::clone(&replica.world.service);
        let request = request(&format!("id {index}"), Some("ada"));
        tokio::spawn(async move { service.rank("home", request).await.unwrap() })
    });
    for task in asked.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    let life = one.world.service.find("home").unwrap().life;
    let kept = one.database.kept_events(life, Place::default(), 100).await.unwrap();
    let learnt = kept.iter().filter(|(_, event)| event.learnt).count();
    assert_eq!((kept.len(), learnt), (40, 3));
}

#[tokio::test]
async fn who_sees_that_the_store_has_gone_back_lets_nobody_release() {
    let Some((one, other, clock)) = two(&file(EXACT, "")).await else { return };
    clock.pass(TICK);
    assert_eq!(one.tick().await, Ticked::Released(1));
    // The second, which has no right to release, is shown a release that the store does not have.
    let each = other.world.service.find("home").unwrap();
    let token = Token::write(&other.world.service.tokens, each.life, &HeadName::new(7, &[7; 32]));
    other.world.service.notice("home", &token).await.unwrap();
    assert_eq!(other.tick().await, Ticked::Halted);
    clock.pass(TICK);
    assert_eq!(one.tick().await, Ticked::Nothing);
    assert_eq!(one.database.head(each.life).await.unwrap().number, 1);
}
