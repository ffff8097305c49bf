//! The checker is silent about a sound store and finds planted faults: acknowledgements before the commit, and contents that were changed by hand.

use std::sync::Arc;

use reticent::{features::Value, noise::SecureNoise};
use reticent_device::ProtocolPlan;

use super::*;
use reticent_server::{
    clock::ManualClock,
    config::{DeviceLearner, Plan, ServiceFile},
    loops::Limits,
    secret::Secret,
    service::{Options, Reports, Service},
    store::MemoryStore,
};

const LOOP: &str = r#"
    [loop.news]
    trust = "device"
    privacy = { epsilon = 8.0, delta = 1e-6, visits = 1, per = "ever" }
    learner = { tick = "1 minute" }
    device = { late = "1 day" }
    [loop.news.action]
    topic = { categories = ["news", "sport"] }
"#;
const TICK: u64 = 60_000;

fn plan() -> Arc<ReportsPlan> {
    ServiceFile::parse(LOOP).unwrap().check().unwrap()[0].reports().unwrap().clone()
}

/// A service with devices who write everything down.
struct World {
    service: Arc<Service>,
    clock: Arc<ManualClock>,
    history: DeviceHistory,
    moment: u64,
}

async fn open(store: &Arc<MemoryStore>, clock: &Arc<ManualClock>) -> Arc<Service> {
    let options = Options {
        plans: vec![Plan::Reports(plan())],
        store: store.clone(),
        clock: clock.clone(),
        people: Secret::from_bytes([3; 32]),
        earlier_people: Vec::new(),
        events: Secret::from_bytes([5; 32]),
        witness: None,
        limits: Limits::default(),
        seal_key: None,
    };
    Service::open(options).await.unwrap()
}

impl World {
    async fn new(store: &Arc<MemoryStore>) -> Self {
        let clock = Arc::new(ManualClock::at(1_700_000_000_000));
        let service = open(store, &clock).await;
        World { service, clock, history: DeviceHistory::default(), moment: 0 }
    }

    /// The process dies, and another one opens this store.
    async fn restart(&mut self, store: &Arc<MemoryStore>) {
        self.service = open(store, &self.clock).await;
    }

    fn each(&self) -> &Arc<Reports> {
        self.service.reports("news").unwrap()
    }

    async fn tick(&mut self) {
        self.clock.pass(TICK);
        self.service.tick("news").await.unwrap();
        self.fetch();
    }

    fn fetch(&mut self) {
        let message = self.each().served().message.clone();
        self.history.fetched(message.as_bytes()).unwrap();
    }

    /// The report of a new installation.
    fn report(&self) -> String {
        let DeviceLearner::Local { protocol, .. } = &self.each().plan.learner else { panic!() };
        let protocol: ProtocolPlan = wire::from_json(wire::to_json(protocol.as_ref())).unwrap();
        let model: Model = wire::from_json(&self.each().served().message).unwrap();
        let noise = SecureNoise::from_system().unwrap();
        let mut person = protocol.reports().person(0, noise).unwrap();
        let actions = ["news", "sport"].map(|topic| Value::from_iter([("topic", topic)]));
        let arms = protocol.arms(&Value::Missing, &actions).unwrap();
        let chosen = person.choose(&model, &arms).unwrap();
        wire::to_json(&person.report(&model, &arms.arm(chosen), chosen as f64).unwrap())
    }

    async fn send(&mut self, report: &str) {
        let taken = self.service.take(self.each(), &[report.as_bytes()]).await.unwrap().remove(0);
        self.note(report, Reply::Taken(taken.unwrap()));
    }

    fn note(&mut self, report: &str, reply: Reply<Taken>) {
        self.moment += 2;
        let (sent, answered) = (self.moment - 1, self.moment);
        let attempt = Attempt { request: (), sent, answered, reply };
        self.history.sent(report.as_bytes(), attempt).unwrap();
    }

    /// Violations in a copy of this store, and the contents that were checked.
    async fn check(&self, store: &MemoryStore) -> (Vec<Violation>, DeviceContents) {
        let contents = DeviceContents::read(&store.copy(), &plan(), &self.history).await.unwrap();
        (check_devices(&plan(), &self.history, &contents), contents)
    }
}

/// Reports that are counted and reports that wait, some of them sent twice, with a restart in the middle.
async fn story(store: &Arc<MemoryStore>) -> World {
    let mut world = World::new(store).await;
    world.fetch();
    for round in 0..4 {
        for visit in 0..5 {
            let report = world.report();
            if visit == 0 {
                // Its answer is lost, and so it is sent again.
                let _ = world.service.take(world.each(), &[report.as_bytes()]).await.unwrap();
                world.note(&report, Reply::Lost);
            }
            world.send(&report).await;
            if visit == 1 {
                world.send(&report).await;
            }
        }
        if round == 1 {
            world.restart(store).await;
        }
        if round < 3 {
            world.tick().await;
        }
    }
    world
}

fn has(violations: &[Violation], promise: Promise) -> bool {
    violations.iter().any(|violation| violation.promise == promise)
}

#[tokio::test]
async fn a_sound_store_has_no_violations_and_lost_reports_may_be_in_or_out() {
    let store = Arc::new(MemoryStore::new([1; 16]));
    let mut world = story(&store).await;
    let (violations, contents) = world.check(&store).await;
    assert_eq!(violations, []);
    assert_eq!((world.history.reports.len(), world.history.models()), (20, 4));
    assert_eq!((contents.rows.len(), contents.models.len()), (5, 3));
    // One that never came, and one that came though its answer did not.
    let never = world.report();
    world.note(&never, Reply::Lost);
    let silent = world.report();
    let _ = world.service.take(world.each(), &[silent.as_bytes()]).await.unwrap();
    world.note(&silent, Reply::Lost);
    assert_eq!(world.check(&store).await.0, []);
    world.tick().await;
    let (violations, contents) = world.check(&store).await;
    assert_eq!((violations, contents.rows.len()), (vec![], 0));
}

