//! Reports and models on the store's model and a clock that the tests move. People are made from the protocol's message alone.

mod replicas;

use std::{
    sync::{Arc, atomic::Ordering},
    task::Poll,
};

use reticent::{
    bandit::{Guide, Model},
    features::Value,
    noise::SecureNoise,
    randomize::Report,
};
use reticent_device::ProtocolPlan;

use super::*;
use crate::{
    clock::ManualClock,
    config::{DeviceLearner, ServiceFile},
    loops::Enforcement,
    service::Ticked,
    store::{Fault, MemoryStore},
};

const START: u64 = 1_700_000_000_000;
const TICK: u64 = 60_000;

fn file(privacy: &str, more: &str) -> String {
    format!(
        r#"
        [loop.news]
        trust = "device"
        privacy = {{ {privacy} }}
        {more}
        [loop.news.context]
        age = {{ range = [18, 80] }}
        [loop.news.action]
        topic = {{ categories = ["news", "sport"] }}
        "#
    )
}

const PRIVACY: &str = r#"epsilon = 12.0, delta = 1e-6, visits = 2, per = "ever""#;
/// A rule without public randomness: models are then functions of the reports.
const TUNED: &str = r#"learner = { tick = "1 minute", rule = { tuned = { ridge = 3.0, width = 0.5 } } }
        device = { late = "3 minutes" }"#;

struct World {
    service: Arc<Service>,
    store: Arc<MemoryStore>,
    clock: Arc<ManualClock>,
    text: String,
}

async fn open(
    text: &str,
    store: &Arc<MemoryStore>,
    clock: &Arc<ManualClock>,
) -> Result<Arc<Service>> {
    let plans = ServiceFile::parse(text)?.check()?;
    Service::of_devices(plans, store.clone(), clock.clone(), None).await
}

impl World {
    async fn new(text: String) -> Self {
        let store = Arc::new(MemoryStore::new([1; 16]));
        let clock = Arc::new(ManualClock::at(START));
        let service = open(&text, &store, &clock).await.unwrap();
        World { service, store, clock, text }
    }

    /// The process dies and another one begins.
    async fn restart(&mut self) {
        loop {
            // The store may fail while it is opened, too.
            if let Ok(service) = open(&self.text, &self.store, &self.clock).await {
                self.service = service;
                return;
            }
        }
    }

    fn loop_(&self) -> &Arc<Reports> {
        self.service.reports("news").unwrap()
    }

    fn protocol(&self) -> ProtocolPlan {
        let DeviceLearner::Local { protocol, .. } = &self.loop_().plan.learner else { panic!() };
        wire::from_json(wire::to_json(protocol.as_ref())).unwrap()
    }

    fn model(&self) -> Model {
        wire::from_json(&self.loop_().served().message).unwrap()
    }

    /// The report of a new installation, whose reward is 1 for sport and 0 for news.
    fn report(&self) -> Report {
        report(&self.protocol(), &self.model())
    }

    async fn send(&self, report: &Report) -> Result<Taken> {
        self.send_text(&wire::to_json(report)).await
    }

    async fn send_text(&self, text: &str) -> Result<Taken> {
        self.service.take(self.loop_(), &[text.as_bytes()]).await?.remove(0)
    }

    async fn tick(&self) -> Option<u64> {
        self.clock.pass(TICK);
        self.tick_now().await
    }

    async fn tick_now(&self) -> Option<u64> {
        match self.service.tick("news").await.unwrap() {
            Ticked::Released(number) => Some(number),
            _ => None,
        }
    }
}

fn actions() -> [Value; 2] {
    ["news", "sport"].map(|topic| Value::from_iter([("topic", topic)]))
}

fn report(protocol: &ProtocolPlan, model: &Model) -> Report {
    let noise = SecureNoise::from_system().unwrap();
    let mut person = protocol.reports().person(0, noise).unwrap();
    let arms = protocol.arms(&Value::from_iter([("age", "31")]), &actions()).unwrap();
    let chosen = person.choose(model, &arms).unwrap();
    person.report(model, &arms.arm(chosen), chosen as f64).unwrap()
}

