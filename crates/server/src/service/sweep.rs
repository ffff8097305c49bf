//! Rows of generations that have ended: no process ticks them, and nothing will be learnt from them.
//!
//! A generation ends when its loop begins another one, or when its loop is taken out of the file. Its open events close with their slots, and its rows go as
//! soon as the loop's retention allows it.
//!
//! Slots of loops whose people's devices add the noise are numbers of models, and the clock closes none of them: a loop that is missing from the file for one start goes on
//! when it is back. Their rows go when another generation of the loop has begun.

use std::{sync::Arc, sync::atomic::Ordering, time::Duration};

use super::{Service, tick::ROWS};
use crate::{
    Result,
    clock::Clock,
    config::{LoopParams, REMEMBERED, Trust},
    store::{Collect, Generation, GenerationId, LAST_SLOT, Store, collect_all},
};

/// A generation that no process serves.
pub(super) struct Ended {
    generation: GenerationId,
    slots: Slots,
}

/// Kind of the slots of a generation.
enum Slots {
    /// Slots of the clock, of `tick` milliseconds; rows are kept for `retain`.
    Clock { tick: u64, retain: u64 },
    /// Numbers of models, of which none will follow.
    Models,
}

/// The generations of a store that are not among those that are served. `retained` is how long a loop that is served keeps rows now: those of its earlier generations go
/// with them.
pub(super) async fn ended(
    store: &dyn Store,
    served: &[GenerationId],
    retained: impl Fn(&str) -> Option<u64>,
) -> Result<Vec<Ended>> {
    let mut ended = Vec::new();
    // Another process of the same database may serve a loop that is not in the file of this one.
    let is_over = |generation: &Generation| {
        !served.contains(&generation.id) && (generation.ended.is_some() || !store.is_shared())
    };
    for generation in store.generations().await?.into_iter().filter(is_over) {
        let params: LoopParams =
            serde_json::from_slice(&generation.params).map_err(crate::Error::store)?;
        let slots = match params.trust {
            Trust::Curator => Slots::Clock {
                tick: params.tick_milliseconds(),
                retain: params
                    .retain_milliseconds()
                    .min(retained(&generation.name).unwrap_or(u64::MAX)),
            },
            Trust::Device | Trust::Shuffler if generation.ended.is_some() => Slots::Models,
            Trust::Device | Trust::Shuffler => continue,
        };
        ended.push(Ended { generation: generation.id, slots });
    }
    Ok(ended)
}

impl Service {
    /// Closes what has passed in generations that have ended, and removes their rows. One that fails keeps no other waiting.
    pub async fn sweep(&self) -> Result<()> {
        let mut swept = Ok(());
        for ended in &self.ended {
            swept = swept.and(self.sweep_one(ended).await);
        }
        swept
    }

    async fn sweep_one(&self, Ended { generation, slots }: &Ended) -> Result<()> {
        let now = self.clock.now();
        let last = |time: u64, tick: &u64| (time / tick).saturating_sub(1);
        let (slot, before, forget_ids) = match slots {
            Slots::Clock { tick, retain } => {
                let remembered = last(now.saturating_sub(REMEMBERED), tick);
                (last(now, tick), now.saturating_sub(*retain), remembered)
            }
            Slots::Models => (LAST_SLOT, u64::MAX, LAST_SLOT),
        };
        self.store.close(*generation, slot).await?;
        // Of a generation that has ended only the last model may still be begun with.
        let first_release = self.store.head(*generation).await?.number;
        let what =
            Collect { slot, unreleased: true, before, forget_ids, first_release, limit: ROWS };
        collect_all(self.store.as_ref(), *generation, what).await
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
