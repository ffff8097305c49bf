//! The shuffler: takes reports from devices, waits for a batch, takes names, senders and order away, and hands on. A process of its own, with keys of its own,
//! that another party than the operator of the server should run.
//!
//! | file | what it is |
//! | --- | --- |
//! | `contact` | what the server says, asked by the clock alone, and the floor of models that follows from it |
//! | `take` | reports of devices are taken, each once |
//! | `waiting` | reports that wait for a batch |
//! | `forward` | batches are made, committed and sent |
//! | `upstream` | the server as the shuffler sees it |
//! | `serve` | the process: its socket and its tasks |
//!
//! ```text
//! take:     report -> checked -> committed under its outer id -> answer
//! forward:  as many as a batch has -> random order -> members, order and number committed -> sent, as the same bytes until the server has them
//! ```
//!
//! **Once.** The store remembers outer ids, and sealed bytes, for as long as reports on their model are taken, and the state says up to which place reports are in batches: it is
//! committed together with the batch. One batch is under way at a time, so that the server's next number says whether the last one has arrived.
//!
//! **Slots.** A report that comes while model n is the last known belongs to slot n + 1; slots up to n are closed when model n becomes known. A report of slot s was
//! made under a model below s. Models below a durable floor are refused, and ids of slots up to the floor are forgotten: what they would recognise is refused for
//! its model. The number n is durable too (the closed slot), so that an older number from the server opens nothing again.
//!
//! **Generations.** The protocol's hash names a generation: reports of another one are foreign. A generation that comes back after another
//! one would take reports that have left already, so that it stops. A generation begins, and an earlier one ends, when the server has the same protocol as the shuffler's
//! file: a file that is wrong here alone changes nothing.
//!
//! **Never less.** A batch has exactly the size that the certificate names; what waits longer waits. The server learns nothing about waiting reports.

mod contact;
mod forward;
mod serve;
mod take;
#[cfg(test)]
mod tests;
mod upstream;
mod waiting;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

pub use contact::News;
pub use forward::Forwarded;
pub use serve::{ShuffleOptions, run_shuffler};
pub use upstream::{HttpUpstream, Upstream};

use crate::{
    Error, Result,
    clock::Clock,
    config::{Plan, ReportsPlan},
    loops::first_chain,
    sealed::{SealKey, Subject},
    secret::Secret,
    store::{Collect, GenerationId, Head, LAST_SLOT, NewGeneration, Place, Store, collect_all},
};
use contact::{Beginning, Heard};
use waiting::{Counted, ROWS, Saved};

/// All loops of a shuffler.
pub struct Shuffler {
    loops: BTreeMap<String, Arc<ShuffleLoop>>,
    store: Arc<dyn Store>,
    upstream: Arc<dyn Upstream>,
    clock: Arc<dyn Clock>,
    /// Key to which reports are sealed where the shuffler sums.
    key: SealKey,
    /// Key of the hashes of senders' addresses.
    senders: Secret,
    stopping: AtomicBool,
}

/// One loop as the shuffler knows it.
pub struct ShuffleLoop {
    /// Its plan, from the shuffler's own file: the size of batches is not the server's to choose.
    pub plan: Arc<ReportsPlan>,
    /// Begun when the server has the same protocol.
    begun: OnceLock<Begun>,
    subject: Subject,
    state: Mutex<State>,
    forwarding: tokio::sync::Mutex<()>,
    /// Shared by reports that are being stored, so that no task counts rows at the same time.
    storing: tokio::sync::RwLock<()>,
}

/// The generation that a loop is in, and the right to release in it.
#[derive(Debug, Clone, Copy)]
struct Begun {
    generation: GenerationId,
    epoch: u64,
}

/// Progress of a loop. Everything in it can be read from the store or asked for again.
#[derive(Default)]
struct State {
    /// Last answer of the server; none before it was asked.
    heard: Option<Heard>,
    /// Progress of the server when this generation began.
    beginning: Option<Beginning>,
    /// Reports up to this place are in batches.
    consumed: Place,
    /// Batches that were made.
    batches: u64,
    /// True if the last one has arrived; none before the server was asked.
    arrived: Option<bool>,
    /// Reports that wait and that the next batch may hold.
    waiting: u64,
    /// Waiting reports of each sender.
    senders: HashMap<[u8; 16], u64>,
    /// Ids of the stored ones of these: the same bytes again are no report more, even of a sender at their cap.
    ids: HashSet<[u8; 16]>,
    /// True if counts have to be read again.
    uncertain: bool,
    /// Reason why nothing is taken and sent until an operator has looked.
    halted: Option<String>,
    /// Reason why the last look failed, which is tried again.
    failed: Option<String>,
}

