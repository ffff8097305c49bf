//! Checks of erasure.

use super::{
    checks::{Checked, begin, ensure, events, learnt, sample_step_folding},
    sample::{self, CLOSED, charge, event, event_of, person},
};
use crate::store::{Collect, ERASED_REQUEST, Ranked, Store};

pub(super) async fn an_erasure_leaves_the_budget(store: &dyn Store) -> Checked {
    let generation = begin(store).await?;
    let second = store.begin_generation(sample::generation("other", 1)).await?.id;
    store.insert_events((0..3).map(|id| event_of(generation, id, charge(1))).collect()).await?;
    store
        .insert_events(vec![
            event_of(generation, 3, charge(2)),
            event_of(second, 1, charge(3)),
            event(generation, 4),
        ])
        .await?;
    let open = store.open_events(generation).await?;
    let erased = store.erase(vec![person(1), person(3)], 77).await?;
    ensure!(erased.rows == 4, "{erased:?}");
    ensure!(
        events(store, generation).await?.len() == 2 && events(store, second).await?.is_empty(),
        "raw rows are gone"
    );
    ensure!(store.open_events(generation).await? == open, "open events show nothing");
    ensure!(
        matches!(
            store.insert_events(vec![event_of(generation, 1, charge(1))]).await?[..],
            [Ranked::Repeated { .. }]
        ),
        "ids stay"
    );
    store.insert_events(vec![event_of(generation, 9, charge(1))]).await?;
    ensure!(learnt(store, generation).await? == 2, "an erasure does not refill the budget");
    store.erase(vec![person(1)], 78).await?;
    ensure!(store.erased().await? == [person(1), person(3)], "who was erased is remembered");
    Ok(())
}

/// Requests and answers are overwritten if the event's own row is still there, and if it was removed with its release.
pub(super) async fn an_erasure_overwrites_requests_and_answers(store: &dyn Store) -> Checked {
    let generation = begin(store).await?;
    store
        .insert_events(vec![event_of(generation, 1, charge(1)), event_of(generation, 2, charge(2))])
        .await?;
    store.close(generation, CLOSED + 1).await?;
    store.release(sample_step_folding(generation, 0, 1, CLOSED + 1)).await?;
    store.collect(generation, Collect { forget_ids: 0, ..sample::everything() }).await?;
    ensure!(events(store, generation).await?.is_empty(), "rows of a release are removed");
    store
        .insert_events(vec![event_of(generation, 3, charge(1)), event_of(generation, 4, charge(2))])
        .await?;
    let answer = async |id| store.insert_events(vec![event_of(generation, id, charge(1))]).await;
    let kept = |id: u8| [Ranked::Repeated { request: [id; 32], answer: vec![id, 1] }];
    ensure!(answer(1).await? == kept(1) && answer(3).await? == kept(3), "before the erasure");
    store.erase(vec![person(1)], 77).await?;
    let nothing = [Ranked::Repeated { request: ERASED_REQUEST, answer: Vec::new() }];
    ensure!(answer(3).await? == nothing, "an event with a row");
    ensure!(answer(1).await? == nothing, "an event whose row was removed");
    ensure!(answer(2).await? == kept(2) && answer(4).await? == kept(4), "others keep theirs");
    Ok(())
}
