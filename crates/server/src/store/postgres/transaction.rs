//! Transactions: in tasks of their own, so that a caller who goes away cannot interrupt one, and repeated where PostgreSQL asks for it.
//!
//! Until the commit is sent nothing has happened, so that a serialisation failure, a deadlock or a lost connection is tried again. A commit whose
//! answer is lost may have happened or not: that is an error, and the caller reads again or repeats it under the same id.

use std::{sync::Arc, time::Duration};

use deadpool_postgres::{Pool, Transaction};
use futures_util::future::BoxFuture;
use tokio_postgres::{IsolationLevel, Row, error::SqlState, types::ToSql};

use super::connect::Address;
use crate::{Error, Result, failpoint, store::Pending};

/// Attempts of a transaction, at most.
const ATTEMPTS: u32 = 12;

/// Reason why an attempt did not succeed.
pub(super) enum Failure {
    /// It was refused, and nothing has changed.
    Refused(Error),
    /// PostgreSQL failed.
    Database(tokio_postgres::Error),
    /// Transaction conflict: try again.
    Changed,
}

/// Outcome of an attempt.
pub(super) type Attempt<T> = std::result::Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Refused(error)
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        Failure::Database(error)
    }
}

impl Failure {
    /// True if nothing has happened, and another attempt may succeed.
    fn is_passing(&self) -> bool {
        match self {
            Failure::Refused(_) => false,
            Failure::Changed => true,
            Failure::Database(error) => match error.code() {
                Some(code) => [
                    SqlState::T_R_SERIALIZATION_FAILURE,
                    SqlState::T_R_DEADLOCK_DETECTED,
                    SqlState::ADMIN_SHUTDOWN,
                    SqlState::CRASH_SHUTDOWN,
                    SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
                ]
                .contains(code),
                None => {
                    let source = std::error::Error::source(error);
                    error.is_closed() || source.is_some_and(|source| source.is::<std::io::Error>())
                }
            },
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(error) => error,
            Failure::Database(error) => database_error(&error),
            Failure::Changed => Error::store("transaction conflict: retries exhausted"),
        }
    }
}

/// The message of PostgreSQL without its details, which may hold a person's row.
pub(super) fn database_error(error: &tokio_postgres::Error) -> Error {
    match error.as_db_error() {
        Some(cause) => Error::store(format_args!("{} ({})", cause.message(), cause.code().code())),
        None => Error::store(with_causes(error)),
    }
}

/// An error with what it was caused by, which its own message leaves out.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

/// Body of a transaction, which is called once for each attempt.
pub(super) trait Body<T>:
    for<'t> Fn(&'t Transaction<'t>) -> BoxFuture<'t, Attempt<T>> + Send + Sync + 'static
{
}
impl<T, F> Body<T> for F where
    F: for<'t> Fn(&'t Transaction<'t>) -> BoxFuture<'t, Attempt<T>> + Send + Sync + 'static
{
}

/// A closure as a body, whose lifetimes the compiler finds here and nowhere else.
pub(super) fn body<T, F>(body: F) -> F
where
    F: for<'t> Fn(&'t Transaction<'t>) -> BoxFuture<'t, Attempt<T>> + Send + Sync + 'static,
{
    body
}

/// Purpose of a transaction.
#[derive(Clone, Copy, PartialEq)]
enum Purpose {
    /// READ COMMITTED, so that a statement sees everything that was committed before it began.
    Write,
    /// One snapshot.
    Read,
}

/// Connections, with the failures that a test injects.
pub(super) struct Connections {
    pub(super) pool: Pool,
    address: Address,
    #[cfg(test)]
    pub(super) faults: super::faults::Faults,
}

impl Connections {
    /// Connections to this database, none of them open yet.
    pub(super) fn new(address: Address) -> Result<Self> {
        Ok(Connections {
            pool: address.pool()?,
            address,
            #[cfg(test)]
            faults: super::faults::Faults::default(),
        })
    }

    /// A transaction that writes.
    pub(super) fn write<T, F>(self: &Arc<Self>, body: F) -> Pending<T>
    where
        T: Send + 'static,
        F: for<'t> Fn(&'t Transaction<'t>) -> BoxFuture<'t, Attempt<T>> + Send + Sync + 'static,
    {
        self.spawn(Purpose::Write, body)
    }

