//! Slots are closed, releases made, old rows removed: all by the clock.
//!
//! ```text
//! close slots that have passed -> sum their events -> step a copy -> commit -> witness -> serve
//! ```
//!
//! A process may die between any two of these. Closed slots that are not in the head's sums are read again; a release that was committed and not
//! served is found in the head and served by the next tick, or by the next process.

use std::sync::Arc;

use super::{Answering, Counts, Loop, Service};
use crate::{
    Result,
    clock::{Clock, Time},
    config::{LoopPlan, REMEMBERED},
    failpoint,
    loops::{self, Folded, contribute, first_chain},
    store::{Collect, Committed, Head, Place, Step, collect_all},
};

/// Events that are read at once.
pub(super) const ROWS: usize = 4096;

/// After the service was away, slots that have passed stay open for so long, in milliseconds, or for the reward window if that is shorter, so
/// that rewards can be sent again.
const GRACE: u64 = 60_000;

/// How long slots of a loop that have passed stay open after time away, in milliseconds.
pub(super) fn grace(plan: &LoopPlan) -> u64 {
    GRACE.min(plan.params.reward.window.as_milliseconds())
}

/// A store that has failed for longer than this, in milliseconds, was away for people who sent rewards too.
const AWAY: u64 = 10_000;

/// A question that was asked longer ago than this, in milliseconds, is stored or has failed, unless the store is very slow. Then this process counts one open event too few.
const ON_THE_WAY: u64 = 60_000;

/// The last slot that no question asks for any more: those on their way were asked a little earlier.
pub(super) fn settled(plan: &LoopPlan, now: Time) -> u64 {
    plan.due(now.saturating_sub(ON_THE_WAY)).saturating_sub(1)
}

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
    /// Nothing is closed before this moment of the steady clock.
    not_before: u64,
    /// The last closed slot when open events were counted.
    pub(super) counted: u64,
    /// The last slot that nobody asked for any more when they were counted.
    pub(super) settled: u64,
    /// Since when ticks fail, by the steady clock: from the end of the first one that did, so that it does not matter how long summing took.
    failing: Option<u64>,
    /// The last closed slot that was seen, whoever closed it.
    closed: u64,
    /// Whether slots have stayed open for a failure, and none was closed since: a store that fails now and then does not stop releases for ever.
    spared: bool,
    /// True if it was logged that slots are closed which lie in the future.
    ahead: bool,
}

impl Progress {
    /// Nothing is closed before so many milliseconds have passed by the steady clock from now on; open events have been counted when slots up to `settled` were.
    pub(super) fn new(now: u64, wait: u64, settled: u64) -> Self {
        let not_before = now.saturating_add(wait);
        let (spared, ahead) = (false, false);
        Progress { not_before, counted: 0, settled, failing: None, closed: 0, spared, ahead }
    }

    /// Nothing more is closed before this moment of the steady clock.
    pub(super) fn wait(&mut self, until: u64) {
        self.not_before = self.not_before.max(until);
    }
}

impl Service {
    /// Closes the slots of a loop that have passed, and makes one release if there are any.
    pub async fn tick(&self, name: &str) -> Result<Ticked> {
        let each = self.find(name)?;
        let mut progress = each.ticking.lock().await;
        let ticked = self.tick_once(each, &mut progress).await;
        progress.failing = match ticked {
            Ok(_) => None,
            Err(_) => progress.failing.or(Some(self.clock.steady())),
        };
        ticked
    }