impl Shuffler {
    /// Opens every loop, which goes on where the store left it when the server has answered. Loops without a shuffler are not its own.
    pub async fn open(
        plans: Vec<Plan>,
        store: Arc<dyn Store>,
        upstream: Arc<dyn Upstream>,
        clock: Arc<dyn Clock>,
        (key, senders): (SealKey, Secret),
    ) -> Result<Arc<Self>> {
        let mut loops = BTreeMap::new();
        let of_devices = plans.iter().filter_map(Plan::reports);
        for plan in of_devices.filter(|plan| plan.shuffled().is_some()) {
            let opened = ShuffleLoop::new(Arc::clone(plan))?;
            loops.insert(opened.plan.name.clone(), Arc::new(opened));
        }
        if loops.is_empty() {
            let remedy = "give at least one loop trust = \"shuffler\"";
            return Err(Error::invalid("loop", "no loop with a shuffler", remedy));
        }
        let stopping = AtomicBool::new(false);
        Ok(Arc::new(Shuffler { loops, store, upstream, clock, key, senders, stopping }))
    }

    /// The loop of this name.
    pub fn find(&self, name: &str) -> Result<&Arc<ShuffleLoop>> {
        self.loops.get(name).ok_or_else(|| {
            let shown: String = name.chars().take(64).collect();
            Error::unknown("loop", format!("{shown:?}"), "name a loop of this shuffler")
        })
    }

    /// All loops in the order of their names.
    pub fn loops(&self) -> impl Iterator<Item = &Arc<ShuffleLoop>> {
        self.loops.values()
    }

    /// Troubles, which every caller may read, the server's operator too: a trouble says nothing of reports that wait.
    pub fn troubles(&self) -> Vec<String> {
        let of_loop = |loop_: &Arc<ShuffleLoop>| {
            let troubles = loop_.state().troubles();
            troubles
                .into_iter()
                .map(|why| format!("loop {}: {why}", loop_.plan.name))
                .collect::<Vec<_>>()
        };
        self.loops().flat_map(of_loop).collect()
    }

    /// Lets the tasks stop.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }
}

fn not_asked() -> Error {
    Error::Unavailable("the server was not asked yet".into())
}

fn exhausted() -> Error {
    Error::Unavailable("batches: all numbers are used; give the loop another name".into())
}

impl ShuffleLoop {
    fn new(plan: Arc<ReportsPlan>) -> Result<Self> {
        let Some(subject) = plan.subject() else {
            return Err(Error::invalid("trust", "device", "give trust = \"shuffler\""));
        };
        let (begun, state, forwarding, storing) = Default::default();
        Ok(ShuffleLoop { plan, begun, subject, state, forwarding, storing })
    }

    /// Continues the stored generation with this hash, or begins one and ends earlier ones. The next call completes one that was interrupted.
    async fn begin(&self, store: &dyn Store) -> Result<()> {
        if self.begun.get().is_some() {
            return Ok(());
        }
        let plan = &self.plan;
        let generation = NewGeneration {
            name: plan.name.clone(),
            params_hash: plan.params_hash(),
            params: serde_json::to_vec(&plan.params).map_err(Error::store)?,
            state: Saved::write(Place::default())?,
            event: Vec::new(),
            closed: 0,
            time: 0,
            counts_with: None,
        };
        let generation = store.begin_generation(generation).await?.id;
        let halted = end_earlier(store, plan, generation).await?;
        let epoch = store.take_epoch(generation).await?;
        let head = store.head(generation).await?;
        let consumed = Saved::read(&head.state)?;
        {
            let mut state = self.state();
            (state.consumed, state.batches) = (consumed, head.number);
            // Which reports the next batch may hold is known when the server's key is.
            state.uncertain = true;
        }
        if let Some(why) = halted {
            self.halt(why);
        }
        self.begun.get_or_init(|| Begun { generation, epoch });
        Ok(())
    }

    fn begun(&self) -> Result<Begun> {
        self.begun.get().copied().ok_or_else(not_asked)
    }

    fn generation(&self) -> Result<GenerationId> {
        Ok(self.begun()?.generation)
    }

