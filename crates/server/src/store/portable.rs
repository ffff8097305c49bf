//! Everything that a store holds, entry by entry: how it moves to a store of another kind.
//!
//! ```text
//! retire the source -> read it in one snapshot -> write the target in one transaction -> read the target -> compare hashes -> new epoch
//! ```
//!
//! A source that is retired takes nothing any more, and nobody can release from it: two living copies would each release the same people, and neither
//! would charge for it. If the move fails after that, it is repeated: to the same place, which is checked again if it was written already.

use std::path::PathBuf;

use serde::Serialize;
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

use super::{
    Digest, EventHash, Head, KeyRecord, Life, LifeId, Pending, PersonHash, Place, PostgresStore,
    RedbStore, ReleaseRecord, Store, StoredEvent,
};
use crate::{Error, Result, clock::Time};

/// Entries that travel at once.
pub(super) const TOGETHER: usize = 1024;

/// The setting that names where a retired store has gone.
pub(super) const RETIRED: &str = "retired";

/// One thing that a store holds. A store sends its entries in this order of their kinds, and those of one kind in the order of their fields.
#[derive(Serialize)]
pub enum Entry {
    /// A life.
    Life(Life),
    /// The head of a life.
    Head(LifeId, Head),
    /// A release.
    Release(LifeId, ReleaseRecord),
    /// The visits of a person in a period.
    Visits(LifeId, u64, PersonHash, u32),
    /// An event id with its request and its answer.
    Remembered(LifeId, Place, EventHash, Digest, Vec<u8>),
    /// An event.
    Event(LifeId, Place, StoredEvent),
    /// A key.
    Key(KeyRecord),
    /// A named value.
    Setting(String, Vec<u8>),
    /// Somebody who was erased, and when.
    Erased(PersonHash, Time),
    /// That was all: whoever writes the entries commits nothing without it.
    End,
}

/// A store whose contents can move.
pub trait Portable: Store {
    /// Sends every entry of one snapshot, in order, and the end.
    fn export(&self, to: mpsc::Sender<Vec<Entry>>) -> Pending<()>;

    /// Ends this store: nothing is taken any more, and the right to release moves to an epoch that nobody has.
    fn retire(&self, place: String) -> Pending<()>;

    /// Where its contents have gone, if it is retired.
    fn retired_to(&self) -> Pending<Option<String>>;
}

/// Where a store is.
#[derive(Clone)]
pub enum Location {
    /// A file of the embedded store.
    File(PathBuf),
    /// The address of a PostgreSQL database.
    Database(String),
}

impl Location {
    /// Its name without a password.
    fn name(&self) -> Result<String> {
        match self {
            Location::File(path) => Ok(path.display().to_string()),
            Location::Database(url) => PostgresStore::name(url),
        }
    }

    async fn open(&self) -> Result<Box<dyn Portable>> {
        Ok(match self {
            Location::File(path) => Box::new(RedbStore::open(path)?),
            Location::Database(url) => Box::new(PostgresStore::open_any(url).await?),
        })
    }

    /// Writes a store that has this identity and these entries, all or nothing. What is there must be empty.
    async fn import(&self, id: super::StoreId, entries: mpsc::Receiver<Vec<Entry>>) -> Result<()> {
        match self {
            Location::File(path) => RedbStore::import(path.clone(), id, entries).await,
            Location::Database(url) => PostgresStore::import(url, id, entries).await,
        }
    }

    /// Whether there is a store with something in it.
    async fn is_written(&self) -> Result<bool> {
        match self {
            Location::File(path) => Ok(path.exists()),
            Location::Database(url) => PostgresStore::open_any(url).await?.is_written().await,
        }
    }
}

/// What was moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// Entries of all kinds.
    pub entries: u64,
    /// SHA-256 of all of them, in both stores.
    pub hash: String,
}

/// What is said when the entries of a source end before their end.
pub(super) fn cut_short() -> Error {
    Error::store("the source could not be read to its end")
}

/// Moves everything from one store to another, and retires the first.
pub async fn move_store(from: &Location, to: &Location) -> Result<Moved> {
    let place = to.name()?;
    if from.name()? == place {
        return Err(Error::invalid("to", place, "give another place than that of the source"));
    }
    if let Location::File(path) = from
        && !path.exists()
    {
        return Err(Error::invalid(
            "from",
            path.display(),
            "there is no store: give the folder of one",
        ));
    }
    let source = from.open().await?;
    if let Some(gone) = source.retired_to().await?
        && gone != place
    {
        let remedy = format!(
            "it was moved to {gone}: two living copies would spend the same people's guarantee twice"
        );
        return Err(Error::invalid("from", from.name()?, remedy));
    }
    let written = to.is_written().await?;
    if written && (to.open().await?.id() != source.id() || source.retired_to().await?.is_none()) {
        return Err(Error::invalid(
            "to",
            place,
            "it holds another store already: give an empty place",
        ));
    }
    if source.retired_to().await?.is_none() {
        source.retire(place.clone()).await?;
    }
    let wanted = digest(source.as_ref()).await?;
    if !written {
        let (sender, receiver) = mpsc::channel(4);
        let exported = tokio::spawn(source.export(sender));
        let imported = to.import(source.id(), receiver).await;
        // Why the source could not be read is the better explanation.
        exported.await.map_err(Error::store)??;
        imported?;
    }
    let target = to.open().await?;
    let found = digest(target.as_ref()).await?;
    if found != wanted && written {
        return Err(Error::Conflict(format!(
            "{place} holds this store and has gone on since: it was moved before, serve from there"
        )));
    }
    if found != wanted {
        return Err(Error::store(format_args!(
            "{place} does not hold what the source holds ({} entries instead of {}): empty it and repeat the move",
            found.entries, wanted.entries
        )));
    }
    for life in target.lives().await? {
        target.take_epoch(life.id).await?;
    }
    Ok(found)
}

/// The number and the hash of all entries.
async fn digest(store: &dyn Portable) -> Result<Moved> {
    let (sender, mut receiver) = mpsc::channel(4);
    let exported = tokio::spawn(store.export(sender));
    let (mut entries, mut hash) = (0, Sha256::new());
    while let Some(some) = receiver.recv().await {
        for entry in &some {
            let bytes = postcard::to_allocvec(entry).map_err(Error::store)?;
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
            entries += 1;
        }
    }
    exported.await.map_err(Error::store)??;
    Ok(Moved { entries, hash: hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect() })
}
