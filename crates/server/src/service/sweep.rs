//! Rows of lives that have ended: nobody ticks them, and nothing will be learnt from them.
//!
//! A life ends when its loop begins another one, or when its loop is taken out of the file. Its open events close with their slots, and its rows go as
//! soon as the loop's retention allows it.

use std::{sync::Arc, sync::atomic::Ordering, time::Duration};

use super::{Service, tick::ROWS};
use crate::{
    Result,
    clock::Clock,
    config::{LoopParams, REMEMBERED},
    store::{Collect, LifeId, Store},
};

/// A life that nobody serves.
pub(super) struct Ended {
    life: LifeId,
    /// Milliseconds of its slots.
    tick: u64,
    /// How long its rows are kept, in milliseconds.
    retain: u64,
}

/// The lives of a store that are not among those that are served.
pub(super) async fn ended(store: &dyn Store, served: &[LifeId]) -> Result<Vec<Ended>> {
    let mut ended = Vec::new();
    for life in store.lives().await?.into_iter().filter(|life| !served.contains(&life.id)) {
        let params: LoopParams =
            serde_json::from_slice(&life.params).map_err(crate::Error::store)?;
        ended.push(Ended {
            life: life.id,
            tick: params.tick_milliseconds(),
            retain: params.retain.map_or(0, |retain| retain.as_milliseconds()),
        });
    }
    Ok(ended)
}

impl Service {
    /// Closes what has passed in lives that have ended, and removes their rows.
    pub async fn sweep(&self) -> Result<()> {
        let now = self.clock.now();
        for Ended { life, tick, retain } in &self.ended {
            let slot = (now / tick).saturating_sub(1);
            self.store.close(*life, slot).await?;
            let what = Collect {
                slot,
                unreleased: true,
                before: now.saturating_sub(*retain),
                forget_ids: (now.saturating_sub(REMEMBERED) / tick).saturating_sub(1),
                first_release: 0,
                limit: ROWS,
            };
            while self.store.collect(*life, what).await? >= ROWS as u64 {
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    /// Sweeps every ten minutes until the service stops.
    pub async fn keep_sweeping(self: Arc<Self>) {
        let mut left = Duration::ZERO;
        let step = Duration::from_millis(500);
        while !self.stopping.load(Ordering::SeqCst) && !self.ended.is_empty() {
            if left.is_zero() {
                if let Err(error) = self.sweep().await {
                    tracing::error!("rows of loops that have ended were not removed: {error}");
                }
                left = Duration::from_secs(600);
            }
            tokio::time::sleep(step).await;
            left = left.saturating_sub(step);
        }
    }
}
