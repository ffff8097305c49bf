//! The fuzz targets: every reader of external bytes. They are in one file, although it is long, so that a missing reader is easy to notice.

use std::path::Path;

use reticent::{
    bandit::{
        Aggregation, Anytime, Arms, Batch, Combiner, Decision, JointLinUcb, Legacy, LinUcb,
        LocalParams, Model, OnlineLinUcb, OnlineUcb, Policy, Server, ShuffleServer, Shuffler,
    },
    convex::{DoublingBandit, PrivateBandit},
    features::{self, FeaturesParams, Value},
    online::{BallLearner, GradientDescent, LinearModel, Maler, OnlineLearner},
    privacy::{Accountant, Event},
    randomize::{FeatureRewardReport, Gradient, Report, ReportPlan, Spent, ValueReport},
    release::{ContributionSums, PrivateSum, Release},
    safe::{self, Agent, AgentReport, Coordinator},
    wire::{
        Message, PYTHON_ACCOUNTANT, PYTHON_LINUCB, PYTHON_LOCAL_PLAN, from_json, pack, to_json,
        unpack,
    },
};
use reticent_device::{Choice, Device, Ledger, Limits, ProtocolPlan, little};
use serde::de::DeserializeOwned;

use super::{
    corpus,
    samples::{self, PAIR, seeded, two_arms},
};
use crate::{
    Experiment, FastNoise,
    algorithm::{
        online::LearnFile,
        safe::{PlanFile, SafeSetToml},
    },
    csv::{Rows, Table},
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
        text_target("features", vec![br#"[{"context":{"age":{"range":[18,80]},"user":{"city":{"hash":{"buckets":32}}}},"action":{"topic":{"categories":["news","sport",3]}},"cross":{"with":[["user.city","topic"]]},"projection":{"dimension":9,"seed":7}},[{"age":31.5,"topic":null},{"user":{"city":"Bern"},"topic":"news"}]]"#.to_vec(), br#"[{"context":{"hour":{"cycle":24,"weight":0.1},"age":{"bins":[18,30]},"liked":{"categories":["a"]}},"action":{"topic":{"categories":["a"]}},"cross":{"with":[["hour","age","topic"]],"match":[["liked","topic"]]},"weight":{"constant":0.2},"products":{"degree":2,"with":"topic"},"fourier":{"count":2,"scale":0.5,"seed":7}},[{"hour":31.5,"age":20},{"topic":"a","liked":"a"}]]"#.to_vec()], |text| {
            if let Ok((rule, record)) = serde_json::from_str::<(FeaturesParams, Value)>(text)
                && let Ok(plan) = rule.check()
            {
                let vector = plan.vector(&record, &record, &mut features::Report::default());
                assert!(vector.iter().map(|x| x * x).sum::<f64>() <= 1.0 + 1e-12);
            }
        }),
    ]
}

/// A reader of messages of one kind.
fn message<M: Message + DeserializeOwned>(seeds: &[M], read: impl Fn(&M) + 'static) -> Target {
    let seeds = seeds.iter().map(|seed| to_json(seed).into_bytes()).collect();
    text_target(M::KIND.name(), seeds, move |text| {
        if let Ok(message) = from_json(text) {
            read(&message);
        }
    })
}

/// The reader that pages download: what it accepts is what the other one reads.
fn in_little_code<M: Message + DeserializeOwned + PartialEq + 'static>(
    name: &'static str,
    seed: M,
    read: fn(&[u8]) -> reticent::Result<M>,
) -> Target {
    text_target(name, vec![to_json(&seed).into_bytes()], move |text| {
        if let Ok(message) = read(text.as_bytes()) {
            assert!(from_json::<M>(text).is_ok_and(|other| other == message));
        }
    })
}

