//! Loops whose people's devices choose, add the noise and report: the server publishes models and takes reports.
//!
//! | file | what it is |
//! | --- | --- |
//! | `row` | reports and batches as the store keeps them until they are counted |
//! | `half` | the server's half of core's protocol: what is simulated is what is deployed |
//! | `take` | reports are taken, each once |
//! | `batch` | batches of a shuffler are taken, each once |
//! | `tick` | reports are counted and models published, by the clock |
//! | `replicas` | several processes on one store: what the others have published and taken |
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
mod half;
mod replicas;
mod row;
mod take;
#[cfg(test)]
mod tests;
mod tick;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use reticent::{
    bandit::{Model, Server, ShufflePlan},
    wire,
};
use serde::Serialize;

pub use half::Half;
pub use half::storage;
pub use row::Row;
pub use take::Taken;
pub use take::name_of;

use crate::{
    Error, Result,
    clock::{Clock, Time},
    config::DevicePlan,
    lives,
    loops::{Certificate, first_chain},
    sealed::{SealKey, Subject},
    store::{Digest, Head, Lease, LifeId, NewLife, Store},
    tasks::Tasks,
    ticking::Ticker,
};

/// Rows that are read at once.
const ROWS: usize = 4096;

/// Reports that wait to be counted in one loop, at most.
const MOST_WAITING: u64 = 1 << 22;

/// All loops of a process whose people's devices add the noise.
pub struct Devices {
    loops: BTreeMap<String, Arc<DeviceLoop>>,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    /// What opens reports that a shuffler cannot read.
    seal_key: Option<SealKey>,
    tasks: Tasks,
    stopping: AtomicBool,
}

/// Which batches of a shuffler have come: all below the floor, and some above it.
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

/// One loop as it is served.
pub struct DeviceLoop {
    /// What it is.
    pub plan: DevicePlan,
    /// Its present life.
    pub life: LifeId,
    lease: Lease,
    began: Time,
    /// What incoming reports are compared with; it counts nothing.
    checker: Server,
    served: RwLock<Arc<ServedModel>>,
    halted: Mutex<Option<String>>,
    ticker: Ticker,
    ticking: tokio::sync::Mutex<()>,
    waiting: AtomicU64,
    /// Which batches of a shuffler have come.
    batches: Mutex<Batches>,
    /// Counts since the process began.
    pub counts: DeviceCounts,
}

/// The model that devices get.
pub struct ServedModel {
    /// Its number, from 0.
    pub number: u64,
    /// The hash of the chain of models up to it.
    pub chain: Digest,
    /// Reports that it was made from.
    pub reports: u64,
    /// When it was made; none for the first, which knows nothing.
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
    /// Batches of a shuffler that were refused: it sends them again, and somebody has to look.
    pub refused_batches: AtomicU64,
    /// Rows that could not be read at a tick: each is a fault.
    pub unusable: AtomicU64,
}

/// A loop as everybody with a `read` key may see it.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct DeviceView {
    /// Its name.
    pub name: String,
    /// Who adds the noise: `device`, or `shuffler` where one mixes reports.
    pub trust: &'static str,
    /// The number of the last model.
    pub model: u64,
    /// Reports that it was made from.
    pub reports: u64,
    /// When it was published, in milliseconds since 1970.
    pub published: Option<u64>,
    /// Milliseconds between two models.
    pub tick: u64,
    /// Epsilon of one installation.
    pub epsilon: f64,
    /// Delta.
    pub delta: f64,
    /// Why no model is published at present.
    pub halted: Option<String>,
}

impl Devices {
    /// Opens every loop where its store left it, or begins a life for it.
    pub async fn open(
        plans: Vec<DevicePlan>,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        seal_key: Option<SealKey>,
    ) -> Result<Self> {
        let mut loops = BTreeMap::new();
        for plan in plans {
            if plan.shuffled().is_some() && !plan.sums() && seal_key.is_none() {
                let field = format!("loop.{}.shuffle.mode", plan.name);
                let remedy = "this process has no key that opens sealed reports";
                return Err(Error::invalid(field, "sealed", remedy));
            }
            let opened = DeviceLoop::open(plan, store.as_ref(), clock.as_ref()).await?;
            loops.insert(opened.plan.name.clone(), Arc::new(opened));
        }
        let (tasks, stopping) = Default::default();
        Ok(Devices { loops, store, clock, seal_key, tasks, stopping })
    }

    /// The loop of this name, if devices take part in one.
    pub fn find(&self, name: &str) -> Option<&Arc<DeviceLoop>> {
        self.loops.get(name)
    }

    /// Looks at what other processes have published and taken, where there may be some.
    pub async fn follow(&self, each: &DeviceLoop) -> Result<()> {
        replicas::follow(self.store.as_ref(), each).await
    }

    /// What opens reports that a shuffler cannot read.
    pub fn seal_key(&self) -> Option<&SealKey> {
        self.seal_key.as_ref()
    }

    /// All loops in the order of their names.
    pub fn loops(&self) -> impl Iterator<Item = &Arc<DeviceLoop>> {
        self.loops.values()
    }

