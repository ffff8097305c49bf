//! Slots are closed, releases made, old rows removed: all by the clock.
//!
//! ```text
//! close slots that have passed -> sum their events -> step a copy -> commit -> witness -> serve
//! ```
//!
//! A process may die between any two of these. Closed slots that are not in the head's sums are read again; a release that was committed and not
//! served is found in the head and served by the next tick, or by the next process.

use std::{sync::Arc, sync::atomic::Ordering, time::Duration};

use super::{Answering, Counts, Loop, Service};
use crate::{
    Error, Result,
    clock::{Clock, Time},
    config::REMEMBERED,
    loops::{self, Folded, contribute, first_chain},
    store::{Collect, Committed, Head, Place, Step},
};

/// Events that are read at once.
pub(super) const ROWS: usize = 4096;

/// Releases whose numbers are kept; of earlier ones the hashes are.
const KEPT_RELEASES: u64 = 4096;

/// A clock that goes forward by more than this, in milliseconds, without so much time having passed, is not believed.
const JUMP: u64 = 3_600_000;

/// After the service was away, slots that have passed stay open for so long, in milliseconds, or for the reward window if that is shorter, so
/// that rewards can be sent again.
const GRACE: u64 = 60_000;

/// What a tick did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ticked {
    /// No slot has passed since the last one, or another process releases.
    Nothing,
    /// A release of this number was made.
    Released(u64),
    /// The last release was made before.
    Over,
    /// Releases are stopped.
    Halted,
}

/// What the ticks of a loop remember.
pub(super) struct Progress {
    wall: u64,
    steady: u64,
    /// Nothing is closed before this moment of the steady clock.
    not_before: u64,
    /// The last closed slot when open events were counted.
    closed: u64,
}

impl Progress {
    /// From here on; `away` says that slots have passed while nobody served, with a reward window of so many milliseconds.
    pub(super) fn new(clock: &dyn Clock, away: bool, window: u64) -> Self {
        let (wall, steady) = (clock.now(), clock.steady());
        let grace = if away { GRACE.min(window) } else { 0 };
        Progress { wall, steady, not_before: steady.saturating_add(grace), closed: 0 }
    }

    /// By how much the clock is ahead of the time that has passed.
    fn jump(&mut self, clock: &dyn Clock) -> u64 {
        let (wall, steady) = (clock.now(), clock.steady());
        let passed = steady.saturating_sub(self.steady);
        let jump = wall.saturating_sub(self.wall).saturating_sub(passed);
        (self.wall, self.steady) = (wall, steady);
        jump
    }
}

impl Service {
    /// Closes the slots of a loop that have passed, and makes one release if there are any.
    pub async fn tick(&self, name: &str) -> Result<Ticked> {
        let each = self.find(name)?;
        let mut progress = each.ticking.lock().await;
        if each.halted().is_some() {
            self.hold_releases(each).await?;
            return Ok(Ticked::Halted);
        }
        let jump = progress.jump(self.clock.as_ref());
        if jump > JUMP {
            each.halt(
                format!(
                    "the clock went forward by {} minutes at once: set it right and start again",
                    jump / 60_000
                ),
                None,
            );
            return Ok(Ticked::Halted);
        }
        if progress.steady < progress.not_before {
            return Ok(Ticked::Nothing);
        }
        let now = self.clock.now();
        let leased = self.lease(each).await?;
        let head = self.head(each).await?;
        self.publish(each, &head, None).await?;
        self.recount(each, &head, &mut progress.closed).await?;
        if leased.is_none() {
            return Ok(Ticked::Nothing);
        }
        let Some(due) = each.plan.slot(now).checked_sub(1) else { return Ok(Ticked::Nothing) };
        if due <= head.folded {
            return Ok(Ticked::Nothing);
        }
        if head.closed < due {
            self.store.close(each.life, due).await?;
        }
        each.open_slots().retain(|slot, _| *slot > due);
        if each.answering().served.over {
            self.collect(each, due, now).await?;
            return Ok(Ticked::Over);
        }
        let ticked = self.release(each, head, due, now).await?;
        self.collect(each, due, now).await?;
        Ok(ticked)
    }

    /// The stored head of a loop.
    pub(super) async fn head(&self, each: &Loop) -> Result<Head> {
        let mut head = self.store.head(each.life).await?;
        if head.number == 0 {
            head.chain = first_chain(self.store.id(), each.life, each.plan.generation());
        }
        Ok(head)
    }

