//! Slots are closed, releases made, old rows removed: all by the clock.
//!
//! ```text
//! close slots that have passed -> sum their events -> step a copy -> commit -> witness -> serve
//! ```
//!
//! A process may die between any two of these. Closed slots that are not in the head's sums are read again; a release that was committed and not
//! served is found in the head and served by the next tick, or by the next process.

use std::sync::Arc;

use super::{Central, LifeCycle, Loop, Service, life_cycle::stored_head};
use crate::{
    Result,
    clock::{Clock, Time},
    config::{CentralPlan, REMEMBERED},
    failpoint,
    loops::Stepped,
    store::{Collect, Committed, Head, Place, Step, collect_all},
};

/// Events that are read at once.
pub(super) const ROWS: usize = 4096;

/// A store that has failed for longer than this, in milliseconds, was away for people who sent rewards too.
const AWAY: u64 = 10_000;

/// A rank request that came longer ago than this, in milliseconds, is stored or has failed, unless the store is very slow. Then this process counts one open event too few.
const ON_THE_WAY: u64 = 60_000;

/// The last slot that no rank request asks for any more: those on their way came a little earlier.
pub(super) fn settled(plan: &CentralPlan, now: Time) -> u64 {
    plan.due(now.saturating_sub(ON_THE_WAY)).saturating_sub(1)
}

/// Outcome of a tick.
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

/// Memory of the ticks of a loop.
#[derive(Default)]
pub(super) struct Progress {
    /// Moment of the steady clock before which nothing is closed.
    not_before: u64,
    /// The last closed slot when open events were counted.
    pub(super) counted: u64,
    /// The last slot that no rank request asked for any more when they were counted.
    pub(super) settled: u64,
    /// Since when ticks fail, by the steady clock: from the end of the first one that did, so that it does not matter how long summing took.
    failing: Option<u64>,
    /// The last closed slot that was seen, by whichever process it was closed.
    closed: u64,
    /// True if slots have stayed open for a failure, and none was closed since: a store that fails now and then does not stop releases for ever.
    spared: bool,
    /// True if it was logged that slots are closed which lie in the future.
    ahead: bool,
}

impl Progress {
    /// Progress of a loop whose open events have been counted when slots up to `settled` were.
    pub(super) fn new(settled: u64) -> Self {
        Progress { settled, ..Progress::default() }
    }

    /// Moment of the steady clock before which nothing more is closed.
    pub(super) fn wait(&mut self, until: u64) {
        self.not_before = self.not_before.max(until);
    }
}

impl Service {
    /// Closes the slots of a loop that have passed, and makes one release if there are any.
    pub async fn tick(&self, name: &str) -> Result<Ticked> {
        let loop_ = self.find(name)?;
        let mut progress = loop_.ticking.lock().await;
        let ticked = self.tick_once(loop_, &mut progress).await;
        progress.failing = match ticked {
            Ok(_) => None,
            Err(_) => progress.failing.or(Some(self.clock.steady())),
        };
        ticked
    }

    async fn tick_once(&self, loop_: &Loop, progress: &mut Progress) -> Result<Ticked> {
        // One look at the clock, so that it cannot jump between being believed and being used.
        let now = self.clock.now();
        let began = self.clock.steady();
        // First, so that what others note from now on ends this epoch.
        let store = self.store.as_ref();
        let leased =
            loop_.halted().is_none() && loop_.lease.keep(store, loop_.generation).await? > 0;
        if leased {
            failpoint::pass("tick: leased");
        }
        let head = self.head(loop_).await?;
        let steady = self.clock.steady();
        if head.closed > progress.closed {
            (progress.closed, progress.spared) = (head.closed, false);
        }
        // One that hangs and then answers was away too.
        let since = progress.failing.unwrap_or(began);
        if steady.saturating_sub(since) > AWAY && !std::mem::replace(&mut progress.spared, true) {
            progress.wait(steady.saturating_add(loop_.grace()));
        }
        if let Loop::Central(central) = loop_ {
            central.see_closed(head.closed, &mut progress.ahead);
        }
        self.follow(loop_, &head).await?;
        self.recount(loop_, &head, progress, now).await?;
        if loop_.halted().is_some() {
            return self.stay_halted(loop_).await;
        }
        if !leased || self.clock.steady() < progress.not_before {
            return Ok(Ticked::Nothing);
        }
        let Some(due) = loop_.due(&head, now)? else { return Ok(Ticked::Nothing) };
        // Before any event is read, so that a person's presence does not decide.
        self.notice_words(loop_).await?;
        if loop_.halted().is_some() {
            return self.stay_halted(loop_).await;
        }
        let closing = async {
            match head.closed < due {
                true => self.store.close(loop_.generation, due).await,
                false => Ok(()),
            }
        };
        loop_.open.change(closing, |slots, ()| slots.retain(|slot, _| *slot > due)).await?;
        failpoint::pass("tick: closed");
        if loop_.is_over() {
            self.collect(loop_, due, now).await?;
            return Ok(Ticked::Over);
        }
        let ticked = self.release(loop_, head, due, now).await?;
        if matches!(ticked, Ticked::Released(_)) {
            failpoint::pass("tick: served");
            self.collect(loop_, due, now).await?;
            failpoint::pass("tick: collected");
        }
        Ok(ticked)
    }

