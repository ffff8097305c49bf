//! One simulation from its seed, and what was found.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fmt,
    rc::Rc,
    sync::{Arc, atomic::Ordering},
};

use reticent_server::{
    config::{CentralPlan, ServiceFile},
    loops::{HeadName, Rollback},
    store::{ReleaseRecord, Store},
};
use reticent_trials::history::{Attempt, Contents, Keys, Promise, Violation, check};

use super::{
    accident::{Counts, accidents, repair},
    client::{Histories, Shared, merge},
    link::{Database, Mistake},
    process::{Setup, events_key, people_key},
    timeline::Timeline,
};

const LOOPS: &str = r#"
    [loop.home]
    privacy = { epsilon = 1.0, delta = 1e-6, visits = 3, per = "ever" }
    reward = { range = [0, 1], window = "3 s", combine = "sum" }
    learner = { tick = "1 s", horizon = 1000000 }
    retain = "1 day"
    [loop.home.context]
    age = { range = [18, 80] }
    [loop.home.action]
    topic = { categories = ["news", "sport"] }

    [loop.other]
    privacy = { epsilon = 1.0, delta = 1e-6 }
    reward = { range = [0, 1], window = "2 s", combine = "first" }
    learner = { tick = "1 s", forget = "1 hour" }
    baseline = { share = 0.25 }
    retain = "1 day"
    [loop.other.context]
    age = { range = [18, 80] }
    [loop.other.action]
    topic = { categories = ["news", "sport"] }
"#;

/// Clients at the same time.
const CLIENTS: u64 = 8;

/// Time after which nothing is under way any more, in microseconds.
const SETTLED: u64 = 30_000_000;

/// Parameters of one simulation.
pub struct Plan {
    pub seed: u64,
    pub events: u64,
    pub processes: usize,
    /// True if the stores are rolled back at the end, under witnesses.
    pub goes_back: bool,
    pub mistake: Option<Mistake>,
}

impl Plan {
    /// One to three processes; with each fourth seed the stores are rolled back.
    pub fn of_seed(seed: u64, events: u64) -> Self {
        let (processes, goes_back) = (1 + (seed % 3) as usize, seed.is_multiple_of(4));
        Plan { seed, events, processes, goes_back, mistake: None }
    }
}

/// Results of simulations.
#[derive(Default)]
pub struct Outcome {
    pub violations: Vec<Violation>,
    pub events: u64,
    /// The hash of the schedule.
    pub trace: u64,
    counts: Counts,
    simulations: u64,
    milliseconds: u64,
}

impl Outcome {
    /// Adds another one.
    pub fn add(&mut self, other: Outcome) {
        self.violations.extend(other.violations);
        self.events += other.events;
        self.simulations += other.simulations;
        self.milliseconds += other.milliseconds;
        for (what, count) in other.counts {
            *self.counts.entry(what).or_default() += count;
        }
    }

    /// A run in which nothing happened would show nothing.
    pub fn assert_rich(&self) {
        if self.simulations < 4 {
            return;
        }
        for what in [LOST, REFUSED, RELEASES, FOLDED, ROLLBACKS] {
            assert!(self.counts.get(what).is_some_and(|count| *count > 0), "{what}: none");
        }
    }
}

const ACKNOWLEDGED: &str = "requests acknowledged";
const LOST: &str = "requests without an answer";
const REFUSED: &str = "requests refused";
const RELEASES: &str = "releases";
const FOLDED: &str = "events folded";
const ROLLBACKS: &str = "rollbacks to older copies";

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hours = self.milliseconds as f64 / 3_600_000.0;
        writeln!(formatter, "{:>9}  simulations, {hours:.1} hours", self.simulations)?;
        writeln!(formatter, "{:>9}  events asked for", self.events)?;
        for (what, count) in &self.counts {
            writeln!(formatter, "{count:>9}  {what}")?;
        }
        writeln!(formatter, "{:>9}  violations", self.violations.len())
    }
}

/// Runs one simulation.
pub fn simulate(plan: &Plan) -> Outcome {
    let timeline = Timeline::new(plan.seed);
    let database = Database::new(&timeline, plan.processes > 1, plan.mistake);
    let witnesses = plan.goes_back.then(witness_folder);
    let setup = Arc::new(Setup {
        timeline: timeline.clone(),
        database,
        plans: ServiceFile::parse(LOOPS).unwrap().check().unwrap(),
        witnesses: witnesses.as_ref().map(|folder| folder.path().to_owned()),
        slots: (0..plan.processes).map(|_| Default::default()).collect(),
        held: Default::default(),
    });
    timeline.run(async {
        for number in 0..plan.processes {
            tokio::spawn(Arc::clone(&setup).supervise(number));
        }
        Simulation::new(&setup).run(plan).await
    })
}

/// A folder in memory where there is one: nothing here is about disks.
fn witness_folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

struct Simulation {
    setup: Arc<Setup>,
    shared: Rc<Shared>,
    counts: RefCell<Counts>,
    violations: Vec<Violation>,
    /// Every release that was ever made of a loop, by its number.
    released: BTreeMap<(String, u64), [u8; 32]>,
}

