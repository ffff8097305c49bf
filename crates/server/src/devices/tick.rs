//! Reports are counted and models published, by the clock.
//!
//! ```text
//! close the slot -> count its reports on a copy -> next model -> commit -> serve
//! ```

use std::sync::{Arc, atomic::Ordering};

use reticent::wire;

use super::{
    DeviceLoop, Devices, ROWS, ServedModel,
    half::{Counted, Half},
    replicas,
};
use crate::{
    Error, Result, failpoint,
    secret::digest,
    store::{Collect, Committed, Head, Place, ReleaseRecord, Step, collect_all},
};

impl Devices {
    /// Publishes the next model of a loop if the clock has entered another slot since the last one.
    pub async fn tick(&self, name: &str) -> Result<Option<u64>> {
        let Some(each) = self.find(name) else {
            return Err(Error::unknown(format_args!("loop {name:?}"), "name a loop of devices"));
        };
        let _one_at_a_time = each.ticking.lock().await;
        let (now, served) = (self.clock.now(), each.served());
        // Another slot, not a later one: a clock that was set back must not stop models until it is where it was.
        let last = each.plan.slot(served.time.unwrap_or(each.began));
        if each.halted().is_some() || last == each.plan.slot(now) {
            return Ok(None);
        }
        let store = self.store.as_ref();
        // First, so that nobody else publishes after this look at the head.
        let epoch = each.lease.keep(store, each.life).await?;
        let head = replicas::head(store, each).await?;
        if head.number != served.number {
            // Another process has published, or this one died after its commit.
            let time = replicas::published(store, each, &head).await?;
            each.serve(ServedModel::of_head(&each.plan, &head, time)?);
            replicas::follow(store, each).await?;
            return Ok(Some(head.number));
        }
        if epoch == 0 {
            return Ok(None);
        }
        let published = self.publish(each, head, now).await?;
        if let Some(number) = published {
            self.collect(each, number).await?;
            failpoint::pass("model: collected");
        }
        Ok(published)
    }

    async fn publish(&self, each: &DeviceLoop, head: Head, now: u64) -> Result<Option<u64>> {
        let slot = head.number.checked_add(1).ok_or_else(|| {
            Error::Unavailable("models: all numbers are used; give the loop another name".into())
        })?;
        self.store.close(each.life, slot).await?;
        failpoint::pass("model: closed");
        let mut half = Half::load(&each.plan, &head.state)?;
        // The model that is served already.
        half.publish()?;
        let mut after = Place { slot: head.folded, number: u64::MAX };
        let mut counted: u64 = 0;
        loop {
            let rows = self.store.closed_events(each.life, after, slot, ROWS).await?;
            let Some((last, _)) = rows.last() else { break };
            after = *last;
            counted += rows.len() as u64;
            let unusable = rows.iter().filter(|(_, row)| half.count(&row.raw) == Counted::Unusable);
            let unusable = unusable.count() as u64;
            each.counts.unusable.fetch_add(unusable, Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
        let state = half.save();
        failpoint::pass("model: counted");
        let model = half.publish()?;
        let release = wire::to_json(&model).into_bytes();
        let (number, hash) = (model.sequence(), digest(&[&release]));
        let chain = digest(&[b"release", &head.chain, &number.to_le_bytes(), &hash]);
        let record = ReleaseRecord { number, time: now, hash, chain, release };
        let epoch = each.lease.epoch();
        let step = Step { life: each.life, epoch, state, folded: slot, release: record };
        match self.store.release(step).await? {
            Committed::Yes => {
                failpoint::pass("model: committed");
                each.serve(ServedModel::new(&model, chain, Some(now)));
                let less = |waiting: u64| Some(waiting.saturating_sub(counted));
                let _ = each.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
                Ok(Some(number))
            }
            // Another process has taken the right meanwhile. What was counted here is counted there.
            Committed::No(found) if self.store.is_shared() && found.epoch != epoch => Ok(None),
            Committed::No(found) => {
                each.halt(format!(
                    "another process publishes this loop (epoch {}, model {}): stop one of them",
                    found.epoch, found.number
                ));
                Ok(None)
            }
        }
    }

    /// Removes reports that are counted, and ids of those whose models are no longer taken.
    async fn collect(&self, each: &DeviceLoop, number: u64) -> Result<()> {
        let floor = number.saturating_sub(each.plan.late_models);
        // First, so that what a forgotten id would recognise is refused for its model.
        let floor = self.store.raise_floor(each.floor_name(), floor).await?;
        let what = Collect {
            slot: number,
            unreleased: false,
            before: u64::MAX,
            forget_ids: floor,
            first_release: (number + 1).saturating_sub(each.plan.params.kept_models()),
            limit: ROWS,
        };
        collect_all(self.store.as_ref(), each.life, what).await
    }

    /// Ticks a loop until the service stops.
    pub async fn keep_ticking(self: Arc<Self>, name: String) {
        let Some(each) = self.find(&name) else { return };
        let tick = |all: Arc<Self>, name: String| async move { all.tick(&name).await };
        let tick = || tick(Arc::clone(&self), name.clone());
        each.ticker.run(self.clock.as_ref(), self.store.as_ref(), &self.stopping, tick).await;
        each.lease.give_up(self.store.as_ref(), each.life).await;
    }
}
