//! The fuzz targets: every reader of external bytes. They are in one file, although it is long, so that a missing reader is easy to notice.

use std::path::Path;

use reticent::{
    bandit::{
        Aggregation, Anytime, AnytimeParams, Arms, Batch, Combiner, CombinerParams, JointLinUcb,
        JointParams, Legacy, LinUcb, LinUcbParams, LocalParams, Model, OnlineLinUcb,
        OnlineLinUcbParams, OnlineUcb, OnlineUcbParams, RewardWindow, Server, ShuffleParams,
        ShuffleServer, Shuffler,
    },
    convex::{DoublingBandit, PrivateBandit, PrivateBanditParams, Protection, oracle},
    features::{self, FeaturesParams, Value},
    online::{Method, OnlineLearner, OnlineParams},
    privacy::Event,
    randomize::{Bounds, FeatureRewardParams, Gradient, Report, Spent},
    release::{Calibration, ContributionSums, Domain, PrivateSum, PrivateSumParams, Schedule},
    safe::{
        self, Agent, AgentParams, AgentReport, Coordinator, CoordinatorParams, Objective,
        ResponsePrivacy, Simplex,
    },
};

use super::corpus;
use crate::{
    Experiment, FastNoise,
    csv::{Rows, Table},
    gradients::LearnFile,
    safe::{PlanFile, SafeSetToml},
};

/// The function that is fuzzed.
type Reader = Box<dyn Fn(&[u8])>;

/// A reader with its seed inputs.
pub(super) struct Target {
    pub(super) name: &'static str,
    pub(super) seeds: Vec<Vec<u8>>,
    /// Inputs are saved states, whose checksums are recomputed after mutation.
    pub(super) sealed: bool,
    pub(super) read: Reader,
}

/// All targets.
pub(super) fn all() -> Vec<Target> {
    let mut targets = texts();
    targets.extend(messages());
    targets.extend(states());
    for target in &mut targets {
        target.seeds.extend(files(&corpus().join(target.name), ""));
        assert!(!target.seeds.is_empty(), "{} has no seeds", target.name);
    }
    targets
}

/// Saved states and messages as this build writes them: the first seed of each target.
pub(super) fn stored() -> Vec<(String, Vec<u8>)> {
    let named = |ending: &'static str| {
        move |mut target: Target| (format!("{}{ending}", target.name), target.seeds.swap_remove(0))
    };
    let messages = messages().into_iter().map(named(".json"));
    messages.chain(states().into_iter().map(named(".bin"))).collect()
}

/// The files of a folder with this extension; none if the folder does not exist.
fn files(folder: &Path, ending: &str) -> Vec<Vec<u8>> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
        .into_iter()
        .filter(|path| path.is_file() && path.to_string_lossy().ends_with(ending))
        .filter_map(|path| std::fs::read(path).ok())
        .collect()
}

fn text_target(name: &'static str, seeds: Vec<Vec<u8>>, read: impl Fn(&str) + 'static) -> Target {
    let read = move |bytes: &[u8]| {
        if let Ok(text) = std::str::from_utf8(bytes) {
            read(text);
        }
    };
    Target { name, seeds, sealed: false, read: Box::new(read) }
}