    /// The form of all sealed reports of the loop.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// Reports that wait for a batch.
    pub fn waiting(&self) -> u64 {
        self.state().waiting
    }

    /// Batches that were made.
    pub fn batches(&self) -> u64 {
        self.state().batches
    }

    /// Reason why nothing is taken and sent.
    fn halted(&self) -> Option<String> {
        self.state().halted.clone()
    }

    /// The number of the batch after `batches` of this generation.
    fn next_number(&self, made: u64) -> Result<u64> {
        let Some(beginning) = self.state().beginning else {
            return Err(not_asked());
        };
        // The last number is never used: there would be none after it.
        let next = beginning.first_batch.checked_add(made).filter(|next| *next < u64::MAX);
        next.ok_or_else(exhausted)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn halt(&self, why: String) {
        let mut state = self.state();
        if state.halted.is_none() {
            tracing::error!(r#loop = %self.plan.name, "reports are refused, and batches stop: {why}");
            state.halted = Some(why);
        }
    }

    /// Notes the reason for which a look failed. The same reason again is not logged again.
    fn fail(&self, error: &Error) {
        let why = error.to_string();
        let mut state = self.state();
        if state.failed.as_ref() != Some(&why) {
            tracing::warn!(r#loop = %self.plan.name, "no batch was sent: {why}");
            state.failed = Some(why);
        }
    }

    /// Takes nothing until the server has the same protocol: its batches would be refused.
    fn disagree(&self) {
        let mut state = self.state();
        state.heard = None;
        // It may have another key when it is heard again.
        state.uncertain = true;
    }

    fn recover(&self) {
        self.state().failed = None;
    }

    async fn head(&self, store: &dyn Store) -> Result<Head> {
        let generation = self.generation()?;
        let mut head = store.head(generation).await?;
        if head.number == 0 {
            head.chain = first_chain(store.id(), generation, self.plan.params_hash());
        }
        Ok(head)
    }
}

/// Removes the rows of a loop's earlier generations, whose reports are taken no more. Says why the present one cannot be served if it was there before: a report that has left
/// would be taken again.
async fn end_earlier(
    store: &dyn Store,
    plan: &ReportsPlan,
    present: GenerationId,
) -> Result<Option<String>> {
    let mut again = false;
    let generations = store.generations().await?.into_iter();
    for generation in
        generations.filter(|generation| generation.name == plan.name && generation.id != present)
    {
        again |= generation.params_hash == plan.params_hash();
        let consumed = Saved::read(&store.head(generation.id).await?.state)?;
        let left = waiting::count(store, generation.id, consumed, None).await?;
        if !left.ids.is_empty() {
            tracing::error!(r#loop = %plan.name, "{} reports of an earlier generation are given up: its last batch was not full when the file of loops changed", left.ids.len());
        }
        let all = LAST_SLOT;
        store.close(generation.id, all).await?;
        let what = Collect {
            slot: all,
            unreleased: true,
            before: u64::MAX,
            forget_ids: all,
            first_release: u64::MAX,
            limit: ROWS,
        };
        collect_all(store, generation.id, what).await?;
    }
    let why = "the loop had the same parameters before, and others since: reports of that time have left, and would be taken again. Give it another name";
    Ok(again.then(|| why.into()))
}

impl State {
    fn troubles(&self) -> Vec<String> {
        let mut troubles: Vec<String> = self.halted.iter().chain(&self.failed).cloned().collect();
        if self.heard.is_none() && troubles.is_empty() {
            troubles.push("the server was not heard from yet".into());
        }
        if let Some(Heard { stated, model, floor, .. }) =
            self.heard.filter(|heard| heard.stated < heard.model)
        {
            troubles.push(format!("the server was rolled back from model {model} to {stated}, and models below {floor} are not taken again: restore its latest copy, or give the loop another name"));
        }
        troubles
    }

    fn count(&mut self, counted: Counted) {
        let Counted { ids, senders, .. } = counted;
        (self.waiting, self.senders, self.ids) = (ids.len() as u64, senders, ids);
        self.uncertain = false;
    }

    fn add(&mut self, sender: [u8; 16]) {
        self.waiting += 1;
        *self.senders.entry(sender).or_default() += 1;
    }

    fn remove(&mut self, sender: [u8; 16]) {
        self.waiting = self.waiting.saturating_sub(1);
        if let Some(count) = self.senders.get_mut(&sender) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.senders.remove(&sender);
            }
        }
    }
}
