//! Several processes on one PostgreSQL database.

use super::*;
use crate::store::{Committed, PostgresStore, Step, postgres::testing::cluster};

/// A process: a service with connections of its own. All have one clock, as replicas have that of the database.
struct Replica {
    world: World,
    database: Arc<PostgresStore>,
}

impl Replica {
    async fn open(url: &str, text: &str, clock: &Arc<ManualClock>) -> Self {
        let database = Arc::new(PostgresStore::open(url).await.unwrap());
        let service = open(text, &database, clock, Secret::from_bytes([3; 32])).await.unwrap();
        // The store of a world is not used here.
        let store = Arc::new(MemoryStore::new([0; 16]));
        Replica { world: World { service, store, clock: clock.clone() }, database }
    }

    async fn tick(&self) -> Ticked {
        self.world.service.tick("home").await.unwrap()
    }

    fn each(&self) -> &Arc<Loop> {
        self.world.service.find("home").unwrap()
    }

    /// Shows it a release that may or may not be there.
    async fn show(&self, number: u64) {
        let head = HeadName::new(number, &[7; 32]);
        let token = Token::write(&self.world.service.tokens, self.each().life, &head);
        self.world.service.notice("home", &token).await.unwrap();
    }

    async fn numbers(&self) -> Vec<u64> {
        let records = self.world.service.releases("home", 1, 99).await.unwrap();
        records.iter().map(|record| record.number).collect()
    }
}

async fn two(text: &str) -> Option<(Replica, Replica, Arc<ManualClock>)> {
    let url = cluster()?.empty();
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
    assert_eq!(one.each().answering().token, other.each().answering().token);
    assert!(
        matches!(one.world.reward("two", 1.0).await, Err(Error::Late(_))),
        "a slot is closed for all"
    );
}

#[tokio::test]
async fn open_events_of_all_processes_are_counted() {
    let Some((one, other, clock)) = two(&file(EXACT, "")).await else { return };
    one.world.rank("one", None).await;
    assert_eq!(other.each().open_events(), 0, "until it looks");
    clock.pass(TICK);
    one.tick().await;
    other.tick().await;
    assert_eq!(other.each().open_events(), CROWD as u64);
    for _ in 0..3 {
        clock.pass(TICK);
        one.tick().await;
        other.tick().await;
    }
    assert_eq!((one.each().open_events(), other.each().open_events()), (0, 0));
}

#[tokio::test]
async fn a_releaser_that_was_stopped_cannot_release_when_it_comes_back() {
    let Some((one, other, clock)) = two(&file(EXACT, "")).await else { return };
    clock.pass(TICK);
    assert_eq!(one.tick().await, Ticked::Released(1));
    let life = one.each().life;
    let old = one.database.head(life).await.unwrap();
    // It is stopped for longer than its lease.
    one.database.tamper("update heads set leased = 0").await;
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
    assert_eq!((one.each().halted(), one.world.number()), (None, 2), "it follows");
    assert_eq!(other.tick().await, Ticked::Released(3));
    // A process that stops in order gives the right away at once.
    other.each().lease.give_up(other.database.as_ref(), life).await;
    clock.pass(TICK);
    assert_eq!(one.tick().await, Ticked::Released(4));
    assert_eq!(one.numbers().await, [1, 2, 3, 4]);
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
    let kept = one.database.kept_events(one.each().life, Place::default(), 100).await.unwrap();
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
    let kept = one.database.kept_events(one.each().life, Place::default(), 100).await.unwrap();
    let learnt = kept.iter().filter(|(_, event)| event.learnt).count();
    assert_eq!((kept.len(), learnt), (40, 3));
}

#[tokio::test]
async fn what_one_process_sees_stops_all_and_what_an_operator_accepts_lets_all_go_on() {
    let Some((one, other, clock)) = two(&file(EXACT, "")).await else { return };
    clock.pass(TICK);
    assert_eq!(one.tick().await, Ticked::Released(1));
    other.tick().await;
    // The second, which has no right to release, is shown a release that the store does not have.
    other.show(7).await;
    clock.pass(TICK);
    assert_eq!(one.tick().await, Ticked::Halted);
    assert!(one.each().halted().unwrap().contains("release 7 has been seen"));
    assert_eq!(other.tick().await, Ticked::Halted);
    let head = one.database.head(one.each().life).await.unwrap();
    assert_eq!(head.number, 1);
    let named = HeadName::new(head.number, &head.chain).text();
    assert_eq!(one.world.service.accept_rollback("home", &named).await.unwrap(), 1);
    assert_eq!(one.tick().await, Ticked::Released(9));
    assert_eq!(other.tick().await, Ticked::Nothing);
    assert_eq!((other.each().halted(), other.world.number()), (None, 9));
    // What only the second has seen stops all of them again.
    other.show(20).await;
    assert_eq!(one.tick().await, Ticked::Halted);
}

