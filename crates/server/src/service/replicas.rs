//! Several processes on one store: who releases, and what the others see.
//!
//! The right to release is leased, so that another process takes it when its holder is gone or was stopped. That decides who tries. Whether a release
//! counts is decided by its epoch, in the update that moves the head: a holder that wakes up after its lease cannot release any more.

use std::sync::atomic::Ordering;

use super::{Loop, Service};
use crate::{Result, store::Head};

/// How long the right to release lasts without being renewed, in milliseconds. Tests let it end themselves, however slow their machine is.
pub(super) const LEASE: u64 = if cfg!(test) { 3_600_000 } else { 10_000 };

impl Service {
    /// Keeps or takes the right to release. None while another process has it.
    pub(super) async fn lease(&self, each: &Loop) -> Result<Option<u64>> {
        let mine = each.epoch.load(Ordering::SeqCst);
        let held = self.store.lease(each.life, (mine > 0).then_some(mine), LEASE).await?;
        each.epoch.store(held.unwrap_or(0), Ordering::SeqCst);
        Ok(held)
    }

    /// Lets another process release at once.
    pub(super) async fn give_up_lease(&self, each: &Loop) {
        let mine = each.epoch.swap(0, Ordering::SeqCst);
        if mine > 0
            && let Err(error) = self.store.lease(each.life, Some(mine), 0).await
        {
            tracing::warn!(r#loop = %each.plan.name, "the right to release was not given up: {error}");
        }
    }

    /// Where this process has seen that the store has gone back, others may not know it: it takes the right to release and does not use it.
    pub(super) async fn hold_releases(&self, each: &Loop) -> Result<()> {
        let gone_back = each.halt_state().as_ref().is_some_and(|halt| halt.seen.is_some());
        if !gone_back || !self.store.shared() || self.lease(each).await?.is_some() {
            return Ok(());
        }
        let epoch = self.store.take_epoch(each.life).await?;
        each.epoch.store(epoch, Ordering::SeqCst);
        self.lease(each).await?;
        Ok(())
    }

    /// Counts open events again when slots have closed: other processes add some too.
    pub(super) async fn recount(&self, each: &Loop, head: &Head, counted: &mut u64) -> Result<()> {
        if !self.store.shared() || head.closed == *counted {
            return Ok(());
        }
        let open = self.store.open_events(each.life).await?;
        *each.open_slots() = open.into_iter().collect();
        *counted = head.closed;
        Ok(())
    }
}
