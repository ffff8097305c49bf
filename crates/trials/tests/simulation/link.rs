//! A process's way to the database: it is slow, it loses answers, and it ends with the process.
//!
//! The database is the model of a store with leases by its own clock. A transaction that was sent arrives, whatever becomes of who sent it; its answer may not.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use reticent_server::{Error, Result, clock::Time, store::*};

use super::timeline::Timeline;

/// A mistake that a store could make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    /// A crash loses what was acknowledged a moment ago.
    AnswersBeforeItIsDurable,
    /// Rewards whose answer was lost are sent again by the store itself.
    RepeatsRewards,
    /// Two visits of one person at the same time each find the ledger without the other.
    ReadsTheLedgerFirst,
    /// A release is checked against the head that its process saw, and then becomes the next one, whatever that is.
    ReleasesWhateverTheEpoch,
}

/// The database behind all processes.
pub struct Database {
    timeline: Timeline,
    mistake: Option<Mistake>,
    is_shared: bool,
    state: Mutex<State>,
}

struct State {
    store: Arc<MemoryStore>,
    /// The store after a crash, where a crash would lose something.
    durable: Option<(Time, Arc<MemoryStore>)>,
    /// End of the lease of the right to release, in milliseconds.
    leased: BTreeMap<GenerationId, u64>,
    down: bool,
    /// Number of crashes.
    crashes: u64,
    /// One transaction in this number fails before it happens, and the answer of one in this number is lost.
    faults: u64,
    /// Longest time of a way, in microseconds.
    slowness: u64,
    /// People with a visit under way.
    visiting: Vec<PersonHash>,
}

/// A way takes no longer than this in a network without trouble, in microseconds.
const QUICK: u64 = 2_000;

impl Database {
    pub fn new(timeline: &Timeline, is_shared: bool, mistake: Option<Mistake>) -> Arc<Self> {
        let state = State {
            store: Arc::new(MemoryStore::new([1; 16])),
            durable: None,
            leased: BTreeMap::new(),
            down: false,
            crashes: 0,
            faults: u64::MAX,
            slowness: QUICK,
            visiting: Vec::new(),
        };
        let (timeline, state) = (timeline.clone(), Mutex::new(state));
        Arc::new(Database { timeline, mistake, is_shared, state })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The store as it is.
    pub fn store(&self) -> Arc<MemoryStore> {
        Arc::clone(&self.state().store)
    }

    /// A copy of the store as it is.
    pub fn copy(&self) -> MemoryStore {
        self.state().store.copy()
    }

    /// Rolls the store back to an older copy. Leases are part of it.
    pub fn put_back(&self, copy: &MemoryStore) {
        let mut state = self.state();
        state.store = Arc::new(copy.copy());
        state.durable = None;
        state.leased.clear();
    }

    /// Stops answering. Transactions that were answered stay.
    pub fn crash(&self) {
        let mut state = self.state();
        state.down = true;
        state.crashes += 1;
        if let Some((_, durable)) = state.durable.take() {
            state.store = durable;
        }
    }

    /// Answers again.
    pub fn restart(&self) {
        self.state().down = false;
    }

    /// Makes one transaction in `many` fail, and loses as many answers.
    pub fn lose_one_in(&self, many: u64) {
        self.state().faults = many;
    }

    /// Sets the longest time of a way.
    pub fn slow_down(&self, microseconds: u64) {
        self.state().slowness = microseconds;
    }

    /// Everything works from now on.
    pub fn repair(&self) {
        let mut state = self.state();
        (state.down, state.faults, state.slowness) = (false, u64::MAX, QUICK);
    }

    /// Keeps what a crash would leave, with the planted mistake.
    fn flush(&self) {
        if self.mistake != Some(Mistake::AnswersBeforeItIsDurable) {
            return;
        }
        let now = self.timeline.milliseconds();
        let mut state = self.state();
        if state.durable.as_ref().is_none_or(|(flushed, _)| flushed + 200 < now) {
            let copy = Arc::new(state.store.copy());
            state.durable = Some((now, copy));
        }
    }

    /// The time of a way.
    fn way(&self) -> u64 {
        let slowness = self.state().slowness;
        1 + self.timeline.below(slowness)
    }

    fn fails(&self) -> bool {
        let faults = self.state().faults;
        self.timeline.one_in(faults)
    }

    /// Keeps the right to release, or takes it: as the PostgreSQL store does, in one step.
    async fn lease(
        &self,
        generation: GenerationId,
        mine: Option<u64>,
        milliseconds: u64,
    ) -> Result<Option<u64>> {
        let (store, now) = (self.store(), self.timeline.milliseconds());
        let epoch = store.head(generation).await?.epoch;
        if mine == Some(epoch) {
            self.state().leased.insert(generation, now + milliseconds);
            return Ok(mine);
        }
        let is_leased = self.state().leased.get(&generation).is_some_and(|until| *until > now);
        if is_leased || milliseconds == 0 {
            return Ok(None);
        }
        let taken = store.take_epoch(generation).await?;
        self.state().leased.insert(generation, now + milliseconds);
        Ok(Some(taken))
    }
}

/// The way of one process to the database.
#[derive(Clone)]
pub struct Link(Arc<Ends>);

struct Ends {
    number: u64,
    database: Arc<Database>,
    process: Mutex<ProcessState>,
    /// The accident that is planned for the process, with its transaction.
    fate: Mutex<Option<Fate>>,
}

/// An accident of a process at a transaction of this name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fate {
    pub at: &'static str,
    /// True for after its commit, with its answer on its way; false for before it is sent.
    pub after: bool,
    /// Microseconds of the stop; without them the process is killed.
    pub stops_for: Option<u64>,
}

