//! Several processes on one PostgreSQL database.

use super::*;
use crate::store::{Committed, PostgresStore, Step, postgres::testing::cluster};

/// A process: a service with connections of its own. All have one clock, as replicas have that of the database.
pub(super) struct Replica {
    pub(super) world: World,
    pub(super) database: Arc<PostgresStore>,
    url: String,
}

impl Replica {
    async fn open(url: &str, text: &str, clock: &Arc<ManualClock>) -> Self {
        let database = Arc::new(PostgresStore::open(url).await.unwrap());
        let service = open(text, &database, clock, Secret::from_bytes([3; 32])).await.unwrap();
        Self::of(service, database, url, clock)
    }

    /// The same with a witness.
    async fn witnessed(
        url: &str,
        text: &str,
        clock: &Arc<ManualClock>,
        path: &std::path::Path,
    ) -> Self {
        let database = Arc::new(PostgresStore::open(url).await.unwrap());
        let options = witnessed_options(text, &database, clock, path);
        Self::of(Service::open(options).await.unwrap(), database, url, clock)
    }

    fn of(
        service: Arc<Service>,
        database: Arc<PostgresStore>,
        url: &str,
        clock: &Arc<ManualClock>,
    ) -> Self {
        // The store of a world is not used here.
        let store = Arc::new(MemoryStore::new([0; 16]));
        let world = World { service, store, clock: clock.clone() };
        Replica { world, database, url: url.into() }
    }

    /// Another process on the same database, with this file.
    pub(super) async fn again(&self, text: &str, clock: &Arc<ManualClock>) -> Self {
        Self::open(&self.url, text, clock).await
    }

    pub(super) async fn tick(&self) -> Ticked {
        self.world.service.tick("home").await.unwrap()
    }

    pub(super) fn loop_(&self) -> &Arc<Central> {
        self.world.service.central("home").unwrap()
    }

    /// Shows it a release that may or may not be there.
    async fn show(&self, number: u64) {
        let head = HeadName::new(number, &[7; 32]);
        let token = Token::write(&self.world.service.tokens, self.loop_().generation, &head);
        self.world.service.notice("home", &token).await.unwrap();
    }

    async fn numbers(&self) -> Vec<u64> {
        let records = self.world.service.releases("home", 1, 99).await.unwrap();
        records.iter().map(|record| record.number).collect()
    }
}

pub(super) async fn two(text: &str) -> Option<(Replica, Replica, Arc<ManualClock>)> {
    let url = cluster()?.empty();
    let clock = Arc::new(ManualClock::at(START));
    Some((Replica::open(&url, text, &clock).await, Replica::open(&url, text, &clock).await, clock))
}

#[tokio::test]
async fn both_answer_one_releases_and_both_serve_it() {
    let Some((one, other, clock)) = two(&file(EXACT, "")).await else { return };
    one.world.rank("one", None).await;
    other.world.rank("two", None).await;
    // A reward may come to another process than the rank request.
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
    assert_eq!(one.loop_().answering().token, other.loop_().answering().token);
    assert!(
        matches!(one.world.reward("two", 1.0).await, Err(Error::Late(_))),
        "a slot is closed for all"
    );
}

/// A standby is promoted that lacks the last commits, in both loops; one process has served the last release of one loop, and no remaining process that of the other.
#[tokio::test]
async fn a_loop_that_was_rolled_back_stops_the_others_of_its_database() {
    let text = format!("{}{}", file(EXACT, ""), file(EXACT, "").replace("loop.home", "loop.shop"));
    let Some((one, _, clock)) = two(&text).await else { return };
    let folder = tempfile::tempdir().unwrap();
    let watching = Replica::witnessed(&one.url, &text, &clock, &folder.path().join("heads")).await;
    let service = &watching.world.service;
    clock.pass(TICK);
    for name in ["home", "shop"] {
        one.world.service.tick(name).await.unwrap();
    }
    service.tick("shop").await.unwrap();
    let key = crate::store::contract::sample::key("gone");
    watching.database.add_key(key.clone()).await.unwrap();
    watching.database.revoke_key(key.id.clone(), 1).await.unwrap();
    watching.database.erase(vec![[9; 16]], 1).await.unwrap();
    service.follow_others().await.unwrap();
    watching.database.tamper("update heads set number = 0, folded = folded - 1; delete from releases; delete from erased; update keys set revoked = null").await;
    clock.pass(TICK);
    let _ = service.tick("shop").await.unwrap();
    assert!(service.central("shop").unwrap().halted().unwrap().starts_with("rollback: "));
    assert!(
        service.central("home").unwrap().halted().is_some(),
        "its last release was served by the other"
    );
    assert_eq!(service.tick("home").await.unwrap(), Ticked::Halted);
    // Revoked keys and erased people stay so.
    service.follow_others().await.unwrap();
    assert_eq!(watching.database.erased().await.unwrap(), [[9; 16]]);
    let keys = watching.database.keys().await.unwrap();
    assert!(keys.iter().all(|found| found.id != key.id || found.revoked.is_some()));
}

