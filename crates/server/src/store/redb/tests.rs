//! Beyond the contract: files, groups, failures, copies.

use std::{fs, os::unix::fs::PermissionsExt, sync::Arc};

use super::{
    RedbStore, events,
    faulty::Disk,
    heads,
    tables::{EVENTS, HEADS, JOURNAL, JournalRow, OPEN, REMEMBERED, Tables},
    writer::Group,
};
use crate::{
    Error,
    store::{
        Fault, Outcome, Place, Ranked, Step, Store,
        contract::{
            sample::{self, CLOSED, charge, event, event_of, person, reward},
            snapshot::Snapshot,
        },
        row,
    },
};

#[tokio::test]
async fn the_file_is_private_and_has_one_owner() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data/store.redb");
    let store = RedbStore::open(&path).unwrap();
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&folder.path().join("data"))), (0o600, 0o700));
    let second = RedbStore::open(&path).err().unwrap().to_string();
    assert!(second.contains("another process"), "{second}");
    let id = store.id();
    drop(store);
    assert_eq!(RedbStore::open(&path).unwrap().id(), id);
    assert_ne!(RedbStore::open(folder.path().join("other")).unwrap().id(), id);
    fs::write(
        folder.path().join("text"),
        "this is a text of more bytes than a header".repeat(1000),
    )
    .unwrap();
    let text = RedbStore::open(folder.path().join("text")).err().unwrap();
    assert!(matches!(text, Error::Invalid { .. }), "{text}");
}

#[tokio::test]
async fn a_row_of_another_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = RedbStore::open(folder.path().join("store")).unwrap();
    let generation = store.begin_generation(sample::generation("home", 1)).await.unwrap().id;
    let transaction = store.shared.begin_write().ok().unwrap();
    transaction.open_table(HEADS).unwrap().insert(generation, [9, 0].as_slice()).unwrap();
    transaction.commit().unwrap();
    let refused = store.insert_events(vec![event(generation, 1)]).await.unwrap_err().to_string();
    assert!(refused.contains("head has version 9"), "{refused}");
    assert!(store.head(generation).await.is_err());
    store.begin_generation(sample::generation("other", 1)).await.unwrap();
}

/// Sums go on without it, and it does not keep others from being removed.
#[tokio::test]
async fn a_damaged_row_of_an_event_stops_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = RedbStore::open(folder.path().join("store")).unwrap();
    let generation = store.begin_generation(sample::generation("home", 1)).await.unwrap().id;
    let damage = |number: u64| {
        let transaction = store.shared.begin_write().ok().unwrap();
        for table in [EVENTS, REMEMBERED] {
            let mut table = transaction.open_table(table).unwrap();
            table.insert((generation, CLOSED + 1, number), [1, 255, 255].as_slice()).unwrap();
        }
        transaction.commit().unwrap();
    };
    store
        .insert_events((1..=4).map(|id| event_of(generation, id, charge(id))).collect())
        .await
        .unwrap();
    damage(2);
    let rows = store.kept_events(generation, Place::default(), 9).await.unwrap();
    let lengths: Vec<usize> = rows.iter().map(|(_, row)| row.features.len()).collect();
    assert_eq!(lengths, [2, 0, 2, 2]);
    // It may be any person's, so that it goes with every erasure.
    assert_eq!(store.erase(vec![person(1)], 5).await.unwrap().rows, 2);
    damage(3);
    store.close(generation, CLOSED + 1).await.unwrap();
    let rows = store.closed_events(generation, Place::default(), CLOSED + 1, 9).await.unwrap();
    assert_eq!(rows.len(), 2);
    store.release(Step { folded: CLOSED + 1, ..sample::step(generation, 0, 1) }).await.unwrap();
    while store.collect(generation, sample::everything()).await.unwrap() > 0 {}
    assert!(store.kept_events(generation, Place::default(), 9).await.unwrap().is_empty());
    let transaction = store.shared.begin_read().ok().unwrap();
    let remembered = transaction.open_table(REMEMBERED).unwrap();
    assert_eq!(::redb::ReadableTableMetadata::len(&remembered).unwrap(), 0);
}

#[tokio::test]
async fn a_refused_transaction_does_not_spoil_its_group() {
    let folder = tempfile::tempdir().unwrap();
    let store = RedbStore::open(folder.path().join("store")).unwrap();
    let generation = store.begin_generation(sample::generation("home", 1)).await.unwrap().id;
    let commits = store.commits();
    let calls: Vec<_> = (0..100)
        .map(|id| store.insert_events(vec![event(if id % 2 == 0 { generation } else { 99 }, id)]))
        .collect();
    let calls: Vec<_> = calls.into_iter().map(tokio::spawn).collect();
    for (id, call) in calls.into_iter().enumerate() {
        assert_eq!(call.await.unwrap().is_ok(), id % 2 == 0, "{id}");
    }
    assert!(store.commits() - commits < 50, "groups share commits");
    assert_eq!(store.kept_events(generation, Place::default(), 1000).await.unwrap().len(), 50);
}

