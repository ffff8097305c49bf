//! Suspensions: a process that was stopped, or whose machine was, logs it when it goes on. Nothing else would show why releases are missing.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use super::Service;
use crate::clock::Clock;

/// Time between two looks at the clock.
const LOOK: Duration = Duration::from_millis(500);

/// A time between two looks that is logged, in milliseconds.
const NOTICED: u64 = 5_000;

impl Service {
    /// Logs every time for which the process did not run, until the service stops.
    pub async fn keep_noticing_suspensions(self: Arc<Self>) {
        let mut last = self.clock.steady();
        while !self.stopping.load(Ordering::SeqCst) {
            tokio::time::sleep(LOOK).await;
            let steady = self.clock.steady();
            let passed = steady.saturating_sub(last);
            if passed > NOTICED {
                tracing::warn!(
                    "the process did not run for {:.1} s: it was stopped (SIGSTOP), or its machine was suspended or overloaded; slots that ended in that time are closed now",
                    passed as f64 / 1000.0
                );
            }
            last = steady;
        }
    }
}