/// The note of a loop that was rolled back fails with the store, and is made when that answers again.
#[tokio::test]
async fn a_halt_that_could_not_be_noted_is_noted_later() {
    let Some((one, other, clock)) = two(&file(EXACT, "")).await else { return };
    clock.pass(TICK);
    one.tick().await;
    one.database.tamper("alter table settings rename to settings_away").await;
    let head = HeadName::new(9, &[7; 32]);
    let token = Token::write(&one.world.service.tokens, one.loop_().generation, &head);
    assert!(one.world.service.notice("home", &token).await.is_err());
    assert!(one.loop_().halted().is_some(), "it stops all the same");
    one.database.tamper("alter table settings_away rename to settings").await;
    assert_eq!(other.tick().await, Ticked::Nothing);
    assert!(other.loop_().halted().is_none());
    assert_eq!(one.tick().await, Ticked::Halted);
    assert_eq!(other.tick().await, Ticked::Halted, "it is noted for everybody");
}

/// A process with the file of yesterday leaves rows of a loop alone that others serve.
#[tokio::test]
async fn a_loop_that_is_missing_in_the_file_of_one_process_is_not_swept_by_it() {
    let both = format!("{}{}", file(EXACT, ""), file(EXACT, "").replace("loop.home", "loop.shop"));
    let Some((one, _, clock)) = two(&both).await else { return };
    let old = Replica::open(&one.url, &file(EXACT, ""), &clock).await;
    one.world.service.rank("shop", request("a", None)).await.unwrap();
    let generation = one.world.service.central("shop").unwrap().generation;
    clock.pass(3 * TICK);
    old.world.service.sweep().await.unwrap();
    assert_eq!(one.database.kept_events(generation, Place::default(), 9).await.unwrap().len(), 1);
    // A new generation of it is announced to any process that still serves the last one.
    let changed = both.replace("1000.0", "999.0");
    assert_ne!(changed, both);
    let _new = Replica::open(&one.url, &changed, &clock).await;
    one.world.service.follow_others().await.unwrap();
    assert!(one.loop_().halted().unwrap().contains("new generation"));
}

#[tokio::test]
async fn a_releaser_that_was_stopped_cannot_release_when_it_comes_back() {
    let Some((one, other, clock)) = two(&file(EXACT, "")).await else { return };
    clock.pass(TICK);
    assert_eq!(one.tick().await, Ticked::Released(1));
    let generation = one.loop_().generation;
    let old = one.database.head(generation).await.unwrap();
    // It is stopped for longer than its lease.
    one.database.tamper("update heads set leased = 0").await;
    clock.pass(TICK);
    assert_eq!(other.tick().await, Ticked::Released(2));
    let head = one.database.head(generation).await.unwrap();
    assert!(head.epoch > old.epoch);
    // What it was about to commit when it was stopped, and the same for the number that is next now.
    for number in [2, 3] {
        let release =
            ReleaseRecord { number, time: 1, hash: [9; 32], chain: [9; 32], release: vec![9] };
        let step =
            Step { generation, epoch: old.epoch, state: vec![9], folded: head.folded, release };
        assert!(
            matches!(one.database.release(step).await.unwrap(), Committed::No(found) if found == head)
        );
    }
    clock.pass(TICK);
    assert_eq!(one.tick().await, Ticked::Nothing);
    assert_eq!((one.loop_().halted(), one.world.number()), (None, 2), "it follows");
    assert_eq!(other.tick().await, Ticked::Released(3));
    // A process that stops in order gives the right away at once.
    other.loop_().lease.give_up(other.database.as_ref(), generation).await;
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
    let kept =
        one.database.kept_events(one.loop_().generation, Place::default(), 100).await.unwrap();
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
    let kept =
        one.database.kept_events(one.loop_().generation, Place::default(), 100).await.unwrap();
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
    assert!(one.loop_().halted().unwrap().contains("release 7 was already published"));
    assert_eq!(other.tick().await, Ticked::Halted);
    let head = one.database.head(one.loop_().generation).await.unwrap();
    assert_eq!(head.number, 1);
    let named = HeadName::new(head.number, &head.chain).text();
    assert_eq!(one.world.service.accept_rollback("home", &named).await.unwrap().replays, 1);
    assert_eq!(one.tick().await, Ticked::Released(9));
    assert_eq!(other.tick().await, Ticked::Nothing);
    assert_eq!((other.loop_().halted(), other.world.number()), (None, 9));
    // What only the second has seen stops all of them again.
    other.show(20).await;
    assert_eq!(one.tick().await, Ticked::Halted);
}

