//! One writer that commits groups.
//!
//! Transactions wait in a queue. The writer takes all that wait, runs them one after the other in one transaction of redb, makes that durable, and then
//! answers all of them. An operation reads and checks before it writes, so that one that is refused has changed nothing and the others of its group go on.
//! A failure of redb itself fails the whole group; the file is then closed and opened again, since redb refuses everything after an input or output error.
//! A file that turns out to be damaged is not used any more (`damage`).
//!
//! Each commit of redb has two phases, and no state of the allocator: that would be written with every commit, and grows with the file. Opening after a crash
//! walks over the file once in its place.

use std::{
    fmt::Display,
    path::PathBuf,
    sync::{
        Arc, OnceLock, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
};

use ::redb::{
    CommitError, Database, DatabaseError, ReadTransaction, StorageError, TableError,
    TransactionError, WriteTransaction,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::{
    behind::WriteBehind,
    damage,
    tables::{HEADS, JOURNAL, JournalEntry, REMEMBERED, Tables},
};
use crate::{Error, Result, failpoint, store::Pending};

/// Transactions in one group, at most.
const GROUP: usize = 1024;
/// Transactions that wait, at most; who comes later waits to be queued.
pub(super) const QUEUE: usize = 16_384;

/// Reason why an operation did not happen.
pub(super) enum Failure {
    /// It was refused before it wrote anything.
    Refused(Error),
    /// redb failed, and nothing of its group has happened for sure.
    Storage(String),
    /// The same, because the file is damaged.
    Damaged(String),
}

/// Outcome of an operation.
pub(super) type Attempt<T> = std::result::Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Refused(error)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(error) => error,
            Failure::Storage(message) | Failure::Damaged(message) => Error::Store(message),
        }
    }
}

macro_rules! storage_failures {
    ($($error:ty),*) => { $(impl From<$error> for Failure {
        fn from(error: $error) -> Self {
            let error = ::redb::Error::from(error);
            match damage::is_damage(&error) {
                true => Failure::Damaged(error.to_string()),
                false => Failure::Storage(error.to_string()),
            }
        }
    })* };
}
storage_failures!(DatabaseError, StorageError, TableError, TransactionError, CommitError);

/// Opens the file, the first time and after a failure.
pub(super) type Opener = Box<dyn Fn() -> Attempt<Database> + Send + Sync>;

/// State that the writer and the readers share.
pub(super) struct Shared {
    /// None while the file could not be opened again.
    database: RwLock<Option<Database>>,
    path: PathBuf,
    /// Error of every call after the file was found damaged.
    damage: OnceLock<String>,
    opener: Opener,
    journal_entries: usize,
    /// Commits since the store was opened.
    pub(super) commits: AtomicU64,
    /// Fault of the next group.
    #[cfg(test)]
    pub(super) fault: std::sync::Mutex<Option<crate::store::Fault>>,
}

impl Shared {
    pub(super) fn open(path: PathBuf, opener: Opener, journal_entries: usize) -> Attempt<Self> {
        let shared = Shared {
            database: RwLock::new(None),
            path,
            damage: OnceLock::new(),
            opener,
            journal_entries,
            commits: AtomicU64::new(0),
            #[cfg(test)]
            fault: std::sync::Mutex::default(),
        };
        shared.guarded(|| shared.open_file())?;
        Ok(shared)
    }

    fn open_file(&self) -> Attempt<()> {
        let opened = (self.opener)()?;
        *self.database.write().unwrap_or_else(PoisonError::into_inner) = Some(opened);
        Ok(())
    }

    /// Runs what reads or writes the file. Once the file is found damaged, nothing is done with it any more.
    pub(super) fn guarded<T>(&self, work: impl FnOnce() -> Attempt<T>) -> Attempt<T> {
        if let Some(message) = self.damage.get() {
            return Err(Failure::Damaged(message.clone()));
        }
        match damage::caught(work) {
            Ok(Err(Failure::Damaged(what))) => Err(self.condemn(&what)),
            Ok(done) => done,
            Err(place) => {
                tracing::error!("{}: a panic at {place}", self.path.display());
                Err(self.condemn("its contents contradict each other"))
            }
        }
    }