/// Transactions at which something may happen.
pub const STEPS: [&str; 8] =
    ["lease", "head", "close", "closed_events", "release", "rank", "reward", "keep_setting"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum ProcessState {
    Runs,
    Stopped,
    Dead,
}

impl Link {
    pub fn new(number: u64, database: &Arc<Database>) -> Self {
        let process = Mutex::new(ProcessState::Runs);
        let (database, fate) = (Arc::clone(database), Mutex::default());
        Link(Arc::new(Ends { number, database, process, fate }))
    }

    /// Lets something happen to the process when it comes to a transaction.
    pub fn await_fate(&self, fate: Fate) {
        *self.0.fate.lock().unwrap_or_else(PoisonError::into_inner) = Some(fate);
    }

    /// The process comes to a transaction, or gets to know that it was made.
    fn pass(&self, name: &'static str, after: bool) {
        let mut fate = self.0.fate.lock().unwrap_or_else(PoisonError::into_inner);
        match fate.take_if(|fate| fate.at == name && fate.after == after) {
            None => {}
            Some(Fate { stops_for: None, .. }) => self.kill(),
            Some(Fate { stops_for: Some(time), .. }) => self.stop_for(time),
        }
    }

    fn process(&self) -> MutexGuard<'_, ProcessState> {
        self.0.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// SIGKILL: nothing reaches this process any more, and nothing leaves it.
    pub fn kill(&self) {
        *self.process() = ProcessState::Dead;
    }

    pub fn is_dead(&self) -> bool {
        *self.process() == ProcessState::Dead
    }

    /// Ready when the process is dead.
    pub async fn ended(&self, timeline: &Timeline) {
        while !self.is_dead() {
            timeline.sleep(20_000).await;
        }
    }

    /// SIGSTOP, and SIGCONT after this number of microseconds.
    pub fn stop_for(&self, microseconds: u64) {
        *self.process() = ProcessState::Stopped;
        let (link, timeline) = (self.clone(), self.0.database.timeline.clone());
        tokio::spawn(async move {
            timeline.sleep(microseconds).await;
            link.go_on();
        });
    }

    /// SIGCONT.
    pub fn go_on(&self) {
        let mut process = self.process();
        if *process == ProcessState::Stopped {
            *process = ProcessState::Runs;
        }
    }

    /// Ready when the process runs: never, if it is dead.
    pub async fn runs(&self) {
        loop {
            let process = *self.process();
            match process {
                ProcessState::Runs => return,
                ProcessState::Stopped => self.0.database.timeline.sleep(5_000).await,
                ProcessState::Dead => std::future::pending().await,
            }
        }
    }

    async fn call<T>(
        &self,
        name: &'static str,
        transaction: impl FnOnce(Arc<MemoryStore>) -> Pending<T> + Send,
    ) -> Result<T> {
        let Ends { number, database, .. } = &*self.0;
        let timeline = &database.timeline;
        self.pass(name, false);
        self.runs().await;
        timeline.sleep(database.way()).await;
        if !database.is_shared && self.is_dead() {
            // A store of one process is a part of it.
            self.runs().await;
        }
        if database.state().down {
            timeline.note(name, *number, 0);
            self.runs().await;
            return Err(Error::store("the database does not answer"));
        }
        let crashes = database.state().crashes;
        if database.fails() {
            timeline.note(name, *number, 1);
            self.runs().await;
            return Err(Error::store("a serialisation failure that was not retried"));
        }
        let outcome = transaction(database.store()).await;
        timeline.note(name, *number, 2 + u64::from(outcome.is_ok()));
        database.flush();
        self.pass(name, true);
        let is_lost = database.fails();
        timeline.sleep(database.way()).await;
        self.runs().await;
        if is_lost || crashes != database.state().crashes {
            return Err(Error::store("the connection was lost: it may have happened"));
        }
        outcome
    }
}

macro_rules! transactions {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $answer:ty;)*) => {$(
        fn $name(&self, $($argument: $kind),*) -> Pending<$answer> {
            let link = self.clone();
            Box::pin(async move {
                link.call(stringify!($name), move |store| store.$name($($argument),*)).await
            })
        }
    )*};
}