/// A releaser that has looked and found nothing cannot commit against a note that was made since.
#[tokio::test]
async fn a_note_ends_the_right_of_whoever_releases() {
    let Some((one, other, clock)) = two(&file(EXACT, "")).await else { return };
    clock.pass(TICK);
    assert_eq!(one.tick().await, Ticked::Released(1));
    let (generation, epoch) = (one.loop_().generation, one.loop_().lease.epoch());
    let folded = one.database.head(generation).await.unwrap().folded;
    other.show(7).await;
    let release =
        ReleaseRecord { number: 2, time: 1, hash: [9; 32], chain: [9; 32], release: vec![9] };
    let step = Step { generation, epoch, state: vec![9], folded, release };
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
            // The second has not served the lost releases, and releases others under their numbers.
            for number in [2, 3] {
                clock.pass(TICK);
                assert_eq!(other.tick().await, Ticked::Released(number));
            }
        }
        clock.pass(TICK);
        assert_eq!(one.tick().await, Ticked::Halted);
        let why = one.loop_().halted().unwrap();
        let words =
            if forked { "two releases of number 2" } else { "release 2 was already published" };
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
        seal_key: None,
    });
    let new = new.await.unwrap();
    new.rank("home", request("one", Some("ada"))).await.unwrap();
    old.world.service.rank("home", request("two", Some("ada"))).await.unwrap();
    let kept = database.kept_events(old.loop_().generation, Place::default(), 9).await.unwrap();
    assert_eq!(kept.iter().filter(|(_, event)| event.learnt).count(), 1, "one visit");
    assert!(old.world.service.troubles().is_empty(), "until it looks");
    old.world.service.follow_others().await.unwrap();
    let troubles = old.world.service.troubles();
    assert!(troubles[0].contains("another process has begun with other keys"), "{troubles:?}");
    new.follow_others().await.unwrap();
    assert!(new.troubles().is_empty(), "{:?}", new.troubles());
}

/// Puts the database back to what it was when `keep` was called, under another epoch.
const KEEP: &str = "create table old_heads as select * from heads; create table old_releases as select * from releases; create table old_settings as select * from settings";
const PUT_BACK: &str = "delete from heads; insert into heads select * from old_heads; update heads set epoch = epoch + 100, leased = 0; \
                        delete from releases; insert into releases select * from old_releases; delete from settings; insert into settings select * from old_settings";

/// The head as an operator names it.
async fn named(replica: &Replica) -> String {
    let head = replica.world.service.head(replica.loop_()).await.unwrap();
    HeadName::new(head.number, &head.chain).text()
}

async fn accept(replica: &Replica) -> u64 {
    replica.world.service.accept_rollback("home", &named(replica).await).await.unwrap().replays
}