/// The counts of open events are buffered for a group: closing removes those that are not written yet.
#[tokio::test]
async fn a_slot_closes_in_the_commit_of_its_events() {
    let folder = tempfile::tempdir().unwrap();
    let store = RedbStore::open(folder.path().join("store")).unwrap();
    let generation = store.begin_generation(sample::generation("home", 1)).await.unwrap().id;
    let mut behind = store.shared.recover().ok().unwrap();
    let transaction = store.shared.begin_write().ok().unwrap();
    {
        let tables = Tables::open(&transaction).ok().unwrap();
        let mut group = Group { tables, behind: &mut behind, added: Vec::new() };
        let slots = |ranked: Vec<Ranked>| match ranked[..] {
            [Ranked::Added { slot }] => slot,
            _ => panic!("the event is not new"),
        };
        let before = events::insert_events(&mut group, vec![event(generation, 1)]).ok().unwrap();
        heads::close(&mut group, generation, CLOSED + 1).ok().unwrap();
        let after = events::insert_events(&mut group, vec![event(generation, 2)]).ok().unwrap();
        assert_eq!((slots(before), slots(after)), (CLOSED + 1, CLOSED + 2));
        group.tables.flush().ok().unwrap();
    }
    transaction.commit().unwrap();
    assert_eq!(store.open_events(generation).await.unwrap(), [(CLOSED + 2, 1)]);
    // Readers leave out closed slots: a row that stays is seen in the table only.
    let open = store.shared.begin_read().ok().unwrap().open_table(OPEN).unwrap();
    assert_eq!(::redb::ReadableTableMetadata::len(&open).unwrap(), 1);
}

#[tokio::test]
async fn a_caller_who_goes_away_cancels_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = RedbStore::open(&path).unwrap();
    let generation = store.begin_generation(sample::generation("home", 1)).await.unwrap().id;
    let mut call = store.insert_events(vec![event(generation, 1)]);
    assert!(futures_poll_once(&mut call).await.is_none());
    drop(call);
    drop(store);
    let store = RedbStore::open(&path).unwrap();
    assert_eq!(store.kept_events(generation, Place::default(), 9).await.unwrap().len(), 1);
}

/// Polls a future once; its value, if it is ready.
async fn futures_poll_once<T>(future: &mut (impl Future<Output = T> + Unpin)) -> Option<T> {
    std::future::poll_fn(|context| {
        std::task::Poll::Ready(match std::pin::Pin::new(&mut *future).poll(context) {
            std::task::Poll::Ready(value) => Some(value),
            std::task::Poll::Pending => None,
        })
    })
    .await
}

#[tokio::test]
async fn a_full_disk_is_an_error_until_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let (disk, path) = (Disk::new(), folder.path().join("store"));
    let store = RedbStore::open_on(&disk, &path, 4).unwrap();
    let generation = store.begin_generation(sample::generation("home", 1)).await.unwrap().id;
    let mut acknowledged = Vec::new();
    for id in 0..60 {
        // The disk fills up at every point of a transaction, and stays full for a second one.
        disk.fail_after(i64::from(id % 20));
        for id in [id, id + 100] {
            match store.insert_events(vec![event_of(generation, id, charge(id))]).await {
                Ok(_) => acknowledged.push([id; 16]),
                Err(error) => assert!(matches!(error, Error::Store(_)), "{error}"),
            }
        }
        disk.recover();
        store.insert_events(vec![event(generation, 255 - id)]).await.unwrap();
        acknowledged.push([255 - id; 16]);
    }
    assert!(acknowledged.len() < 170, "the disk was full at times");
    let kept = store.kept_events(generation, Place::default(), 1000).await.unwrap();
    let count = |id| kept.iter().filter(|(_, event)| event.event == id).count();
    assert!(acknowledged.iter().all(|id| count(*id) == 1), "an acknowledged event is there once");
    let before = Snapshot::of(&store).await.unwrap();
    drop(store);
    let after = Snapshot::of(&RedbStore::open(&path).unwrap()).await.unwrap();
    assert_eq!(after.differences(&before), Vec::<String>::new());
}

#[tokio::test]
async fn a_copy_made_while_running_is_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = RedbStore::open_on(&Disk::new(), &folder.path().join("store"), 4).unwrap();
    let generation = store.begin_generation(sample::generation("home", 1)).await.unwrap().id;
    store.release(sample::step(generation, 0, 1)).await.unwrap();
    store.add_key(sample::key("a")).await.unwrap();
    store.keep_setting("a".into(), vec![1]).await.unwrap();
    for id in 0..50 {
        store.insert_events(vec![event_of(generation, id, charge(id % 7))]).await.unwrap();
    }
    store.erase(vec![person(3)], 5).await.unwrap();
    let before = Snapshot::of(&store).await.unwrap();
    let path = folder.path().join("backups/one");
    let (backup, rank) =
        tokio::join!(store.backup(path.clone()), store.insert_events(vec![event(generation, 200)]));
    backup.unwrap();
    rank.unwrap();
    assert!(store.backup(path.clone()).await.is_err(), "a copy is never overwritten");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let copy = RedbStore::open(&path).unwrap();
    assert_eq!(copy.id(), store.id());
    let copied = Snapshot::of(&copy).await.unwrap();
    let after = Snapshot::of(&store).await.unwrap();
    assert!(copied == before || copied == after, "{:?}", copied.differences(&before));
    for id in 0..50 {
        assert!(
            matches!(
                copy.insert_events(vec![event(generation, id)]).await.unwrap()[..],
                [Ranked::Repeated { .. }]
            ),
            "{id}"
        );
    }
}