fn messages() -> Vec<Target> {
    let plan = samples::local().check().expect("sound");
    let first = plan.server().publish().expect("a model");
    let one = samples::report(&plan, &first, 1);
    let people = plan.clone();
    let (_, _, answer) = samples::answered(seeded(), seeded());
    vec![
        message(&[one], move |report: &Report| {
            let mut server = plan.server();
            drop(server.publish());
            drop(server.absorb(report));
            for form in [Aggregation::Sum, Aggregation::Permute] {
                let plan = samples::shuffled(form).check().expect("sound");
                drop(plan.shuffler(seeded()).expect("a shuffler").absorb(report));
            }
        }),
        message(&[first, samples::model()], move |model: &Model| {
            let mut person = people.person(0, seeded()).expect("level 0");
            drop(person.choose(model, &two_arms()));
            drop(person.report(model, &[0.6, 0.8], 0.5));
        }),
        message(&[Aggregation::Sum, Aggregation::Permute].map(samples::batch), |batch: &Batch| {
            for form in [Aggregation::Sum, Aggregation::Permute] {
                let mut server = samples::shuffled(form).check().expect("sound").server();
                drop(server.absorb(batch));
                drop(server.publish());
            }
        }),
        message(
            &[FeatureRewardReport { values: PAIR.to_vec() }],
            |report: &FeatureRewardReport| drop(samples::online_ucb().absorb(&report.values)),
        ),
        message(&[answer], |report: &AgentReport| {
            let mut coordinator = samples::coordinator(seeded());
            drop(coordinator.decide());
            drop(coordinator.absorb(report));
            drop(coordinator.decide());
        }),
        message(&[answer.value], |report: &ValueReport| {
            let mut bandit = samples::private_bandit(seeded());
            if let Ok(decision) = bandit.decide() {
                drop(bandit.absorb(decision.ticket, *report));
            }
        }),
        message(&[two_arms(), samples::arms_of_blocks()], |arms: &Arms| {
            drop(samples::curator(seeded()).policy().choose(arms, 0));
            drop(samples::joint(seeded()).decide(arms));
        }),
        message(&[samples::curator(seeded()).policy().clone()], |policy: &Policy| {
            for arms in [two_arms(), samples::arms_of_blocks()] {
                drop(policy.choose(&arms, 0));
                drop(policy.probabilities(&arms));
            }
        }),
        message(&[samples::release()], |release: &Release| {
            let rule = reticent::bandit::Rule::THOMPSON;
            if let Ok(plan) = rule.plan(*release.domain(), None, None) {
                drop(plan.policy(release));
            }
            let _ = release.entry(0, 1);
        }),
        message(&[samples::features()], |rule: &FeaturesParams| {
            let plan = rule.check().expect("messages are checked");
            plan.vector(&Value::Missing, &Value::Missing, &mut features::Report::default());
        }),
        in_little_code("little_protocol", samples::protocol(), little::protocol),
        in_little_code("little_model", samples::model(), little::model),
        in_little_code(
            "little_report_plan",
            samples::shuffled(Aggregation::Sum).check().expect("sound").local().reports().clone(),
            little::report_plan,
        ),
        message(&[samples::protocol()], |protocol: &ProtocolPlan| {
            drop(protocol.arms(&Value::Missing, &[Value::Missing]));
            drop(protocol.reports().person(0, seeded()));
        }),
        message(&[samples::decision()], |decision: &Decision| {
            drop(samples::joint(seeded()).observe(decision.ticket, 0.5));
        }),
        message(
            &[samples::local().check().expect("sound").reports().clone()],
            |plan: &ReportPlan| {
                if let Ok(person) = plan.person(0, seeded()) {
                    drop(person.guarantee());
                }
            },
        ),
    ]
}

fn state(name: &'static str, seed: Vec<u8>, read: impl Fn(&[u8]) + 'static) -> Target {
    Target { name, seeds: vec![seed], sealed: true, read: Box::new(read) }
}

fn states() -> Vec<Target> {
    let mut all = vec![sum_state(), contribution_sums(), joint_state(), open_decisions(), legacy()];
    all.push(state("linucb", samples::linucb().save(), |bytes| {
        if let Ok(mut learner) = LinUcb::load(bytes) {
            drop(learner.choose(&two_arms(), 0));
            drop(learner.observe(&[0.6, 0.8], 0.5));
            drop(learner.choose(&two_arms(), 0));
        }
    }));
    let learner = samples::linucb().save();
    all.push(state("python_linucb", pack(PYTHON_LINUCB, &1_u64, &[&learner]), |bytes| {
        if let Ok((_, [learner])) = unpack::<u64, 1>(PYTHON_LINUCB, bytes) {
            drop(LinUcb::load(&learner));
        }
    }));
    let events = pack(PYTHON_ACCOUNTANT, &samples::events(), &[]);
    all.push(state("python_accountant", events, |bytes| {
        if let Ok((events, [])) = unpack::<Vec<Event>, 0>(PYTHON_ACCOUNTANT, bytes) {
            let mut accountant = Accountant::new();
            drop(events.into_iter().try_for_each(|event| accountant.spend(event)));
        }
    }));
    let plan = pack(PYTHON_LOCAL_PLAN, &samples::local(), &[]);
    all.push(state("python_local_plan", plan, |bytes| {
        if let Ok((params, [])) = unpack::<LocalParams, 0>(PYTHON_LOCAL_PLAN, bytes) {
            drop(params.check());
        }
    }));
    all.extend(local_states());
    all.extend(online_states());
    all.extend(safe_states());
    all.extend(convex_states());
    all
}