    /// Why something is not as it should be.
    pub fn troubles(&self) -> impl Iterator<Item = String> {
        self.loops().flat_map(|each| {
            let of_loop = each.halted().into_iter().chain(each.ticker.failure());
            of_loop.map(|why| format!("loop {}: {why}", each.plan.name))
        })
    }

    /// Lets the tickers stop.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }

    /// What is promised to the people of a loop.
    pub fn certificate(&self, each: &DeviceLoop) -> Result<Certificate> {
        let served = each.served();
        let head = Some((served.number, &served.chain));
        Certificate::of_devices(&each.plan, head, self.clock.now())
    }

    /// A loop as everybody with a `read` key may see it.
    pub fn view(&self, each: &DeviceLoop) -> Result<DeviceView> {
        let (served, guarantee) = (each.served(), each.plan.guarantee()?);
        Ok(DeviceView {
            name: each.plan.name.clone(),
            trust: if each.plan.shuffled().is_some() { "shuffler" } else { "device" },
            model: served.number,
            reports: served.reports,
            published: served.time,
            tick: each.plan.tick,
            epsilon: guarantee.epsilon(),
            delta: guarantee.delta(),
            halted: each.halted(),
        })
    }
}

/// The life of a loop before any report.
pub(crate) fn new_life(plan: &DevicePlan, began: Time) -> Result<NewLife> {
    Ok(NewLife {
        name: plan.name.clone(),
        generation: plan.generation(),
        params: serde_json::to_vec(&plan.params).map_err(Error::store)?,
        state: Half::new(plan)?.save(),
        event: serde_json::to_vec(&plan.event()?).map_err(Error::store)?,
        closed: 0,
        time: began,
        counts_with: None,
    })
}

impl DeviceLoop {
    async fn open(plan: DevicePlan, store: &dyn Store, clock: &dyn Clock) -> Result<Self> {
        let life = lives::begin(store, new_life(&plan, clock.now())?, true).await?;
        let mut head = store.head(life.id).await?;
        if head.number == 0 {
            head.chain = first_chain(store.id(), life.id, life.generation);
        }
        let time = match head.number {
            0 => None,
            number => store.releases(life.id, number, 1).await?.first().map(|record| record.time),
        };
        let served = ServedModel::of_head(&plan, &head, time)?;
        let waiting = replicas::waiting(store, life.id).await?;
        let mut batches = Half::load(&plan, &head.state)?.batches();
        if plan.shuffled().is_some() {
            replicas::note_uncounted(store, life.id, head.folded, &mut batches).await?;
        }
        let lease = Lease::default();
        lease.keep(store, life.id).await?;
        let ticker = Ticker::new(&plan.name, plan.tick);
        Ok(DeviceLoop {
            checker: plan.local().server(),
            plan,
            life: life.id,
            lease,
            began: life.began,
            served: RwLock::new(Arc::new(served)),
            halted: Mutex::default(),
            ticker,
            ticking: tokio::sync::Mutex::default(),
            waiting: AtomicU64::new(waiting),
            batches: Mutex::new(batches),
            counts: DeviceCounts::default(),
        })
    }

    /// The model that devices get at this moment.
    pub fn served(&self) -> Arc<ServedModel> {
        self.served.read().unwrap_or_else(PoisonError::into_inner).clone()
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

    /// Notes that a batch has come. One that leaves a gap is told: numbers follow each other, and the shuffler sends one at a time.
    fn note_batch(&self, number: u64) {
        let mut batches = self.batches();
        let before = batches.missing();
        batches.note(number);
        let missing = batches.missing();
        if missing > before {
            tracing::error!(r#loop = %self.plan.name, "batch {number} of the shuffler came, and {missing} before it are missing: this store or that of the shuffler has gone back");
        }
    }

    /// The name of its floor in the store: reports on models below it are not taken.
    fn floor_name(&self) -> String {
        format!("device floor {}", self.life)
    }

    /// What sealed reports of the loop are like, and the plan of its shuffler, where there is one.
    pub fn sealed_form(&self) -> Option<(Subject, &ShufflePlan)> {
        Some((self.plan.subject()?, self.plan.shuffled()?))
    }

    /// Why no model is published at present.
    pub fn halted(&self) -> Option<String> {
        self.halted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the last tick failed and is tried again.
    pub fn is_failing(&self) -> bool {
        self.ticker.failure().is_some()
    }

    fn halt(&self, why: String) {
        tracing::error!(r#loop = %self.plan.name, "models stop: {why}");
        self.halted.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
    }

    fn serve(&self, model: ServedModel) {
        *self.served.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(model);
    }
}

impl ServedModel {
    /// What a stored head serves.
    fn of_head(plan: &DevicePlan, head: &Head, time: Option<Time>) -> Result<Self> {
        let model = Half::load(plan, &head.state)?.publish()?;
        if model.sequence() != head.number {
            return Err(Error::store(format_args!(
                "the state of model {} publishes model {}: restore another copy",
                head.number,
                model.sequence()
            )));
        }
        Ok(Self::new(&model, head.chain, time))
    }

    fn new(model: &Model, chain: Digest, time: Option<Time>) -> Self {
        let (number, reports) = (model.sequence(), model.reports());
        ServedModel { number, chain, reports, time, message: wire::to_json(model) }
    }
}
