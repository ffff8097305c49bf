//! PostgreSQL: one database behind many processes.
//!
//! | file | what it is |
//! | --- | --- |
//! | `connect` | address of the database, TLS, refused addresses |
//! | `migrate` | numbered SQL files |
//! | `transaction` | tasks, repetitions, statements |
//! | `groups` | calls that are committed together |
//! | `locks` | what must not happen at the same time |
//! | `events`, `ledger`, `rewards`, `heads`, `settings`, `removal`, `reads` | named transactions |
//! | `portable` | everything out of a database, and into one |
//! | `follow` | what others do, and the database's clock |
//! | `number` | numbers and bytes as PostgreSQL keeps them |
//!
//! Any process ranks and takes rewards. Slots are closed under a lock that no event on its way passes, so that a closed slot is final for every process that reads
//! it. One process releases: it leases the right, and the update that moves the head checks its epoch.
//!
//! **No stored parts.** The sums of a tick are not kept by shard of the event id: the releaser reads the rows of the closed slots and adds them up itself. Contributions are integers,
//! so that parts would give the same sums and nothing else; what they have to hold holds without them:
//!
//! - *Nothing comes into a slot that is summed.* An event reads which slots are closed under its generation's lock, shared with others, and holds that until its commit; `close` takes the lock alone.
//!   A process that is slow to insert delays the closing of the slot, or finds it closed and takes the next one. Rewards do the same.
//! - *Every event counts once.* There is no mark on each row that could be set without its sum, or twice: the head has one number, the last folded slot, and one update moves it together with
//!   the state that has the sums, the release's number and its chain. Its condition is the epoch and the number that the state was read with, so that the sums begin where the head ends.
//! - *A releaser that was stopped counts nothing.* What it has summed is in its memory alone, and the update finds another epoch. Parts that such a process had stored would have to be distinguished from others.
//! - *A tick needs all of its rows, not all of its shards.* A process that dies between two reads leaves nothing behind.
//!
//! It costs that one process reads all rows of a tick, some 100,000 a second; shards would let several of them read. It is the place to begin if a tick ever takes longer than the tick's length.

mod connect;
mod events;
#[cfg(test)]
pub(super) mod faults;
mod follow;
mod groups;
mod heads;
mod ledger;
mod locks;
mod migrate;
mod number;
mod portable;
mod reads;
mod removal;
mod rewards;
mod settings;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod transaction;

use std::sync::{Arc, Mutex, PoisonError};

use self::{
    connect::Address, events::NewEvents, follow::Follower, groups::Queue, transaction::Connections,
};
use super::*;
use crate::{Error, clock::Clock};

/// A store in a PostgreSQL database, or in a schema of one.
pub struct PostgresStore {
    id: StoreId,
    /// The first key of the advisory locks, so that stores of one database do not wait for each other.
    key: i32,
    channel: Arc<str>,
    connections: Arc<Connections>,
    /// The setting whose existence ends charges through this process.
    fence: Fence,
    ranks: Queue<NewEvents>,
    rewards: Queue<Vec<NewReward>>,
    follower: Follower,
}

/// Error for a call that asks for a copy in a file.
pub const COPY_OF_DATABASE: &str = "PostgreSQL copies its databases itself: use pg_dump, or pg_basebackup with archived logs; a restored copy counts as a rollback, as with any store";

/// The name of a setting, if there is one.
type Fence = Arc<Mutex<Option<Arc<str>>>>;

/// Error of a store whose contents were moved.
fn retired(place: &str) -> Error {
    Error::Unavailable(format!(
        "this store is not served: {}",
        super::portable::retired_remedy(place)
    ))
}

/// The first key of the advisory locks of a store.
fn lock_key(id: &StoreId) -> i32 {
    let [a, b, c, d, ..] = *id;
    i32::from_le_bytes([a, b, c, d])
}

impl PostgresStore {
    /// Connects, and makes the tables if there are none: `postgres://user@host/database`.
    pub async fn open(url: &str) -> Result<Self> {
        let store = Self::open_any(url).await?;
        let key = store.key;
        store.connections.write(move |on| Box::pin(locks::check_living(on, key))).await?;
        Ok(store)
    }

