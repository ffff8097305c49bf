//! Everything that a store holds, entry by entry: how it moves to a store of another kind.
//!
//! ```text
//! retire the source -> read it in one snapshot -> write the target in one transaction, unchecked -> read the target -> compare hashes
//!     -> the target begins, with a new epoch -> the source is marked as moved
//! ```
//!
//! A source that is retired takes nothing any more, and no process can release from it: two served copies would each release the same people, and neither
//! would charge for it. If the move fails after that, it is repeated, to the same place. A target that was not checked to its end is not served. A source that is marked as
//! moved is never read again: its target has gone on, and may have been emptied since.

use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

use super::{
    Digest, EventHash, Generation, GenerationId, Head, KeyRecord, Pending, PersonHash, Place,
    PostgresStore, RedbStore, ReleaseRecord, Store, StoredEvent,
};
use crate::{Error, Result, clock::Time};

/// Entries that travel at once.
pub(super) const TOGETHER: usize = 1024;

/// The setting that names where a retired store has gone.
pub(super) const RETIRED: &str = "retired";

/// The setting that says that the move of a retired store has come to its end.
pub(super) const MOVED: &str = "moved";

/// Text in place of the name of a place in a copy that was not checked yet.
pub(super) const UNCHECKED: &str = "(unchecked)";

/// Remedy where a store is retired to this place.
pub(crate) fn retired_remedy(place: &str) -> String {
    match place {
        UNCHECKED => {
            "it is a copy that was not checked to its end: repeat `reticent-server store copy`"
                .into()
        }
        place => format!("it was moved to {place}: serve from there"),
    }
}

/// One thing that a store holds. A store sends its entries in this order of their kinds, and those of one kind in the order of their fields.
#[derive(Serialize)]
pub enum Entry {
    /// A generation.
    Generation(Generation),
    /// The head of a generation.
    Head(GenerationId, Head),
    /// A release.
    Release(GenerationId, ReleaseRecord),
    /// The visits of a person in a period.
    Visits(GenerationId, u64, PersonHash, u32),
    /// An event id with its person, its request and its answer.
    Remembered(GenerationId, Place, EventHash, Option<PersonHash>, Digest, Vec<u8>),
    /// An event.
    Event(GenerationId, Place, StoredEvent),
    /// A key.
    Key(KeyRecord),
    /// A named value.
    Setting(String, Vec<u8>),
    /// A person who was erased, and the time.
    Erased(PersonHash, Time),
    /// The end: a writer of the entries commits nothing without it.
    End,
}

/// A store whose contents can move.
pub trait Portable: Store {
    /// Sends every entry of one snapshot, in order, and the end.
    fn export(&self, to: mpsc::Sender<Vec<Entry>>) -> Pending<()>;

    /// Ends this store: nothing is taken any more, and the right to release moves to an epoch that no process has. It returns where the contents go: to another
    /// place, if that was said before.
    fn retire(&self, place: String) -> Pending<String>;

    /// Place to which its contents have gone, if it is retired.
    fn retired_to(&self) -> Pending<Option<String>>;

    /// Notes that the copy of a retired store was checked and may be served.
    fn finish(&self) -> Pending<()>;

    /// True if that is noted.
    fn is_moved(&self) -> Pending<bool>;

    /// Lets a copy live that was checked, under new epochs.
    fn begin(&self) -> Pending<()>;
}

/// Place of a store.
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
            Location::File(path) => Ok(whole_path(path).display().to_string()),
            Location::Database(url) => PostgresStore::name(url),
        }
    }

    async fn open(&self) -> Result<Box<dyn Portable>> {
        Ok(match self {
            Location::File(path) => Box::new(RedbStore::open(path)?),
            Location::Database(url) => Box::new(PostgresStore::open_any(url).await?),
        })
    }

    /// Writes a store that has this identity and these entries, all or nothing. The target must be empty.
    async fn import(&self, id: super::StoreId, entries: mpsc::Receiver<Vec<Entry>>) -> Result<()> {
        match self {
            Location::File(path) => RedbStore::import(path.clone(), id, entries).await,
            Location::Database(url) => PostgresStore::import(url, id, entries).await,
        }
    }

    /// True if there is a store with something in it.
    async fn is_written(&self) -> Result<bool> {
        match self {
            Location::File(path) => Ok(path.exists()),
            Location::Database(url) => PostgresStore::open_any(url).await?.is_written().await,
        }
    }
}

/// A path that does not depend on the folder of the process, nor on links to its folder.
fn whole_path(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match (path.parent().and_then(|folder| folder.canonicalize().ok()), path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path,
    }
}

/// Summary of a move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// Entries of all kinds.
    pub entries: u64,
    /// SHA-256 of all of them, in both stores.
    pub hash: String,
}

/// Error where the entries of a source end before their end.
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
            "there is no store; expected the folder of one",
        ));
    }
    let source = from.open().await?;
    let gone = source.retired_to().await?;
    if let Some(gone) = gone.as_deref().filter(|gone| *gone != place) {
        return Err(elsewhere(from, gone)?);
    }
    if source.is_moved().await? {
        return Err(moved_before(&place));
    }
    let written = to.is_written().await?;
    if written {
        let target = to.open().await?;
        if target.id() != source.id() || gone.is_none() {
            let remedy = "it holds another store already; expected an empty place";
            return Err(Error::invalid("to", place, remedy));
        }
        // The last attempt ended between the last two steps.
        if target.retired_to().await?.as_deref() != Some(UNCHECKED) {
            source.finish().await?;
            return Err(moved_before(&place));
        }
    }
    let kept = source.retire(place.clone()).await?;
    if kept != place {
        return Err(elsewhere(from, &kept)?);
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
    if found != wanted {
        return Err(Error::store(format_args!(
            "{place} does not hold what the source holds ({} entries instead of {}), and was never served: empty it and repeat the move",
            found.entries, wanted.entries
        )));
    }
    target.begin().await?;
    source.finish().await?;
    Ok(found)
}

fn moved_before(place: &str) -> Error {
    Error::Conflict(format!("it was moved before, and goes on at {place}: serve from there"))
}

/// Error of a source that goes to another place.
fn elsewhere(from: &Location, gone: &str) -> Result<Error> {
    let remedy = match gone {
        UNCHECKED => retired_remedy(gone),
        gone => format!(
            "it was moved to {gone}: two served copies would spend the same people's guarantee twice"
        ),
    };
    Ok(Error::invalid("from", from.name()?, remedy))
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
