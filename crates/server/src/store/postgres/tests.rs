//! Beyond the contract: races, failures of the database, refusals. Each race is also run with a mistake in it, which it must show.

use std::sync::Arc;

use deadpool_postgres::Transaction;
use tokio::{
    sync::Barrier,
    time::{Duration, timeout},
};

use super::{
    PostgresStore, heads, ledger, locks, removal,
    testing::{Cluster, cluster},
    transaction::{Attempt, execute, one, optional, rows},
};
use crate::store::{
    Charge, Committed, GenerationId, NewEvent, Outcome, Place, Ranked, Step, Store,
    contract::sample::{self, charge, event, event_of, reward, step},
};

async fn two_on_one(cluster: &Cluster) -> (PostgresStore, PostgresStore, GenerationId) {
    let url = cluster.empty();
    let (first, second) =
        (PostgresStore::open(&url).await.unwrap(), PostgresStore::open(&url).await.unwrap());
    assert_eq!(first.id(), second.id());
    let generation = first.begin_generation(sample::generation("home", 1)).await.unwrap().id;
    (first, second, generation)
}

#[tokio::test]
async fn databases_that_may_lose_something_are_refused() {
    let Some(cluster) = cluster() else { return };
    let url = cluster.url("public", "%20-csynchronous_commit%3Doff");
    let refused = PostgresStore::open(&url).await.err().unwrap().to_string();
    assert!(refused.contains("synchronous_commit = off"), "{refused}");
    for (url, words) in [
        ("postgres://user:secret@10.0.0.1/reticent?sslmode=disable", "in the clear"),
        ("postgres:///reticent", "no host"),
        ("data/store.redb", "postgres://"),
        ("postgres://user:pa@secret@10.0.0.1/reticent", "as %40"),
        ("postgres://user:p@a/secret@10.0.0.1/reticent", "as %40"),
    ] {
        let refused = PostgresStore::open(url).await.err().unwrap().to_string();
        assert!(refused.contains(words) && !refused.contains("secret"), "{refused}");
    }
}

#[tokio::test]
async fn a_database_that_is_not_reached_is_named_with_the_cause() {
    let url = "postgres://user:secret@127.0.0.1:1/reticent";
    let missing = "postgres://user:secret@/reticent?host=/nonexistent/folder";
    for (url, place, cause) in [
        (url, "postgres://127.0.0.1:1/reticent is not reached", "refused"),
        (missing, "postgres:///reticent?host=/nonexistent/folder&port=5432", "No such file"),
    ] {
        let refused = PostgresStore::open(url).await.err().unwrap().to_string();
        assert!(refused.contains(place) && refused.contains(cause), "{refused}");
        assert!(!refused.contains("secret"), "{refused}");
    }
}

#[tokio::test]
async fn a_table_of_another_program_is_no_store_and_no_panic() {
    let Some(cluster) = cluster() else { return };
    let url = cluster.empty();
    assert_eq!(PostgresStore::identity(&url).await.unwrap(), None);
    let (_, schema) = url.rsplit_once("%3D").unwrap();
    let table = format!("{schema}.store");
    cluster.sql(&format!("create table {table} (id int); insert into {table} values (7)"));
    let refused = PostgresStore::identity(&url).await.unwrap_err().to_string();
    assert!(!refused.contains("panicked"), "{refused}");
}

#[test]
fn the_name_of_a_database_is_an_address_of_it() {
    for (url, expected) in [
        ("postgres://user:secret@localhost/data", "postgres://localhost:5432/data"),
        ("postgres://a:6000,b:6001/data", "postgres://a:6000,b:6001/data"),
        ("postgres:///data?host=/run/pg&port=6000", "postgres:///data?host=/run/pg&port=6000"),
    ] {
        let name = PostgresStore::name(url).unwrap();
        assert_eq!(name, expected);
        assert_eq!(PostgresStore::name(&name).unwrap(), name);
    }
}