    fn condemn(&self, what: &str) -> Failure {
        let message = self.damage.get_or_init(|| {
            let message = damage::message(&self.path, what);
            tracing::error!("{message}");
            message
        });
        // Closing it would write to it, and might wait for a transaction that ended in a panic. The system closes it with the process.
        std::mem::forget(self.database.write().unwrap_or_else(PoisonError::into_inner).take());
        Failure::Damaged(message.clone())
    }

    /// A snapshot. It holds no lock: if the file is closed under it, reading fails.
    pub(super) fn begin_read(&self) -> Attempt<ReadTransaction> {
        match &*self.database.read().unwrap_or_else(PoisonError::into_inner) {
            Some(database) => Ok(::redb::ReadableDatabase::begin_read(database)?),
            None => Err(Failure::Storage(
                "it was closed after a failure: the next transaction that writes opens it".into(),
            )),
        }
    }

    pub(super) fn begin_write(&self) -> Attempt<WriteTransaction> {
        match &*self.database.read().unwrap_or_else(PoisonError::into_inner) {
            Some(database) => {
                let mut transaction = database.begin_write()?;
                transaction.set_two_phase_commit(true);
                Ok(transaction)
            }
            None => Err(Failure::Storage(
                "it was closed after a failure and cannot be opened yet".into(),
            )),
        }
    }

    fn close(&self) {
        *self.database.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn reopen(&self) -> Attempt<WriteBehind> {
        // The old one holds the lock of the file.
        self.close();
        self.open_file()?;
        self.recover()
    }

    /// Reads the journal, and merges one that is too long.
    pub(super) fn recover(&self) -> Attempt<WriteBehind> {
        let reading = self.begin_read()?;
        let (journal, remembered) = (reading.open_table(JOURNAL)?, reading.open_table(REMEMBERED)?);
        let heads = reading.open_table(HEADS)?;
        let mut behind = WriteBehind::recover(&journal, &remembered, &heads, self.journal_entries)?;
        if behind.is_overlong() {
            let transaction = self.begin_write()?;
            behind.merge_all(&mut Tables::open(&transaction)?)?;
            transaction.commit()?;
        }
        Ok(behind)
    }

    #[cfg(test)]
    fn fault(&self, when: crate::store::Fault) -> Attempt<()> {
        let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        match *fault == Some(when) {
            true if when == crate::store::Fault::Panic => panic!("injected panic"),
            true => {
                *fault = None;
                Err(Failure::Storage(format!("injected failure: {when:?}")))
            }
            false => Ok(()),
        }
    }
}

impl Drop for Shared {
    /// redb writes when it closes a file, which may be damaged.
    fn drop(&mut self) {
        let _ = self.guarded(|| {
            self.close();
            Ok(())
        });
    }
}

/// The transactions of one commit.
pub(super) struct Group<'t> {
    pub tables: Tables<'t>,
    pub behind: &'t mut WriteBehind,
    /// Events that were added.
    pub added: Vec<JournalEntry>,
}

