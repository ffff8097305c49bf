//! Life cycle of a loop, which is the same for every mechanism: a loop continues from the store or begins a generation, is ticked by the process that
//! holds the lease, is stopped where something is wrong, and is retired by the next generation.
//!
//! ```text
//! begin or go on -> lease -> tick -> ... -> tick -> retired by a new generation
//!                             \-> halted -> an operator accepts what stopped it -> tick
//! ```

use std::sync::{Mutex, MutexGuard, PoisonError};

use tracing::info;

use super::{
    open::{OpenEvents, Slots},
    tick::Progress,
    ticker::Ticker,
};
use crate::{
    Error, Result,
    clock::Time,
    config::LoopParams,
    loops::first_chain,
    store::{Generation, GenerationId, Head, Lease, NewGeneration, Pending, Store},
};

/// State of a served loop that does not depend on its mechanism.
pub struct LifeCycle {
    /// The loop's name.
    pub name: String,
    /// Number of its present generation in the store.
    pub generation: GenerationId,
    /// Hash of everything that the present generation is.
    pub params_hash: u64,
    /// Milliseconds between two releases.
    pub tick: u64,
    /// Begin of the generation.
    pub(super) began: Time,
    pub(super) lease: Lease,
    halted: Mutex<Option<Halt>>,
    pub(super) ticker: Ticker,
    /// Progress of the ticks, of which one runs at a time.
    pub(super) ticking: tokio::sync::Mutex<Progress>,
    pub(super) open: OpenEvents,
}

/// Reason for which nothing is released.
pub(super) struct Halt {
    pub(super) why: String,
    /// Number of the latest published release, where the store was rolled back or has another release of that number.
    pub(super) seen: Option<u64>,
    /// Note that the store lacks, or lacks under the present charges.
    pub(super) unnoted: Option<Note>,
}

/// Note of a loop in the store, so that no process releases from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Note {
    /// A release was published that the store does not have.
    Seen,
    /// Later releases may be lost.
    Doubt,
}

/// A loop that goes on or has just begun, before its mechanism reads the head.
pub(super) struct Begun {
    pub(super) cycle: LifeCycle,
    pub(super) generation: Generation,
    pub(super) head: Head,
    /// Time of the last release.
    pub(super) released: Option<Time>,
}

/// Continues the present generation of a loop, or begins this one. Over the same periods its persons are counted in the same ledger, if that is whole.
async fn begin(store: &dyn Store, new: NewGeneration, is_whole: bool) -> Result<Generation> {
    let read = |params: &[u8]| serde_json::from_slice::<LoopParams>(params).map_err(Error::store);
    let now = read(&new.params)?;
    let present =
        |generation: &Generation| generation.name == new.name && generation.ended.is_none();
    let before = store.generations().await?.into_iter().find(present);
    let counts_with = match &before {
        Some(before) if is_whole && read(&before.params)?.counts_with(&now) => Some(before.id),
        _ => None,
    };
    let generation = store.begin_generation(NewGeneration { counts_with, ..new }).await?;
    let (name, number) = (&generation.name, generation.id);
    let params_hash = format_args!("{:016x}", generation.params_hash);
    match before {
        Some(before) if before.id == generation.id => {}
        Some(before) => {
            let mut changed = read(&before.params)?.changes(&now);
            if changed.is_empty() {
                changed.push("a file that it begins with, or the program");
            }
            let changed = changed.join(", ");
            match now.warm_start_origin.filter(|_| now.warm_start.is_none()) {
                Some(origin) => {
                    let begins_with = origin.release;
                    info!(r#loop = %name, generation = number, params = %params_hash, %changed, begins_with, "a new generation begins with the last release of the one before it");
                }
                None => {
                    info!(r#loop = %name, generation = number, params = %params_hash, %changed, "a new generation begins and learns anew");
                }
            }
        }
        None => {
            info!(r#loop = %name, generation = number, params = %params_hash, "the first generation begins");
        }
    }
    Ok(generation)
}

impl LifeCycle {
    /// Continues or begins a generation of a loop with this tick, and takes the right to release if it is free.
    pub(super) async fn begin(
        store: &dyn Store,
        new: NewGeneration,
        is_whole: bool,
        tick: u64,
    ) -> Result<Begun> {
        let generation = begin(store, new, is_whole).await?;
        let head = stored_head(store, generation.id, generation.params_hash).await?;
        let lease = Lease::default();
        lease.keep(store, generation.id).await?;
        let open = store.open_events(generation.id).await?.into_iter().collect();
        let released = match head.number {
            0 => None,
            number => {
                store.releases(generation.id, number, 1).await?.first().map(|record| record.time)
            }
        };
        let cycle = LifeCycle {
            name: generation.name.clone(),
            generation: generation.id,
            params_hash: generation.params_hash,
            tick,
            began: generation.began,
            lease,
            halted: Mutex::default(),
            ticker: Ticker::new(&generation.name, tick),
            ticking: tokio::sync::Mutex::new(Progress::new(head.closed)),
            open: OpenEvents::new(open),
        };
        Ok(Begun { cycle, generation, head, released })
    }

    /// Slot of the clock that a moment lies in.
    pub(super) fn slot(&self, time: Time) -> u64 {
        time / self.tick
    }

    /// True if the last tick failed and is tried again.
    pub fn is_failing(&self) -> bool {
        self.ticker.failure().is_some()
    }

    /// Events of open slots: whether they have a reward does not count, so that their number shows nothing but when people came.
    pub fn open_events(&self) -> u64 {
        self.open.count()
    }

    /// Carries out a transaction that inserts events, and notes its outcome.
    pub(super) async fn insert<T>(
        &self,
        store: &dyn Store,
        transaction: Pending<T>,
        note: impl FnOnce(&mut Slots, &T),
    ) -> Result<T> {
        let stored = self.open.change(transaction, note).await;
        // Where that fails, the next insertion tries it.
        let _ = self.open.make_certain(store, self.generation).await;
        stored
    }

    /// Reason for which an operator has to look at the loop.
    pub(super) fn halt_state(&self) -> MutexGuard<'_, Option<Halt>> {
        self.halted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops releases until an operator has looked. A rollback is the reason that is shown, whatever came before; the latest published release
    /// counts, and what has been noted of it is not noted again.
    pub(super) fn halt(&self, why: String, shown: Option<(u64, Note)>) {
        tracing::error!(r#loop = %self.name, "releases stop: {why}");
        let (seen, unnoted) = shown.unzip();
        let mut state = self.halt_state();
        let is_known =
            |halt: &Halt| halt.seen > seen || (halt.seen == seen && halt.unnoted.is_none());
        if !state.as_ref().is_some_and(is_known) {
            *state = Some(Halt { why, seen, unnoted });
        }
    }

    /// Lets the reason that stops a loop be noted in the store again, after the charges have changed under which it was noted. It returns the release that was published.
    pub(super) fn note_again(&self) -> Option<u64> {
        let mut state = self.halt_state();
        let halt = state.as_mut()?;
        let seen = halt.seen?;
        halt.unnoted = halt.unnoted.or(Some(Note::Seen));
        Some(seen)
    }
}

/// The stored head of a generation.
pub(super) async fn stored_head(
    store: &dyn Store,
    generation: GenerationId,
    params_hash: u64,
) -> Result<Head> {
    let mut head = store.head(generation).await?;
    if head.number == 0 {
        head.chain = first_chain(store.id(), generation, params_hash);
    }
    Ok(head)
}