    /// Notes the reason for which a loop is halted, and gives up the right to release it.
    async fn stay_halted(&self, loop_: &Loop) -> Result<Ticked> {
        self.note_halt(loop_).await?;
        loop_.lease.give_up(self.store.as_ref(), loop_.generation).await;
        Ok(Ticked::Halted)
    }

    /// The stored head of a loop.
    pub(super) async fn head(&self, loop_: &LifeCycle) -> Result<Head> {
        stored_head(self.store.as_ref(), loop_.generation, loop_.params_hash).await
    }

    /// Makes one release of everything that is closed, and serves it when it is committed.
    async fn release(&self, loop_: &Loop, head: Head, due: u64, now: u64) -> Result<Ticked> {
        let epoch = loop_.lease.epoch();
        let mut step = loop_.begin_step(&head)?;
        let mut unusable = 0;
        let mut after = Place { slot: head.folded, number: u64::MAX };
        loop {
            let events = self.store.closed_events(loop_.generation, after, due, ROWS).await?;
            let Some((last, _)) = events.last() else { break };
            after = *last;
            unusable += step.fold(&events);
            // Summing may take longer than a lease lasts.
            loop_.lease.keep(self.store.as_ref(), loop_.generation).await?;
            tokio::task::yield_now().await;
        }
        loop_.count_unusable(unusable);
        failpoint::pass("tick: summed");
        let Stepped { state, record } = step.finish(&head, now)?;
        failpoint::pass("tick: stepped");
        let (number, time) = (record.number, record.time);
        let next = Head {
            number,
            chain: record.chain,
            folded: due,
            closed: due.max(head.closed),
            state: state.clone(),
            ..head
        };
        let step =
            Step { generation: loop_.generation, epoch, state, folded: due, release: record };
        match self.store.release(step).await? {
            Committed::Yes => {
                failpoint::pass("tick: committed");
                self.publish(loop_, &next, Some(time)).await?;
                Ok(Ticked::Released(number))
            }
            // The drawn noise is dropped unseen. Under this epoch it may have been the last step of this process, whose commit took longer than its connection lasted.
            Committed::No(_) if self.store.is_shared() => Ok(Ticked::Nothing),
            Committed::No(found) => {
                let why = format!(
                    "another process releases this loop (epoch {}, release {}): stop one of them",
                    found.epoch, found.number
                );
                loop_.halt(why, None);
                Ok(Ticked::Halted)
            }
        }
    }

    /// Serves a head that is committed, when the witness knows it. Its time is that of its tick: that of this moment would tell how long summing took.
    pub(super) async fn publish(
        &self,
        loop_: &Loop,
        head: &Head,
        time: Option<Time>,
    ) -> Result<()> {
        if !loop_.takes(head.number) {
            return Ok(());
        }
        if let Loop::Central(central) = loop_ {
            self.witness_head(central, head).await?;
            failpoint::pass("tick: witnessed");
        }
        let time = match time {
            Some(time) => Some(time),
            None => {
                let records = self.store.releases(loop_.generation, head.number, 1).await?;
                records.first().map(|record| record.time)
            }
        };
        loop_.serve(head, time, &self.tokens)
    }

    /// Removes rows that are in the released sums and not retained, and what else is not needed any more.
    async fn collect(&self, loop_: &Loop, folded: u64, now: u64) -> Result<()> {
        let what = match loop_ {
            Loop::Central(central) => collectable(central, folded, now),
            Loop::Reports(reports) => self.collectable_reports(reports, folded).await?,
        };
        collect_all(self.store.as_ref(), loop_.generation, what).await
    }

    /// Ticks a loop until the service stops.
    pub async fn keep_ticking(self: Arc<Self>, name: String) {
        let Ok(loop_) = self.find(&name) else { return };
        let tick = |all: Arc<Self>, name: String| async move { all.tick(&name).await };
        let tick = || tick(Arc::clone(&self), name.clone());
        loop_.ticker.run(self.clock.as_ref(), self.store.as_ref(), &self.stopping, tick).await;
        loop_.lease.give_up(self.store.as_ref(), loop_.generation).await;
    }
}

/// Rows, ids and models of a central loop that are not needed any more.
fn collectable(central: &Central, folded: u64, now: u64) -> Collect {
    let (plan, served) = (&central.plan, &central.answering().served);
    let before = now.saturating_sub(plan.params.retain_milliseconds());
    Collect {
        // Rows that are retained stand in later slots and are not looked at.
        slot: folded.min(plan.due(before)),
        unreleased: served.over,
        before,
        forget_ids: plan.slot(now.saturating_sub(REMEMBERED)).saturating_sub(1),
        first_release: (served.number + 1).saturating_sub(plan.params.kept_models()),
        limit: ROWS,
    }
}
