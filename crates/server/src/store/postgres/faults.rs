//! Failures that a test injects: before a commit, after it, or of the connection.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use deadpool_postgres::Transaction;

use crate::{Error, Result, store::Fault};

/// Failure to come.
#[derive(Default)]
pub(in crate::store) struct Faults {
    next: Mutex<Option<Fault>>,
    cut: AtomicBool,
}

impl Faults {
    /// Lets the next transaction that writes fail, or none.
    pub(in crate::store) fn fail_next(&self, fault: Option<Fault>) {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = fault;
    }

    /// Lets PostgreSQL end the connection of the next transaction that writes, when it has begun.
    pub(in crate::store) fn cut_next(&self) {
        self.cut.store(true, Ordering::SeqCst);
    }

    fn take(&self, when: Fault) -> Result<()> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        match *next == Some(when) {
            true => {
                *next = None;
                Err(Error::store(format_args!("injected failure: {when:?}")))
            }
            false => Ok(()),
        }
    }

    pub(super) async fn begun(&self, on: &Transaction<'_>) {
        if self.cut.swap(false, Ordering::SeqCst) {
            let _ = on.batch_execute("select pg_terminate_backend(pg_backend_pid())").await;
        }
    }

    pub(super) fn before_commit(&self) -> Result<()> {
        self.take(Fault::Before)
    }

    pub(super) fn after_commit(&self) -> Result<()> {
        self.take(Fault::After)
    }
}