    /// Makes one release of everything that is closed, and serves it when it is committed.
    async fn release(&self, each: &Arc<Loop>, head: Head, due: u64, now: u64) -> Result<Ticked> {
        let curator = loops::learner(&head)?;
        let mut sums = curator.no_sums();
        let mut folded = Folded::default();
        let mut after = Place { slot: head.folded, number: u64::MAX };
        loop {
            let events = self.store.closed_events(each.life, after, due, ROWS).await?;
            let Some((last, _)) = events.last() else { break };
            after = *last;
            for (_, event) in &events {
                contribute(&curator, event, &mut sums, &mut folded);
            }
            // Summing may take longer than a lease lasts.
            if self.lease(each).await?.is_none() {
                return Ok(Ticked::Nothing);
            }
            tokio::task::yield_now().await;
        }
        Counts::add(&each.counts.unusable, folded.unusable);
        let stepped = loops::step(&head, curator, sums, now)?;
        let epoch = each.epoch.load(Ordering::SeqCst);
        let step = Step {
            life: each.life,
            epoch,
            state: stepped.state.clone(),
            folded: due,
            release: stepped.record.clone(),
        };
        match self.store.release(step).await? {
            Committed::Yes => {
                let record = stepped.record;
                let head = Head {
                    number: record.number,
                    chain: record.chain,
                    folded: due,
                    closed: due.max(head.closed),
                    state: stepped.state,
                    ..head
                };
                self.publish(each, &head, Some(record.time)).await?;
                Ok(Ticked::Released(record.number))
            }
            Committed::No(found) => {
                // What was drawn here has been seen by nobody and is dropped.
                if self.lease(each).await? != Some(epoch) {
                    return Ok(Ticked::Nothing);
                }
                each.halt(format!(
                    "another process releases this loop (epoch {}, release {}): stop one of them",
                    found.epoch, found.number
                ), None);
                Ok(Ticked::Halted)
            }
        }
    }

    /// Serves a head that is committed, when the witness knows it. Its time is that of its tick: that of this moment would tell how long summing took.
    async fn publish(&self, each: &Arc<Loop>, head: &Head, time: Option<Time>) -> Result<()> {
        if head.number <= each.answering().served.number {
            return Ok(());
        }
        self.witness_head(each, head).await?;
        let time = match time {
            Some(time) => Some(time),
            None => {
                let records = self.store.releases(each.life, head.number, 1).await?;
                records.first().map(|record| record.time)
            }
        };
        let served = loops::served(head, time)?;
        each.serve(Answering::new(served, &self.tokens, each.life));
        Ok(())
    }

    /// Removes rows that are in the released sums and not retained, and what else nobody needs any more.
    async fn collect(&self, each: &Loop, folded: u64, now: u64) -> Result<()> {
        let served = &each.answering().served;
        let retain = each.plan.params.retain.map_or(0, |retain| retain.as_milliseconds());
        let before = now.saturating_sub(retain);
        let what = Collect {
            // Rows that are retained stand in later slots and are not looked at.
            slot: folded.min(each.plan.due(before)),
            unreleased: served.over,
            before,
            forget_ids: each.plan.slot(now.saturating_sub(REMEMBERED)).saturating_sub(1),
            first_release: served.number.saturating_sub(KEPT_RELEASES),
            limit: ROWS,
        };
        while self.store.collect(each.life, what).await? >= ROWS as u64 {
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// Ticks a loop until the service stops. A failure is told and tried again: nothing was consumed by it.
    pub async fn keep_ticking(self: Arc<Self>, name: String) {
        while !self.stopping.load(Ordering::SeqCst) {
            let Ok(each) = self.find(&name) else { return };
            let (service, own) = (Arc::clone(&self), name.clone());
            match tokio::spawn(async move { service.tick(&own).await }).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => {
                    tracing::error!(r#loop = %name, "tick: {}", redacted(&error));
                }
                // The others go on, and this is seen.
                Err(_) => {
                    each.halt("a tick ended in a fault of the program: report it".into(), None)
                }
            }
            let tick = each.plan.tick;
            let left = tick - self.clock.now() % tick;
            // In short steps, so that a stop is noticed and a clock that was set is followed.
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(left.clamp(5, 500))) => {}
                _ = self.store.changed() => {}
            }
        }
        if let Ok(each) = self.find(&name) {
            self.give_up_lease(each).await;
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