    /// A transaction that reads.
    pub(super) fn read<T, F>(self: &Arc<Self>, body: F) -> Pending<T>
    where
        T: Send + 'static,
        F: for<'t> Fn(&'t Transaction<'t>) -> BoxFuture<'t, Attempt<T>> + Send + Sync + 'static,
    {
        self.spawn(Purpose::Read, body)
    }

    fn spawn<T: Send + 'static>(
        self: &Arc<Self>,
        purpose: Purpose,
        body: impl Body<T>,
    ) -> Pending<T> {
        let connections = Arc::clone(self);
        Box::pin(async move {
            let task = tokio::spawn(async move { connections.run(purpose, &body).await });
            task.await.map_err(Error::store)?
        })
    }

    /// A transaction that writes, in the task of the caller, who does not go away.
    pub(super) async fn write_here<T>(&self, body: &impl Body<T>) -> Result<T> {
        self.run(Purpose::Write, body).await
    }

    /// Tries until it succeeds, is refused, or has been tried often enough.
    async fn run<T>(&self, purpose: Purpose, body: &impl Body<T>) -> Result<T> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            match self.attempt(purpose, body).await? {
                Ok(value) => return Ok(value),
                Err(failure) if attempt < ATTEMPTS && failure.is_passing() => {
                    // Longer each time, and not the same for those who met.
                    let most = 1 << attempt.min(7);
                    let random = u16::from_le_bytes(super::number::random()?);
                    tokio::time::sleep(Duration::from_millis(1 + u64::from(random) % most)).await;
                }
                Err(failure) => return Err(failure.into()),
            }
        }
    }

    /// A connection of the pool.
    pub(super) async fn connection(&self) -> Result<deadpool_postgres::Object> {
        use deadpool_postgres::{HookError, PoolError};
        self.pool.get().await.map_err(|error| match error {
            PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
                self.address.unreachable(&error)
            }
            PoolError::PostCreateHook(HookError::Message(why)) => Error::Store(why.into_owned()),
            other => Error::store(format_args!("{} is not reached: {other}", self.address.name())),
        })
    }

    /// One attempt. The inner error comes before the commit, so that nothing has happened.
    async fn attempt<T>(&self, purpose: Purpose, body: &impl Body<T>) -> Result<Attempt<T>> {
        let mut client = self.connection().await?;
        let builder = match purpose {
            Purpose::Write => {
                client.build_transaction().isolation_level(IsolationLevel::ReadCommitted)
            }
            Purpose::Read => client
                .build_transaction()
                .isolation_level(IsolationLevel::RepeatableRead)
                .read_only(true),
        };
        let transaction = match builder.start().await {
            Ok(transaction) => transaction,
            Err(error) => return Ok(Err(error.into())),
        };
        #[cfg(test)]
        if purpose == Purpose::Write {
            self.faults.begun(&transaction).await;
        }
        let value = match body(&transaction).await {
            Ok(value) => value,
            // Dropping it rolls it back.
            Err(failure) => return Ok(Err(failure)),
        };
        if purpose == Purpose::Read {
            // Nothing was written, so that nothing can be lost.
            return Ok(Ok(value));
        }
        #[cfg(test)]
        self.faults.before_commit()?;
        failpoint::pass("store: before the commit");
        transaction.commit().await.map_err(|error| database_error(&error))?;
        failpoint::pass("store: committed");
        #[cfg(test)]
        self.faults.after_commit()?;
        Ok(Ok(value))
    }
}

type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Rows of a statement that is prepared once a connection.
pub(super) async fn rows(on: &Transaction<'_>, sql: &str, params: Params<'_>) -> Attempt<Vec<Row>> {
    let statement = on.prepare_cached(sql).await?;
    Ok(on.query(&statement, params).await?)
}

/// The row of a statement that has exactly one.
pub(super) async fn one(on: &Transaction<'_>, sql: &str, params: Params<'_>) -> Attempt<Row> {
    let statement = on.prepare_cached(sql).await?;
    Ok(on.query_one(&statement, params).await?)
}

/// The row of a statement that has one or none.
pub(super) async fn optional(
    on: &Transaction<'_>,
    sql: &str,
    params: Params<'_>,
) -> Attempt<Option<Row>> {
    let statement = on.prepare_cached(sql).await?;
    Ok(on.query_opt(&statement, params).await?)
}

/// Number of rows that a statement changed.
pub(super) async fn execute(on: &Transaction<'_>, sql: &str, params: Params<'_>) -> Attempt<u64> {
    let statement = on.prepare_cached(sql).await?;
    Ok(on.execute(&statement, params).await?)
}
