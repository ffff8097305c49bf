//! The embedded store: redb, with one writer that commits groups.
//!
//! | file | what it is |
//! | --- | --- |
//! | `tables` | tables and rows |
//! | `writer` | the queue, the groups, the reopening after a failure |
//! | `behind` | event ids and the ledger, journalled and merged behind |
//! | `events`, `heads`, `removal` | operations that write |
//! | `reads` | operations that read, on a snapshot in a thread of their own |
//! | `portable` | everything out of a file, and into a new one |
//! | `file` | opening and copying the file |
//! | `damage` | a file that is damaged |
//!
//! After an error of `fsync` the kernel may have dropped what it could not write while it still shows it; checksums find that when the file is
//! opened on another day (`file`), and the witness shows it if releases are missing. A full disk fails earlier, while pages are written, and loses nothing.

mod behind;
mod damage;
#[cfg(test)]
mod damaged;
mod events;
#[cfg(test)]
pub(crate) mod faulty;
mod file;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod growth;
mod heads;
mod portable;
mod reads;
mod removal;
mod tables;
#[cfg(test)]
mod tests;
mod writer;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
    thread::JoinHandle,
};

use ::redb::{ReadTransaction, ReadableTable};

use self::{
    tables::{GENERATIONS, IdentityRow, KEYS, SettingRow, Tables, get, put},
    writer::{Attempt, Opener, Queue, Shared},
};
use super::*;
use crate::Error;

/// A store in one file.
pub struct RedbStore {
    id: StoreId,
    shared: Arc<Shared>,
    queue: Queue,
    writer: Option<JoinHandle<()>>,
}

impl RedbStore {
    /// Opens the file, or makes it: readable by its owner alone, in a folder that is made so too if there is none. One process at a time.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path: PathBuf = path.as_ref().to_owned();
        disk::make_folder(&path)?;
        let file = path.clone();
        Self::open_with(path, Box::new(move || file::open(&file)), behind::JOURNAL_ENTRIES)
    }

    fn open_with(path: PathBuf, opener: Opener, journal_entries: usize) -> Result<Self> {
        let shared = Arc::new(Shared::open(path, opener, journal_entries)?);
        let (id, behind) = shared.guarded(|| Ok((identify(&shared)?, shared.recover()?)))?;
        let (queue, writer) = writer::start(Arc::clone(&shared), behind)?;
        Ok(RedbStore { id, shared, queue, writer: Some(writer) })
    }

    /// Number of commits since it was opened. A group of transactions is one.
    pub fn commits(&self) -> u64 {
        self.shared.commits.load(Ordering::Relaxed)
    }

    /// Runs a read on a snapshot. A caller who goes away lets it finish without a receiver.
    fn read<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&ReadTransaction) -> Attempt<T> + Send + 'static,
    ) -> Pending<T> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let read = move || Ok(shared.guarded(|| operation(&shared.begin_read()?))?);
            tokio::task::spawn_blocking(read).await.map_err(Error::store)?
        })
    }
}

/// Makes the tables and the identity of a new store, and returns the identity.
fn identify(shared: &Shared) -> Attempt<StoreId> {
    let transaction = shared.begin_write()?;
    let mut tables = Tables::open(&transaction)?;
    let id = match get(&tables.identity, ())? {
        Some(IdentityRow(id)) => id,
        None => {
            let mut id = StoreId::default();
            getrandom::fill(&mut id).map_err(Error::store)?;
            put(&mut tables.identity, (), &IdentityRow(id))?;
            id
        }
    };
    drop(tables);
    transaction.commit()?;
    Ok(id)
}

