//! Stores, by named transactions.
//!
//! | file | what it is |
//! | --- | --- |
//! | `row` | records as bytes with a version in front |
//! | `fault` | how a transaction fails in a test |
//! | `memory` | a few lines of plain Rust, which the others are compared with |
//! | `redb` | the embedded store: one writer that commits groups |
//! | `postgres` | one database behind many processes |
//! | `portable` | everything out of one store and into another |
//! | `lease` | who releases, where several processes use one store |
//! | `disk` | private files and durable names |
//! | `refusal` | errors that every store gives in the same words, and checks that every store makes |
//! | `witness` | a file on another filesystem that shows whether the store was rolled back |
//! | `planted` | stores with a mistake, for tests and checkers |
//! | `contract` | tests that hold for every store |
//!
//! A transaction is all or nothing, and durable when its future is ready. It begins when the future is first polled, and a caller who goes away
//! does not cancel it. After `Error::Store` it may have happened or not: read again, or repeat it under the same id.
//!
//! **Slots.** An event belongs to a slot of the clock. `close` closes slots in order, and a closed slot never opens again: from then on its events take no
//! reward and no activation. `closed_events` reads final events, `release` commits the step that used them, and `collect` removes rows no longer needed.
//! If the process dies between any two of these, the committed rows say where to go on.

#[cfg(test)]
pub(crate) mod contract;
mod disk;
mod fault;
mod lease;
mod memory;
#[cfg(any(test, feature = "planted"))]
pub mod planted;
mod portable;
#[cfg(not(test))]
mod postgres;
#[cfg(test)]
pub(crate) mod postgres;
mod redb;
mod refusal;
pub(crate) mod row;
mod witness;

pub use fault::Fault;
#[cfg(test)]
pub(crate) use fault::FaultAfter;
pub(crate) use lease::Lease;
pub use memory::MemoryStore;
pub(crate) use portable::retired_remedy;
pub use portable::{Entry, Location, Moved, Portable, move_store};
pub use postgres::{COPY_OF_DATABASE, PostgresStore};
pub use redb::RedbStore;
#[cfg(test)]
pub(crate) use redb::faulty::Disk;
use reticent_loops::records;
pub use reticent_loops::records::*;
pub use witness::{Agreement, Witness, WitnessHead, WitnessRecord, compare};

use std::{future::Future, path::PathBuf, pin::Pin};

use crate::{Result, clock::Time, loops::StoredAnswer};

/// Reads the stored answer of an event, of any version.
pub fn read_answer(bytes: &[u8]) -> Result<StoredAnswer> {
    row::decode(bytes)
}

/// The last slot that can be closed: PostgreSQL has numbers of 63 bits, and one slot must stay open.
pub const LAST_SLOT: u64 = i64::MAX as u64 - 1;

/// A transaction under way.
pub type Pending<T> = Pin<Box<dyn Future<Output = Result<T>> + Send>>;