#[tokio::test]
async fn migrations_are_applied_once_and_later_ones_are_refused() {
    let Some(cluster) = cluster() else { return };
    let url = cluster.empty();
    let opened = futures_util::future::join_all((0..4).map(|_| PostgresStore::open(&url))).await;
    let ids: Vec<_> = opened.into_iter().map(|store| store.unwrap().id()).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "one identity");
    let store = PostgresStore::open(&url).await.unwrap();
    let later = "insert into migrations (number) values (1000)";
    store.connections.write(move |on| Box::pin(execute(on, later, &[]))).await.unwrap();
    let refused = PostgresStore::open(&url).await.err().unwrap().to_string();
    assert!(refused.contains("migration 1000"), "{refused}");
}

/// PostgreSQL's statistics of a table are from before this loop began: it expects one row of it, and may not join by that.
#[tokio::test]
async fn rows_of_a_new_loop_are_removed_by_their_addresses() {
    let Some(cluster) = cluster() else { return };
    let (store, _, _) = two_on_one(cluster).await;
    let later = store.begin_generation(sample::generation("later", 1)).await.unwrap().id;
    let others = "alter table events set (autovacuum_enabled = off); \
         insert into events select 1, 20, number, '', null, 1, true, true, null, '', '', '' from generate_series(1, 20000) as number; \
         analyze events; \
         insert into events select 2, 20, number, '', null, 1, true, true, null, '', '', '' from generate_series(1, 2000) as number";
    store.tamper(others).await;
    assert_eq!(later, 2);
    let plan = store.connections.read(|on| {
        Box::pin(async move {
            let explain = format!("explain {}", removal::OLD_EVENTS);
            rows(on, &explain, &[&2_i32, &15_i64, &9_i64, &4096_i64]).await
        })
    });
    let plan: Vec<String> = plan.await.unwrap().iter().map(|line| line.get(0)).collect();
    let plan = plan.join("\n");
    assert!(plan.contains("Tid Scan on events") && !plan.contains("Nested Loop"), "{plan}");
}

/// Reads a count, waits, and writes it: what the ledger must not do.
async fn charge_by_reading(
    on: &Transaction<'_>,
    generation: GenerationId,
    charge: Charge,
    meet: &Barrier,
) -> Attempt<bool> {
    let generation = generation as i32;
    let key: [&(dyn tokio_postgres::types::ToSql + Sync); 2] = [&generation, &&charge.person[..]];
    let found =
        optional(on, "select visits from ledger where life = $1 and person = $2", &key).await?;
    let visits = found.map_or(0, |row| row.get::<_, i64>(0));
    meet.wait().await;
    let sql = "insert into ledger (life, period, person, visits, most, granted) values ($1, 0, $2, 1, 0, 0) \
               on conflict (life, period, person) do update set visits = ledger.visits + 1";
    execute(on, sql, &key).await?;
    Ok(visits < i64::from(charge.most))
}

/// Number of two charges at the same time that are granted to a person who has one visit left.
async fn granted_of_two(cluster: &Cluster, by_reading: bool) -> usize {
    let (first, second, generation) = two_on_one(cluster).await;
    let meet = Arc::new(Barrier::new(2));
    let one_visit = Charge { most: 1, ..charge(1) };
    let grant = |store: &PostgresStore| {
        let meet = Arc::clone(&meet);
        store.connections.write(move |on| {
            let meet = Arc::clone(&meet);
            Box::pin(async move {
                if by_reading {
                    return charge_by_reading(on, generation, one_visit, &meet).await;
                }
                meet.wait().await;
                Ok(ledger::charge(on, &[(generation, one_visit)]).await?[0])
            })
        })
    };
    let (first, second) = tokio::join!(grant(&first), grant(&second));
    usize::from(first.unwrap()) + usize::from(second.unwrap())
}

#[tokio::test]
async fn two_charges_at_once_do_not_share_one_visit() {
    let Some(cluster) = cluster() else { return };
    assert_eq!(granted_of_two(cluster, false).await, 1);
    assert_eq!(granted_of_two(cluster, true).await, 2, "a ledger that reads first is not noticed");
}

