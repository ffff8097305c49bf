//! The file of a store whose loops release for years.

use ::redb::{Database, ReadableTableMetadata, backends::InMemoryBackend};

use super::{RedbStore, removal::pack, tables::RELEASES};
use crate::{
    config::HASH_BYTES,
    store::{Collect, ReleaseRecord, Step, Store, contract::sample, row},
};

/// The place of a compacted model is used again: what the file takes depends on how many models are kept, not on how many were released.
#[tokio::test]
async fn compacted_models_leave_their_place_to_new_ones() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = RedbStore::open(&path).unwrap();
    let generation = store.begin_generation(sample::generation("home", 1)).await.unwrap().id;
    let model = vec![7; 256 << 10];
    for number in 1..=100 {
        let step = sample::step(generation, 0, number);
        let release = ReleaseRecord { release: model.clone(), ..step.release };
        store.release(Step { release, ..step }).await.unwrap();
        let first_release = (number + 1).saturating_sub(4);
        store.collect(generation, Collect { first_release, ..sample::everything() }).await.unwrap();
    }
    let whole = |record: &&ReleaseRecord| !record.release.is_empty();
    let records = store.releases(generation, 1, 1000).await.unwrap();
    assert_eq!((records.len(), records.iter().filter(whole).count()), (100, 4));
    drop(store);
    let bytes = std::fs::metadata(&path).unwrap().len();
    assert!(bytes < 32 * model.len() as u64, "{bytes} bytes for 4 models of {}", model.len());
}

/// The growth that is stated for ever is that of the table, in which every row was a whole model first.
#[test]
fn a_compacted_release_takes_no_more_than_is_stated() {
    let database = Database::builder().create_with_backend(InMemoryBackend::new()).unwrap();
    let record = |number: u64, bytes: usize| ReleaseRecord {
        number,
        time: 1 << 41,
        hash: [7; 32],
        chain: [9; 32],
        release: vec![1; bytes],
    };
    let (rows, kept, model) = (1024_u64, 4, 16 << 10);
    let change = |number: u64, bytes: usize| {
        let transaction = database.begin_write().unwrap();
        let mut table = transaction.open_table(RELEASES).unwrap();
        let row = row::encode(&record(number, bytes)).unwrap();
        table.insert((1, number), row.as_slice()).unwrap();
        if bytes == 0 {
            pack(&mut table, 1, number.saturating_sub(1), number).ok().unwrap();
        }
        let stats = table.stats().unwrap();
        drop(table);
        transaction.commit().unwrap();
        stats.stored_bytes() + stats.metadata_bytes() + stats.fragmented_bytes()
    };
    for number in 1..=rows {
        change(number, model);
        if number > kept {
            change(number - kept, 0);
        }
    }
    let mut bytes = 0;
    for number in rows - kept + 1..=rows {
        bytes = change(number, 0);
    }
    let each = bytes / rows;
    assert!(each <= HASH_BYTES && 2 * each > HASH_BYTES, "{each} bytes a release");
}