/// A store of events, heads, the ledger and keys. Everything in it that came from people is internal.
pub trait Store: Send + Sync + 'static {
    /// The random identity of this store, made when it was: a copy has the same.
    fn id(&self) -> StoreId;

    /// True if other processes may use this store at the same time.
    fn is_shared(&self) -> bool {
        false
    }

    /// Adds events, each with its charge to the ledger, or returns the answer that was given before under the same event id. All events of
    /// one call are one transaction; the answers are in their order. The slot is that asked for, or the first open one if that has closed.
    /// Events of a generation that has ended are kept and not learnt from: every event is in one generation only.
    fn insert_events(&self, events: Vec<NewEvent>) -> Pending<Vec<Ranked>>;

    /// The same for events with a number, of which those below a named floor are not added: none for these. The floor is read in the same transaction,
    /// so that nothing is added that a caller counts on being refused.
    fn insert_events_above(
        &self,
        floor: String,
        events: Vec<(u64, NewEvent)>,
    ) -> Pending<Vec<Option<Ranked>>>;

    /// Raises a named floor, which begins at 0 and never goes down, and returns where it is. It is kept as a setting of this name.
    fn raise_floor(&self, name: String, floor: u64) -> Pending<u64>;

    /// Adds rewards to open events, one transaction. The outcome distinguishes added rewards from repeated ones.
    fn reward(&self, rewards: Vec<NewReward>) -> Pending<Vec<Outcome>>;

    /// Marks a deferred event as shown. The outcome tells the first time from repetitions.
    fn activate(&self, generation: GenerationId, event: EventHash) -> Pending<Outcome>;

    /// Closes all slots up to this one. Earlier closed ones stay closed.
    fn close(&self, generation: GenerationId, slot: u64) -> Pending<()>;

    /// Events of closed slots after `after` and up to slot `until`, in the order of (slot, number), at most `limit` of them. A row that cannot be
    /// read is given as one without features: one damaged row must not stop a loop.
    fn closed_events(
        &self,
        generation: GenerationId,
        after: Place,
        until: u64,
        limit: usize,
    ) -> Pending<Vec<(Place, StoredEvent)>>;

    /// Commits a step, whose slots must be closed and follow those of the head: the state, the head and the release become those of this number if the head still has the number before it and the same
    /// epoch; else nothing happens and the head that was found is returned.
    fn release(&self, step: Step) -> Pending<Committed>;

    /// The head of a generation with the state to go on from.
    fn head(&self, generation: GenerationId) -> Pending<Head>;

    /// Moves the right to release to a new epoch, and returns it.
    fn take_epoch(&self, generation: GenerationId) -> Pending<u64>;

    /// Keeps the right to release under this epoch for a time in milliseconds by the store's clock, or takes it under a new one if no other process
    /// keeps it. Returns the epoch, or none while another process has the right. It only says who should try: `release` checks the epoch.
    ///
    /// In a store of one process, no other keeps it.
    fn lease(
        &self,
        generation: GenerationId,
        epoch: Option<u64>,
        milliseconds: u64,
    ) -> Pending<Option<u64>> {
        let _ = milliseconds;
        match epoch {
            Some(_) => Box::pin(std::future::ready(Ok(epoch))),
            None => {
                let taken = self.take_epoch(generation);
                Box::pin(async move { taken.await.map(Some) })
            }
        }
    }

    /// Ready when another process may have released something or changed a key. It may be late or never come: who waits looks now and then.
    fn changed(&self) -> Pending<()> {
        Box::pin(std::future::pending())
    }

    /// Replaces a head after a rollback that an operator accepted, with the replay charged in its state, if nothing has changed since it was made. Its number, epoch, closed and
    /// folded slots may only grow, and a number that stays keeps its chain: no second release of one number, no slot that opens again.
    fn replace_state(&self, generation: GenerationId, replacement: Replacement) -> Pending<()>;

    /// Records of releases with numbers of `from` on, at most `limit`, and as many as have `bytes` of releases together; one at least if there is one.
    fn release_page(
        &self,
        generation: GenerationId,
        from: u64,
        limit: usize,
        bytes: usize,
    ) -> Pending<Vec<ReleaseRecord>>;

    /// Records of releases with numbers of `from` on, at most `limit`, however large they are.
    fn releases(
        &self,
        generation: GenerationId,
        from: u64,
        limit: usize,
    ) -> Pending<Vec<ReleaseRecord>> {
        self.release_page(generation, from, limit, usize::MAX)
    }

    /// Removes raw rows of slots up to `slot`, those of events whose time is before `before` only, and forgets event ids of slots up to
    /// `forget_ids`; at most `limit` of each. Whole releases below `first_release` are compacted: they lose their models and keep number, time and hashes. Returns how many
    /// rows, ids and releases went: 0 when there is nothing left to do.
    fn collect(&self, generation: GenerationId, what: Collect) -> Pending<u64>;

    /// All events that are still kept after `after`, in order, at most `limit`: for export.
    fn kept_events(
        &self,
        generation: GenerationId,
        after: Place,
        limit: usize,
    ) -> Pending<Vec<(Place, StoredEvent)>>;

    /// Erases a person under all their hashes in all generations: open events contribute nothing, raw rows go, and event ids stay with [`ERASED_REQUEST`] and no
    /// answer, those of removed rows too. Counts in the ledger stay. The hashes are remembered, so that a restored copy can be erased again.
    fn erase(&self, persons: Vec<PersonHash>, time: Time) -> Pending<Erased>;

    /// The hashes of all erased people, in order, for the witness.
    fn erased(&self) -> Pending<Vec<PersonHash>>;

    /// People of a period in the ledger of a generation: the number of all, and of those who have used up `most` visits.
    fn ledger(&self, generation: GenerationId, period: u64, most: u32) -> Pending<LedgerCount>;

    /// Begins a generation of a loop, or returns the present one if it has the same hash. The ledger of the present one goes on if the new one counts with it. The present one
    /// takes the new parameters: some of them, such as how long rows are retained, belong to no generation. Those that lack words which another process has appended are refused.
    fn begin_generation(&self, generation: NewGeneration) -> Pending<Generation>;

    /// All generations of all loops, ended ones included, in order.
    fn generations(&self) -> Pending<Vec<Generation>>;

    /// From now on no person is charged through this store, and nothing is learnt from persons, as soon as there is a setting of this name: another process
    /// has taken up something that this one does not know. A store of one process has no others.
    fn charge_until(&self, setting: String) {
        let _ = setting;
    }

    /// Adds a key.
    fn add_key(&self, key: KeyRecord) -> Pending<()>;

    /// All keys, revoked ones included.
    fn keys(&self) -> Pending<Vec<KeyRecord>>;

    /// Revokes a key; says whether there was one.
    fn revoke_key(&self, id: String, time: Time) -> Pending<bool>;

    /// Reads a named value of the service, such as the check value of the people's key.
    fn setting(&self, name: String) -> Pending<Option<Vec<u8>>>;

    /// Writes a named value if there is none yet, and returns the one that is kept.
    fn keep_setting(&self, name: String, value: Vec<u8>) -> Pending<Vec<u8>>;

    /// Writes a copy as of now to a file that does not exist yet, while the store goes on. The copy has the same identity.
    fn backup(&self, path: PathBuf) -> Pending<()>;

    /// Number of open events in each slot. Erased ones count until it closes, so that a limit on open events does not show an erasure.
    fn open_events(&self, generation: GenerationId) -> Pending<Vec<(u64, u64)>>;

    /// The same for slots after this one.
    fn open_events_after(&self, generation: GenerationId, after: u64) -> Pending<Vec<(u64, u64)>> {
        let open = self.open_events(generation);
        Box::pin(
            async move { Ok(open.await?.into_iter().filter(|(slot, _)| *slot > after).collect()) },
        )
    }
}

/// Value of a named floor.
pub(crate) async fn floor(store: &dyn Store, name: String) -> Result<u64> {
    refusal::floor_of(store.setting(name).await?.as_deref())
}

/// Removes everything that [`Store::collect`] would, a part at a time, so that others are answered in between.
pub(crate) async fn collect_all(
    store: &dyn Store,
    generation: GenerationId,
    what: Collect,
) -> Result<()> {
    while store.collect(generation, what).await? >= what.limit as u64 {
        tokio::task::yield_now().await;
    }
    Ok(())
}
