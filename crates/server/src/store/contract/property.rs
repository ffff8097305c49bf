//! Random operations on the model, on redb and on PostgreSQL, with failures and reopening in between. Everything readable is compared after each.

use std::{path::Path, sync::Arc};

use proptest::{collection::vec, prelude::*};

use super::{
    sample::{self, CLOSED},
    snapshot::{Snapshot, bytes},
};
use crate::{
    Error, Result,
    store::{
        Charge, Collect, Committed, Fault, GenerationId, MemoryStore, NewEvent, NewGeneration,
        NewReward, Outcome, Payer, PostgresStore, Ranked, RedbStore, Step, Store,
        postgres::testing::{Cluster, cluster},
        redb::faulty::Disk,
    },
};

/// Entries of the journal before merging begins: few, so that every part of it is run.
const JOURNAL_ENTRIES: usize = 5;

#[derive(Debug, Clone)]
pub(super) enum Operation {
    /// Generation, id, person, period, slot, payer.
    Rank(Vec<(GenerationId, u8, u8, u64, u64, u8)>),
    /// Generation, id, units, key, sum.
    Reward(Vec<(GenerationId, u8, i64, Option<u64>, bool)>),
    Activate(GenerationId, u8),
    Close(GenerationId, u64),
    /// Generation, how far epoch and number are off, slots folded beyond the head.
    Release(GenerationId, u64, u64, u64),
    TakeEpoch(GenerationId),
    Replace(GenerationId, u64, u64),
    Collect(GenerationId, Collect),
    Erase(Vec<u8>),
    Begin(bool, u64, Option<GenerationId>),
    AddKey(bool),
    RevokeKey(bool),
    KeepSetting(bool, u8),
    /// A name and a floor.
    RaiseFloor(bool, u64),
    /// A floor, a number and an event.
    RankAbove(bool, u64, (GenerationId, u8, u8, u64, u64, u8)),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Interruption {
    None,
    Reopen,
    Fault(Fault),
    /// The disk is full after this number of writes.
    FullDisk(i64),
}

pub(super) fn operations() -> impl Strategy<Value = (Operation, Interruption)> {
    let generation = || 1..4u32;
    let id = || 0..14u8;
    let rank = || (generation(), id(), 0..4u8, 0..2u64, CLOSED..CLOSED + 12, 0..8u8);
    let reward = (generation(), id(), -5..6i64, prop::option::of(0..3u64), any::<bool>());
    let collect = (0..25u64, any::<bool>(), 2000..2016u64, 0..25u64, 0..5u64, 1..6usize).prop_map(
        |(slot, unreleased, before, forget_ids, first_release, limit)| Collect {
            slot,
            unreleased,
            before,
            forget_ids,
            first_release,
            limit,
        },
    );
    let operation = prop_oneof![
        8 => vec(rank(), 1..7).prop_map(Operation::Rank),
        5 => vec(reward, 1..5).prop_map(Operation::Reward),
        1 => (generation(), id()).prop_map(|(generation, id)| Operation::Activate(generation, id)),
        2 => (generation(), CLOSED..CLOSED + 12).prop_map(|(generation, slot)| Operation::Close(generation, slot)),
        3 => (generation(), 0..4u64, 0..4u64, 0..4u64).prop_map(|(generation, epoch, number, folded)| Operation::Release(generation, epoch / 3, number / 3, folded)),
        1 => generation().prop_map(Operation::TakeEpoch),
        1 => (generation(), 0..3u64, 0..3u64).prop_map(|(generation, number, slots)| Operation::Replace(generation, number, slots)),
        3 => (generation(), collect).prop_map(|(generation, what)| Operation::Collect(generation, what)),
        1 => vec(0..4u8, 1..3).prop_map(Operation::Erase),
        1 => (any::<bool>(), 1..3u64, proptest::option::of(1..4u32)).prop_map(|(name, params_hash, counts_with)| Operation::Begin(name, params_hash, counts_with)),
        1 => any::<bool>().prop_map(Operation::AddKey),
        1 => any::<bool>().prop_map(Operation::RevokeKey),
        1 => (any::<bool>(), any::<u8>()).prop_map(|(name, value)| Operation::KeepSetting(name, value)),
        1 => (any::<bool>(), 0..6u64).prop_map(|(name, floor)| Operation::RaiseFloor(name, floor)),
        2 => (any::<bool>(), 0..6u64, rank()).prop_map(|(name, number, event)| Operation::RankAbove(name, number, event)),
    ];
    let interruption = prop_oneof![
        6 => Just(Interruption::None),
        1 => Just(Interruption::Reopen),
        1 => Just(Interruption::Fault(Fault::Before)),
        1 => Just(Interruption::Fault(Fault::After)),
        2 => (0..40i64).prop_map(Interruption::FullDisk),
    ];
    (operation, interruption)
}

/// Does an operation, and writes down what it answered.
pub(super) async fn apply(store: &dyn Store, operation: &Operation) -> Result<Vec<u8>> {
    let name = |first: bool| String::from(if first { "a" } else { "b" });
    Ok(match operation.clone() {
        Operation::Rank(events) => {
            let ranked = store.insert_events(events.into_iter().map(new_event).collect()).await?;
            bytes(&ranked.into_iter().map(parts).collect::<Vec<_>>())
        }
        Operation::Reward(rewards) => {
            let new = |(generation, id, units, key, sum)| NewReward {
                generation,
                event: [id; 16],
                units,
                key,
                sum,
            };
            let outcomes = store.reward(rewards.into_iter().map(new).collect()).await?;
            outcomes.into_iter().map(outcome).collect()
        }
        Operation::Activate(generation, id) => {
            vec![outcome(store.activate(generation, [id; 16]).await?)]
        }
        Operation::Close(generation, slot) => bytes(&store.close(generation, slot).await?),
        Operation::Release(generation, epoch, number, folded) => {
            let head = store.head(generation).await?;
            let step = sample::step(generation, head.epoch + epoch, head.number + 1 + number);
            match store.release(Step { folded: head.folded + folded, ..step }).await? {
                Committed::Yes => Vec::new(),
                Committed::No(head) => bytes(&head),
            }
        }
        Operation::TakeEpoch(generation) => bytes(&store.take_epoch(generation).await?),
        Operation::Replace(generation, number, slots) => {
            let old = store.head(generation).await?;
            let mut head = old.clone();
            head.number += number;
            head.closed += slots;
            head.state.push(number as u8);
            bytes(&store.replace_state(generation, sample::replacement(&old, head, None)).await?)
        }
        Operation::Collect(generation, what) => bytes(&store.collect(generation, what).await?),
        Operation::Erase(persons) => {
            bytes(&store.erase(persons.into_iter().map(sample::person).collect(), 5).await?.rows)
        }
        Operation::Begin(first, params_hash, counts_with) => bytes(
            &store
                .begin_generation(NewGeneration {
                    counts_with,
                    ..sample::generation(&name(first), params_hash)
                })
                .await?,
        ),
        Operation::AddKey(first) => bytes(&store.add_key(sample::key(&name(first))).await?),
        Operation::RevokeKey(first) => bytes(&store.revoke_key(name(first), 9).await?),
        Operation::KeepSetting(first, value) => {
            store.keep_setting(name(first), vec![value]).await?
        }
        // Settings of one byte are no floors: these have names of their own, except one.
        Operation::RaiseFloor(first, floor) => {
            bytes(&store.raise_floor(floor_name(first), floor).await?)
        }
        Operation::RankAbove(first, number, event) => {
            let event = (number, new_event(event));
            let ranked = store.insert_events_above(floor_name(first), vec![event]).await?;
            bytes(&ranked.into_iter().map(|one| one.map(parts)).collect::<Vec<_>>())
        }
    })
}

fn new_event(
    (generation, id, number, period, slot, payer): (GenerationId, u8, u8, u64, u64, u8),
) -> NewEvent {
    let mut earlier = sample::charge(number).earlier;
    earlier[0] = (payer == 7).then(|| sample::person(number ^ 1));
    let payer = match payer {
        0 => Payer::Decision,
        1 => Payer::NotLearnt,
        _ => Payer::Person(Charge { earlier, period, ..sample::charge(number) }),
    };
    let person = Some(sample::person(number));
    NewEvent { person, payer, slot, deferred: id % 3 == 0, ..sample::event(generation, id) }
}

fn floor_name(first: bool) -> String {
    if first { "floor".into() } else { "a".into() }
}

fn parts(ranked: Ranked) -> (u64, [u8; 32], Vec<u8>) {
    match ranked {
        Ranked::Added { slot } => (slot, [0; 32], Vec::new()),
        Ranked::Repeated { request, answer } => (0, request, answer),
    }
}

fn outcome(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Taken => 0,
        Outcome::Late => 1,
        Outcome::Unknown => 2,
        Outcome::Unchanged => 3,
    }
}