    /// The same, for a store whose contents were moved too.
    pub(super) async fn open_any(url: &str) -> Result<Self> {
        let address = Address::parse(url)?;
        let connections = Arc::new(Connections::new(address.clone())?);
        let id = connections.write(|on| Box::pin(migrate::migrate(on))).await?;
        let id: StoreId = number::hash(&id)?;
        let key = lock_key(&id);
        let channel: Arc<str> = format!("reticent_{:08x}", key as u32).into();
        let follower = Follower::start(address, channel.to_string()).await?;
        let fence = Fence::default();
        let of_ranks = Arc::clone(&fence);
        let ranks = Queue::start(&connections, move |on, calls| {
            let fence = of_ranks.lock().unwrap_or_else(PoisonError::into_inner).clone();
            Box::pin(async move { events::insert_events(on, key, fence.as_deref(), &calls).await })
        });
        let rewards = Queue::start(&connections, move |on, calls| {
            Box::pin(async move { rewards::reward(on, key, &calls).await })
        });
        Ok(PostgresStore { id, key, channel, connections, fence, ranks, rewards, follower })
    }

    /// The database's clock, which decides for all processes.
    pub fn clock(&self) -> Arc<dyn Clock> {
        let clock: Arc<follow::DatabaseClock> = Arc::clone(&self.follower.clock);
        clock
    }

    /// Does what an administrator of the database might do.
    #[cfg(test)]
    pub(crate) async fn tamper(&self, sql: &'static str) {
        let done = self
            .connections
            .write(move |on| Box::pin(async move { Ok(on.batch_execute(sql).await?) }));
        done.await.unwrap();
    }

    /// Failures that a test injects.
    #[cfg(test)]
    pub(super) fn faults(&self) -> &faults::Faults {
        &self.connections.faults
    }
}