fn texts() -> Vec<Target> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut experiments = files(&examples, ".toml");
    experiments.extend(files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("audits"), ".toml"));
    // Reading a large table repeatedly is slow and finds nothing new.
    experiments.retain(|text| text.len() < 6000);
    let csv = b"age,visits,label\n39, 2,1\n\"41\",3,-1\n# comment\n1e3,-0.5,1\n".to_vec();
    let rows =
        b"rows = [[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]\nbounds = [3.0, 1.0, 1.0]\n".to_vec();
    let simplex = b"simplex = [1.0, 0.25, 0.5]\n".to_vec();
    vec![
        text_target("experiment", experiments, |text| drop(Experiment::parse(text))),
        text_target("plan", files(&examples, "plan.toml"), |text| {
            if let Ok(file) = PlanFile::parse(text) {
                drop(file.plan());
            }
        }),
        text_target("learn", files(&examples, "learn.toml"), |text| drop(LearnFile::parse(text))),
        text_target("polytope", vec![rows, simplex], |text| {
            if let Ok(lines) = toml::from_str::<SafeSetToml>(text) {
                let polytope = lines.polytope();
                drop(polytope.map(|p| (p.range(0).is_ok(), p.check_origin().is_ok())));
            }
        }),
        text_target("csv", vec![csv], |text| {
            let path = Path::new("fuzz.csv");
            drop(Table::with_label(text, path, None, None, Some("visits")));
            drop(Table::with_label(text, path, Some(&["age".into()]), Some("label"), None));
            // Files larger than memory are read line by line.
            let file = std::env::temp_dir().join(format!("reticent-fuzz-{}.csv", std::process::id()));
            if std::fs::write(&file, text).is_ok()
                && let Ok(mut rows) = Rows::open(&file)
            {
                drop(rows.column("label"));
                while let Ok(Some(_)) = rows.next() {}
            }
            drop(Table::column(text, path, "visits"));
        }),
        text_target("event", vec![br#"{"kind":"composed","events":[{"kind":"gaussian","sensitivity":1.0,"sigma":4.0},{"kind":"repeated","event":{"kind":"laplace","sensitivity":1.0,"scale":2.0},"times":3},{"kind":"randomized_response","categories":3,"epsilon":0.5}]}"#.to_vec(), br#"{"kind":"shuffled","epsilon":1.0,"people":200,"binary":true}"#.to_vec()], |text| {
            if let Ok(event) = serde_json::from_str::<Event>(text) {
                drop(event.check());
            }
        }),
        text_target("features", vec![br#"[{"context":{"age":{"range":[18,80]},"user":{"city":{"hash":{"buckets":32}}}},"action":{"topic":{"categories":["news","sport",3]}},"cross":{"with":[["user.city","topic"]]},"projection":{"dimension":9,"seed":7}},[{"age":31.5,"topic":null},{"user":{"city":"Bern"},"topic":"news"}]]"#.to_vec()], |text| {
            if let Ok((rule, record)) = serde_json::from_str::<(FeaturesParams, Value)>(text)
                && let Ok(plan) = rule.check()
            {
                let vector = plan.vector(&record, &record, &mut features::Report::default());
                assert!(vector.iter().map(|x| x * x).sum::<f64>() <= 1.0 + 1e-12);
            }
        }),
    ]
}

fn json(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("plain data")
}

fn local() -> LocalParams {
    LocalParams::new(Bounds::unit(2), 2.0, 1e-5)
}

fn shuffled(aggregation: Aggregation) -> ShuffleParams {
    ShuffleParams::new(Bounds::unit(2), 2.0, 1e-5, 3, aggregation)
}

fn report(plan: &reticent::bandit::LocalPlan, model: &Model, seed: u64) -> Report {
    let mut person = plan.person(0, FastNoise::seeded(seed)).expect("level 0");
    person.report(model, &[0.6, 0.8], 0.5).expect("a valid report")
}

fn messages() -> Vec<Target> {
    let plan = local().check().expect("sound");
    let mut server = plan.server();
    let model = server.publish().expect("a first model");
    let one = report(&plan, &model, 1);
    server.absorb(&one).expect("counted");
    let later = server.publish().expect("a second model");
    let batches: Vec<Batch> = [Aggregation::Sum, Aggregation::Permute]
        .map(|form| {
            let plan = shuffled(form).check().expect("sound");
            let model = plan.server().publish().expect("a model");
            let mut shuffler = plan.shuffler(FastNoise::seeded(1)).expect("a shuffler");
            let mut last = None;
            for seed in 0..3 {
                last = shuffler.absorb(&report(plan.local(), &model, seed)).expect("taken");
            }
            last.expect("three make a batch")
        })
        .to_vec();
    let (first, second) = (model.clone(), later.clone());
    let plan_of_models = plan.clone();
    vec![
        text_target("report", vec![json(&one)], move |text| {
            if let Ok(report) = serde_json::from_str::<Report>(text) {
                let mut server = plan.server();
                drop(server.publish());
                drop(server.absorb(&report));
                for form in [Aggregation::Sum, Aggregation::Permute] {
                    let plan = shuffled(form).check().expect("sound");
                    let mut shuffler = plan.shuffler(FastNoise::seeded(1)).expect("a shuffler");
                    drop(shuffler.absorb(&report));
                }
            }
        }),
        text_target("model", vec![json(&first), json(&second)], move |text| {
            if let Ok(model) = serde_json::from_str::<Model>(text) {
                let mut person = plan_of_models.person(0, FastNoise::seeded(3)).expect("level 0");
                let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0]]).expect("two arms");
                drop(person.choose(&model, &arms));
                drop(person.report(&model, &[0.6, 0.8], 0.5));
            }
        }),
        text_target("batch", batches.iter().map(json).collect(), |text| {
            if let Ok(batch) = serde_json::from_str::<Batch>(text) {
                for form in [Aggregation::Sum, Aggregation::Permute] {
                    let mut server = shuffled(form).check().expect("sound").server();
                    drop(server.absorb(&batch));
                    drop(server.publish());
                }
            }
        }),
        text_target("online_report", vec![json(&[0.1, -0.2, 0.3])], |text| {
            if let Ok(report) = serde_json::from_str::<Vec<f64>>(text) {
                let params =
                    OnlineUcbParams::new(FeatureRewardParams::new(Bounds::unit(2), 2.0, 1e-5), 10);
                drop(params.check().expect("sound").absorb(&report));
            }
        }),
        text_target(
            "safe_report",
            vec![br#"{"ticket":0,"agent":1,"value":0.25}"#.to_vec()],
            |text| {
                if let Ok(report) = serde_json::from_str::<AgentReport>(text) {
                    let mut coordinator = coordinator();
                    drop(coordinator.decide());
                    drop(coordinator.absorb(&report));
                    drop(coordinator.decide());
                }
            },
        ),
    ]
}