#[tokio::test]
async fn what_is_deployed_is_what_is_simulated() {
    let mut world = World::new(file(PRIVACY, TUNED)).await;
    let DeviceLearner::Local { plan, .. } = &world.loop_().plan.learner else { panic!() };
    let mut simulated = plan.server();
    assert_eq!(simulated.publish().unwrap(), world.model());
    for round in 1..=20 {
        for _ in 0..100 {
            let report = world.report();
            assert_eq!(world.send(&report).await.unwrap(), Taken::Taken);
            simulated.absorb(&report).unwrap();
        }
        // Every second model is made by a process that did not take the reports.
        if round % 2 == 0 {
            world.restart().await;
        }
        assert_eq!(world.tick().await, Some(round));
        assert_eq!(wire::to_json(&simulated.publish().unwrap()), world.loop_().served().message);
    }
    assert_eq!(world.model().reports(), 2000);
    let Guide::Follow(policy) = world.model().guide().clone() else { panic!() };
    let arms = world.protocol().arms(&Value::from_iter([("age", "31")]), &actions()).unwrap();
    let mean =
        |arm: usize| policy.theta().iter().zip(arms.arm(arm)).map(|(a, b)| a * b).sum::<f64>();
    assert!(mean(1) > mean(0) + 0.3, "{} {}", mean(0), mean(1));
    // Another slot of the clock is needed for another model, and no device has to come.
    assert_eq!(world.tick_now().await, None);
    assert_eq!(world.tick().await, Some(21));
    // A clock that is set back does not stop models.
    world.clock.jump(START - 1000 * TICK);
    assert_eq!(world.tick().await, Some(22));
}

#[tokio::test]
async fn a_report_is_counted_once_for_as_long_as_its_model_is_taken() {
    let mut world = World::new(file(PRIVACY, TUNED)).await;
    let early = world.report();
    assert_eq!(world.send(&early).await.unwrap(), Taken::Taken);
    for number in 1..=3 {
        world.tick().await;
        world.restart().await;
        assert_eq!(world.send(&early).await.unwrap(), Taken::Duplicate, "{number}");
        assert_eq!(world.model().reports(), 1);
    }
    // Late = 3 models: the report's own is model 0.
    let kept = world.report();
    world.tick().await;
    let Err(Error::Late(words)) = world.send(&early).await else { panic!() };
    assert!(words.contains("under model 0") && words.contains("below 1"), "{words}");
    // One that was never sent is as late.
    assert_eq!(world.send(&kept).await.unwrap(), Taken::Taken);
    for _ in 0..4 {
        world.tick().await;
    }
    assert_eq!(world.model().reports(), 2);
    assert!(matches!(world.send(&kept).await, Err(Error::Late(_))));
    assert_eq!(world.loop_().counts.late.load(Ordering::Relaxed), 2);
    // Nothing is left of either: no row and no id.
    world.tick().await;
    assert!(
        world
            .store
            .kept_events(world.loop_().generation, Default::default(), 10)
            .await
            .unwrap()
            .is_empty()
    );
    let same_batch = world.report();
    let text = wire::to_json(&same_batch);
    let twice =
        world.service.take(world.loop_(), &[text.as_bytes(), text.as_bytes()]).await.unwrap();
    let twice: Vec<Taken> = twice.into_iter().map(Result::unwrap).collect();
    assert_eq!(twice, [Taken::Taken, Taken::Duplicate]);
}

/// A longer time for late reports does not bring back ids that are forgotten.
#[tokio::test]
async fn a_longer_time_for_late_reports_counts_none_again() {
    let mut world = World::new(file(PRIVACY, TUNED)).await;
    let early = world.report();
    assert_eq!(world.send(&early).await.unwrap(), Taken::Taken);
    for _ in 0..6 {
        world.tick().await;
    }
    world.text = file(PRIVACY, &TUNED.replace("3 minutes", "1 hour"));
    world.restart().await;
    assert_eq!(world.loop_().plan.late_models, 60);
    assert!(matches!(world.send(&early).await, Err(Error::Late(_))));
    assert_eq!(world.loop_().counts.late.load(Ordering::Relaxed), 1);
    world.tick().await;
    assert_eq!(world.model().reports(), 1);
}

