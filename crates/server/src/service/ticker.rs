//! Ticks by the clock: one after the other, each in a task of its own, so that a panic ends nothing but it. A failure is logged and tried again: nothing was
//! consumed by it.

use std::{
    future::Future,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use crate::{Error, Result, clock::Clock, store::Store};

/// The timer of a loop's ticks.
pub(crate) struct Ticker {
    /// The loop.
    name: String,
    /// Milliseconds of a tick.
    period: u64,
    /// Reason why the last tick failed, if it did.
    failure: Mutex<Option<String>>,
}

impl Ticker {
    /// A ticker with this period, in milliseconds, for a loop of this name.
    pub(crate) fn new(name: &str, period: u64) -> Self {
        Ticker { name: name.into(), period, failure: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, Option<String>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reason why the last tick failed, if it did.
    pub(crate) fn failure(&self) -> Option<String> {
        self.known().clone()
    }

    /// Notes whether the last tick failed, and logs it once.
    fn tell(&self, failed: Option<String>) {
        let mut known = self.known();
        if let Some(why) = failed.as_ref().filter(|why| known.as_ref() != Some(why)) {
            tracing::error!(r#loop = %self.name, "{why}");
        }
        *known = failed;
    }

    /// Ticks until the service stops. The store tells what other processes have released.
    pub(crate) async fn run<T, F>(
        &self,
        clock: &dyn Clock,
        store: &dyn Store,
        stopping: &AtomicBool,
        tick: impl Fn() -> F,
    ) where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        while !stopping.load(Ordering::SeqCst) {
            let failed = match tokio::spawn(tick()).await {
                Ok(Ok(_)) => None,
                Ok(Err(error)) => Some(redacted(&error)),
                Err(_) => Some("a fault of the program, which should be reported".into()),
            };
            self.tell(failed.map(|why| format!("the last tick failed and is tried again: {why}")));
            let left = self.period - clock.now() % self.period;
            // In short steps, so that a stop is noticed and a clock that was set is followed.
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(left.clamp(5, 500))) => {}
                _ = store.changed() => {}
            }
        }
    }
}

/// An error as it may be logged: fields and values of requests never reach a tick, and those of rows stay out.
fn redacted(error: &Error) -> String {
    match error {
        Error::Core(_) => "the learner refused a step".into(),
        other => other.to_string(),
    }
}