#[tokio::test]
async fn ids_and_counts_are_merged_behind_and_the_journal_stays_short() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let wide = |number: u32| {
        let mut id = [0; 16];
        id[..4].copy_from_slice(&number.wrapping_mul(0x9e37_79b9).to_be_bytes());
        id
    };
    let mut store = RedbStore::open_on(&Disk::new(), &path, 64).unwrap();
    let generation = store.begin_generation(sample::generation("home", 1)).await.unwrap().id;
    let mut longest = 0;
    for round in 0..100 {
        let new = |number| {
            let mut event = event_of(
                generation,
                1,
                super::Charge { person: wide(number % 150), most: 4, ..charge(1) },
            );
            event.event = wide(number);
            event
        };
        store.insert_events((round * 10..round * 10 + 10).map(new).collect()).await.unwrap();
        if round % 23 == 0 || round > 80 {
            drop(store);
            store = RedbStore::open_on(&Disk::new(), &path, 64).unwrap();
        }
        let journal = store.shared.begin_read().ok().unwrap().open_table(JOURNAL).unwrap();
        longest = longest.max(::redb::ReadableTableMetadata::len(&journal).unwrap());
    }
    // 64 entries before merging begins, as many again in a lap; with a restart after every group, three times 64 and one group.
    assert!((7..=20).contains(&longest), "{longest} rows of ten entries");
    let count = store.ledger(generation, 0, 4).await.unwrap();
    assert_eq!((count.people, count.used_up), (150, 150));
    let kept = store.kept_events(generation, Place::default(), 2000).await.unwrap();
    assert_eq!(kept.iter().filter(|(_, event)| event.learnt).count(), 600);
    for number in 0..1000 {
        let again = super::NewReward { event: wide(number), ..reward(generation, 1, 1, None) };
        assert_eq!(store.reward(vec![again]).await.unwrap(), [Outcome::Taken], "{number}");
    }
}

/// Rows of one entry go as fast as groups of many add to the journal, so that a restart has no long one to merge.
#[tokio::test]
async fn the_journal_stays_short_when_groups_grow() {
    let folder = tempfile::tempdir().unwrap();
    let store = RedbStore::open_on(&Disk::new(), &folder.path().join("store"), 16).unwrap();
    let generation = store.begin_generation(sample::generation("home", 1)).await.unwrap().id;
    for id in 0..40 {
        store.insert_events(vec![event(generation, id)]).await.unwrap();
    }
    let mut longest = 0;
    for first in (40..240).step_by(8) {
        store
            .insert_events((first..first + 8).map(|id| event(generation, id)).collect())
            .await
            .unwrap();
        let journal = store.shared.begin_read().ok().unwrap().open_table(JOURNAL).unwrap();
        let rows = ::redb::ReadableTable::iter(&journal).unwrap();
        let entries =
            rows.map(|row| row::decode::<JournalRow>(row.unwrap().1.value()).unwrap().0.len());
        longest = longest.max(entries.sum());
    }
    // Merging begins at 16, a lap ends before there are as many again, and its rows go with the next groups.
    assert!((16..=48).contains(&longest), "{longest} entries");
}

/// Many clients repeat requests that were not acknowledged while groups fail; their own history says what the store must have.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_who_repeat_after_failures_count_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = Arc::new(RedbStore::open_on(&Disk::new(), &path, 32).unwrap());
    let generation = store.begin_generation(sample::generation("home", 1)).await.unwrap().id;
    let client = |client: u8, store: Arc<RedbStore>| async move {
        let mut failures = 0;
        for number in 0..5 {
            let id = client * 5 + number;
            while store
                .insert_events(vec![event_of(generation, id, charge(client % 8))])
                .await
                .is_err()
            {
                failures += 1;
            }
            while store.reward(vec![reward(generation, id, i64::from(id), Some(7))]).await.is_err()
            {
                failures += 1;
            }
        }
        failures
    };
    let clients: Vec<_> =
        (0..40).map(|number| tokio::spawn(client(number, Arc::clone(&store)))).collect();
    for step in 0..30 {
        store.fail_next(Some(if step % 2 == 0 { Fault::Before } else { Fault::After }));
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    store.fail_next(None);
    let mut failures = 0;
    for client in clients {
        failures += client.await.unwrap();
    }
    assert!(failures > 0, "groups failed");
    let kept = store.kept_events(generation, Place::default(), 1000).await.unwrap();
    let sum: i64 = kept.iter().filter_map(|(_, event)| event.reward).sum();
    assert_eq!((kept.len(), sum), (200, (0..200).sum()));
    assert_eq!(
        kept.iter().filter(|(_, event)| event.learnt).count(),
        24,
        "eight people with three visits each"
    );
}