fn written(answer: &Result<Vec<u8>>) -> std::result::Result<&[u8], String> {
    answer.as_deref().map_err(Error::to_string)
}

async fn play(
    path: &Path,
    operations: Vec<(Operation, Interruption)>,
) -> std::result::Result<(), TestCaseError> {
    let fail = |error: Error| TestCaseError::fail(error.to_string());
    let disk = Disk::new();
    let open = || RedbStore::open_on(&disk, path, JOURNAL_ENTRIES);
    let mut store = open().map_err(fail)?;
    let mut model = MemoryStore::new(store.id());
    for operation in [Operation::Begin(true, 1, None), Operation::Begin(false, 1, None)] {
        apply(&model, &operation).await.map_err(fail)?;
        apply(&store, &operation).await.map_err(fail)?;
    }
    for (operation, interruption) in operations {
        match interruption {
            Interruption::None => {}
            Interruption::Reopen => {
                drop(store);
                store = open().map_err(fail)?;
            }
            Interruption::Fault(fault) => {
                model.fail_next(fault);
                store.fail_next(Some(fault));
            }
            Interruption::FullDisk(writes) => disk.fail_after(writes),
        }
        // Copies have no faults.
        let before = model.copy();
        let expected = apply(&model, &operation).await;
        let answer = apply(&store, &operation).await;
        disk.recover();
        store.fail_next(None);
        model = model.copy();
        match (interruption, &answer) {
            // A collection that finds nothing does not write, so that it cannot fail.
            (Interruption::Fault(_), _) => prop_assert!(
                answer.is_err() || matches!(operation, Operation::Collect(..)),
                "{:?}",
                operation
            ),
            (Interruption::FullDisk(_), Err(Error::Store(_))) => {
                drop(store);
                store = open().map_err(fail)?;
                // It happened or it did not, as a whole.
                if Snapshot::of(&store).await.map_err(fail)?
                    == Snapshot::of(&before).await.map_err(fail)?
                {
                    model = before;
                }
            }
            _ => prop_assert_eq!(written(&answer), written(&expected), "{:?}", operation),
        }
        let (found, wanted) =
            (Snapshot::of(&store).await.map_err(fail)?, Snapshot::of(&model).await.map_err(fail)?);
        let differences = found.differences(&wanted);
        prop_assert!(
            differences.is_empty(),
            "{:?} after {:?}, {:?}",
            differences,
            operation,
            interruption
        );
    }
    Ok(())
}

