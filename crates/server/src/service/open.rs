//! Open events of a loop, counted for the limit on them.
//!
//! They are counted where the outcome of a transaction is known. After an error of the store it is not: the events may be there or not, and a client that
//! repeats them gets the answer that they are. They are then read from the store again, while no other transaction of this process changes them. Slots that
//! other processes still add events to are read now and then too; those that no rank request asks for any more are not, for a window may have many, with all open events in them.

use std::{
    collections::BTreeMap,
    future::Future,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::{RwLock, RwLockWriteGuard};

use crate::{
    Error, Result,
    store::{GenerationId, Ranked, Store},
};

/// Events by slot.
pub(super) type Slots = BTreeMap<u64, u64>;

/// Counts an event that was added to an open slot.
pub(super) fn count_added(slots: &mut Slots, stored: Option<&Ranked>) {
    if let Some(Ranked::Added { slot }) = stored {
        *slots.entry(*slot).or_default() += 1;
    }
}

/// The open events of a loop.
pub(super) struct OpenEvents {
    slots: Mutex<Slots>,
    /// Shared by transactions that change them, until the change is noted; a task that counts again has it alone.
    changing: RwLock<()>,
    /// True if the outcome of a transaction is not known.
    uncertain: AtomicBool,
}

impl OpenEvents {
    /// Counts as the store has them.
    pub(super) fn new(slots: Slots) -> Self {
        let (changing, uncertain) = Default::default();
        OpenEvents { slots: Mutex::new(slots), changing, uncertain }
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Their number.
    pub(super) fn count(&self) -> u64 {
        self.slots().values().sum()
    }

    /// Carries out a transaction that changes them, and notes what became of it.
    pub(super) async fn change<T>(
        &self,
        transaction: impl Future<Output = Result<T>>,
        note: impl FnOnce(&mut Slots, &T),
    ) -> Result<T> {
        let _shared = self.changing.read().await;
        let outcome = transaction.await;
        match &outcome {
            Ok(outcome) => note(&mut self.slots(), outcome),
            Err(Error::Store(_)) => self.uncertain.store(true, Ordering::SeqCst),
            // A refusal has changed nothing.
            Err(_) => {}
        }
        outcome
    }

    /// Counts them again if the outcome of a transaction is not known.
    pub(super) async fn make_certain(
        &self,
        store: &dyn Store,
        generation: GenerationId,
    ) -> Result<()> {
        if !self.uncertain.load(Ordering::SeqCst) {
            return Ok(());
        }
        let alone = self.changing.write().await;
        // Many fail together, and one of them counts.
        match self.uncertain.load(Ordering::SeqCst) {
            true => self.read(&alone, store, generation).await,
            false => Ok(()),
        }
    }

    /// Counts those of slots after `settled` again, into which others may have added some. Of the others, those of closed slots go.
    pub(super) async fn recount(
        &self,
        store: &dyn Store,
        generation: GenerationId,
        closed: u64,
        settled: u64,
    ) -> Result<()> {
        let alone = self.changing.write().await;
        if self.uncertain.load(Ordering::SeqCst) {
            return self.read(&alone, store, generation).await;
        }
        let counted = store.open_events_after(generation, settled).await?;
        let mut slots = self.slots();
        slots.retain(|slot, _| *slot > closed && *slot <= settled);
        slots.extend(counted);
        Ok(())
    }

    async fn read(
        &self,
        _alone: &RwLockWriteGuard<'_, ()>,
        store: &dyn Store,
        generation: GenerationId,
    ) -> Result<()> {
        *self.slots() = store.open_events(generation).await?.into_iter().collect();
        self.uncertain.store(false, Ordering::SeqCst);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::{sync::oneshot, task::yield_now};

    use super::*;
    use crate::store::{MemoryStore, contract::sample};

    /// Its event would be counted twice: as the store has it, and when it is noted.
    #[tokio::test]
    async fn counting_again_waits_for_transactions_that_are_not_noted_yet() {
        let store = Arc::new(MemoryStore::new([1; 16]));
        let generation = store.begin_generation(sample::generation("home", 1)).await.unwrap().id;
        let open = Arc::new(OpenEvents::new(Slots::new()));
        let (answer, answered) = oneshot::channel();
        let (own, events) =
            (Arc::clone(&open), store.insert_events(vec![sample::event(generation, 1)]));
        let change = tokio::spawn(async move {
            let slow = async {
                events.await?;
                answered.await.map_err(Error::store)
            };
            own.change(slow, |slots, ()| *slots.entry(sample::CLOSED + 1).or_default() += 1).await
        });
        yield_now().await;
        let lost = open.change(async { Err::<(), _>(Error::store("lost")) }, |_, ()| ()).await;
        assert!(lost.is_err());
        let own = Arc::clone(&open);
        let count = tokio::spawn(async move { own.make_certain(store.as_ref(), generation).await });
        for _ in 0..10 {
            yield_now().await;
        }
        assert!(!count.is_finished() && open.count() == 0);
        answer.send(()).unwrap();
        change.await.unwrap().unwrap();
        count.await.unwrap().unwrap();
        assert_eq!(open.count(), 1);
    }
}