#[tokio::test]
async fn two_processes_with_one_id_give_the_answer_that_was_committed() {
    let Some(cluster) = cluster() else { return };
    let (first, second, generation) = two_on_one(cluster).await;
    for id in 0..24 {
        let ask = |store: &PostgresStore, answer: u8| {
            let asked = NewEvent { answer: vec![answer], ..event_of(generation, id, charge(id)) };
            store.insert_events(vec![asked])
        };
        let (one, other) = tokio::join!(ask(&first, 1), ask(&second, 2));
        let [one, other] = [one, other].map(|ranked| ranked.unwrap().remove(0));
        let winner = match (&one, &other) {
            (Ranked::Added { .. }, Ranked::Repeated { answer, .. }) if *answer == [1] => 1,
            (Ranked::Repeated { answer, .. }, Ranked::Added { .. }) if *answer == [2] => 2,
            both => panic!("{both:?}"),
        };
        let again = ask(&first, 3).await.unwrap();
        assert!(matches!(&again[..], [Ranked::Repeated { answer, .. }] if *answer == [winner]));
    }
    let charged = first.ledger(generation, 0, 2).await.unwrap();
    assert_eq!((charged.people, charged.used_up), (24, 0), "one visit each");
}

/// Looks at the epoch and the number, waits, and moves the head: what a release must not do.
async fn release_by_looking(
    on: &Transaction<'_>,
    step: &Step,
    meet: &Barrier,
) -> Attempt<Committed> {
    let head = heads::head(on, step.generation).await?;
    meet.wait().await;
    if head.epoch != step.epoch || head.number + 1 != step.release.number {
        return Ok(Committed::No(head));
    }
    let sql = "update heads set number = $2, state = $3 where life = $1";
    execute(on, sql, &[&(step.generation as i32), &(step.release.number as i64), &step.state])
        .await?;
    Ok(Committed::Yes)
}

/// Number of two releases with one number that are committed, when both processes believe that they may.
async fn released_of_two(cluster: &Cluster, by_looking: bool) -> usize {
    let (first, second, generation) = two_on_one(cluster).await;
    let meet = Arc::new(Barrier::new(2));
    let commit = |store: &PostgresStore, state: u8| {
        let meet = Arc::clone(&meet);
        let step = Arc::new(Step { state: vec![state], ..step(generation, 0, 1) });
        let channel = Arc::clone(&store.channel);
        store.connections.write(move |on| {
            let (meet, step, channel) =
                (Arc::clone(&meet), Arc::clone(&step), Arc::clone(&channel));
            Box::pin(async move {
                if by_looking {
                    return release_by_looking(on, &step, &meet).await;
                }
                meet.wait().await;
                heads::release(on, &channel, &step).await
            })
        })
    };
    let (first, second) = tokio::join!(commit(&first, 1), commit(&second, 2));
    [first.unwrap(), second.unwrap()]
        .iter()
        .filter(|committed| **committed == Committed::Yes)
        .count()
}

#[tokio::test]
async fn a_number_that_two_processes_want_is_released_once() {
    let Some(cluster) = cluster() else { return };
    assert_eq!(released_of_two(cluster, false).await, 1);
    assert_eq!(
        released_of_two(cluster, true).await,
        2,
        "an epoch that is only looked at is not noticed"
    );
}

/// A slow process: it has read which slots are closed, and inserts much later. Does the slot close in between?
async fn closes_under_a_slow_insert(cluster: &Cluster, with_lock: bool) -> bool {
    let (slow, closer, generation) = two_on_one(cluster).await;
    let mut client = slow.connections.pool.get().await.unwrap();
    let on = client.transaction().await.unwrap();
    if with_lock {
        assert!(locks::lock_shared(&on, slow.key, &[generation as i32]).await.is_ok());
    }
    // The test cannot wait for an event that never comes: within this time a closer that does not wait has closed the slot.
    let closed =
        timeout(Duration::from_millis(300), closer.close(generation, sample::CLOSED + 1)).await;
    on.commit().await.unwrap();
    if closed.is_err() {
        closer.close(generation, sample::CLOSED + 1).await.unwrap();
    }
    closed.is_ok()
}

