//! A served loop by its mechanism, and the steps that differ between mechanisms.
//!
//! | step | central | reports: local, or behind a shuffler |
//! | --- | --- | --- |
//! | comes in | rank requests, rewards, activations | reports, batches |
//! | slot | interval of the clock | number of the next model |
//! | closes | slots that the clock has passed, reward window included | the next model's slot, when the clock has entered another tick |
//! | folds | clipped contributions into sums for a private release | noised reports into the report server |
//! | serves | a policy, with a token of its head | a model for devices |
//! | rollback | noticed by tokens and the witness, accepted and charged | costs no privacy: devices release by themselves |
//!
//! Two aggregators with secret shares will be a third variant: it answers the same steps, and everything else of the life cycle stays as it is.

use std::{ops::Deref, sync::Arc};

use super::{
    central::{Central, CentralStep},
    life_cycle::LifeCycle,
    reports::{ReportServer, ReportStep, Reports},
    tick::settled,
    time::BelievedClock,
};
use crate::{
    Error, Result,
    clock::{Clock, Time},
    config::Plan,
    loops::Stepped,
    sealed::SealKey,
    secret::Secret,
    store::{Head, NewGeneration, Place, Store, StoredEvent},
};

/// A served loop. It dereferences to its life cycle.
#[derive(Clone)]
pub enum Loop {
    /// The service decides, and sums clipped contributions under a private release.
    Central(Arc<Central>),
    /// Devices decide and add the noise, and the service sums their reports.
    Reports(Arc<Reports>),
}

impl Deref for Loop {
    type Target = LifeCycle;

    fn deref(&self) -> &LifeCycle {
        match self {
            Loop::Central(central) => central,
            Loop::Reports(reports) => reports,
        }
    }
}

/// The generation of a loop before any event.
pub(super) fn new_generation(plan: &Plan, began: Time) -> Result<NewGeneration> {
    let (state, event, closed) = match plan {
        Plan::Central(plan) => {
            let learner = plan.begin()?;
            (learner.save(), learner.event(), plan.slot(began).saturating_sub(1))
        }
        Plan::Reports(plan) => (ReportServer::new(plan)?.save(), plan.event()?, 0),
    };
    Ok(NewGeneration {
        name: plan.name().to_string(),
        params_hash: plan.params_hash(),
        params: serde_json::to_vec(plan.params()).map_err(Error::store)?,
        state,
        event: serde_json::to_vec(&event).map_err(Error::store)?,
        closed,
        time: began,
        counts_with: None,
    })
}

impl Loop {
    /// Continues the stored generation of a loop, or begins one, with the key of tokens and that of sealed reports. `is_whole` is true if the ledger of the stored one may go on.
    pub(super) async fn open(
        plan: Plan,
        store: &dyn Store,
        clock: &Arc<BelievedClock>,
        (tokens, seal_key): (&Secret, Option<&SealKey>),
        is_whole: bool,
    ) -> Result<Self> {
        let new = new_generation(&plan, clock.now())?;
        Ok(match plan {
            Plan::Central(plan) => {
                let opened = Central::open(plan, new, store, clock, tokens, is_whole).await?;
                Loop::Central(Arc::new(opened))
            }
            Plan::Reports(plan) => {
                Loop::Reports(Arc::new(Reports::open(plan, new, store, seal_key).await?))
            }
        })
    }

    /// Its checked file.
    pub fn plan(&self) -> Plan {
        match self {
            Loop::Central(central) => Plan::Central(Arc::clone(&central.plan)),
            Loop::Reports(reports) => Plan::Reports(Arc::clone(&reports.plan)),
        }
    }

    /// The loop, if it is central.
    pub fn central(&self) -> Option<&Arc<Central>> {
        match self {
            Loop::Central(central) => Some(central),
            Loop::Reports(_) => None,
        }
    }

