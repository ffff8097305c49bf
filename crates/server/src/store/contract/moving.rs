//! Random operations, then a move from redb to PostgreSQL and back: the readable contents stay the same, and the source has ended.

use proptest::{collection::vec, prelude::*};

use super::{
    property::{Operation, apply, operations},
    sample::{event, step},
    snapshot::Snapshot,
};
use crate::{
    Error,
    store::{
        Location, MemoryStore, Portable, PostgresStore, RedbStore, Store, move_store,
        postgres::testing::{Cluster, cluster},
    },
};

/// Applies two new epochs, that of the source's end and that of the target's beginning, to the model.
async fn move_model(model: &MemoryStore) -> Result<(), Error> {
    for generation in model.generations().await? {
        model.take_epoch(generation.id).await?;
        model.take_epoch(generation.id).await?;
    }
    Ok(())
}

async fn play(
    cluster: &Cluster,
    operations: (Vec<Operation>, Vec<Operation>),
) -> Result<(), TestCaseError> {
    let fail = |error: Error| TestCaseError::fail(error.to_string());
    let folder = tempfile::tempdir().unwrap();
    let [first, last] = ["first", "last"].map(|name| Location::File(folder.path().join(name)));
    let database = Location::Database(cluster.empty());
    let (model, url) = match (&first, &database) {
        (Location::File(path), Location::Database(url)) => {
            let store = RedbStore::open(path).map_err(fail)?;
            let model = MemoryStore::new(store.id());
            let begin = Operation::Begin(true, 1, None);
            for operation in std::iter::once(&begin).chain(&operations.0) {
                let _ = (apply(&model, operation).await, apply(&store, operation).await);
            }
            (model, url)
        }
        _ => unreachable!(),
    };
    let moved = move_store(&first, &database).await.map_err(fail)?;
    move_model(&model).await.map_err(fail)?;
    let store = PostgresStore::open(url).await.map_err(fail)?;
    prop_assert_eq!(store.id(), model.id());
    let wanted = Snapshot::of(&model).await.map_err(fail)?;
    let differences = Snapshot::of(&store).await.map_err(fail)?.differences(&wanted);
    prop_assert!(differences.is_empty(), "{:?}", differences);
    prop_assert!(moved.entries > 0);
    // It goes on as if nothing had happened.
    for operation in &operations.1 {
        let (expected, found) = (apply(&model, operation).await, apply(&store, operation).await);
        prop_assert_eq!(
            found.map_err(|error| error.to_string()),
            expected.map_err(|error| error.to_string())
        );
    }
    move_store(&database, &last).await.map_err(fail)?;
    move_model(&model).await.map_err(fail)?;
    let Location::File(path) = &last else { unreachable!() };
    let back = RedbStore::open(path).map_err(fail)?;
    let wanted = Snapshot::of(&model).await.map_err(fail)?;
    let differences = Snapshot::of(&back).await.map_err(fail)?.differences(&wanted);
    prop_assert!(differences.is_empty(), "{:?} on the way back", differences);
    for operation in &operations.0 {
        let (expected, found) = (apply(&model, operation).await, apply(&back, operation).await);
        prop_assert_eq!(
            found.map_err(|error| error.to_string()),
            expected.map_err(|error| error.to_string())
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, max_shrink_iters: 60, ..ProptestConfig::default() })]

    #[test]
    fn a_moved_store_goes_on_where_it_was(
        before in vec(operations().prop_map(|(operation, _)| operation), 1..40),
        after in vec(operations().prop_map(|(operation, _)| operation), 1..20),
    ) {
        let Some(cluster) = cluster() else { return Ok(()) };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.block_on(play(cluster, (before, after)))?;
    }
}