#[tokio::test]
async fn a_slot_does_not_close_while_an_event_is_on_its_way_into_it() {
    let Some(cluster) = cluster() else { return };
    assert!(!closes_under_a_slow_insert(cluster, true).await);
    assert!(
        closes_under_a_slow_insert(cluster, false).await,
        "an insert without the lock is not noticed"
    );
}

/// The same with an event and a reward that wait for locks of others inside their transactions.
#[tokio::test]
async fn a_slot_does_not_close_under_an_event_or_a_reward_that_waits() {
    let Some(cluster) = cluster() else { return };
    let (slow, closer, generation) = two_on_one(cluster).await;
    slow.insert_events(vec![event_of(generation, 1, charge(1))]).await.unwrap();
    let mut client = closer.connections.pool.get().await.unwrap();
    let on = client.transaction().await.unwrap();
    on.batch_execute("select from ledger for update; select from events for update").await.unwrap();
    let ranked = tokio::spawn(slow.insert_events(vec![event_of(generation, 2, charge(1))]));
    let rewarded = tokio::spawn(slow.reward(vec![reward(generation, 1, 5, None)]));
    // Not from pg_stat_activity, which a transaction sees as it was at its first look.
    let waiting = "select count(distinct pid) from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))";
    let both_wait = async {
        while on.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(60), both_wait).await.unwrap();
    let closed = tokio::spawn(closer.close(generation, sample::CLOSED + 1));
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!closed.is_finished(), "it waits for both");
    on.commit().await.unwrap();
    let slot = sample::CLOSED + 1;
    assert_eq!(ranked.await.unwrap().unwrap(), [Ranked::Added { slot }]);
    assert_eq!(rewarded.await.unwrap().unwrap(), [Outcome::Taken]);
    closed.await.unwrap().unwrap();
    let final_rows = closer.closed_events(generation, Place::default(), slot, 9).await.unwrap();
    let rewards: Vec<_> = final_rows.iter().map(|(_, event)| event.reward).collect();
    assert_eq!(rewards, [Some(5), None]);
}

#[tokio::test]
async fn a_caller_who_goes_away_does_not_cut_a_transaction() {
    let Some(cluster) = cluster() else { return };
    let (store, other, generation) = two_on_one(cluster).await;
    for id in 0..40 {
        let events =
            vec![event_of(generation, id, charge(id)), event_of(generation, id + 100, charge(id))];
        // Long enough to begin, often too short to end.
        let _ =
            timeout(Duration::from_micros(u64::from(id) * 100), store.insert_events(events)).await;
    }
    // Earlier transactions are done before this, in the same queue or beside it.
    for _ in 0..4 {
        store.insert_events(vec![event(generation, 250)]).await.unwrap();
    }
    drop(store);
    tokio::time::sleep(Duration::from_millis(300)).await;
    let kept = other.kept_events(generation, Place::default(), 1000).await.unwrap();
    let has = |id: u8| kept.iter().any(|(_, event)| event.event == [id; 16]);
    for id in 0..40 {
        assert_eq!(has(id), has(id + 100), "part of transaction {id}");
    }
    let people = other.ledger(generation, 0, 1).await.unwrap().people;
    assert_eq!(people, (0..40).filter(|id| has(*id)).count() as u64);
}

