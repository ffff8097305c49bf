//! Several processes on one store: what the others have published and taken.

use std::sync::{PoisonError, atomic::Ordering};

use super::{Batches, DeviceLoop, ROWS, ServedModel, half::Half, row};
use crate::{
    Result,
    loops::first_chain,
    store::{Head, LifeId, Place, Store},
};

/// The stored head of a loop.
pub(super) async fn head(store: &dyn Store, each: &DeviceLoop) -> Result<Head> {
    let mut head = store.head(each.life).await?;
    if head.number == 0 {
        head.chain = first_chain(store.id(), each.life, each.plan.generation());
    }
    Ok(head)
}

/// Reports that wait to be counted.
pub(super) async fn waiting(store: &dyn Store, life: LifeId) -> Result<u64> {
    Ok(store.open_events(life).await?.iter().map(|(_, count)| count).sum())
}

/// Adds batches of a shuffler that are not counted yet.
pub(super) async fn note_uncounted(
    store: &dyn Store,
    life: LifeId,
    folded: u64,
    batches: &mut Batches,
) -> Result<()> {
    let mut after = Place { slot: folded, number: u64::MAX };
    loop {
        let rows = store.kept_events(life, after, ROWS).await?;
        let Some((last, _)) = rows.last() else { return Ok(()) };
        after = *last;
        let numbers = rows.iter().filter_map(|(_, row)| row::batch_number(&row.raw));
        numbers.for_each(|number| batches.note(number));
    }
}

/// Looks at a store that other processes use too: their models are served, and what they took is counted.
pub(super) async fn follow(store: &dyn Store, each: &DeviceLoop) -> Result<()> {
    if !store.is_shared() {
        return Ok(());
    }
    let head = head(store, each).await?;
    if head.number > each.served().number {
        each.serve(ServedModel::of_head(&each.plan, &head, published(store, each, &head).await?)?);
    }
    each.waiting.store(waiting(store, each.life).await?, Ordering::Relaxed);
    if each.plan.shuffled().is_some() {
        let mut batches = Half::load(&each.plan, &head.state)?.batches();
        note_uncounted(store, each.life, head.folded, &mut batches).await?;
        *each.batches.lock().unwrap_or_else(PoisonError::into_inner) = batches;
    }
    Ok(())
}

/// When the model of a head was published.
pub(super) async fn published(
    store: &dyn Store,
    each: &DeviceLoop,
    head: &Head,
) -> Result<Option<u64>> {
    let records = store.releases(each.life, head.number, 1).await?;
    Ok(records.first().map(|record| record.time))
}