#[tokio::test]
async fn a_source_that_was_moved_has_ended() {
    let Some(cluster) = cluster() else { return };
    let folder = tempfile::tempdir().unwrap();
    let [file, other] = ["store", "other"].map(|name| Location::File(folder.path().join(name)));
    let Location::File(path) = &file else { unreachable!() };
    let generation = {
        let store = RedbStore::open(path).unwrap();
        let generation =
            store.begin_generation(super::sample::generation("home", 1)).await.unwrap().id;
        store.insert_events(vec![event(generation, 1)]).await.unwrap();
        generation
    };
    let url = cluster.empty();
    let database = Location::Database(url.clone());
    let moved = move_store(&file, &database).await.unwrap();
    let again = async || move_store(&file, &database).await.err().unwrap().to_string();
    assert!(again().await.contains("was moved before"));
    let elsewhere = move_store(&file, &other).await.err().unwrap().to_string();
    assert!(elsewhere.contains("was moved to postgres://"), "{elsewhere}");
    assert!(RedbStore::open(path).unwrap().retired_to().await.unwrap().is_some());
    // A process that serves from the database while it is moved back is not heard any more.
    let serving = PostgresStore::open(&url).await.unwrap();
    let epoch = serving.lease(generation, None, 1000).await.unwrap().unwrap();
    let back = move_store(&database, &other).await.unwrap();
    assert_eq!(moved.entries, back.entries);
    let refused = [
        serving.insert_events(vec![event(generation, 2)]).await.err(),
        serving.lease(generation, Some(epoch), 1000).await.err(),
        serving.erase(vec![[1; 16]], 1).await.err(),
        serving.add_key(super::sample::key("a")).await.err(),
        serving.begin_generation(super::sample::generation("home", 2)).await.err(),
    ];
    for (index, error) in refused.into_iter().enumerate() {
        assert!(
            error.is_some_and(|error| error.to_string().contains("was moved to")),
            "operation {index}"
        );
    }
    let released = serving.release(step(generation, epoch, 1)).await.unwrap();
    assert!(matches!(released, crate::store::Committed::No(_)), "the right to release is gone");
    assert!(PostgresStore::open(&url).await.err().unwrap().to_string().contains("was moved to"));
    // A target that was emptied since is not written again: what it had released is lost, and may have been seen.
    let emptied = PostgresStore::open_any(&url).await.unwrap();
    emptied.tamper("truncate lives, heads, releases, events, remembered, ledger, keys, settings, erased; update store set retired = null").await;
    assert!(again().await.contains("was moved before"));
    assert!(!emptied.is_written().await.unwrap());
}

#[tokio::test]
async fn two_moves_go_to_one_place_and_what_was_not_checked_is_not_served() {
    let Some(cluster) = cluster() else { return };
    let url = cluster.empty();
    let store = PostgresStore::open(&url).await.unwrap();
    let generation = store.begin_generation(super::sample::generation("home", 1)).await.unwrap().id;
    assert_eq!(store.retire("one".into()).await.unwrap(), "one");
    assert_eq!(store.retire("other".into()).await.unwrap(), "one");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let file = RedbStore::open(&path).unwrap();
    assert_eq!(file.retire("one".into()).await.unwrap(), "one");
    assert_eq!(file.retire("other".into()).await.unwrap(), "one");
    // A process dies between writing the target and comparing it.
    store.tamper("update store set retired = '(unchecked)'").await;
    let refused = PostgresStore::open(&url).await.err().unwrap().to_string();
    assert!(refused.contains("repeat `reticent-server store copy`"), "{refused}");
    let epoch = store.head(generation).await.unwrap().epoch;
    store.begin().await.unwrap();
    let opened = PostgresStore::open(&url).await.unwrap();
    assert!(opened.head(generation).await.unwrap().epoch > epoch);
    // Whatever stands at the same address now, its locks are others.
    store.tamper("update store set id = decode('00112233445566778899aabbccddeeff', 'hex')").await;
    let refused = opened.insert_events(vec![event(generation, 1)]).await.err().unwrap().to_string();
    assert!(refused.contains("another store is at this address"), "{refused}");
    assert!(opened.close(generation, 9).await.is_err());
}

#[test]
fn places_are_distinguished_by_all_their_parts() {
    let name = |url: &str| PostgresStore::name(url).unwrap();
    let all = [
        name("postgres://alice:secret@127.0.0.1/r"),
        name("postgres://alice@127.0.0.1:5433/r"),
        name("postgres://alice@127.0.0.1"),
        name("postgres://bob@127.0.0.1"),
        name("postgres://alice@127.0.0.1/r?options=-csearch_path%3Da"),
    ];
    let different: std::collections::BTreeSet<&String> = all.iter().collect();
    assert_eq!(different.len(), all.len(), "{all:?}");
    assert!(all.iter().all(|name| !name.contains("secret")), "{all:?}");
}