/// A device that goes away while its report is stored leaves counts that are right.
#[tokio::test]
async fn a_report_is_counted_when_its_sender_has_gone_away() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(crate::store::RedbStore::open(folder.path().join("store.redb")).unwrap());
    let clock = Arc::new(ManualClock::at(START));
    let plans = ServiceFile::parse(&file(PRIVACY, TUNED)).unwrap().check().unwrap();
    let service = Service::of_devices(plans, store, clock, None).await.unwrap();
    let loop_ = service.reports("news").unwrap();
    let DeviceLearner::Local { protocol, .. } = &loop_.plan.learner else { panic!() };
    let model = wire::from_json(&loop_.served().message).unwrap();
    let text = wire::to_json(&report(protocol, &model));
    {
        // It is looked at once, which queues the transaction, and never again.
        let messages = [text.as_bytes()];
        let taking = service.take(loop_, &messages);
        tokio::pin!(taking);
        let once = std::future::poll_fn(|context| Poll::Ready(taking.as_mut().poll(context)));
        assert!(once.await.is_pending());
    }
    let mut looks = 0;
    while loop_.counts.taken.load(Ordering::Relaxed) == 0 {
        looks += 1;
        assert!(looks < 1000, "the report was not counted");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(loop_.open_events(), 1);
    let again = service.take(loop_, &[text.as_bytes()]).await.unwrap().remove(0);
    assert_eq!(again.unwrap(), Taken::Duplicate);
}

#[test]
fn gaps_in_numbers_of_batches_are_counted() {
    let mut batches = Batches::default();
    assert_eq!((batches.next(), batches.missing()), (0, 0));
    for (number, next, missing) in
        [(0, 1, 0), (3, 4, 2), (3, 4, 2), (1, 4, 1), (0, 4, 1), (2, 4, 0), (u64::MAX, 4, 0)]
    {
        batches.note(number);
        assert_eq!((batches.next(), batches.missing()), (next, missing), "{number}");
    }
    batches.note(u64::MAX - 1);
    assert_eq!((batches.next(), batches.missing()), (u64::MAX, u64::MAX - 5));
}

#[tokio::test]
async fn foreign_and_malformed_reports_are_refused_with_a_reason_and_change_nothing() {
    let world = World::new(file(PRIVACY, TUNED)).await;
    let text = wire::to_json(&world.report());
    let other =
        World::new(file(PRIVACY, TUNED).replace("news]", "shop]").replace("news.", "shop."));
    let other = other.await;
    let DeviceLearner::Local { protocol, .. } =
        &other.service.reports("shop").unwrap().plan.learner
    else {
        panic!()
    };
    let foreign_model = other.service.reports("shop").unwrap().served();
    let foreign = report(protocol, &wire::from_json(&foreign_model.message).unwrap());
    let values = text.find("\"values\":[").unwrap() + 10;
    for (bad, words) in [
        (wire::to_json(&foreign), "protocol: got"),
        (text.replace("\"model\":0", "\"model\":1"), "model: got 1; the last model has number 0"),
        (text.replace("\"level\":0", "\"level\":1"), "level: got 1"),
        (text.replace("\"level\":0", "\"level\":null"), "level: missing"),
        (format!("{}9e9,{}", &text[..values], &text[values..]), "values"),
        (format!("{}1e999,{}", &text[..values], &text[values..]), "report: got"),
        (text.replace("\"version\":3", "\"version\":2"), "version: got 2"),
        (text.replace("\"values\"", "\"colour\""), "report: got"),
        (text[..text.len() - 1].into(), "report: got"),
        ("{}".into(), "report: got"),
    ] {
        assert_ne!(bad, text);
        let error = world.send_text(&bad).await.unwrap_err().to_string();
        assert!(error.starts_with(words) && error.contains(": "), "{error}");
    }
    assert_eq!(world.loop_().counts.refused.load(Ordering::Relaxed), 10);
    // A mistake in one does not touch the others.
    let taken = world.service.take(world.loop_(), &[b"{}", text.as_bytes()]).await.unwrap();
    assert!(taken[0].is_err() && taken[1].is_ok());
    world.tick().await;
    assert_eq!(world.model().reports(), 1);
}