#[tokio::test]
async fn a_database_that_crashes_loses_nothing_that_was_acknowledged() {
    let Some(cluster) = Cluster::of_ones_own() else { return };
    let url = cluster.empty();
    let store = Arc::new(PostgresStore::open(&url).await.unwrap());
    let generation = store.begin_generation(sample::generation("home", 1)).await.unwrap().id;
    let clients = (0..4u8).map(|client| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            let mut failures = 0;
            for number in 0..60 {
                let id = client * 60 + number;
                // A client that repeats under the same id until it is answered.
                while store
                    .insert_events(vec![event_of(generation, id, charge(client))])
                    .await
                    .is_err()
                {
                    failures += 1;
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
            failures
        })
    });
    let clients: Vec<_> = clients.collect();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let cluster = tokio::task::spawn_blocking(move || {
        cluster.crash();
        cluster.restart();
        cluster
    });
    let cluster = cluster.await.unwrap();
    for client in clients {
        client.await.unwrap();
    }
    let kept = store.kept_events(generation, Place::default(), 1000).await.unwrap();
    assert_eq!(kept.len(), 240, "every event once");
    assert_eq!(
        kept.iter().filter(|(_, event)| event.learnt).count(),
        12,
        "three visits of four people"
    );
    let again = store.insert_events(vec![event(generation, 7)]).await.unwrap();
    assert!(matches!(again[..], [Ranked::Repeated { .. }]));
    drop(cluster);
}

#[tokio::test]
async fn the_clock_and_the_changes_of_the_database_are_heard() {
    let Some(cluster) = cluster() else { return };
    let (first, second, generation) = two_on_one(cluster).await;
    let (ours, theirs) = (first.clock().now(), second.clock().now());
    let sql = format!("select {}", super::follow::NOW);
    let row = first.connections.read(move |on| {
        let sql = sql.clone();
        Box::pin(async move { Ok(one(on, &sql, &[]).await?.get::<_, i64>(0)) })
    });
    let now = row.await.unwrap() as u64;
    // One machine, so that all of them agree within what a busy one needs.
    assert!(ours.abs_diff(theirs) < 60_000 && ours.abs_diff(now) < 60_000);
    let changed = second.changed();
    first.release(step(generation, 0, 1)).await.unwrap();
    timeout(Duration::from_secs(60), changed).await.unwrap().unwrap();
}

/// A process that does not know of a new key of the people's hashes would not see counts under it.
#[tokio::test]
async fn no_person_is_charged_by_a_process_that_something_new_is_unknown_to() {
    let Some(cluster) = cluster() else { return };
    let (old, new, generation) = two_on_one(cluster).await;
    old.charge_until("key 2".into());
    new.charge_until("key 3".into());
    old.insert_events(vec![event_of(generation, 1, charge(1))]).await.unwrap();
    new.keep_setting("key 2".into(), vec![1]).await.unwrap();
    old.insert_events(vec![event_of(generation, 2, charge(1)), event(generation, 3)])
        .await
        .unwrap();
    new.insert_events(vec![event_of(generation, 4, charge(1))]).await.unwrap();
    let kept = new.kept_events(generation, Place::default(), 9).await.unwrap();
    let learnt: Vec<_> = kept.iter().map(|(_, event)| (event.event[0], event.learnt)).collect();
    assert_eq!(learnt, [(1, true), (2, false), (3, true), (4, true)]);
    assert_eq!(new.ledger(generation, 0, 2).await.unwrap().used_up, 1, "two visits");
}

/// A floor is not raised while an event that was compared with it is on its way: its id would be forgotten, and the event taken again.
#[tokio::test]
async fn a_floor_is_not_raised_under_an_event_on_its_way() {
    let Some(cluster) = cluster() else { return };
    let (slow, other, _) = two_on_one(cluster).await;
    let mut client = slow.connections.pool.get().await.unwrap();
    let on = client.transaction().await.unwrap();
    let name = "floor".to_string();
    let floors = super::settings::floors(&on, slow.key, [&name].into_iter()).await;
    assert!(floors.is_ok_and(|floors| floors.is_empty()));
    let raised = timeout(Duration::from_millis(300), other.raise_floor("floor".into(), 5)).await;
    assert!(raised.is_err(), "it waits");
    on.commit().await.unwrap();
    assert_eq!(other.raise_floor("floor".into(), 4).await.unwrap(), 5, "it was raised then");
}
