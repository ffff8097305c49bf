//! Checks of generations and of the ledger that they share.

use super::{
    checks::{Checked, begin, ensure, learnt},
    sample::{self, charge, event, event_of},
};
use crate::{
    Error,
    store::{Charge, NewGeneration, Store},
};

pub(super) async fn generations_follow_each_other(store: &dyn Store) -> Checked {
    let first = store.begin_generation(sample::generation("home", 1)).await?;
    store.insert_events((0..3).map(|id| event_of(first.id, id, charge(1))).collect()).await?;
    store.insert_events(vec![event_of(first.id, 3, Charge { period: 1, ..charge(2) })]).await?;
    let again =
        NewGeneration { state: vec![99], closed: 50, time: 9, ..sample::generation("home", 1) };
    ensure!(
        store.begin_generation(again).await? == first,
        "the same generation has the same number"
    );
    ensure!(store.head(first.id).await?.state == [1], "and keeps its state");
    let changed = NewGeneration { params: b"changed".to_vec(), ..sample::generation("home", 1) };
    let present = store.begin_generation(changed).await?;
    ensure!((present.id, &present.params[..]) == (first.id, b"changed"), "and takes parameters");
    ensure!(store.generations().await? == [present], "and keeps them");
    let after = NewGeneration { counts_with: Some(first.id), ..sample::generation("home", 2) };
    let second = store.begin_generation(after).await?;
    let other = store.begin_generation(sample::generation("other", 2)).await?;
    ensure!(second.id != first.id && other.id != second.id, "new generations");
    let generations = store.generations().await?;
    let ends: Vec<_> =
        generations.iter().map(|generation| (generation.id, generation.ended)).collect();
    ensure!(ends == [(first.id, Some(1002)), (second.id, None), (other.id, None)], "{ends:?}");
    let shared = store.ledger(second.id, 0, 3).await?;
    ensure!((shared.people, shared.used_up) == (1, 1), "the ledger goes on: {shared:?}");
    ensure!(store.ledger(second.id, 1, 1).await?.people == 1, "in every period");
    ensure!(
        store.ledger(other.id, 0, 1).await?.people == 0,
        "other loops have ledgers of their own"
    );
    store
        .insert_events(vec![
            event_of(first.id, 4, charge(3)),
            event(first.id, 5),
            event_of(second.id, 4, charge(1)),
        ])
        .await?;
    ensure!(
        learnt(store, first.id).await? == 4,
        "nothing is learnt in a generation that has ended"
    );
    ensure!(learnt(store, second.id).await? == 0, "nor beyond k visits in both generations");
    let third = store.begin_generation(sample::generation("home", 1)).await?;
    ensure!(third.id != first.id, "an ended generation does not come back");
    ensure!(store.ledger(third.id, 0, 1).await?.people == 0, "its own ledger, unless asked");
    Ok(())
}

/// A loop's parameters change and change back within a period: three generations, and three visits of a person in all of them.
pub(super) async fn visits_are_counted_over_generations(store: &dyn Store) -> Checked {
    let first = begin(store).await?;
    let of = |generation, id, period| event_of(generation, id, Charge { period, ..charge(1) });
    store.insert_events(vec![of(first, 1, 7), of(first, 2, 0)]).await?;
    let after = |generation, params_hash| {
        let new = NewGeneration {
            counts_with: Some(generation),
            ..sample::generation("home", params_hash)
        };
        store.begin_generation(new)
    };
    let second = after(first, 2).await?;
    store.insert_events(vec![of(second.id, 1, 7)]).await?;
    // As it was at first.
    let third = after(second.id, 1).await?;
    ensure!(third.id != first && (second.ledger, third.ledger) == (first, first), "one ledger");
    let batch = (1..5).map(|id| of(third.id, id, 7)).chain([of(third.id, 9, 0)]);
    store.insert_events(batch.collect()).await?;
    let counts = [learnt(store, first).await?, learnt(store, second.id).await?];
    let last = learnt(store, third.id).await?;
    ensure!(
        (counts, last) == ([2, 1], 2),
        "{counts:?}, {last}: three of one period, two of another"
    );
    for generation in [first, second.id, third.id] {
        let count = store.ledger(generation, 7, 3).await?;
        ensure!((count.people, count.used_up) == (1, 1), "generation {generation}: {count:?}");
    }
    let generations = store.generations().await?;
    let ledgers: Vec<_> = generations.iter().map(|generation| generation.ledger).collect();
    ensure!(ledgers == [first; 3], "{ledgers:?}");
    // Another process began a generation in between, which may count over other periods.
    let fourth = after(second.id, 4).await?;
    ensure!(fourth.ledger == fourth.id, "a ledger of its own");
    store.insert_events(vec![of(fourth.id, 1, 7)]).await?;
    ensure!(learnt(store, fourth.id).await? == 1, "which begins empty");
    Ok(())
}

/// Two processes start at the same moment with files to which different words were appended.
pub(super) async fn appended_words_are_not_overwritten(store: &dyn Store) -> Checked {
    let with = |changes: &[(u64, &str)]| {
        let appended = changes.iter().map(
            |(time, word)| serde_json::json!({"time": time, "words": {"action.topic": [word]}}),
        );
        let features = serde_json::json!({"context": {}, "action": {"topic": {"categories": ["news"]}}, "cross": {"with": []}, "constant": true});
        let params = serde_json::json!({
            "privacy": {"epsilon": 1.0, "delta": 1e-6, "visits": 1, "per": "1 day"},
            "reward": {"range": [0.0, 1.0], "window": "2 minutes"},
            "action": {"topic": {"categories": ["news"]}},
            "continuation": {"began": features, "appended": appended.collect::<Vec<_>>()},
        });
        NewGeneration { params: params.to_string().into_bytes(), ..sample::generation("home", 1) }
    };
    let (none, jazz) = (with(&[]), with(&[(1, "jazz")]));
    let first = store.begin_generation(none.clone()).await?;
    let present = store.begin_generation(jazz.clone()).await?;
    ensure!((present.id, &present.params) == (first.id, &jazz.params), "a word is appended");
    ensure!(
        store.begin_generation(jazz).await? == present,
        "and is there when it is appended again"
    );
    // They have read what was there before.
    for late in [with(&[(1, "film")]), none, sample::generation("home", 1)] {
        let found = store.begin_generation(late).await.err();
        let Some(Error::Conflict(why)) = &found else {
            return Err(format!("taken: {found:?}").into());
        };
        ensure!(why.contains("changed by another process; start again"), "{why}");
        ensure!(store.generations().await? == [present.clone()], "nothing changes");
    }
    let again = store.begin_generation(with(&[(2, "jazz")])).await?;
    ensure!(again.id == first.id, "the same word at another time is no conflict");
    let both = with(&[(1, "jazz"), (2, "film")]);
    let later = store.begin_generation(both.clone()).await?;
    ensure!(
        (later.id, later.params) == (first.id, both.params),
        "started again, it appends its own"
    );
    Ok(())
}