impl Store for Link {
    fn id(&self) -> StoreId {
        self.0.database.store().id()
    }

    fn is_shared(&self) -> bool {
        self.0.database.is_shared
    }

    transactions! {
        insert_events_above(floor: String, events: Vec<(u64, NewEvent)>) -> Vec<Option<Ranked>>;
        raise_floor(name: String, floor: u64) -> u64;
        activate(generation: GenerationId, event: EventHash) -> Outcome;
        close(generation: GenerationId, slot: u64) -> ();
        closed_events(generation: GenerationId, after: Place, until: u64, limit: usize) -> Vec<(Place, StoredEvent)>;
        head(generation: GenerationId) -> Head;
        replace_state(generation: GenerationId, replacement: Replacement) -> ();
        release_page(generation: GenerationId, from: u64, limit: usize, bytes: usize) -> Vec<ReleaseRecord>;
        collect(generation: GenerationId, what: Collect) -> u64;
        kept_events(generation: GenerationId, after: Place, limit: usize) -> Vec<(Place, StoredEvent)>;
        erase(persons: Vec<PersonHash>, time: Time) -> Erased;
        erased() -> Vec<PersonHash>;
        ledger(generation: GenerationId, period: u64, most: u32) -> LedgerCount;
        begin_generation(generation: NewGeneration) -> Generation;
        generations() -> Vec<Generation>;
        add_key(key: KeyRecord) -> ();
        keys() -> Vec<KeyRecord>;
        revoke_key(id: String, time: Time) -> bool;
        setting(name: String) -> Option<Vec<u8>>;
        keep_setting(name: String, value: Vec<u8>) -> Vec<u8>;
        backup(path: PathBuf) -> ();
        open_events(generation: GenerationId) -> Vec<(u64, u64)>;
    }

    fn insert_events(&self, mut events: Vec<NewEvent>) -> Pending<Vec<Ranked>> {
        let link = self.clone();
        Box::pin(async move {
            let database = Arc::clone(&link.0.database);
            let mut own = BTreeSet::new();
            if database.mistake == Some(Mistake::ReadsTheLedgerFirst) {
                for event in &mut events {
                    if let Payer::Person(charge) = &mut event.payer {
                        let seen = &mut database.state().visiting;
                        let others = seen.iter().filter(|person| **person == charge.person).count();
                        charge.most += others as u32;
                        seen.push(charge.person);
                        own.insert(charge.person);
                    }
                }
            }
            let answer = link.call("rank", move |store| store.insert_events(events)).await;
            database.state().visiting.retain(|person| !own.contains(person));
            answer
        })
    }

    fn reward(&self, rewards: Vec<NewReward>) -> Pending<Vec<Outcome>> {
        let link = self.clone();
        Box::pin(async move {
            let again = rewards.clone();
            let answer = link.call("reward", move |store| store.reward(rewards)).await;
            if answer.is_err() && link.0.database.mistake == Some(Mistake::RepeatsRewards) {
                return link.call("reward", move |store| store.reward(again)).await;
            }
            answer
        })
    }

    fn release(&self, step: Step) -> Pending<Committed> {
        let link = self.clone();
        Box::pin(async move {
            let is_careless = link.0.database.mistake == Some(Mistake::ReleasesWhateverTheEpoch);
            let release = async move |store: Arc<MemoryStore>| {
                let mut step = step;
                if is_careless {
                    let head = store.head(step.generation).await?;
                    step.epoch = head.epoch;
                    step.release.number = head.number + 1;
                    step.folded = step.folded.max(head.folded + 1);
                    store.close(step.generation, step.folded).await?;
                }
                store.release(step).await
            };
            link.call("release", move |store| Box::pin(release(store))).await
        })
    }

    fn take_epoch(&self, generation: GenerationId) -> Pending<u64> {
        let link = self.clone();
        Box::pin(async move {
            let database = Arc::clone(&link.0.database);
            let take = move |store: Arc<MemoryStore>| {
                database.state().leased.remove(&generation);
                store.take_epoch(generation)
            };
            link.call("take_epoch", take).await
        })
    }

    fn lease(
        &self,
        generation: GenerationId,
        mine: Option<u64>,
        milliseconds: u64,
    ) -> Pending<Option<u64>> {
        let link = self.clone();
        Box::pin(async move {
            let database = Arc::clone(&link.0.database);
            let keep = move |store: Arc<MemoryStore>| -> Pending<Option<u64>> {
                Box::pin(async move {
                    match (database.is_shared, mine) {
                        (true, _) => database.lease(generation, mine, milliseconds).await,
                        // In a store of one process no other process keeps it.
                        (false, Some(_)) => Ok(mine),
                        (false, None) => store.take_epoch(generation).await.map(Some),
                    }
                })
            };
            link.call("lease", keep).await
        })
    }
}