/// The same on PostgreSQL. Instead of a full disk, its connection ends before the commit is sent: nothing has happened then, and it is tried again.
async fn play_on_postgres(
    cluster: &Cluster,
    operations: Vec<(Operation, Interruption)>,
) -> std::result::Result<(), TestCaseError> {
    let fail = |error: Error| TestCaseError::fail(error.to_string());
    let url = cluster.empty();
    let mut store = PostgresStore::open(&url).await.map_err(fail)?;
    let mut model = MemoryStore::new(store.id());
    for operation in [Operation::Begin(true, 1, None), Operation::Begin(false, 1, None)] {
        apply(&model, &operation).await.map_err(fail)?;
        apply(&store, &operation).await.map_err(fail)?;
    }
    for (operation, interruption) in operations {
        match interruption {
            Interruption::None => {}
            Interruption::Reopen => store = PostgresStore::open(&url).await.map_err(fail)?,
            Interruption::Fault(fault) => {
                model.fail_next(fault);
                store.faults().fail_next(Some(fault));
            }
            Interruption::FullDisk(_) => store.faults().cut_next(),
        }
        let expected = apply(&model, &operation).await;
        let answer = apply(&store, &operation).await;
        store.faults().fail_next(None);
        model = model.copy();
        match interruption {
            // One that is refused comes to no commit.
            Interruption::Fault(_) => prop_assert!(answer.is_err(), "{:?}", operation),
            _ => prop_assert_eq!(written(&answer), written(&expected), "{:?}", operation),
        }
        let (found, wanted) =
            (Snapshot::of(&store).await.map_err(fail)?, Snapshot::of(&model).await.map_err(fail)?);
        let differences = found.differences(&wanted);
        prop_assert!(
            differences.is_empty(),
            "{:?} after {:?}, {:?}",
            differences,
            operation,
            interruption
        );
    }
    Ok(())
}