fn state(name: &'static str, seed: Vec<u8>, read: impl Fn(&[u8]) + 'static) -> Target {
    Target { name, seeds: vec![seed], sealed: true, read: Box::new(read) }
}

fn two_arms() -> Arms {
    Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0]]).expect("two arms")
}

fn sums() -> PrivateSumParams {
    PrivateSumParams {
        schedule: Schedule::EveryRound,
        ..PrivateSumParams::new(
            Domain::regression(2, 1.0, 1.0),
            Some(16),
            Calibration::Budget { epsilon: 1.0, delta: 1e-5 },
        )
    }
}

fn coordinator() -> Coordinator<FastNoise> {
    let polytope = Simplex::new(&[1.0, 0.5]).and_then(|s| s.polytope()).expect("a simplex");
    let privacy = ResponsePrivacy::Budget { epsilon: 2.0, delta: 1e-5, responses: None };
    let agent = |axis| AgentParams::on_axis(&polytope, axis, 2, (1.0, 2.0, 0.01), privacy.clone());
    let agents = (0..2).map(agent).collect::<Result<Vec<_>, _>>().expect("two agents");
    let objective = Objective::Linear { weights: vec![1.0, 1.0] };
    let params = CoordinatorParams::new(polytope, objective, agents);
    params.check().expect("sound").start(FastNoise::seeded(1))
}

fn bandit_params() -> PrivateBanditParams {
    PrivateBanditParams::new(1.0, 64, Protection::central(1.0, 1e-5))
}

fn states() -> Vec<Target> {
    let mut all = vec![
        sum_state(),
        joint_state(),
        open_decisions(),
        legacy(),
        state(
            "linucb",
            {
                let mut learner = LinUcbParams::new(Bounds::unit(2)).check().expect("sound");
                let arm = learner.choose(&two_arms(), 0).expect("an arm").arm;
                learner.observe(&two_arms().arm(arm), 0.5).expect("learnt");
                learner.save()
            },
            |bytes| {
                if let Ok(mut learner) = LinUcb::load(bytes) {
                    drop(learner.choose(&two_arms(), 0));
                    drop(learner.observe(&[0.6, 0.8], 0.5));
                    drop(learner.choose(&two_arms(), 0));
                }
            },
        ),
    ];
    all.extend(local_states());
    all.extend(online_states());
    all.extend(safe_states());
    all.extend(convex_states());
    all
}

fn sum_state() -> Target {
    let mut sum = sums().check().expect("sound").start(FastNoise::seeded(1));
    let contribution = sum.clip_with_reward(&[0.6, 0.8], 0.5).expect("clipped");
    sum.absorb(&contribution).expect("absorbed");
    state("private_sum", sum.save(), |bytes| {
        if let Ok(mut sum) = PrivateSum::<FastNoise>::resume(bytes, 0) {
            for _ in 0..4 {
                if let Ok(contribution) = sum.clip_with_reward(&[0.6, 0.8], 0.5) {
                    drop(sum.absorb(&contribution));
                }
                if let Ok(contribution) = sum.clip(&[0.6, 0.8]) {
                    drop(sum.absorb(&contribution));
                }
            }
            drop(sum.guarantee(1e-5));
            drop(sum.deviations(3));
            let _ = sum.until_release();
            drop(sum.tick(&mut ContributionSums::new(*sum.clipper())));
        }
    })
}

