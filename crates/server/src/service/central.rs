//! A central loop: the service decides and learns, and releases privately.

use std::{
    ops::Deref,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{
    Counts, generations,
    life_cycle::{Begun, LifeCycle},
    mechanism::LoopStep,
    tick::{Progress, settled},
    time::{BelievedClock, end_of_slot},
};
use crate::{
    Result,
    clock::{Clock, Time},
    config::CentralPlan,
    loops::{
        self, CentralLearner, CentralSums, Earlier, Folded, HeadName, Served, Stepped, Token,
        contribute,
    },
    secret::Secret,
    store::{GenerationId, Head, NewGeneration, Place, Store, StoredEvent},
};

/// Milliseconds for which slots that have passed stay open after the service was away, or less where the reward window is shorter: rewards can be sent again.
const GRACE: u64 = 60_000;

/// The release that answers people, with its token.
pub struct Answering {
    /// Everything that has been released.
    pub served: Served,
    /// The token of its head.
    pub token: String,
}

impl Answering {
    pub(super) fn new(served: Served, tokens: &Secret, generation: GenerationId) -> Self {
        let token = Token::write(tokens, generation, &HeadName::new(served.number, &served.chain));
        Answering { served, token }
    }
}

/// A central loop as it is served.
pub struct Central {
    /// Its checked file.
    pub plan: Arc<CentralPlan>,
    cycle: LifeCycle,
    /// The generations before the present one.
    pub(super) earlier: Earlier,
    served: RwLock<Arc<Answering>>,
    pub(super) clock: Arc<BelievedClock>,
    /// End of the last closed slot.
    pub(super) closed_until: AtomicU64,
    /// Moment of the steady clock from which a rank request without a person is warned of again.
    pub(super) next_warning: AtomicU64,
    /// Counts since the process began.
    pub counts: Counts,
}

impl Deref for Central {
    type Target = LifeCycle;

    fn deref(&self) -> &LifeCycle {
        &self.cycle
    }
}

impl Central {
    pub(super) async fn open(
        plan: Arc<CentralPlan>,
        new: NewGeneration,
        store: &dyn Store,
        clock: &Arc<BelievedClock>,
        tokens: &Secret,
        is_whole: bool,
    ) -> Result<Self> {
        let now = clock.now();
        if !is_whole {
            generations::charge_noted(store, &new).await?;
        }
        let begun = LifeCycle::begin(store, new, is_whole, plan.tick).await?;
        let Begun { mut cycle, generation, head, released } = begun;
        let earlier = generations::earlier(store, &generation).await?;
        let served = loops::served(&plan, &head, released, &earlier)?;
        let answering = Answering::new(served, tokens, generation.id);
        let closed_until = AtomicU64::new(end_of_slot(&plan, head.closed));
        let progress = cycle.ticking.get_mut();
        *progress = Progress::new(settled(&plan, now));
        if plan.slot(now) > head.closed.saturating_add(2) {
            progress.wait(clock.steady().saturating_add(grace(&plan)));
        }
        Ok(Central {
            plan,
            cycle,
            earlier,
            served: RwLock::new(Arc::new(answering)),
            clock: Arc::clone(clock),
            closed_until,
            next_warning: AtomicU64::new(0),
            counts: Counts::default(),
        })
    }

    /// The release that answers people at this moment.
    pub fn answering(&self) -> Arc<Answering> {
        self.served.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn serve(&self, answering: Answering) {
        *self.served.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(answering);
    }

    /// Serves a committed head.
    pub(super) fn serve_head(
        &self,
        head: &Head,
        time: Option<Time>,
        tokens: &Secret,
    ) -> Result<()> {
        let served = loops::served(&self.plan, head, time, &self.earlier)?;
        self.serve(Answering::new(served, tokens, self.generation));
        Ok(())
    }

    /// Reason for which nothing is released at present.
    pub fn halted(&self) -> Option<String> {
        let halted = self.halt_state().as_ref().map(|halt| halt.why.clone());
        halted.or_else(|| self.clock.doubt()).or_else(|| self.closed_ahead())
    }

    /// Milliseconds for which passed slots stay open after time away.
    pub(super) fn grace(&self) -> u64 {
        grace(&self.plan)
    }

    /// Reason for which nothing is released, where slots that lie in the future are closed: an earlier process believed a clock that was ahead at its start.
    pub(super) fn closed_ahead(&self) -> Option<String> {
        let until = self.closed_until.load(Ordering::SeqCst);
        super::time::closed_ahead(until, self.clock.now())
    }
}

fn grace(plan: &CentralPlan) -> u64 {
    GRACE.min(plan.params.reward.window.as_milliseconds())
}

/// A step of the private sum, on a copy of the stored learner.
pub(super) struct CentralStep {
    plan: Arc<CentralPlan>,
    learner: CentralLearner,
    sums: CentralSums,
}

impl CentralStep {
    pub(super) fn new(plan: &Arc<CentralPlan>, head: &Head) -> Result<Self> {
        let learner = plan.grown(loops::stored_learner(head)?)?;
        let sums = learner.no_sums();
        Ok(CentralStep { plan: Arc::clone(plan), learner, sums })
    }
}

impl LoopStep for CentralStep {
    /// An event that another process answered with words of a newer file, since this step looked for them, contributes zeros: that it stopped the release would tell of a person.
    fn fold(&mut self, events: &[(Place, StoredEvent)]) -> u64 {
        let mut folded = Folded::default();
        for (_, event) in events {
            contribute(&self.plan, &self.learner, event, &mut self.sums, &mut folded);
        }
        folded.unusable
    }

    fn finish(self: Box<Self>, head: &Head, now: Time) -> Result<Stepped> {
        loops::step(head, self.learner, self.sums, now)
    }
}
