//! The shuffler: takes reports from devices, waits for a batch, takes names, senders and order away, and hands on. A process of its own, with keys of its own,
//! that somebody else than the operator of the server should run.
//!
//! | file | what it is |
//! | --- | --- |
//! | `take` | reports of devices are taken, each once |
//! | `forward` | batches are made, committed and sent |
//! | `upstream` | the server as the shuffler sees it |
//! | `serve` | the process: its socket and its tasks |
//!
//! ```text
//! take:     report -> checked -> committed under its outer id -> answer
//! forward:  as many as a batch has -> random order -> members, order and number committed -> sent, as the same bytes until the server has them
//! ```
//!
//! **Once.** The store remembers outer ids for as long as reports on their model are taken, and the state says up to which place reports are in batches: it is
//! committed together with the batch. One batch is under way at a time, so that the server's next number says whether the last one has arrived.
//!
//! **Slots.** A report that comes while model n is the last known belongs to slot n + 1; slots up to n are closed when model n becomes known. A report of slot s was
//! made under a model below s. Models below `n - late` are refused, and ids of slots up to `n - late` are forgotten: what they
//! would recognise is refused for its model. The number n is durable (the closed slot), so that an older number from the server opens nothing again.
//!
//! **Never less.** A batch has exactly the size that the certificate names; what waits longer waits. Nothing about waiting reports is told to the server.

mod forward;
mod serve;
mod take;
#[cfg(test)]
mod tests;
mod upstream;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use serde::{Deserialize, Serialize};

pub use forward::Forwarded;
pub use serve::{ShuffleOptions, run_shuffler};
pub use upstream::{HttpUpstream, Upstream};

use crate::{
    Error, Result,
    config::DevicePlan,
    loops::first_chain,
    sealed::{PublicKey, SealKey, Subject},
    secret::Secret,
    store::{Head, LifeId, NewLife, Place, Store},
};

/// Rows that are read at once.
const ROWS: usize = 4096;

/// Reports of one loop that wait, at most.
const MOST_WAITING: u64 = 1 << 21;

/// All loops of a shuffler.
pub struct Shuffler {
    loops: BTreeMap<String, Arc<ShuffleLoop>>,
    store: Arc<dyn Store>,
    upstream: Arc<dyn Upstream>,
    /// What reports are sealed to where the shuffler sums.
    key: SealKey,
    /// What addresses of senders are hashed with.
    senders: Secret,
    stopping: AtomicBool,
}

/// One loop as the shuffler knows it.
pub struct ShuffleLoop {
    /// What it is, from the shuffler's own file: the size of batches is not the server's to choose.
    pub plan: DevicePlan,
    life: LifeId,
    epoch: u64,
    subject: Subject,
    state: Mutex<State>,
    forwarding: tokio::sync::Mutex<()>,
    /// Shared by reports that are being stored, so that nobody counts rows meanwhile.
    storing: tokio::sync::RwLock<()>,
}

/// Where a loop stands. Everything in it can be read from the store again.
struct State {
    /// The last model that is known; none before the server was asked.
    model: Option<u64>,
    /// The key that reports are sealed to, when it is known.
    key: Option<PublicKey>,
    /// Reports up to this place are in batches.
    consumed: Place,
    /// Batches that were made.
    batches: u64,
    /// Whether the last one has arrived; none before the server was asked.
    arrived: Option<bool>,
    /// Reports that wait.
    waiting: u64,
    /// Of these, reports of each sender.
    senders: HashMap<[u8; 16], u64>,
    /// Of these, the ids of those that are stored: the same bytes again are no report more, even of a sender at their cap.
    ids: HashSet<[u8; 16]>,
    /// Whether a report may be stored that is not counted, or the other way round.
    uncertain: bool,
    /// Why nothing is sent at present.
    halted: Option<String>,
}

/// What is committed with a batch.
#[derive(Serialize, Deserialize)]
struct Saved {
    version: u8,
    consumed: Place,
}

const SAVED_VERSION: u8 = 1;

/// A report that waits.
#[derive(Serialize, Deserialize)]
struct Waiting {
    version: u8,
    /// A keyed hash of the sender's address, for the cap; it is never sent.
    sender: [u8; 16],
    id: [u8; 16],
    /// The sealed report, or its numbers where the shuffler sums.
    contents: Vec<u8>,
}

impl Saved {
    fn write(consumed: Place) -> Result<Vec<u8>> {
        postcard::to_stdvec(&Saved { version: SAVED_VERSION, consumed }).map_err(Error::store)
    }

    fn read(bytes: &[u8]) -> Result<Place> {
        match postcard::from_bytes::<Saved>(bytes) {
            Ok(saved) if saved.version == SAVED_VERSION => Ok(saved.consumed),
            _ => Err(Error::store("the state of a shuffler is damaged: restore another copy")),
        }
    }
}

impl Waiting {
    fn write(&self) -> Result<Vec<u8>> {
        postcard::to_stdvec(self).map_err(Error::store)
    }