/// Every write of the store fails once, before and after it has happened, and the process dies with it.
#[tokio::test]
async fn a_death_between_any_two_steps_loses_nothing_that_was_acknowledged_and_counts_nothing_twice()
 {
    let mut deaths = 0;
    for fault in [Fault::Before, Fault::After] {
        for step in 0.. {
            let mut world = World::new(file(PRIVACY, TUNED)).await;
            world.store.fail_after(step, fault);
            for _ in 0..3 {
                for _ in 0..2 {
                    let report = world.report();
                    // A device sends the same bytes until they are acknowledged.
                    while world.send(&report).await.is_err() {
                        world.restart().await;
                    }
                    loop {
                        match world.send(&report).await {
                            Ok(taken) => break assert_eq!(taken, Taken::Duplicate),
                            Err(_) => world.restart().await,
                        }
                    }
                }
                let before = world.loop_().served().number;
                world.clock.pass(TICK);
                while world.service.tick("news").await.is_err() {
                    world.restart().await;
                }
                while world.loop_().served().number == before {
                    world.service.tick("news").await.unwrap();
                }
            }
            let fired = !world.store.will_fail();
            deaths += u64::from(fired);
            let served = world.loop_().served();
            assert_eq!((served.number, served.reports), (3, 6), "{fault:?} at {step}");
            world.restart().await;
            assert_eq!(world.loop_().served().message, served.message);
            if !fired {
                break;
            }
        }
    }
    // Six reports and their repetitions, three closed slots, three commits, collections, and what opening writes.
    assert!(deaths >= 30, "{deaths}");
}

#[tokio::test]
async fn models_of_thompson_sampling_keep_their_seed_over_a_restart_and_differ_by_number() {
    let learner = r#"learner = { tick = "1 minute", explore = "thompson" }"#;
    let mut world = World::new(file(PRIVACY, learner)).await;
    let first = world.loop_().served().message.clone();
    assert!(world.model().draws());
    world.restart().await;
    assert_eq!(world.loop_().served().message, first);
    world.tick().await;
    let second = world.model();
    let arms = world.protocol().arms(&Value::Missing, &actions()).unwrap();
    let before: Model = wire::from_json(&first).unwrap();
    assert_ne!(before.guide(), second.guide());
    assert_eq!(second.probabilities(&arms).unwrap().len(), 2);
    let other = World::new(file(PRIVACY, learner)).await;
    assert_ne!(other.loop_().served().message, first);
}

#[tokio::test]
async fn the_certificate_says_what_enforces_each_condition() {
    let world = World::new(file(
        r#"epsilon = 4.0, delta = 1e-6, visits = 3, per = "30 days""#,
        "device = { levels = [0.5, 1.0, 4.0] }",
    ))
    .await;
    let certificate = world.service.certificate("news").await.unwrap();
    let epsilon = certificate.guarantee.epsilon();
    assert!((2.0..=4.0 + 1e-6).contains(&epsilon), "{epsilon}");
    let of = |words: &str| {
        let found = certificate.conditions.iter().find(|one| one.text.contains(words));
        found.unwrap_or_else(|| panic!("{words}")).enforcement
    };
    assert_eq!(of("randomised on the device"), Enforcement::Enforced);
    assert_eq!(
        of("at most 3 reports of one installation leave it in each period of 30 days"),
        Enforcement::Enforced
    );
    assert_eq!(of("one installation's storage"), Enforcement::Assumed);
    assert_eq!(of("fetches only what was chosen"), Enforcement::Assumed);
    assert_eq!(of("a smaller one of [0.5, 1.0, 4.0]"), Enforcement::Assumed);
    let said = "one installation, which reports at most 3 times in each period of 30 days";
    assert_eq!(certificate.protects, said);
    assert!(certificate.sentence.contains(said) && !certificate.sentence.contains("person"));
    let year = certificate.year.unwrap();
    assert_eq!(
        year.periods, 15,
        "366 days meet 14 calendar windows, and the first period may last into them"
    );
    assert!(year.epsilon > certificate.periods[2].epsilon);
    let periods: Vec<f64> = certificate.periods.iter().map(|row| row.epsilon).collect();
    assert!(periods[0] <= epsilon + 1e-6 && periods[0] < periods[1] && periods[1] < periods[2]);
    // So does what all loops cost together.
    let plans = ServiceFile::parse(&world.text).unwrap().check().unwrap();
    let together = crate::loops::Together::of_plans(&plans).unwrap().guarantee.unwrap().epsilon();
    assert!((2.0..=4.0 + 1e-3).contains(&together), "{together}");
}