fn joint_state() -> Target {
    let params = JointParams {
        schedule: Schedule::EveryRound,
        ..JointParams::new(Bounds::unit(2), 1.0, 1e-5, Some(16))
    };
    let mut learner = params.check().expect("sound").start(FastNoise::seeded(1));
    let decision = learner.decide(&two_arms()).expect("an arm");
    learner.observe(decision.ticket, 0.5).expect("learnt");
    state("joint", learner.save(), |bytes| {
        if let Ok(mut learner) = JointLinUcb::<FastNoise>::resume(bytes, 0) {
            for _ in 0..3 {
                if let Ok(decision) = learner.decide(&two_arms()) {
                    drop(learner.observe(decision.ticket, 0.5));
                }
            }
            drop(learner.close_before(1));
            drop(learner.guarantee());
            drop(learner.guarantee_of_both());
            drop(learner.legacy());
        }
    })
}

/// A learner with a window, in the middle of its first decisions.
fn joint_with_open_decisions() -> JointLinUcb<FastNoise> {
    let params = JointParams {
        schedule: Schedule::EveryRound,
        window: Some(RewardWindow::Decisions(2)),
        ..JointParams::new(Bounds::unit(2), 1.0, 1e-5, Some(16))
    };
    let mut learner = params.check().expect("sound").start(FastNoise::seeded(1));
    for reward in [0.5, -0.5, 0.1] {
        let decision = learner.decide(&two_arms()).expect("an arm");
        learner.observe(decision.ticket, reward).expect("kept");
    }
    learner
}

fn open_decisions() -> Target {
    state("open_decisions", joint_with_open_decisions().save_with_open(), |bytes| {
        if let Ok(mut learner) = JointLinUcb::<FastNoise>::resume(bytes, 0) {
            for _ in 0..4 {
                drop(learner.decide(&two_arms()));
            }
            drop(learner.close_before(9));
        }
    })
}

fn legacy() -> Target {
    let legacy = joint_with_open_decisions().legacy().expect("it has released");
    state("joint_legacy", legacy.save(), |bytes| {
        if let Ok(legacy) = Legacy::load(bytes) {
            let params = JointParams {
                schedule: Schedule::EveryRound,
                ..JointParams::new(Bounds::unit(2), 1.0, 1e-5, Some(16))
            };
            let plan = params.check().expect("sound");
            if let Ok(mut learner) = plan.start_from(legacy, FastNoise::seeded(2)) {
                if let Ok(decision) = learner.decide(&two_arms()) {
                    drop(learner.observe(decision.ticket, 0.5));
                }
                drop(learner.guarantee());
                drop(learner.guarantee_of_both());
            }
        }
    })
}

fn local_states() -> Vec<Target> {
    let plan = local().check().expect("sound");
    let mut server = plan.server();
    let model = server.publish().expect("a model");
    server.absorb(&report(&plan, &model, 1)).expect("counted");
    let mut person = plan.person(0, FastNoise::seeded(1)).expect("level 0");
    person.report(&model, &[0.6, 0.8], 0.5).expect("a sound report");
    let people = plan;
    let plan = shuffled(Aggregation::Permute).check().expect("sound");
    let model = plan.server().publish().expect("a model");
    let mut shuffler = plan.shuffler(FastNoise::seeded(1)).expect("a shuffler");
    shuffler.absorb(&report(plan.local(), &model, 1)).expect("taken");
    let waiting = report(plan.local(), &model, 2);
    vec![
        state("local_server", server.save(), |bytes| {
            if let Ok(mut server) = Server::load(bytes) {
                if let Ok(model) = server.publish() {
                    let plan = local().check().expect("sound");
                    let mut person = plan.person(0, FastNoise::seeded(4)).expect("level 0");
                    if let Ok(report) = person.report(&model, &[0.6, 0.8], 0.5) {
                        drop(server.absorb(&report));
                    }
                }
                drop(server.publish());
            }
        }),
        state("spent", person.spent().save(), move |bytes| {
            if let Ok(spent) = Spent::load(bytes)
                && let Ok(person) = people.person_after(0, &spent, FastNoise::seeded(5))
            {
                drop(person.guarantee());
            }
        }),
        state("shuffle_server", plan.server().save(), |bytes| {
            if let Ok(mut server) = ShuffleServer::load(bytes) {
                drop(server.publish());
            }
        }),
        state("shuffler", shuffler.save(), move |bytes| {
            if let Ok(mut shuffler) = Shuffler::<FastNoise>::load(bytes, 0) {
                drop(shuffler.absorb(&waiting));
                drop(shuffler.absorb(&waiting));
            }
        }),
    ]
}