impl Simulation {
    fn new(setup: &Arc<Setup>) -> Self {
        Simulation {
            setup: Arc::clone(setup),
            shared: Shared::new(setup),
            counts: RefCell::default(),
            violations: Vec::new(),
            released: BTreeMap::new(),
        }
    }

    async fn run(mut self, plan: &Plan) -> Outcome {
        let timeline = self.setup.timeline.clone();
        let mut history = self.load(plan.events).await;
        let mut events = plan.events;
        if plan.goes_back {
            let copy = self.setup.database.copy();
            let mut all = history.clone();
            merge(&mut all, self.load(plan.events / 4).await);
            self.check(&all).await;
            self.put_back(&copy).await;
            merge(&mut history, self.load(plan.events / 4).await);
            events += plan.events / 2;
        }
        self.check(&history).await;
        Outcome {
            violations: self.violations,
            events,
            trace: timeline.trace(),
            counts: self.counts.into_inner(),
            simulations: 1,
            milliseconds: timeline.milliseconds(),
        }
    }

    fn count(&self, what: &'static str, count: u64) {
        *self.counts.borrow_mut().entry(what).or_default() += count;
    }

    fn found(&mut self, promise: Promise, found: String) {
        self.violations.push(Violation { promise, found });
    }

    /// Lets clients ask while accidents happen, and then everything come to rest.
    async fn load(&self, events: u64) -> Histories {
        let histories = {
            let load = self.shared.load(CLIENTS, events);
            tokio::select! {
                biased;
                histories = load => histories,
                () = accidents(&self.setup, &self.counts) => unreachable!("accidents never end"),
            }
        };
        repair(&self.setup);
        self.setup.timeline.sleep(SETTLED).await;
        histories
    }

    /// Puts an older copy back while nothing runs, and accepts it when it was noticed.
    async fn put_back(&mut self, copy: &reticent_server::store::MemoryStore) {
        let (setup, timeline) = (Arc::clone(&self.setup), self.setup.timeline.clone());
        setup.held.store(true, Ordering::SeqCst);
        (0..setup.slots.len()).filter_map(|each| setup.link(each)).for_each(|link| link.kill());
        timeline.sleep(5_000_000).await;
        setup.database.put_back(copy);
        setup.held.store(false, Ordering::SeqCst);
        timeline.sleep(SETTLED).await;
        self.count(ROLLBACKS, 1);
        let Some(process) = setup.process(0) else {
            return self.found(Promise::Certificate, "no process starts on an older copy".into());
        };
        for each in process.service.loops() {
            let (name, store) = (&each.name, setup.database.store());
            let head = store.head(each.generation).await.unwrap();
            if head.number != copy.head(each.generation).await.unwrap().number {
                self.found(Promise::Certificate, format!("loop {name}: released before accepted"));
            }
            let named = HeadName::new(head.number, &head.chain).text();
            match process.service.accept_rollback(name, &named).await {
                Ok(accepted) if accepted.replays == 1 => {}
                Ok(accepted) => {
                    let charged = accepted.replays;
                    self.found(Promise::Certificate, format!("loop {name}: {charged} charged"));
                }
                Err(error) => self.found(Promise::Certificate, format!("loop {name}: {error}")),
            }
        }
    }

    /// Compares what clients know with the store.
    async fn check(&mut self, histories: &Histories) {
        let (events, people, setup) = (events_key(), people_key(), self.setup.clone());
        let keys = Keys { events, people, callers: BTreeMap::new() };
        let store = setup.database.store();
        for plan in setup.plans.iter().filter_map(reticent_server::config::Plan::central) {
            let history = &histories[plan.name.as_str()];
            let contents = Contents::read(store.as_ref(), plan).await.unwrap();
            self.violations.extend(check(plan, &keys, history, &contents));
            self.released(plan, &contents);
            let folded = |place: u64| place <= contents.head.folded;
            let rows = contents.rows.iter().filter(|(place, _)| folded(place.slot)).count();
            self.count(FOLDED, rows as u64);
            self.count(RELEASES, contents.releases.len() as u64);
            for event in history.events.values() {
                let replies = event.ranks.iter().map(kind);
                let replies = replies.chain(event.rewards.iter().map(kind));
                for what in replies.chain(event.activations.iter().map(kind)) {
                    self.count(what, 1);
                }
            }
        }
    }

    /// No number has had two releases, in whichever copy of the store.
    fn released(&mut self, plan: &CentralPlan, contents: &Contents) {
        // The link of an accepted rollback may have the number of a release that was committed and never seen.
        let is_release = |record: &&ReleaseRecord| Rollback::read(&record.release).is_none();
        for record in contents.releases.iter().filter(is_release) {
            let key = (plan.name.clone(), record.number);
            if *self.released.entry(key).or_insert(record.chain) != record.chain {
                let found = format!("loop {}: number {} twice", plan.name, record.number);
                self.found(Promise::OneChain, found);
            }
        }
    }
}

/// Kind of the outcome of a request.
fn kind<Q, A>(attempt: &Attempt<Q, A>) -> &'static str {
    match (attempt.taken(), attempt.may_count()) {
        (Some(_), _) => ACKNOWLEDGED,
        (None, true) => LOST,
        (None, false) => REFUSED,
    }
}