impl Drop for RedbStore {
    /// Waits for queued operations, so that the file is closed when the store is gone.
    fn drop(&mut self) {
        self.queue.stop();
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

impl Store for RedbStore {
    fn id(&self) -> StoreId {
        self.id
    }

    fn insert_events(&self, events: Vec<NewEvent>) -> Pending<Vec<Ranked>> {
        self.queue.submit(move |group| events::insert_events(group, events))
    }

    fn insert_events_above(
        &self,
        floor: String,
        events: Vec<(u64, NewEvent)>,
    ) -> Pending<Vec<Option<Ranked>>> {
        self.queue.submit(move |group| events::insert_events_above(group, &floor, events))
    }

    fn raise_floor(&self, name: String, floor: u64) -> Pending<u64> {
        self.queue.submit(move |group| {
            let kept = events::floor(group, &name)?;
            if floor > kept {
                events::put_floor(group, &name, floor)?;
            }
            Ok(kept.max(floor))
        })
    }

    fn reward(&self, rewards: Vec<NewReward>) -> Pending<Vec<Outcome>> {
        self.queue.submit(move |group| events::reward(group, rewards))
    }

    fn activate(&self, generation: GenerationId, event: EventHash) -> Pending<Outcome> {
        self.queue.submit(move |group| events::activate(group, generation, &event))
    }

    fn close(&self, generation: GenerationId, slot: u64) -> Pending<()> {
        self.queue.submit(move |group| heads::close(group, generation, slot))
    }

    fn closed_events(
        &self,
        generation: GenerationId,
        after: Place,
        until: u64,
        limit: usize,
    ) -> Pending<Vec<(Place, StoredEvent)>> {
        self.read(move |transaction| {
            let until = until.min(reads::closed(transaction, generation)?);
            reads::events(transaction, generation, after, until, limit)
        })
    }

    fn release(&self, step: Step) -> Pending<Committed> {
        self.queue.submit(move |group| heads::release(group, step))
    }

    fn head(&self, generation: GenerationId) -> Pending<Head> {
        self.read(move |transaction| reads::whole_head(transaction, generation))
    }

    fn take_epoch(&self, generation: GenerationId) -> Pending<u64> {
        self.queue.submit(move |group| heads::take_epoch(group, generation))
    }

    fn replace_state(&self, generation: GenerationId, replacement: Replacement) -> Pending<()> {
        self.queue.submit(move |group| heads::replace_state(group, generation, replacement))
    }

    fn release_page(
        &self,
        generation: GenerationId,
        from: u64,
        limit: usize,
        bytes: usize,
    ) -> Pending<Vec<ReleaseRecord>> {
        self.read(move |transaction| reads::releases(transaction, generation, from, limit, bytes))
    }

    fn collect(&self, generation: GenerationId, what: Collect) -> Pending<u64> {
        let garbage =
            self.read(move |transaction| removal::find_garbage(transaction, generation, what));
        let queue = self.queue.clone();
        Box::pin(async move {
            let garbage = garbage.await?;
            if garbage.is_empty() {
                return Ok(0);
            }
            queue.submit(move |group| removal::remove_garbage(group, garbage)).await
        })
    }

    fn kept_events(
        &self,
        generation: GenerationId,
        after: Place,
        limit: usize,
    ) -> Pending<Vec<(Place, StoredEvent)>> {
        self.read(move |transaction| reads::events(transaction, generation, after, u64::MAX, limit))
    }

    fn erase(&self, persons: Vec<PersonHash>, time: Time) -> Pending<Erased> {
        let persons: BTreeSet<PersonHash> = persons.into_iter().collect();
        let sought = persons.clone();
        let found = self.read(move |transaction| removal::find_person(transaction, &sought));
        let queue = self.queue.clone();
        Box::pin(async move {
            let found = found.await?;
            queue.submit(move |group| removal::erase(group, persons, found, time)).await
        })
    }

    fn erased(&self) -> Pending<Vec<PersonHash>> {
        self.read(reads::erased)
    }

    fn ledger(&self, generation: GenerationId, period: u64, most: u32) -> Pending<LedgerCount> {
        self.read(move |transaction| reads::ledger(transaction, generation, period, most))
    }

    fn begin_generation(&self, generation: NewGeneration) -> Pending<Generation> {
        self.queue.submit(move |group| heads::begin_generation(group, generation))
    }

    fn generations(&self) -> Pending<Vec<Generation>> {
        self.read(|transaction| reads::all(transaction, GENERATIONS))
    }

    fn add_key(&self, key: KeyRecord) -> Pending<()> {
        self.queue.submit(move |group| {
            let keys = &mut group.tables.keys;
            if keys.get(key.id.as_str())?.is_some() {
                return Err(refusal::key_exists(&key.id).into());
            }
            put(keys, key.id.as_str(), &key)
        })
    }

    fn keys(&self) -> Pending<Vec<KeyRecord>> {
        self.read(|transaction| reads::all(transaction, KEYS))
    }

    fn revoke_key(&self, id: String, time: Time) -> Pending<bool> {
        self.queue.submit(move |group| {
            let Some(mut key) = get::<_, KeyRecord>(&group.tables.keys, id.as_str())? else {
                return Ok(false);
            };
            if key.revoked.is_none() {
                key.revoked = Some(time);
                put(&mut group.tables.keys, id.as_str(), &key)?;
            }
            Ok(true)
        })
    }

    fn setting(&self, name: String) -> Pending<Option<Vec<u8>>> {
        self.read(move |transaction| reads::setting(transaction, &name))
    }

    fn keep_setting(&self, name: String, value: Vec<u8>) -> Pending<Vec<u8>> {
        self.queue.submit(move |group| {
            if let Some(SettingRow(kept)) = get(&group.tables.settings, name.as_str())? {
                return Ok(kept);
            }
            let row = SettingRow(value);
            put(&mut group.tables.settings, name.as_str(), &row)?;
            Ok(row.0)
        })
    }

    fn backup(&self, path: PathBuf) -> Pending<()> {
        self.read(move |transaction| file::copy(transaction, &path))
    }

    fn open_events(&self, generation: GenerationId) -> Pending<Vec<(u64, u64)>> {
        self.read(move |transaction| reads::open_events(transaction, generation))
    }
}
