//! Whether the store takes what requests write, so that readiness follows what a request would meet: a full disk refuses every question and every reward.
//!
//! ```text
//! not ready:  a request's transaction failed within RECENT and none has succeeded since, or a probe fails
//! ```
//!
//! A probe raises a floor, in a transaction like any other. One a second is made at most, however many ask.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use super::Service;
use crate::{Error, Result, clock::Clock};

/// A failure of a request counts for so many milliseconds if no request succeeds meanwhile: one that gets no requests is asked by probes alone.
const RECENT: u64 = 10_000;

/// Milliseconds that the outcome of a probe is used again.
const FRESH: u64 = 1_000;

/// Time that a probe may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// The floor that probes raise.
const PROBES: &str = "probes of readiness";

/// What is known of the store's writing.
#[derive(Default)]
pub(super) struct Writing {
    /// When the last transaction of a request failed, by the steady clock and from 1; 0 if it succeeded.
    failed: AtomicU64,
    /// When the last probe ended, and why it failed, if it did.
    probed: tokio::sync::Mutex<Option<(u64, Option<String>)>>,
    /// Where the floor of probes is, as far as this process knows.
    floor: AtomicU64,
}

impl Writing {
    /// Notes what became of a request's transaction. A refusal says nothing of the store.
    pub(super) fn note<T>(&self, outcome: &Result<T>, steady: u64) {
        match outcome {
            Ok(_) => self.failed.store(0, Ordering::Relaxed),
            Err(Error::Store(_)) => self.failed.store(steady.saturating_add(1), Ordering::Relaxed),
            Err(_) => {}
        }
    }
}

impl Service {
    /// Why requests that write are refused, if they are.
    pub async fn write_trouble(&self) -> Option<String> {
        let failed = self.writing.failed.load(Ordering::Relaxed);
        if failed > 0 && self.clock.steady() < failed.saturating_add(RECENT) {
            return Some(refused("the last request failed"));
        }
        let mut probed = self.writing.probed.lock().await;
        if let Some((when, outcome)) = &*probed
            && self.clock.steady() < when.saturating_add(FRESH)
        {
            return outcome.clone();
        }
        let trouble = match tokio::time::timeout(PATIENCE, self.probe()).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(refused(&error.to_string())),
            Err(_) => Some(refused("it does not answer")),
        };
        *probed = Some((self.clock.steady(), trouble.clone()));
        trouble
    }

    /// Writes, and reads nothing before: a store that was closed after a failure is opened again by the next transaction that writes.
    async fn probe(&self) -> Result<()> {
        let raise = async || {
            let next = self.writing.floor.load(Ordering::Relaxed).saturating_add(1);
            let reached = self.store.raise_floor(PROBES.into(), next).await?;
            self.writing.floor.store(reached, Ordering::Relaxed);
            Ok::<_, Error>(reached == next)
        };
        // The first one of a process finds a floor that is higher, and has written nothing.
        if !raise().await? {
            raise().await?;
        }
        Ok(())
    }
}

fn refused(why: &str) -> String {
    format!(
        "the store refuses what requests write ({why}): questions and rewards are answered with 503 and have to be sent again; make room on its disk, or look at the database"
    )
}
