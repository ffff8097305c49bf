//! Random operations, then a move from redb to PostgreSQL and back: what is readable stays the same, and the source has ended.

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

/// What two new epochs, that of the source's end and that of the target's beginning, do to the model.
async fn move_model(model: &MemoryStore) -> Result<(), Error> {
    for life in model.lives().await? {
        model.take_epoch(life.id).await?;
        model.take_epoch(life.id).await?;
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
            let begin = Operation::Begin(true, 1, true);
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
    let life = {
        let store = RedbStore::open(path).unwrap();
        let life = store.begin_life(super::sample::life("home", 1)).await.unwrap().id;
        store.rank(vec![event(life, 1)]).await.unwrap();
        life
    };
    let url = cluster.empty();
    let database = Location::Database(url.clone());
    let moved = move_store(&file, &database).await.unwrap();
    let again = move_store(&file, &database).await.err().unwrap().to_string();
    assert!(again.contains("was moved before"), "{again}");
    let elsewhere = move_store(&file, &other).await.err().unwrap().to_string();
    assert!(elsewhere.contains("was moved to postgres://"), "{elsewhere}");
    assert!(RedbStore::open(path).unwrap().retired_to().await.unwrap().is_some());
    // A process that serves from the database while it is moved back is not heard any more.
    let serving = PostgresStore::open(&url).await.unwrap();
    let epoch = serving.lease(life, None, 1000).await.unwrap().unwrap();
    let back = move_store(&database, &other).await.unwrap();
    assert_eq!(moved.entries, back.entries);
    let refused = [
        serving.rank(vec![event(life, 2)]).await.err(),
        serving.lease(life, Some(epoch), 1000).await.err(),
        serving.erase(vec![[1; 16]], 1).await.err(),
        serving.add_key(super::sample::key("a")).await.err(),
        serving.begin_life(super::sample::life("home", 2)).await.err(),
    ];
    for (index, error) in refused.into_iter().enumerate() {
        assert!(
            error.is_some_and(|error| error.to_string().contains("was moved to")),
            "operation {index}"
        );
    }
    let released = serving.release(step(life, epoch, 1)).await.unwrap();
    assert!(matches!(released, crate::store::Committed::No(_)), "the right to release is gone");
    assert!(PostgresStore::open(&url).await.err().unwrap().to_string().contains("was moved to"));
}