    async fn tick_once(&self, each: &Arc<Loop>, progress: &mut Progress) -> Result<Ticked> {
        // One look at the clock, so that it cannot jump between being believed and being used.
        let now = self.clock.now();
        let began = self.clock.steady();
        // First, so that what others note from now on ends this epoch.
        let store = self.store.as_ref();
        let leased = each.halted().is_none() && each.lease.keep(store, each.life).await? > 0;
        if leased {
            failpoint::pass("tick: leased");
        }
        let head = self.head(each).await?;
        let steady = self.clock.steady();
        if head.closed > progress.closed {
            (progress.closed, progress.spared) = (head.closed, false);
        }
        // One that hangs and then answers was away too.
        let since = progress.failing.unwrap_or(began);
        if steady.saturating_sub(since) > AWAY && !std::mem::replace(&mut progress.spared, true) {
            progress.wait(steady.saturating_add(grace(&each.plan)));
        }
        each.see_closed(head.closed, &mut progress.ahead);
        self.follow(each, &head).await?;
        self.recount(each, &head, progress, now).await?;
        if each.halted().is_some() {
            self.note_halt(each).await?;
            each.lease.give_up(self.store.as_ref(), each.life).await;
            return Ok(Ticked::Halted);
        }
        if !leased || self.clock.steady() < progress.not_before {
            return Ok(Ticked::Nothing);
        }
        let Some(due) = each.plan.slot(now).checked_sub(1) else { return Ok(Ticked::Nothing) };
        if due <= head.folded {
            return Ok(Ticked::Nothing);
        }
        let closing = async {
            match head.closed < due {
                true => self.store.close(each.life, due).await,
                false => Ok(()),
            }
        };
        each.open.change(closing, |slots, ()| slots.retain(|slot, _| *slot > due)).await?;
        failpoint::pass("tick: closed");
        if each.answering().served.over {
            self.collect(each, due, now).await?;
            return Ok(Ticked::Over);
        }
        let ticked = self.release(each, head, due, now).await?;
        if matches!(ticked, Ticked::Released(_)) {
            failpoint::pass("tick: served");
            self.collect(each, due, now).await?;
            failpoint::pass("tick: collected");
        }
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
        let epoch = each.lease.epoch();
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
            each.lease.keep(self.store.as_ref(), each.life).await?;
        }
        if folded.unusable > 0 {
            tracing::error!(r#loop = %each.plan.name, "{} rows could not be used and contribute zeros", folded.unusable);
            Counts::add(&each.counts.unusable, folded.unusable);
        }
        failpoint::pass("tick: summed");
        let stepped = loops::step(&head, curator, sums, now)?;
        failpoint::pass("tick: stepped");
        let step = Step {
            life: each.life,
            epoch,
            state: stepped.state.clone(),
            folded: due,
            release: stepped.record.clone(),
        };
        match self.store.release(step).await? {
            Committed::Yes => {
                failpoint::pass("tick: committed");
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
                // What was drawn here has been seen by nobody and is dropped. Under this epoch it may have been the last step of this process, whose commit took longer than its connection lasted.
                if self.store.is_shared() {
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
    pub(super) async fn publish(
        &self,
        each: &Arc<Loop>,
        head: &Head,
        time: Option<Time>,
    ) -> Result<()> {
        if head.number <= each.answering().served.number {
            return Ok(());
        }
        self.witness_head(each, head).await?;
        failpoint::pass("tick: witnessed");
        let time = match time {
            Some(time) => Some(time),
            None => {
                let records = self.store.releases(each.life, head.number, 1).await?;
                records.first().map(|record| record.time)
            }
        };
        let served = loops::served(head, time, &each.earlier)?;
        each.serve(Answering::new(served, &self.tokens, each.life));
        Ok(())
    }

    /// Removes rows that are in the released sums and not retained, and what else nobody needs any more.
    async fn collect(&self, each: &Loop, folded: u64, now: u64) -> Result<()> {
        let served = &each.answering().served;
        let retain = each.plan.params.retain_milliseconds();
        let before = now.saturating_sub(retain);
        let what = Collect {
            // Rows that are retained stand in later slots and are not looked at.
            slot: folded.min(each.plan.due(before)),
            unreleased: served.over,
            before,
            forget_ids: each.plan.slot(now.saturating_sub(REMEMBERED)).saturating_sub(1),
            first_release: (served.number + 1).saturating_sub(each.plan.params.kept_models()),
            limit: ROWS,
        };
        collect_all(self.store.as_ref(), each.life, what).await
    }

    /// Ticks a loop until the service stops.
    pub async fn keep_ticking(self: Arc<Self>, name: String) {
        let Ok(each) = self.find(&name) else { return };
        let tick = |all: Arc<Self>, name: String| async move { all.tick(&name).await };
        let tick = || tick(Arc::clone(&self), name.clone());
        each.ticker.run(self.clock.as_ref(), self.store.as_ref(), &self.stopping, tick).await;
        each.lease.give_up(self.store.as_ref(), each.life).await;
    }
}
