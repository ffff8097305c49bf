//! Loops whose people's devices choose, add the noise and report: the service publishes models and takes reports.
//!
//! | file | contents |
//! | --- | --- |
//! | `row` | reports and batches as the store keeps them until they are counted |
//! | `server` | the report server of core's protocol: the simulated protocol is the deployed one |
//! | `take` | reports are taken, each once |
//! | `batch` | batches of a shuffler are taken, each once |
//!
//! ```text
//! take:  report -> checked -> committed under its id -> answer
//! tick:  reports since the last model -> sums -> next model -> committed -> only then served
//! ```
//!
//! **Slots.** The store keeps reports as events, whose ids it remembers. A report that comes while model n is served belongs to slot n + 1, or to the first
//! open slot after it; the tick that makes model n + 1 closes that slot and counts it. A report of slot s was therefore made under a model below s.
//! Reports under models below a durable floor are refused, which is raised to `n - late` and never goes down, so that ids of slots up to it need not be remembered: what
//! they would recognise is refused for its model. None of this bears on privacy: every report is private by itself, whatever becomes of it.
//!
//! A process may die between any two steps. The state of head n publishes model n, always the same; slots that are closed and not counted are counted by the
//! next tick.

mod batch;
mod row;
mod server;
mod take;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeSet,
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, atomic::AtomicU64},
};

use reticent::{
    bandit::{Server, ShufflePlan},
    wire,
};
use serde::Serialize;

pub(super) use server::ReportStep;
pub use take::Taken;

pub use row::Row;
pub use server::ReportServer;
pub use take::name_of;

use super::{
    Service,
    life_cycle::{Begun, LifeCycle, stored_head},
    tick::ROWS,
};
use crate::{
    Error, Result,
    clock::Time,
    config::ReportsPlan,
    sealed::{SealKey, Subject},
    store::{Collect, Digest, Head, NewGeneration, Place, Store},
};

/// Reports that wait to be counted in one loop, at most.
const MOST_WAITING: u64 = 1 << 22;

/// Numbers of a shuffler's batches that have come: all below the floor, and some above it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Batches {
    floor: u64,
    above: BTreeSet<u64>,
}

impl Batches {
    fn note(&mut self, number: u64) {
        if number >= self.floor && number < u64::MAX {
            self.above.insert(number);
        }
        while self.above.remove(&self.floor) {
            self.floor += 1;
        }
    }

    /// The number after the last one.
    fn next(&self) -> u64 {
        self.above.last().map_or(self.floor, |last| last.saturating_add(1))
    }

    fn missing(&self) -> u64 {
        self.next() - self.floor - self.above.len() as u64
    }
}

/// A loop to which devices report, as it is served.
pub struct Reports {
    /// Its checked file.
    pub plan: Arc<ReportsPlan>,
    cycle: LifeCycle,
    /// A report server that checks incoming reports and counts none.
    checker: Server,
    served: RwLock<Arc<ServedModel>>,
    batches: Mutex<Batches>,
    /// Counts since the process began.
    pub counts: DeviceCounts,
}

impl Deref for Reports {
    type Target = LifeCycle;

    fn deref(&self) -> &LifeCycle {
        &self.cycle
    }
}

/// The model that devices get.
pub struct ServedModel {
    /// Its number, from 0.
    pub number: u64,
    /// The hash of the chain of models up to it.
    pub chain: Digest,
    /// Reports that it was made from.
    pub reports: u64,
    /// Time at which it was made; none for the first, which knows nothing.
    pub time: Option<Time>,
    /// The model as it travels.
    pub message: String,
}

/// Counts of one loop since the process began. The server sees every report, so that they tell it nothing.
#[derive(Debug, Default)]
pub struct DeviceCounts {
    /// Reports that were taken; of a shuffler's batches those inside.
    pub taken: AtomicU64,
    /// Reports and batches that had come before.
    pub duplicates: AtomicU64,
    /// Reports on models that are too old.
    pub late: AtomicU64,
    /// Foreign and malformed reports.
    pub refused: AtomicU64,
    /// Batches of a shuffler that were refused: the shuffler sends them again until an operator has looked.
    pub refused_batches: AtomicU64,
    /// Rows that could not be read at a tick: each is a fault.
    pub unusable: AtomicU64,
}

/// A loop as every holder of a `read` key may see it.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct DeviceView {
    /// Its name.
    pub name: String,
    /// Place of the noise: `device`, or `shuffler` where one mixes reports.
    pub trust: &'static str,
    /// The number of the last model.
    pub model: u64,
    /// Reports that it was made from.
    pub reports: u64,
    /// Time of its publication, in milliseconds since 1970.
    pub published: Option<u64>,
    /// Milliseconds between two models.
    pub tick: u64,
    /// Epsilon of one installation.
    pub epsilon: f64,
    /// Delta.
    pub delta: f64,
    /// Reason why no model is published at present.
    pub halted: Option<String>,
}

impl Service {
    /// The key that opens reports which a shuffler cannot read.
    pub fn seal_key(&self) -> Option<&SealKey> {
        self.seal_key.as_ref()
    }

    /// Looks at models that other processes have published and reports that they have taken, where there may be some.
    pub async fn follow_reports(&self, loop_: &Reports) -> Result<()> {
        loop_.follow(self.store.as_ref()).await
    }