#[test]
fn what_devices_cannot_do_is_refused_with_a_remedy() {
    for (privacy, more, field) in [
        ("epsilon = 1.0, delta = 1e-6", "", "privacy.per"),
        (r#"epsilon = 1.0, delta = 1e-6, per = "ever""#, "", "privacy.visits"),
        (r#"epsilon = 1.0, delta = 1e-6, visits = 1, per = "1500 ms""#, "", "privacy.per"),
        (PRIVACY, "retain = \"1 day\"", "retain"),
        (PRIVACY, "baseline = { share = 0.1 }", "baseline.share"),
        (PRIVACY, "mode = \"apprentice\"", "mode"),
        (PRIVACY, "learner = { forget = \"1 day\" }", "learner.forget"),
        (PRIVACY, "shuffle = { batch = 100 }", "shuffle"),
        (PRIVACY, "device = { levels = [1.0] }", "device.levels"),
        (r#"epsilon = 0.0, delta = 1e-6, visits = 1, per = "ever""#, "", "privacy.epsilon: got 0"),
        (
            r#"epsilon = -1.0, delta = 1e-6, visits = 1, per = "ever""#,
            "",
            "privacy.epsilon: got -1",
        ),
        (r#"epsilon = 1.0, delta = 2.0, visits = 1, per = "ever""#, "", "privacy.delta: got 2"),
        (PRIVACY, "device = { levels = [-1.0, 2.0] }", "device.levels"),
        (PRIVACY, "reward = { range = [0, nan] }", "reward.range: got [0, NaN]"),
    ] {
        let refused = ServiceFile::parse(&file(privacy, more)).unwrap().check();
        let error = refused.map(drop).unwrap_err().to_string();
        assert!(error.starts_with("loop.news") && error.contains(field), "{error}");
    }
    // A curator has no devices.
    let curator =
        file(PRIVACY, "device = { late = \"1 day\" }").replace("\"device\"", "\"curator\"");
    let error = ServiceFile::parse(&curator).unwrap().check().map(drop).unwrap_err().to_string();
    assert!(error.contains("loop.news.trust"), "{error}");
    // The server's own parameters are none of the device's.
    let same = |more: &str| {
        let plans = ServiceFile::parse(&file(PRIVACY, more)).unwrap().check().unwrap();
        plans[0].reports().unwrap().local().protocol()
    };
    assert_eq!(same(TUNED), same(""));
}

/// Waits until a condition holds: at most for some seconds.
async fn wait_until(holds: impl Fn() -> bool) {
    for _ in 0..2000 {
        if holds() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    panic!("it does not come to pass");
}

#[tokio::test]
async fn a_tick_that_fails_or_panics_is_reported_and_tried_again() {
    for (fault, words) in [(Fault::Before, "injected"), (Fault::Panic, "fault of the program")] {
        let World { service, store, clock, .. } = World::new(file(PRIVACY, TUNED)).await;
        clock.pass(TICK);
        store.fail_next(fault);
        let ticker = tokio::spawn(Arc::clone(&service).keep_ticking("news".into()));
        wait_until(|| service.troubles().iter().any(|trouble| trouble.contains(words))).await;
        let served = || service.reports("news").unwrap().served().number;
        wait_until(|| served() == 1 && service.troubles().is_empty()).await;
        service.stop();
        ticker.await.unwrap();
    }
}