    /// The loop, if devices report to it.
    pub fn reports(&self) -> Option<&Arc<Reports>> {
        match self {
            Loop::Central(_) => None,
            Loop::Reports(reports) => Some(reports),
        }
    }

    /// Number of the last served release, and its time.
    pub fn released(&self) -> (u64, Option<Time>) {
        match self {
            Loop::Central(central) => {
                let answering = central.answering();
                (answering.served.number, answering.served.time)
            }
            Loop::Reports(reports) => {
                let served = reports.served();
                (served.number, served.time)
            }
        }
    }

    /// True if a stored head of this number is served in place of the present one. A central loop never serves an older one: that is a rollback, which is charged.
    pub(super) fn takes(&self, number: u64) -> bool {
        let (served, _) = self.released();
        match self {
            Loop::Central(_) => number > served,
            Loop::Reports(_) => number != served,
        }
    }

    /// Reason for which nothing is released at present.
    pub fn halted(&self) -> Option<String> {
        match self {
            Loop::Central(central) => central.halted(),
            Loop::Reports(reports) => reports.halted(),
        }
    }

    /// True if the last release has been made.
    pub fn is_over(&self) -> bool {
        self.central().is_some_and(|central| central.answering().served.over)
    }

    /// Milliseconds for which passed slots stay open after time away, so that rewards can be sent again.
    pub(super) fn grace(&self) -> u64 {
        self.central().map_or(0, |central| central.grace())
    }

    /// The last slot to which no event is added any more.
    pub(super) fn settled(&self, head: &Head, now: Time) -> u64 {
        self.central().map_or(head.closed, |central| settled(&central.plan, now))
    }

    /// The slot up to which the next release folds, if the clock says that it is due.
    pub(super) fn due(&self, head: &Head, now: Time) -> Result<Option<u64>> {
        match self {
            Loop::Central(central) => {
                Ok(central.plan.slot(now).checked_sub(1).filter(|due| *due > head.folded))
            }
            Loop::Reports(reports) => {
                // Another slot, not a later one: a clock that was set back must not stop models until it is where it was.
                let last = reports.slot(reports.served().time.unwrap_or(reports.began));
                if last == reports.slot(now) {
                    return Ok(None);
                }
                let next = head.number.checked_add(1).ok_or_else(|| {
                    Error::Unavailable(
                        "models: all numbers are used; give the loop another name".into(),
                    )
                });
                next.map(Some)
            }
        }
    }

    /// Begins a step on a copy of the stored state.
    pub(super) fn begin_step(&self, head: &Head) -> Result<Box<dyn LoopStep>> {
        Ok(match self {
            Loop::Central(central) => Box::new(CentralStep::new(&central.plan, head)?),
            Loop::Reports(reports) => Box::new(ReportStep::new(&reports.plan, head)?),
        })
    }

    /// Serves a committed head.
    pub(super) fn serve(&self, head: &Head, time: Option<Time>, tokens: &Secret) -> Result<()> {
        match self {
            Loop::Central(central) => central.serve_head(head, time, tokens),
            Loop::Reports(reports) => reports.serve_head(head, time),
        }
    }

    /// Counts stored rows that could not be used: each is a fault.
    pub(super) fn count_unusable(&self, rows: u64) {
        if rows > 0 {
            tracing::error!(r#loop = %self.name, "{rows} rows could not be used and contribute nothing");
        }
        match self {
            Loop::Central(central) => super::Counts::add(&central.counts.unusable, rows),
            Loop::Reports(reports) => super::Counts::add(&reports.counts.unusable, rows),
        }
    }
}

/// A step under way on a copy of the stored state: closed events are folded into it, and it ends with a record to commit.
pub(super) trait LoopStep: Send {
    /// Folds events of closed slots, and returns the number of those that cannot be used.
    fn fold(&mut self, events: &[(Place, StoredEvent)]) -> u64;

    /// Makes the release of everything that was folded after this head.
    fn finish(self: Box<Self>, head: &Head, now: Time) -> Result<Stepped>;
}
