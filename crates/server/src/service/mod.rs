//! All loops of one process with their store: what HTTP calls.
//!
//! A loop has one life cycle, whatever its mechanism. `mechanism` lists the steps that differ.
//!
//! | file | contents |
//! | --- | --- |
//! | `life_cycle` | the state of a loop that does not depend on its mechanism: generation, lease, ticks, halt, open events |
//! | `mechanism` | a served loop by its mechanism, and the steps that differ |
//! | `central` | a central loop: the release that answers people, and a step of its private sum |
//! | `reports` | a loop to which devices report: local, or behind a shuffler |
//! | `rank`, `reward` | rank requests, rewards and activations |
//! | `open` | events of open slots, counted for a limit |
//! | `tick`, `ticker` | slots are closed, releases made, old rows removed, by the clock |
//! | `generations` | generations that share a ledger, and what a changed file would begin |
//! | `rollback`, `acceptance` | a rollback of the store is noticed; an operator accepts it, and it is charged |
//! | `witnessing` | the record of the witness, and generations that only it knows |
//! | `replicas` | several processes on one store: what the others see of what one does |
//! | `people`, `erase` | keys of the people's hashes, and which of them the store needs; erasure |
//! | `time` | the time that is believed |
//! | `suspension` | a process that was stopped logs it |
//! | `writing` | state of the store's writing |
//! | `sweep` | rows of loops that have ended are removed |
//! | `views`, `model` | certificates, summaries, exports; the released model of a loop |
//! | `counts` | exact counts, which are internal |

mod acceptance;
mod central;
mod counts;
mod erase;
mod generations;
mod life_cycle;
mod mechanism;
mod model;
mod open;
mod people;
mod rank;
mod replicas;
pub mod reports;
mod reward;
mod rollback;
mod suspension;
mod sweep;
mod tick;
mod ticker;
mod time;
mod views;
mod witnessing;
mod writing;

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

pub use acceptance::{Accepted, RollbackCost};
pub use central::{Answering, Central};
pub use counts::Counts;
pub use erase::ErasedAnswer;
pub(crate) use generations::stored_loops;
pub use generations::{Outcome, StoredLoop, outcomes};
pub use life_cycle::LifeCycle;
pub use mechanism::Loop;
pub(crate) use model::stored_model;
pub(crate) use people::{PEOPLE_CHECK, is_known_to_lack_keys, needed_keys};
pub use reports::{DeviceCounts, DeviceView, Reports, ServedModel, Taken};
pub use tick::Ticked;
pub use views::{Exported, ExportedEvent, LoopView};

use crate::{
    Error, Result,
    clock::{Clock, Time},
    config::{Ledger, Plan},
    failpoint,
    loops::{HeadName, Limits, Token},
    sealed::SealKey,
    secret::Secret,
    store::{GenerationId, Pending, ReleaseRecord, Store, Witness, WitnessPlace, WitnessRecord},
    tasks::Tasks,
};

/// The setting with the check value of a store's key of events.
pub(crate) const EVENTS_CHECK: &str = "events check";

/// The setting with the time at which a witness of a store was said to be lost, in milliseconds since 1970.
pub(crate) const WITNESS_LOST: &str = "witness lost";

/// The floor of the times at which a store was started without a witness on another filesystem.
pub(crate) const UNWATCHED: &str = "started unwatched";

/// Time at which the witness of this store was lost, if it was.
async fn lost_witness(store: &dyn Store) -> Result<Option<Time>> {
    let Some(noted) = store.setting(WITNESS_LOST.into()).await? else { return Ok(None) };
    let damaged = |_| Error::store("the note of a lost witness is damaged: restore another copy");
    <[u8; 8]>::try_from(noted).map(|bytes| Some(Time::from_le_bytes(bytes))).map_err(damaged)
}

/// The setting of a store that was served with a witness, and is not used without it from then on.
pub(crate) const WITNESSED: &str = "served with a witness";

/// The floor that a process with a witness raises now and then: a process that sees it rise knows that the store is compared with a witness.
pub(crate) const WATCHED: &str = "watched with a witness";

/// Parts of a service.
pub struct Options {
    /// Checked loops.
    pub plans: Vec<Plan>,
    /// The store.
    pub store: Arc<dyn Store>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The key of the people's hashes.
    pub people: Secret,
    /// Earlier keys, whose counts add up.
    pub earlier_people: Vec<Secret>,
    /// The key of the event ids' hashes, which does not change.
    pub events: Secret,
    /// A file elsewhere that knows the heads, if there is one, with what it holds.
    pub witness: Option<(Witness, Option<WitnessRecord>)>,
    /// Limits on requests.
    pub limits: Limits,
    /// Key that opens reports which a shuffler cannot read.
    pub seal_key: Option<SealKey>,
}

