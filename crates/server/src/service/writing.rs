//! State of the store's writing, so that readiness follows what a request would meet: a full disk refuses every rank request and every reward.
//!
//! ```text
//! not ready:  a request's transaction failed within RECENT and none has succeeded since, or a probe fails
//! ```
//!
//! A probe raises a floor, in a transaction like any other. Probes are made on a timetable: every second while readiness is asked for, else every minute. A caller gets the outcome of
//! the last one at once: an answer that waited for the writer would show by its time whether others write.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use super::Service;
use crate::{Error, Result, clock::Clock};

/// Milliseconds for which a failure of a request counts if no request succeeds after it: a service that gets no requests is asked by probes alone.
const RECENT: u64 = 10_000;

/// Milliseconds after a call for readiness in which probes are made every second.
const ASKED: u64 = 60_000;

/// Milliseconds between two probes that no caller asks for.
const UNASKED: u64 = 60_000;

/// Time between two looks at the timetable.
const LOOK: Duration = Duration::from_secs(1);

/// Time that a probe may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// The floor that probes raise.
const PROBES: &str = "probes of readiness";

/// Outcomes of writing, by requests and by probes.
#[derive(Default)]
pub(super) struct Writing {
    /// Time at which the last transaction of a request failed, by the steady clock and from 1; 0 if it succeeded.
    failed: AtomicU64,
    /// Time at which readiness was requested last, by the steady clock and from 1; 0 before the first time.
    asked: AtomicU64,
    /// True if the last probe failed.
    refused: AtomicBool,
    /// The floor of probes, as far as this process knows.
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
    /// Reason why requests that write are refused, if they are, as far as requests and the last probe have shown.
    pub fn write_trouble(&self) -> Option<&'static str> {
        let steady = self.clock.steady();
        self.writing.asked.store(steady.saturating_add(1), Ordering::Relaxed);
        let failed = self.writing.failed.load(Ordering::Relaxed);
        let recent = failed > 0 && steady < failed.saturating_add(RECENT);
        (recent || self.writing.refused.load(Ordering::Relaxed)).then_some(REFUSED)
    }

    /// Probes now. A failure and its end are logged.
    pub async fn probe_writing(&self) {
        let failure = match tokio::time::timeout(PATIENCE, self.probe()).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("it does not answer".into()),
        };
        let before = self.writing.refused.swap(failure.is_some(), Ordering::Relaxed);
        match failure {
            Some(failure) if !before => tracing::error!("{REFUSED}: {failure}"),
            None if before => tracing::warn!("the store takes the writes of requests again"),
            _ => {}
        }
    }

    /// Probes on a timetable until the service stops.
    pub async fn keep_probing(self: Arc<Self>) {
        let mut last = self.clock.steady();
        self.probe_writing().await;
        while !self.stopping.load(Ordering::SeqCst) {
            tokio::time::sleep(LOOK).await;
            let (steady, asked) = (self.clock.steady(), self.writing.asked.load(Ordering::Relaxed));
            let is_asked = asked > 0 && steady < asked.saturating_add(ASKED);
            if is_asked || steady.saturating_sub(last) >= UNASKED {
                last = steady;
                self.probe_writing().await;
            }
        }
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

/// The sentence that every caller may read: details are in the log.
const REFUSED: &str = "the store refuses the writes of requests: rank requests and rewards are answered with 503 and have to be sent again; make room on its disk, or look at the database (the log \
     says why)";