/// Reports since the last commit are lost with the process.
#[tokio::test]
async fn an_acknowledgement_before_the_commit_is_found() {
    for (lost, promise) in [("report", Promise::ReportOnce), ("model", Promise::OneModel)] {
        let store = Arc::new(MemoryStore::new([1; 16]));
        let mut world = story(&store).await;
        let committed = Arc::new(store.copy());
        match lost {
            "report" => {
                let report = world.report();
                world.send(&report).await;
            }
            _ => world.tick().await,
        }
        world.restart(&committed).await;
        // Another report, so that another model gets the number.
        let report = world.report();
        world.send(&report).await;
        world.tick().await;
        let (violations, _) = world.check(&committed).await;
        assert!(has(&violations, promise), "{lost}: {violations:?}");
    }
}

/// A fault that is planted in what was read.
type Change = fn(&mut DeviceContents, &mut DeviceHistory);

/// The sums of a head, with another use of its reports.
fn count(contents: &mut DeviceContents, reports: &[&Report]) {
    let plan = plan();
    let ReportServer::Local(server) = ReportServer::load(&plan, &contents.head.state).unwrap()
    else {
        panic!()
    };
    let mut again = plan.local().server();
    (0..contents.head.number).for_each(|_| drop(again.publish().unwrap()));
    for report in reports {
        again.absorb_new(report).unwrap();
    }
    assert_eq!(again.reports(), server.reports());
    contents.head.state = again.save();
}

#[tokio::test]
async fn contents_that_were_changed_are_found() {
    let store = Arc::new(MemoryStore::new([1; 16]));
    let world = story(&store).await;
    let (violations, contents) = world.check(&store).await;
    assert_eq!(violations, []);
    let faults: &[(&str, Promise, Change)] = &[
        ("a report is lost and another counted twice", Promise::ReportOnce, |contents, history| {
            let waiting =
                |name: &EventHash| contents.rows.iter().any(|(_, row)| row.event == *name);
            let all = history.reports.iter().filter(|(name, _)| !waiting(name));
            let mut all: Vec<&Report> = all.map(|(_, sent)| &sent.report).collect();
            all[0] = all[1];
            count(contents, &all);
        }),
        ("a report that waits is lost", Promise::ReportOnce, |contents, _| {
            contents.rows.remove(0);
        }),
        ("a report that is counted waits again", Promise::ReportOnce, |contents, history| {
            let waiting: Vec<EventHash> = contents.rows.iter().map(|(_, row)| row.event).collect();
            let (name, _) =
                history.reports.iter().find(|(name, _)| !waiting.contains(name)).unwrap();
            let (place, mut row) = contents.rows[0].clone();
            row.event = *name;
            contents.rows.push((place, row));
        }),
        ("a report that no device sent", Promise::ReportOnce, |contents, history| {
            history.reports.remove(&contents.rows[0].1.event);
        }),
        ("a name is forgotten", Promise::ReportOnce, |contents, _| {
            contents.remembered.pop_first();
        }),
        ("a report is new twice", Promise::ReportOnce, |_, history| {
            let sent = history.reports.values_mut().find(|sent| sent.attempts.len() == 2).unwrap();
            sent.attempts.iter_mut().for_each(|one| one.reply = Reply::Taken(Taken::Taken));
        }),
        ("a report is known before it came", Promise::ReportOnce, |_, history| {
            let sent = history.reports.values_mut().find(|sent| sent.attempts.len() == 1).unwrap();
            sent.attempts[0].reply = Reply::Taken(Taken::Duplicate);
        }),
        ("an honest report is refused", Promise::ReportOnce, |_, history| {
            let sent = history.reports.values_mut().next().unwrap();
            sent.attempts[0].reply = Reply::Refused(422);
        }),
        ("a model was replaced", Promise::OneModel, |contents, _| {
            contents.models[1].release.push(b' ');
        }),
        ("a number is left out", Promise::OneModel, |contents, _| {
            contents.models.remove(1);
        }),
        ("a number is there twice", Promise::OneModel, |contents, _| {
            let again = contents.models[1].clone();
            contents.models.insert(1, again);
        }),
        ("the head serves another model", Promise::OneModel, |contents, history| {
            let waiting =
                |name: &EventHash| contents.rows.iter().any(|(_, row)| row.event == *name);
            let all = history.reports.iter().filter(|(name, _)| !waiting(name));
            let all: Vec<&Report> = all.map(|(_, sent)| &sent.report).collect();
            count(contents, &[&all[1..], &all[..1]].concat());
        }),
        ("a model that was fetched is gone", Promise::OneModel, |_, history| {
            history.models.insert(2, BTreeSet::from([[7; 32]]));
        }),
        ("two first models were fetched", Promise::OneModel, |_, history| {
            history.models.entry(0).or_default().insert([7; 32]);
        }),
        ("a model of the future was fetched", Promise::OneModel, |_, history| {
            history.models.insert(9, BTreeSet::from([[7; 32]]));
        }),
    ];
    for (fault, promise, change) in faults {
        let (mut contents, mut history) = (contents.clone(), world.history.clone());
        change(&mut contents, &mut history);
        let found = check_devices(&plan(), &history, &contents);
        assert!(has(&found, *promise), "{fault}: {promise:?} is not among {found:?}");
    }
}