/// Operations that wait at the same time, so that several are one commit. Those that read before they write are left out: what they read depends on
/// the group.
async fn play_groups(
    path: &Path,
    runs: Vec<Vec<(Operation, Interruption)>>,
) -> std::result::Result<(), TestCaseError> {
    use Operation::{Collect, Erase, Release, Replace};
    let fail = |error: Error| TestCaseError::fail(error.to_string());
    let store = RedbStore::open_on(&Disk::new(), path, JOURNAL_ENTRIES).map_err(fail)?;
    let store = Arc::new(store);
    let model = MemoryStore::new(store.id());
    let first = [Operation::Begin(true, 1, None), Operation::Begin(false, 1, None)];
    for operation in &first {
        apply(&model, operation).await.map_err(fail)?;
        apply(store.as_ref(), operation).await.map_err(fail)?;
    }
    for run in runs {
        let reads = |operation: &Operation| {
            matches!(operation, Release(..) | Replace(..) | Collect(..) | Erase(..))
        };
        let run: Vec<Operation> = run.into_iter().map(|(operation, _)| operation).collect();
        let run: Vec<Operation> = run.into_iter().filter(|operation| !reads(operation)).collect();
        let start = |operation: &Operation| {
            let (store, operation) = (Arc::clone(&store), operation.clone());
            tokio::spawn(async move { apply(store.as_ref(), &operation).await })
        };
        let started: Vec<_> = run.iter().map(start).collect();
        for (operation, answer) in run.iter().zip(started) {
            let answer = answer.await.map_err(|error| TestCaseError::fail(error.to_string()))?;
            let expected = apply(&model, operation).await;
            prop_assert_eq!(written(&answer), written(&expected), "{:?}", operation);
        }
        let found = Snapshot::of(store.as_ref()).await.map_err(fail)?;
        let differences = found.differences(&Snapshot::of(&model).await.map_err(fail)?);
        prop_assert!(differences.is_empty(), "{:?} after {:?}", differences, run);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, max_shrink_iters: 400, ..ProptestConfig::default() })]

    #[test]
    fn redb_does_what_the_model_does(operations in vec(operations(), 1..40)) {
        let folder = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(play(&folder.path().join("store"), operations))?;
    }

    /// The writer takes operations in their order, whatever it commits together.
    #[test]
    fn groups_do_what_the_model_does_one_after_another(runs in vec(vec(operations(), 2..9), 1..6)) {
        let folder = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(play_groups(&folder.path().join("store"), runs))?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, max_shrink_iters: 100, ..ProptestConfig::default() })]

    #[test]
    fn postgres_does_what_the_model_does(operations in vec(operations(), 1..40)) {
        let Some(cluster) = cluster() else { return Ok(()) };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.block_on(play_on_postgres(cluster, operations))?;
    }
}
