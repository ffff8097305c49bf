//! The right to release, where several processes use one store.
//!
//! The right to release is leased, so that another process takes it when its holder is gone or was stopped. That decides who tries. Whether a release
//! counts is decided by its epoch, in the update that moves the head: a holder that wakes up after its lease cannot release any more.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{GenerationId, Store};
use crate::Result;

/// Milliseconds for which the right lasts without being renewed: a few looks of a ticker. Tests let it end themselves, however slow their machine is.
const LASTS: u64 = if cfg!(test) { 3_600_000 } else { 3_000 };

/// The right of this process to release in a generation.
#[derive(Debug, Default)]
pub(crate) struct Lease {
    /// The epoch that it holds; 0 while another process has the right.
    epoch: AtomicU64,
}

impl Lease {
    /// Keeps the right or takes it, and returns its epoch; 0 while another process has it.
    pub(crate) async fn keep(&self, store: &dyn Store, generation: GenerationId) -> Result<u64> {
        let epoch = self.epoch();
        let held = store.lease(generation, (epoch > 0).then_some(epoch), LASTS).await?.unwrap_or(0);
        self.epoch.store(held, Ordering::SeqCst);
        Ok(held)
    }

    /// The epoch that this process has held since it last looked.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// Lets another process release at once, where there may be one.
    pub(crate) async fn give_up(&self, store: &dyn Store, generation: GenerationId) {
        if !store.is_shared() {
            return;
        }
        let epoch = self.epoch.swap(0, Ordering::SeqCst);
        if epoch > 0
            && let Err(error) = store.lease(generation, Some(epoch), 0).await
        {
            tracing::warn!("the right to release was not given up: {error}");
        }
    }
}