/// A releaser that has looked and found nothing cannot commit what is noted against meanwhile.
#[tokio::test]
async fn a_note_ends_the_right_of_whoever_releases() {
    let Some((one, other, clock)) = two(&file(EXACT, "")).await else { return };
    clock.pass(TICK);
    assert_eq!(one.tick().await, Ticked::Released(1));
    let (life, epoch) = (one.each().life, one.each().lease.epoch());
    let folded = one.database.head(life).await.unwrap().folded;
    other.show(7).await;
    let release =
        ReleaseRecord { number: 2, time: 1, hash: [9; 32], chain: [9; 32], release: vec![9] };
    let step = Step { life, epoch, state: vec![9], folded, release };
    assert!(matches!(one.database.release(step).await.unwrap(), Committed::No(_)));
}

/// A standby that was behind is promoted under processes that run.
#[tokio::test]
async fn a_database_that_goes_back_is_noticed_by_what_was_served() {
    for forked in [false, true] {
        let Some((one, other, clock)) = two(&file(EXACT, "")).await else { return };
        clock.pass(TICK);
        assert_eq!(one.tick().await, Ticked::Released(1));
        one.database.tamper("create table old as select * from heads").await;
        clock.pass(TICK);
        assert_eq!(one.tick().await, Ticked::Released(2));
        one.database
            .tamper(
                "delete from heads; insert into heads select * from old; update heads set epoch = epoch + 1, leased = 0; \
                 delete from releases where number > 1",
            )
            .await;
        if forked {
            // The second has not served what is lost, and releases others under its numbers.
            for number in [2, 3] {
                clock.pass(TICK);
                assert_eq!(other.tick().await, Ticked::Released(number));
            }
        }
        clock.pass(TICK);
        assert_eq!(one.tick().await, Ticked::Halted);
        let why = one.each().halted().unwrap();
        let words = if forked { "two releases of number 2" } else { "release 2 has been seen" };
        assert!(why.contains(words), "{why}");
        assert_eq!(other.tick().await, Ticked::Halted, "the others stop too");
    }
}

/// Under a key that only one process knows, the other would count visits from zero.
#[tokio::test]
async fn a_process_without_the_new_key_of_people_learns_nothing_from_them() {
    let text = file(&format!("{EXACT}, visits = 1, per = \"ever\""), "");
    let Some(cluster) = cluster() else { return };
    let (url, clock) = (cluster.empty(), Arc::new(ManualClock::at(START)));
    let old = Replica::open(&url, &text, &clock).await;
    let database = Arc::new(PostgresStore::open(&url).await.unwrap());
    let new = Service::open(Options {
        plans: ServiceFile::parse(&text).unwrap().check().unwrap(),
        store: database.clone(),
        clock: clock.clone(),
        people: Secret::from_bytes([4; 32]),
        earlier_people: vec![Secret::from_bytes([3; 32])],
        events: Secret::from_bytes([5; 32]),
        witness: None,
        limits: Limits::default(),
    });
    let new = new.await.unwrap();
    new.rank("home", request("one", Some("ada"))).await.unwrap();
    old.world.service.rank("home", request("two", Some("ada"))).await.unwrap();
    let kept = database.kept_events(old.each().life, Place::default(), 9).await.unwrap();
    assert_eq!(kept.iter().filter(|(_, event)| event.learnt).count(), 1, "one visit");
    assert!(old.world.service.troubles().is_empty(), "until it looks");
    old.world.service.follow_others().await.unwrap();
    let troubles = old.world.service.troubles();
    assert!(troubles[0].contains("another process has begun with other keys"), "{troubles:?}");
    new.follow_others().await.unwrap();
    assert!(new.troubles().is_empty(), "{:?}", new.troubles());
}