impl Store for PostgresStore {
    fn id(&self) -> StoreId {
        self.id
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn insert_events(&self, events: Vec<NewEvent>) -> Pending<Vec<Ranked>> {
        let events = events.into_iter().map(|event| (0, event)).collect();
        let ranked = self.ranks.submit(NewEvents { floor: None, events });
        // Nothing is below no floor.
        Box::pin(async move { Ok(ranked.await?.into_iter().flatten().collect()) })
    }

    fn insert_events_above(
        &self,
        floor: String,
        events: Vec<(u64, NewEvent)>,
    ) -> Pending<Vec<Option<Ranked>>> {
        self.ranks.submit(NewEvents { floor: Some(floor), events })
    }

    fn raise_floor(&self, name: String, floor: u64) -> Pending<u64> {
        let (key, name): (_, Arc<str>) = (self.key, name.into());
        self.connections.write(move |on| {
            let name = Arc::clone(&name);
            Box::pin(async move { settings::raise_floor(on, key, &name, floor).await })
        })
    }

    fn reward(&self, rewards: Vec<NewReward>) -> Pending<Vec<Outcome>> {
        self.rewards.submit(rewards)
    }

    fn activate(&self, generation: GenerationId, event: EventHash) -> Pending<Outcome> {
        let key = self.key;
        self.connections.write(move |on| Box::pin(rewards::activate(on, key, generation, event)))
    }

    fn close(&self, generation: GenerationId, slot: u64) -> Pending<()> {
        let key = self.key;
        self.connections.write(move |on| Box::pin(heads::close(on, key, generation, slot)))
    }

    fn closed_events(
        &self,
        generation: GenerationId,
        after: Place,
        until: u64,
        limit: usize,
    ) -> Pending<Vec<(Place, StoredEvent)>> {
        self.connections
            .read(move |on| Box::pin(reads::closed_events(on, generation, after, until, limit)))
    }

    fn release(&self, step: Step) -> Pending<Committed> {
        let (step, channel) = (Arc::new(step), Arc::clone(&self.channel));
        self.connections.write(move |on| {
            let (step, channel) = (Arc::clone(&step), Arc::clone(&channel));
            Box::pin(async move { heads::release(on, &channel, &step).await })
        })
    }

    fn head(&self, generation: GenerationId) -> Pending<Head> {
        self.connections.read(move |on| Box::pin(heads::head(on, generation)))
    }

    fn take_epoch(&self, generation: GenerationId) -> Pending<u64> {
        let key = self.key;
        self.connections.write(move |on| Box::pin(heads::take_epoch(on, key, generation)))
    }

    fn lease(
        &self,
        generation: GenerationId,
        epoch: Option<u64>,
        milliseconds: u64,
    ) -> Pending<Option<u64>> {
        self.connections
            .write(move |on| Box::pin(heads::lease(on, generation, epoch, milliseconds)))
    }

    fn changed(&self) -> Pending<()> {
        let mut changes = self.follower.changes.clone();
        changes.mark_unchanged();
        Box::pin(async move {
            match changes.changed().await {
                Ok(()) => Ok(()),
                Err(_) => std::future::pending().await,
            }
        })
    }

    fn replace_state(&self, generation: GenerationId, replacement: Replacement) -> Pending<()> {
        let (key, new, channel) = (self.key, Arc::new(replacement), Arc::clone(&self.channel));
        self.connections.write(move |on| {
            let (new, channel) = (Arc::clone(&new), Arc::clone(&channel));
            Box::pin(async move { heads::replace_state(on, key, &channel, generation, &new).await })
        })
    }

    fn release_page(
        &self,
        generation: GenerationId,
        from: u64,
        limit: usize,
        bytes: usize,
    ) -> Pending<Vec<ReleaseRecord>> {
        self.connections
            .read(move |on| Box::pin(reads::releases(on, generation, from, limit, bytes)))
    }

    fn collect(&self, generation: GenerationId, what: Collect) -> Pending<u64> {
        let key = self.key;
        self.connections.write(move |on| Box::pin(removal::collect(on, key, generation, what)))
    }

    fn kept_events(
        &self,
        generation: GenerationId,
        after: Place,
        limit: usize,
    ) -> Pending<Vec<(Place, StoredEvent)>> {
        self.connections
            .read(move |on| Box::pin(reads::events(on, generation, after, u64::MAX, limit)))
    }

    fn erase(&self, persons: Vec<PersonHash>, time: Time) -> Pending<Erased> {
        let (key, persons) = (self.key, Arc::new(persons));
        self.connections.write(move |on| {
            let persons = Arc::clone(&persons);
            Box::pin(async move { removal::erase(on, key, &persons, time).await })
        })
    }

    fn erased(&self) -> Pending<Vec<PersonHash>> {
        self.connections.read(|on| Box::pin(reads::erased(on)))
    }

    fn ledger(&self, generation: GenerationId, period: u64, most: u32) -> Pending<LedgerCount> {
        self.connections.read(move |on| Box::pin(reads::ledger(on, generation, period, most)))
    }

    fn begin_generation(&self, generation: NewGeneration) -> Pending<Generation> {
        let (key, generation) = (self.key, Arc::new(generation));
        self.connections.write(move |on| {
            let generation = Arc::clone(&generation);
            Box::pin(async move { heads::begin_generation(on, key, &generation).await })
        })
    }

    fn generations(&self) -> Pending<Vec<Generation>> {
        self.connections.read(|on| Box::pin(reads::generations(on)))
    }

    fn charge_until(&self, setting: String) {
        *self.fence.lock().unwrap_or_else(PoisonError::into_inner) = Some(setting.into());
    }

    fn add_key(&self, key: KeyRecord) -> Pending<()> {
        let (lock, key, channel) = (self.key, Arc::new(key), Arc::clone(&self.channel));
        self.connections.write(move |on| {
            let (key, channel) = (Arc::clone(&key), Arc::clone(&channel));
            Box::pin(async move { settings::add_key(on, lock, &channel, &key).await })
        })
    }

    fn keys(&self) -> Pending<Vec<KeyRecord>> {
        self.connections.read(|on| Box::pin(reads::keys(on)))
    }

    fn revoke_key(&self, id: String, time: Time) -> Pending<bool> {
        let (lock, id, channel): (_, Arc<str>, _) =
            (self.key, id.into(), Arc::clone(&self.channel));
        self.connections.write(move |on| {
            let (id, channel) = (Arc::clone(&id), Arc::clone(&channel));
            Box::pin(async move { settings::revoke_key(on, lock, &channel, &id, time).await })
        })
    }

    fn setting(&self, name: String) -> Pending<Option<Vec<u8>>> {
        let name: Arc<str> = name.into();
        self.connections.read(move |on| {
            let name = Arc::clone(&name);
            Box::pin(async move { reads::setting(on, &name).await })
        })
    }

    fn keep_setting(&self, name: String, value: Vec<u8>) -> Pending<Vec<u8>> {
        let (lock, name, value): (_, Arc<str>, Arc<[u8]>) = (self.key, name.into(), value.into());
        self.connections.write(move |on| {
            let (name, value) = (Arc::clone(&name), Arc::clone(&value));
            Box::pin(async move { settings::keep(on, lock, &name, &value).await })
        })
    }

    fn backup(&self, _: PathBuf) -> Pending<()> {
        Box::pin(async move { Err(Error::Unavailable(COPY_OF_DATABASE.into())) })
    }

    fn open_events(&self, generation: GenerationId) -> Pending<Vec<(u64, u64)>> {
        self.open_events_after(generation, 0)
    }

    fn open_events_after(&self, generation: GenerationId, after: u64) -> Pending<Vec<(u64, u64)>> {
        self.connections.read(move |on| Box::pin(reads::open_events(on, generation, after)))
    }
}