fn online_states() -> Vec<Target> {
    let base = OnlineUcbParams::new(FeatureRewardParams::new(Bounds::unit(2), 2.0, 1e-5), 32);
    let pair = [0.1, -0.2, 0.3];
    let mut ucb = base.check().expect("sound");
    ucb.absorb(&pair).expect("learnt");
    let anytime = AnytimeParams::new(base.clone()).check().expect("sound");
    let combiner = CombinerParams::new(base).check().expect("sound");
    let mut open = OnlineLinUcbParams::new(Bounds::unit(2), 32).check().expect("sound");
    open.observe(&[0.6, 0.8], 0.5).expect("learnt");
    let method = Method::Coordinatewise { prior: reticent::online::Prior::Improper };
    let params = OnlineParams { dimension: 2, gradient_bound: 1.0, method };
    let mut learner = params.check().expect("sound").start();
    let _ = learner.absorb(Gradient::from(&[0.1, -0.2])).expect("learnt");
    vec![
        state("online_ucb", ucb.save(), move |bytes| {
            if let Ok(mut ucb) = OnlineUcb::load(bytes) {
                drop(ucb.policy().choose(&two_arms(), 0));
                drop(ucb.absorb(&pair));
                drop(ucb.policy().choose(&two_arms(), 1));
            }
        }),
        state("anytime", anytime.save(), move |bytes| {
            if let Ok(mut anytime) = Anytime::load(bytes) {
                drop(anytime.absorb(&pair));
                drop(anytime.policy().choose(&two_arms(), 0));
            }
        }),
        state("combiner", combiner.save(), move |bytes| {
            if let Ok(mut combiner) = Combiner::load(bytes) {
                drop(combiner.absorb(combiner.current(), &pair));
                drop(combiner.policy().choose(&two_arms(), 0));
            }
        }),
        state("online_linucb", open.save(), |bytes| {
            if let Ok(mut open) = OnlineLinUcb::load(bytes) {
                drop(open.choose(&two_arms()));
                drop(open.observe(&[0.6, 0.8], 0.5));
            }
        }),
        state("online_learner", learner.save(), |bytes| {
            if let Ok(mut learner) = OnlineLearner::resume(bytes) {
                drop(learner.absorb(Gradient::from(&[0.1, -0.2])));
            }
        }),
    ]
}

fn safe_states() -> Vec<Target> {
    let mut coordinator = coordinator();
    let decision = coordinator.decide().expect("actions");
    let mut agent = coordinator.agents()[0].start(0, FastNoise::seeded(2));
    let report = agent.report(decision.ticket, 0.1).expect("an answer");
    coordinator.absorb(&report).expect("learnt");
    vec![
        state("agent", agent.save(), |bytes| {
            if let Ok(mut agent) = Agent::<FastNoise>::resume(bytes, 0) {
                drop(agent.report(safe::Ticket::first(), 0.1));
                drop(agent.guarantee_so_far());
            }
        }),
        state("coordinator", coordinator.save(), move |bytes| {
            if let Ok(mut coordinator) = Coordinator::<FastNoise>::resume(bytes, 0) {
                for _ in 0..2 {
                    if let Ok(decision) = coordinator.decide() {
                        let report = AgentReport { ticket: decision.ticket, ..report };
                        drop(coordinator.absorb(&report));
                    }
                }
            }
        }),
    ]
}

fn convex_states() -> Vec<Target> {
    let set = || oracle::Simplex::set(3).expect("a simplex");
    let mut bandit =
        bandit_params().check(set()).expect("sound").start(FastNoise::seeded(1)).expect("started");
    let decision = bandit.decide().expect("a point");
    bandit.observe(decision.ticket, 0.5).expect("learnt");
    let doubling =
        DoublingBandit::start(bandit_params(), set(), FastNoise::seeded(1)).expect("started");
    vec![
        state("private_bandit", bandit.save(), move |bytes| {
            if let Ok(mut bandit) = PrivateBandit::<_, FastNoise>::resume(set(), bytes, 0, 0) {
                for _ in 0..3 {
                    if let Ok(decision) = bandit.decide() {
                        drop(bandit.observe(decision.ticket, 0.5));
                    }
                }
            }
        }),
        state("doubling_bandit", doubling.save(), move |bytes| {
            if let Ok(mut bandit) = DoublingBandit::<_, FastNoise>::resume(set(), bytes, 0, 0)
                && let Ok(decision) = bandit.decide()
            {
                drop(bandit.observe(decision.ticket, 0.5));
            }
        }),
    ]
}