/// Three copies have released: the first, the one that was restored and accepted, and the one that is restored after that. The witness of one process knows of the first two.
#[tokio::test]
async fn an_acceptance_is_charged_with_what_the_witness_of_any_process_knows() {
    let text = file("epsilon = 1.0, delta = 1e-6, visits = 1, per = \"ever\"", "");
    for comes_first in [true, false] {
        let Some(cluster) = cluster() else { return };
        let (url, clock) = (cluster.empty(), Arc::new(ManualClock::at(START)));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("witness");
        let one = Replica::witnessed(&url, &text, &clock, &path).await;
        clock.pass(TICK);
        assert_eq!(one.tick().await, Ticked::Released(1));
        one.database.tamper(KEEP).await;
        one.show(7).await;
        assert_eq!(accept(&one).await, 1);
        clock.pass(TICK);
        assert_eq!(one.tick().await, Ticked::Released(9));
        drop(one);
        let tamperer = PostgresStore::open(&url).await.unwrap();
        tamperer.tamper(PUT_BACK).await;
        // Another process, without a witness, is shown a release of the lost copy.
        let other = Replica::open(&url, &text, &clock).await;
        let aware = match comes_first {
            true => Some(Replica::witnessed(&url, &text, &clock, &path).await),
            false => None,
        };
        other.show(12).await;
        clock.pass(TICK);
        assert_eq!(other.tick().await, Ticked::Halted);
        if let Some(aware) = &aware {
            // It is stopped, and does not stop itself again with every look, which would end the epoch under the process that accepts.
            let epoch = async || aware.database.head(1).await.unwrap().epoch;
            aware.tick().await;
            let before = epoch().await;
            aware.tick().await;
            assert_eq!((aware.tick().await, epoch().await), (Ticked::Halted, before));
        }
        let charged = accept(&other).await;
        assert_eq!(charged, if comes_first { 2 } else { 1 });
        let aware = match aware {
            Some(aware) => aware,
            None => {
                // It comes after the acceptance, of which it finds that it was charged with too little.
                let aware = Replica::witnessed(&url, &text, &clock, &path).await;
                clock.pass(TICK);
                assert_eq!(
                    (aware.tick().await, other.tick().await),
                    (Ticked::Halted, Ticked::Halted)
                );
                assert!(aware.loop_().halted().unwrap().contains("did not know of all replays"));
                // The store holds it: it is charged once, whichever process accepts it, and whenever the witness comes back.
                drop(aware);
                assert_eq!(accept(&other).await, 2);
                Replica::witnessed(&url, &text, &clock, &path).await
            }
        };
        aware
            .world
            .service
            .central("home")
            .unwrap()
            .lease
            .give_up(aware.database.as_ref(), 1)
            .await;
        clock.pass(TICK);
        let released = other.tick().await;
        assert!(matches!(released, Ticked::Released(_)), "{released:?}");
        aware.tick().await;
        assert_eq!((aware.loop_().halted(), aware.world.number()), (None, other.world.number()));
        let epsilon = async |replica: &Replica| {
            replica.world.service.certificate("home").await.unwrap().guarantee.epsilon()
        };
        // mu sqrt(3), in every process.
        assert!((1.75..1.9).contains(&epsilon(&aware).await), "{}", epsilon(&aware).await);
        assert_eq!(epsilon(&aware).await, epsilon(&other).await);
    }
}

/// A witness that begins late knows the charges in the store: an older copy that is restored later lacks them.
#[tokio::test]
async fn a_new_witness_knows_what_was_charged_before_it() {
    let text = file("epsilon = 1.0, delta = 1e-6, visits = 1, per = \"ever\"", "");
    let Some((one, _, clock)) = two(&text).await else { return };
    clock.pass(TICK);
    one.tick().await;
    one.show(7).await;
    assert_eq!(accept(&one).await, 1);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("witness");
    let url = one.url.clone();
    drop(Replica::witnessed(&url, &text, &clock, &path).await);
    let record = Witness::read(&path).unwrap().unwrap();
    assert_eq!((record.replays[&1], record.heads[&1].number), (1, 8));
}

/// Two operators accept one rollback on two processes at the same time: it is charged once for each head, and no charge is lost.
#[tokio::test]
async fn two_acceptances_at_once_are_not_charged_as_one() {
    let text = file(EXACT, "");
    let Some((one, other, clock)) = two(&text).await else { return };
    clock.pass(TICK);
    one.tick().await;
    other.tick().await;
    // The second has seen a later release, and would go on under another number.
    one.show(7).await;
    other.show(20).await;
    let named = named(&one).await;
    let (first, second) = tokio::join!(
        one.world.service.accept_rollback("home", &named),
        other.world.service.accept_rollback("home", &named),
    );
    assert!(first.is_err() || second.is_err(), "both are charged as one: {first:?} {second:?}");
    clock.pass(TICK);
    for replica in [&one, &other] {
        replica.tick().await;
    }
    let records = one.database.releases(1, 1, 99).await.unwrap();
    let header = serde_json::to_string(&one.world.service.chain_header(one.loop_())).unwrap();
    let line =
        |record| serde_json::to_string(&crate::loops::ChainLine::new(record).unwrap()).unwrap();
    let lines = std::iter::once(header).chain(records.iter().map(line)).map(Ok::<_, String>);
    crate::loops::verify_chain(lines, None).unwrap();
}

/// The numbers that any process has seen are left out, whichever process is asked.
#[tokio::test]
async fn an_acceptance_leaves_out_what_the_others_have_seen() {
    let Some((one, other, clock)) = two(&file(EXACT, "")).await else { return };
    clock.pass(TICK);
    one.tick().await;
    other.tick().await;
    one.show(7).await;
    other.show(20).await;
    assert_eq!(accept(&one).await, 1);
    clock.pass(TICK);
    assert_eq!(one.tick().await, Ticked::Released(22));
    other.tick().await;
    assert_eq!((other.loop_().halted(), other.world.number()), (None, 22));
}