/// All loops of one process.
pub struct Service {
    loops: BTreeMap<String, Loop>,
    store: Arc<dyn Store>,
    clock: Arc<time::BelievedClock>,
    people: people::People,
    tokens: Secret,
    events: Secret,
    witness: Option<tokio::sync::Mutex<witnessing::Witnessing>>,
    witness_place: Option<WitnessPlace>,
    limits: Limits,
    ended: Vec<sweep::Ended>,
    /// Key that opens reports which a shuffler cannot read.
    seal_key: Option<SealKey>,
    stopping: AtomicBool,
    tasks: Tasks,
    writing: writing::Writing,
}

impl Service {
    /// Carries out a transaction in a task of its own, and notes there what became of it: a caller who goes away ends neither.
    async fn carry_out<T: Send + 'static>(
        &self,
        transaction: Pending<T>,
        note: impl FnOnce(&T) + Send + 'static,
    ) -> Result<T> {
        let noted = async move {
            let outcome = transaction.await?;
            note(&outcome);
            Ok(outcome)
        };
        let outcome = self.tasks.carry_out(noted).await;
        self.writing.note(&outcome, self.clock.steady());
        outcome
    }

    /// Opens every loop where its store left it, or begins a generation for it.
    pub async fn open(options: Options) -> Result<Arc<Self>> {
        let Options { plans, store, clock, people, earlier_people, events, witness, .. } = options;
        let (limits, seal_key) = (options.limits, options.seal_key);
        let token_key = crate::secret::random::<32>()?.to_vec();
        let token_key = store.keep_setting("token key".into(), token_key).await?;
        let Ok(token_key) = <[u8; 32]>::try_from(token_key) else {
            return Err(Error::store("the key of tokens is damaged: restore another copy"));
        };
        let witness_place = witness.as_ref().map(|(witness, _)| witness.place());
        let witness = match witness {
            Some(found) => Some(witnessing::Witnessing::open(found, store.as_ref()).await?),
            None => None,
        };
        let seen = witness.as_ref().map(witnessing::Witnessing::time);
        let latest = time::latest(store.as_ref()).await?.map(|time| seen.unwrap_or(0).max(time));
        let clock = Arc::new(time::BelievedClock::new(clock, latest));
        let tokens = Secret::from_bytes(token_key);
        let check = events.check_value();
        if store.keep_setting(EVENTS_CHECK.into(), check.to_vec()).await? != check {
            let remedy = "under another key a repeated rank request is a second event: restore the file that this store was made with";
            return Err(Error::invalid("events.key", "another key than the store's", remedy));
        }
        let mut loops: BTreeMap<String, Loop> = BTreeMap::new();
        for plan in plans {
            let record = witness.as_ref().map(|witness| &witness.record);
            let plan =
                generations::continuing_generation(store.as_ref(), plan, clock.now()).await?;
            let is_whole = generations::is_whole(store.as_ref(), record, plan.name()).await?;
            let keys = (&tokens, seal_key.as_ref());
            let opened = Loop::open(plan, store.as_ref(), &clock, keys, is_whole).await?;
            loops.insert(opened.name.clone(), opened);
        }
        let people =
            people::People::open(store.as_ref(), people, earlier_people, clock.now()).await?;
        let served: Vec<GenerationId> = loops.values().map(|loop_| loop_.generation).collect();
        let retained = |name: &str| {
            let central = loops.get(name).and_then(Loop::central)?;
            Some(central.plan.params.retain_milliseconds())
        };
        let ended = sweep::ended(store.as_ref(), &served, retained).await?;
        let service = Service {
            loops,
            store,
            clock,
            people,
            tokens,
            events,
            witness: witness.map(tokio::sync::Mutex::new),
            witness_place,
            limits,
            ended,
            seal_key,
            stopping: AtomicBool::new(false),
            tasks: Tasks::default(),
            writing: writing::Writing::default(),
        };
        failpoint::pass("start: read");
        service.recall_halts().await?;
        service.compare_with_witness().await?;
        service.show_charges().await?;
        service.inform_witness().await?;
        Ok(Arc::new(service))
    }

    /// The loop of this name.
    pub fn find(&self, name: &str) -> Result<&Loop> {
        self.loops.get(name).ok_or_else(|| unknown(name, self.loops.keys()))
    }

    /// The central loop of this name.
    pub fn central(&self, name: &str) -> Result<&Arc<Central>> {
        let found = self.loops.get(name).and_then(Loop::central);
        found.ok_or_else(|| unknown(name, self.central_loops().map(|loop_| &loop_.name)))
    }

    /// The loop of this name, to which devices report.
    pub fn reports(&self, name: &str) -> Result<&Arc<Reports>> {
        let found = self.loops.get(name).and_then(Loop::reports);
        found.ok_or_else(|| unknown(name, self.report_loops().map(|loop_| &loop_.name)))
    }

    /// All loops in the order of their names.
    pub fn loops(&self) -> impl Iterator<Item = &Loop> {
        self.loops.values()
    }

    /// Central loops in the order of their names.
    pub fn central_loops(&self) -> impl Iterator<Item = &Arc<Central>> {
        self.loops().filter_map(Loop::central)
    }

    /// Loops to which devices report, in the order of their names.
    pub fn report_loops(&self) -> impl Iterator<Item = &Arc<Reports>> {
        self.loops().filter_map(Loop::reports)
    }

    /// The time by the service's clock.
    pub fn now(&self) -> u64 {
        self.clock.now()
    }

    /// Milliseconds by the service's steady clock.
    pub fn steady(&self) -> u64 {
        self.clock.steady()
    }

    /// The store, for keys.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Limits on requests.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// True if there is a witness on another filesystem than the data.
    pub fn has_witness_apart(&self) -> bool {
        self.witness_place == Some(WitnessPlace::Apart)
    }

    /// Reason why nothing is closed, if the clock is not believed.
    pub fn clock_doubt(&self) -> Option<String> {
        self.clock.doubt()
    }

    /// Reasons why something is not as it should be, by loop; empty if everything is.
    pub fn troubles(&self) -> Vec<String> {
        let counts = |loop_: &&Arc<Central>| matches!(loop_.plan.ledger, Ledger::Person { .. });
        let counting: Vec<&str> =
            self.central_loops().filter(counts).map(|loop_| loop_.name.as_str()).collect();
        let missing = self.people.trouble(&counting, self.central_loops().count());
        let mut troubles: Vec<String> = missing.into_iter().collect();
        troubles.extend(self.clock.doubt());
        for loop_ in self.loops() {
            let stopped = loop_.halt_state().as_ref().map(|halt| halt.why.clone());
            let ahead = loop_.central().and_then(|central| central.closed_ahead());
            let of_loop = stopped.into_iter().chain(ahead).chain(loop_.ticker.failure());
            troubles.extend(of_loop.map(|why| format!("loop {}: {why}", loop_.name)));
        }
        troubles
    }

    /// Compares a head that a client has seen. A token of this service that is ahead of the stored head shows that the store was rolled back.
    pub async fn notice(&self, name: &str, token: &str) -> Result<()> {
        let loop_ = self.central(name)?;
        let Some(seen) = Token::read(&self.tokens, loop_.generation, token) else {
            return self.notice_earlier(loop_, token).await;
        };
        let answering = loop_.answering();
        let served = HeadName::new(answering.served.number, &answering.served.chain);
        if seen == served {
            return Ok(());
        }
        // Another process may have released since: the stored head decides.
        let head = self.head(loop_).await?;
        let stored = HeadName::new(head.number, &head.chain);
        if seen.number < stored.number {
            // Hashes are kept for ever. A number that was left out after an accepted rollback has none.
            let records = self.store.releases(loop_.generation, seen.number.max(1), 1).await?;
            let record = records.first().filter(|record| record.number == seen.number);
            let same = |record: &ReleaseRecord| HeadName::new(record.number, &record.chain) == seen;
            if record.is_none_or(same) {
                return Ok(());
            }
        } else if stored == seen {
            return Ok(());
        }
        let news = loop_.halt_state().as_ref().is_none_or(|halt| halt.seen.is_none());
        // First: if the process ends here, the same token begins all this again. Whatever becomes of the others, this one stops.
        let doubted = if news { self.doubt_others(loop_).await } else { Ok(()) };
        if seen.number > stored.number {
            self.halt_rolled_back(loop_, seen.number).await?;
        } else {
            self.forked(loop_, seen.number).await?;
        }
        doubted
    }

    /// Lets the tickers stop.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }
}

/// Error for a name that no loop of a kind has.
fn unknown<'n>(name: &str, known: impl Iterator<Item = &'n String>) -> Error {
    let shown: String = name.chars().take(64).collect();
    let names: Vec<&str> = known.map(String::as_str).collect();
    let remedy = format!("expected one of {}", names.join(", "));
    Error::unknown("loop", format!("{shown:?}"), remedy)
}

#[cfg(test)]
impl Service {
    /// Opens loops of devices alone.
    pub(crate) async fn of_devices(
        plans: Vec<Plan>,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        seal_key: Option<SealKey>,
    ) -> Result<Arc<Self>> {
        Self::open(Options {
            plans,
            store,
            clock,
            people: Secret::from_bytes([3; 32]),
            earlier_people: Vec::new(),
            events: Secret::from_bytes([5; 32]),
            witness: None,
            limits: Limits::default(),
            seal_key,
        })
        .await
    }
}
