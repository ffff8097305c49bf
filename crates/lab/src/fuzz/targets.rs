//! The fuzz targets: every reader of external bytes. Readers of texts and messages are here, those of saved states in `states`.

use std::path::Path;

use reticent::{
    bandit::{Aggregation, Arms, Batch, Decision, Model, Policy},
    features::{self, FeaturesParams, Value},
    privacy::Event,
    randomize::{FeatureRewardReport, Report, ReportPlan, ValueReport},
    release::Release,
    safe::AgentReport,
    wire::{Message, from_json, to_json},
};
use reticent_device::{ProtocolPlan, little};
use serde::de::DeserializeOwned;

use super::{
    corpus,
    samples::{self, PAIR, seeded, two_arms},
};
use crate::{
    Experiment,
    algorithm::{
        online::LearnFile,
        safe::{PlanFile, SafeSetToml},
    },
    csv::{Rows, Table},
};

mod states;

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
    targets.extend(states::all());
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
        message(&[samples::release(), samples::merged_release()], |release: &Release| {
            let rule = reticent::bandit::Rule::THOMPSON;
            if let Ok(plan) = rule.plan(release.domain().clone(), None, None) {
                drop(plan.policy(release));
            }
            let _ = release.entry(0, 1);
        }),
        message(&[samples::features(), samples::grouped_features()], |rule: &FeaturesParams| {
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