fn sum_state() -> Target {
    state("private_sum", samples::private_sum(seeded()).save(), |bytes| {
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

fn contribution_sums() -> Target {
    state("contribution_sums", samples::contribution_sums().save(), |bytes| {
        if let Ok(mut sums) = ContributionSums::load(bytes) {
            drop(sums.merge(&sums.clone()));
            drop(samples::private_sum(seeded()).tick(&mut sums));
        }
    })
}

fn joint_state() -> Target {
    state("joint", samples::joint(seeded()).save(), |bytes| {
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

fn open_decisions() -> Target {
    state("open_decisions", samples::joint_with_open(seeded()).save_with_open(), |bytes| {
        if let Ok(mut learner) = JointLinUcb::<FastNoise>::resume(bytes, 0) {
            for _ in 0..4 {
                drop(learner.decide(&two_arms()));
            }
            drop(learner.close_before(9));
        }
    })
}

fn legacy() -> Target {
    state("joint_legacy", samples::legacy().save(), |bytes| {
        if let Ok(legacy) = Legacy::load(bytes) {
            let plan = samples::joint_params().check().expect("sound");
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
    let people = samples::local().check().expect("sound");
    let plan = samples::shuffled(Aggregation::Permute).check().expect("sound");
    let model = plan.server().publish().expect("a model");
    let waiting = samples::report(plan.local(), &model, 2);
    vec![
        state("local_server", samples::server().save(), |bytes| {
            if let Ok(mut server) = Server::load(bytes) {
                if let Ok(model) = server.publish() {
                    let plan = samples::local().check().expect("sound");
                    let mut person = plan.person(0, FastNoise::seeded(4)).expect("level 0");
                    if let Ok(report) = person.report(&model, &[0.6, 0.8], 0.5) {
                        drop(server.absorb(&report));
                    }
                }
                drop(server.publish());
            }
        }),
        state("ledger", samples::reported().1.save(), |bytes| {
            let (protocol, now) = (samples::protocol(), 1_700_000_000);
            if let Ok(ledger) = Ledger::load(bytes).and_then(|ledger| ledger.at(&protocol, now))
                && let Ok(mut device) = Device::new(protocol, Limits::of("home"), 0, seeded())
            {
                drop(device.report(&ledger, now, &samples::reported().0, 0.5));
            }
        }),
        state("choice", samples::reported().0.save(), |bytes| {
            let (protocol, now) = (samples::protocol(), 1_700_000_000);
            let ledger = Ledger::new(&protocol, now);
            if let Ok(choice) = Choice::load(bytes)
                && let Ok(mut device) = Device::new(protocol, Limits::of("home"), 0, seeded())
            {
                drop(device.report(&ledger, now, &choice, 0.5));
            }
        }),
        state("spent", samples::spent().save(), move |bytes| {
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
        state("shuffler", samples::shuffler(seeded()).save(), move |bytes| {
            if let Ok(mut shuffler) = Shuffler::<FastNoise>::resume(bytes, 0) {
                drop(shuffler.absorb(&waiting));
                drop(shuffler.absorb(&waiting));
            }
        }),
    ]
}

fn online_states() -> Vec<Target> {
    vec![
        state("online_ucb", samples::online_ucb().save(), |bytes| {
            if let Ok(mut ucb) = OnlineUcb::load(bytes) {
                drop(ucb.policy().choose(&two_arms(), 0));
                drop(ucb.absorb(&PAIR));
                drop(ucb.policy().choose(&two_arms(), 1));
            }
        }),
        state("anytime", samples::anytime().save(), |bytes| {
            if let Ok(mut anytime) = Anytime::load(bytes) {
                drop(anytime.absorb(&PAIR));
                drop(anytime.policy().choose(&two_arms(), 0));
            }
        }),
        state("combiner", samples::combiner().save(), |bytes| {
            if let Ok(mut combiner) = Combiner::load(bytes) {
                drop(combiner.absorb(combiner.current(), &PAIR));
                drop(combiner.policy().choose(&two_arms(), 0));
            }
        }),
        state("online_linucb", samples::online_linucb().save(), |bytes| {
            if let Ok(mut open) = OnlineLinUcb::load(bytes) {
                drop(open.choose(&two_arms()));
                drop(open.observe(&[0.6, 0.8], 0.5));
            }
        }),
        state("online_learner", samples::online_learner().save(), |bytes| {
            if let Ok(mut learner) = OnlineLearner::load(bytes) {
                drop(learner.absorb(Gradient::from(&[0.1, -0.2])));
            }
        }),
        state("linear_model", samples::linear_model().save(), |bytes| {
            if let Ok(mut model) = LinearModel::load(bytes) {
                drop(model.observe(&[0.6, -0.8], 1.0));
            }
        }),
        state("maler", samples::maler().save(), |bytes| {
            drop(Maler::load(bytes).and_then(|mut learner| learner.absorb(&[0.1, -0.2])));
        }),
        state("gradient_descent", samples::gradient_descent().save(), |bytes| {
            drop(GradientDescent::load(bytes).and_then(|mut learner| learner.absorb(&[0.1, -0.2])));
        }),
    ]
}

fn safe_states() -> Vec<Target> {
    let (coordinator, agent, report) = samples::answered(seeded(), seeded());
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
    vec![
        state("private_bandit", samples::private_bandit(seeded()).save(), |bytes| {
            if let Ok(mut bandit) =
                PrivateBandit::<_, FastNoise>::resume(bytes, 0, 0, samples::set())
            {
                for _ in 0..3 {
                    if let Ok(decision) = bandit.decide() {
                        drop(bandit.observe(decision.ticket, 0.5));
                    }
                }
            }
        }),
        state("doubling_bandit", samples::doubling_bandit(seeded()).save(), |bytes| {
            if let Ok(mut bandit) =
                DoublingBandit::<_, FastNoise>::resume(bytes, 0, 0, samples::set())
                && let Ok(decision) = bandit.decide()
            {
                drop(bandit.observe(decision.ticket, 0.5));
            }
        }),
    ]
}