/// A transaction that waits.
pub(super) trait Job: Send {
    /// Runs it. An error is a failure of redb.
    fn run(&mut self, group: &mut Group<'_>) -> Attempt<()>;

    /// Answers, when its group was committed or failed.
    fn answer(self: Box<Self>, failure: Option<&str>);
}

struct Transaction<T, F> {
    operation: Option<F>,
    result: Option<Result<T>>,
    caller: oneshot::Sender<Result<T>>,
    _permit: OwnedSemaphorePermit,
}

impl<T, F> Job for Transaction<T, F>
where
    T: Send,
    F: FnOnce(&mut Group<'_>) -> Attempt<T> + Send,
{
    fn run(&mut self, group: &mut Group<'_>) -> Attempt<()> {
        let Some(operation) = self.operation.take() else { return Ok(()) };
        self.result = Some(match operation(group) {
            Ok(value) => Ok(value),
            Err(Failure::Refused(error)) => Err(error),
            Err(failure) => return Err(failure),
        });
        Ok(())
    }

    fn answer(self: Box<Self>, failure: Option<&str>) {
        let result = match (self.result, failure) {
            (Some(result), None) => result,
            // Even a refusal, which may have been for something that the group wrote before it.
            (_, failure) => Err(Error::store(failure.unwrap_or("the transaction did not run"))),
        };
        // A caller who went away needs no answer.
        let _ = self.caller.send(result);
    }
}

enum Message {
    Job(Box<dyn Job>),
    Stop,
}

/// The way to the writer.
#[derive(Clone)]
pub(super) struct Queue {
    sender: mpsc::Sender<Message>,
    permits: Arc<Semaphore>,
}

impl Queue {
    /// Queues a transaction when its future is polled.
    pub(super) fn submit<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&mut Group<'_>) -> Attempt<T> + Send + 'static,
    ) -> Pending<T> {
        let (sender, permits) = (self.sender.clone(), Arc::clone(&self.permits));
        Box::pin(async move {
            let permit = permits.acquire_owned().await.map_err(closed)?;
            let (caller, answer) = oneshot::channel();
            let job =
                Transaction { operation: Some(operation), result: None, caller, _permit: permit };
            sender.send(Message::Job(Box::new(job))).map_err(closed)?;
            answer.await.map_err(closed)?
        })
    }

    /// Lets the writer end after the queued operations.
    pub(super) fn stop(&self) {
        let _ = self.sender.send(Message::Stop);
    }
}

fn closed(_: impl Display) -> Error {
    Error::store("it is closed")
}

/// Starts the writer.
pub(super) fn start(
    shared: Arc<Shared>,
    behind: WriteBehind,
) -> Result<(Queue, std::thread::JoinHandle<()>)> {
    let (sender, receiver) = mpsc::channel();
    let writer = std::thread::Builder::new()
        .name("store".into())
        .spawn(move || run(&shared, &receiver, behind));
    Ok((Queue { sender, permits: Arc::new(Semaphore::new(QUEUE)) }, writer.map_err(Error::store)?))
}

fn run(shared: &Shared, receiver: &mpsc::Receiver<Message>, behind: WriteBehind) {
    let mut behind = Some(behind);
    let mut going = true;
    while going && let Ok(Message::Job(first)) = receiver.recv() {
        let mut jobs = vec![first];
        while jobs.len() < GROUP {
            match receiver.try_recv() {
                Ok(Message::Job(job)) => jobs.push(job),
                Ok(Message::Stop) => {
                    going = false;
                    break;
                }
                Err(_) => break,
            }
        }
        let failure = shared.guarded(|| commit(shared, &mut behind, &mut jobs)).err();
        let failure = failure.map(|failure| match failure {
            Failure::Refused(error) => error.to_string(),
            Failure::Storage(message) | Failure::Damaged(message) => message,
        });
        if failure.is_some() {
            // The memory may be ahead of the file. Callers read again after a failure, so the file is opened before they know of it.
            behind = shared.guarded(|| shared.reopen()).ok();
        }
        jobs.into_iter().for_each(|job| job.answer(failure.as_deref()));
    }
    let _ = shared.guarded(|| {
        shared.close();
        Ok(())
    });
}

/// Runs and commits a group. `behind` is none if the file could not be opened again after a failure: it is tried once more.
fn commit(
    shared: &Shared,
    behind: &mut Option<WriteBehind>,
    jobs: &mut [Box<dyn Job>],
) -> Attempt<()> {
    let behind = match behind {
        Some(behind) => behind,
        None => behind.insert(shared.reopen()?),
    };
    let transaction = shared.begin_write()?;
    {
        let mut group = Group { tables: Tables::open(&transaction)?, behind, added: Vec::new() };
        jobs.iter_mut().try_for_each(|job| job.run(&mut group))?;
        group.behind.commit(&mut group.tables, group.added)?;
        group.tables.flush()?;
    }
    #[cfg(test)]
    {
        shared.fault(crate::store::Fault::Before)?;
        shared.fault(crate::store::Fault::Panic)?;
    }
    failpoint::pass("store: before the commit");
    transaction.commit()?;
    failpoint::pass("store: committed");
    shared.commits.fetch_add(1, Ordering::Relaxed);
    #[cfg(test)]
    shared.fault(crate::store::Fault::After)?;
    Ok(())
}