    /// Counted reports, and ids of reports whose models are no longer taken.
    pub(super) async fn collectable_reports(
        &self,
        loop_: &Reports,
        number: u64,
    ) -> Result<Collect> {
        let floor = number.saturating_sub(loop_.plan.late_models);
        // First, so that what a forgotten id would recognise is refused for its model.
        let floor = self.store.raise_floor(loop_.floor_name(), floor).await?;
        Ok(Collect {
            slot: number,
            unreleased: false,
            before: u64::MAX,
            forget_ids: floor,
            first_release: (number + 1).saturating_sub(loop_.plan.params.kept_models()),
            limit: ROWS,
        })
    }
}

impl Reports {
    pub(super) async fn open(
        plan: Arc<ReportsPlan>,
        new: NewGeneration,
        store: &dyn Store,
        seal_key: Option<&SealKey>,
    ) -> Result<Self> {
        if plan.shuffled().is_some() && !plan.sums() && seal_key.is_none() {
            let field = format!("loop.{}.shuffle.mode", plan.name);
            let remedy = "this process has no key that opens sealed reports";
            return Err(Error::invalid(field, "sealed", remedy));
        }
        let Begun { cycle, head, released, .. } =
            LifeCycle::begin(store, new, true, plan.tick).await?;
        let opened = Reports {
            checker: plan.local().server(),
            served: RwLock::new(Arc::new(ServedModel::of_head(&plan, &head, released)?)),
            plan,
            cycle,
            batches: Mutex::default(),
            counts: DeviceCounts::default(),
        };
        opened.read_batches(store, &head).await?;
        Ok(opened)
    }

    /// The model that devices get at this moment.
    pub fn served(&self) -> Arc<ServedModel> {
        self.served.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Serves the model of a committed head.
    pub(super) fn serve_head(&self, head: &Head, time: Option<Time>) -> Result<()> {
        let model = ServedModel::of_head(&self.plan, head, time)?;
        *self.served.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(model);
        Ok(())
    }

    /// Reason for which no model is published at present. A doubted clock is none: models say nothing of any period.
    pub fn halted(&self) -> Option<String> {
        self.halt_state().as_ref().map(|halt| halt.why.clone())
    }

    /// The number after the last batch of the shuffler that is stored here.
    pub fn next_batch(&self) -> u64 {
        self.batches().next()
    }

    /// Batches of the shuffler that have not come though later ones have: each is lost, unless it is still on its way.
    pub fn missing_batches(&self) -> u64 {
        self.batches().missing()
    }

    fn batches(&self) -> MutexGuard<'_, Batches> {
        self.batches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a batch has come. One that leaves a gap is logged: numbers follow each other, and the shuffler sends one at a time.
    fn note_batch(&self, number: u64) {
        let mut batches = self.batches();
        let before = batches.missing();
        batches.note(number);
        let missing = batches.missing();
        if missing > before {
            tracing::error!(r#loop = %self.name, "batch {number} of the shuffler came, and {missing} before it are missing: this store or that of the shuffler was rolled back");
        }
    }

    /// Reads the numbers of a shuffler's batches from the store: those that are counted, and those that wait.
    async fn read_batches(&self, store: &dyn Store, head: &Head) -> Result<()> {
        if self.plan.shuffled().is_none() {
            return Ok(());
        }
        let mut batches = ReportServer::load(&self.plan, &head.state)?.batches();
        let mut after = Place { slot: head.folded, number: u64::MAX };
        loop {
            let rows = store.kept_events(self.generation, after, ROWS).await?;
            let Some((last, _)) = rows.last() else { break };
            after = *last;
            let numbers = rows.iter().filter_map(|(_, row)| row::batch_number(&row.raw));
            numbers.for_each(|number| batches.note(number));
        }
        *self.batches() = batches;
        Ok(())
    }

    /// Serves models that other processes of the store have published, and counts what they took.
    async fn follow(&self, store: &dyn Store) -> Result<()> {
        if !store.is_shared() {
            return Ok(());
        }
        let head = stored_head(store, self.generation, self.params_hash).await?;
        if head.number > self.served().number {
            let records = store.releases(self.generation, head.number, 1).await?;
            self.serve_head(&head, records.first().map(|record| record.time))?;
        }
        self.open.recount(store, self.generation, head.closed, head.closed).await?;
        self.read_batches(store, &head).await
    }

    /// The name of its floor in the store: reports on models below it are not taken.
    fn floor_name(&self) -> String {
        format!("device floor {}", self.generation)
    }

    /// Form of the loop's sealed reports, and the plan of its shuffler, where there is one.
    pub fn sealed_form(&self) -> Option<(Subject, &ShufflePlan)> {
        Some((self.plan.subject()?, self.plan.shuffled()?))
    }

    /// The loop as every holder of a `read` key may see it.
    pub fn view(&self) -> Result<DeviceView> {
        let (served, guarantee) = (self.served(), self.plan.guarantee()?);
        Ok(DeviceView {
            name: self.name.clone(),
            trust: if self.plan.shuffled().is_some() { "shuffler" } else { "device" },
            model: served.number,
            reports: served.reports,
            published: served.time,
            tick: self.tick,
            epsilon: guarantee.epsilon(),
            delta: guarantee.delta(),
            halted: self.halted(),
        })
    }
}

impl ServedModel {
    /// The model of a stored head.
    fn of_head(plan: &ReportsPlan, head: &Head, time: Option<Time>) -> Result<Self> {
        let model = ReportServer::load(plan, &head.state)?.publish()?;
        if model.sequence() != head.number {
            return Err(Error::store(format_args!(
                "the state of model {} publishes model {}: restore another copy",
                head.number,
                model.sequence()
            )));
        }
        let (number, reports) = (model.sequence(), model.reports());
        let message = wire::to_json(&model);
        Ok(ServedModel { number, chain: head.chain, reports, time, message })
    }
}