    fn read(bytes: &[u8]) -> Result<Self> {
        match postcard::from_bytes::<Waiting>(bytes) {
            Ok(waiting) if waiting.version == SAVED_VERSION => Ok(waiting),
            _ => Err(Error::store("a waiting report is damaged: restore another copy")),
        }
    }
}

impl Shuffler {
    /// Opens every loop where the store left it. Loops without a shuffler are not its own.
    pub async fn open(
        plans: Vec<DevicePlan>,
        store: Arc<dyn Store>,
        upstream: Arc<dyn Upstream>,
        key: SealKey,
        senders: Secret,
    ) -> Result<Arc<Self>> {
        let mut loops = BTreeMap::new();
        for plan in plans.into_iter().filter(|plan| plan.shuffled().is_some()) {
            let opened = ShuffleLoop::open(plan, store.as_ref(), &key).await?;
            loops.insert(opened.plan.name.clone(), Arc::new(opened));
        }
        if loops.is_empty() {
            let remedy = "give at least one loop trust = \"shuffler\"";
            return Err(Error::invalid("loop", "none with a shuffler", remedy));
        }
        let stopping = AtomicBool::new(false);
        Ok(Arc::new(Shuffler { loops, store, upstream, key, senders, stopping }))
    }

    /// The loop of this name.
    pub fn find(&self, name: &str) -> Result<&Arc<ShuffleLoop>> {
        self.loops.get(name).ok_or_else(|| {
            let shown: String = name.chars().take(64).collect();
            Error::unknown(format!("loop {shown:?}"), "name a loop of this shuffler")
        })
    }

    /// All loops in the order of their names.
    pub fn loops(&self) -> impl Iterator<Item = &Arc<ShuffleLoop>> {
        self.loops.values()
    }

    /// Why something is not as it should be.
    pub fn troubles(&self) -> Vec<String> {
        let halted = |each: &Arc<ShuffleLoop>| {
            each.state().halted.as_ref().map(|why| format!("loop {}: {why}", each.plan.name))
        };
        self.loops().filter_map(halted).collect()
    }

    /// What reports are sealed to where the shuffler sums.
    pub fn key(&self) -> &PublicKey {
        self.key.public()
    }

    /// Lets the tasks stop.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }
}

/// Ids of the reports that wait after this place, and how many each sender has.
async fn read_waiting(
    store: &dyn Store,
    life: LifeId,
    mut after: Place,
) -> Result<(HashSet<[u8; 16]>, HashMap<[u8; 16], u64>)> {
    let (mut ids, mut senders) = (HashSet::new(), HashMap::new());
    loop {
        let rows = store.kept_events(life, after, ROWS).await?;
        let Some((last, _)) = rows.last() else { return Ok((ids, senders)) };
        after = *last;
        for (_, row) in &rows {
            let report = Waiting::read(&row.raw)?;
            ids.insert(report.id);
            *senders.entry(report.sender).or_default() += 1;
        }
    }
}

impl ShuffleLoop {
    async fn open(plan: DevicePlan, store: &dyn Store, own_key: &SealKey) -> Result<Self> {
        let Some(shuffled) = plan.shuffled() else {
            return Err(Error::invalid("trust", "device", "give trust = \"shuffler\""));
        };
        let subject = Subject {
            loop_name: plan.name.clone(),
            protocol: plan.protocol(),
            values: shuffled.report_length(),
        };
        let life = NewLife {
            name: plan.name.clone(),
            generation: plan.generation(),
            params: serde_json::to_vec(&plan.params).map_err(Error::store)?,
            state: Saved::write(Place::default())?,
            event: Vec::new(),
            closed: 0,
            time: 0,
            carry_ledger: false,
        };
        let life = store.begin_life(life).await?.id;
        let epoch = store.take_epoch(life).await?;
        let head = store.head(life).await?;
        let consumed = Saved::read(&head.state)?;
        let (ids, senders) = read_waiting(store, life, consumed).await?;
        let state = State {
            model: None,
            key: plan.sums().then(|| *own_key.public()),
            consumed,
            batches: head.number,
            arrived: None,
            waiting: ids.len() as u64,
            senders,
            ids,
            uncertain: false,
            halted: None,
        };
        let (forwarding, storing) = Default::default();
        let state = Mutex::new(state);
        Ok(ShuffleLoop { plan, life, epoch, subject, state, forwarding, storing })
    }

    /// What all sealed reports of the loop have in common.
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn halt(&self, why: String) {
        tracing::error!(r#loop = %self.plan.name, "batches stop: {why}");
        self.state().halted.get_or_insert(why);
    }

    async fn head(&self, store: &dyn Store) -> Result<Head> {
        let mut head = store.head(self.life).await?;
        if head.number == 0 {
            head.chain = first_chain(store.id(), self.life, self.plan.generation());
        }
        Ok(head)
    }
}

impl State {
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
