//! Golden files: `vectors/wire` holds every kind of saved state and message, as `name.version.bin` and `name.version.json`.
//!
//! Every file of the present version is read and written again to the same bytes, and is what this build writes; every file of an older
//! version is read, or refused with a remedy. A change of what is written under a kind raises its version (`reticent::wire`), leaves the old
//! file, and writes the new one with `RETICENT_WRITE_VECTORS=1`.
//!
//! States with a source of noise in them have a second file, `name.version.secure.bin`, on secure noise, of which nothing is saved. Its contents
//! are random, so it is only read and written again. The files of `reticent-durable` begin with `durable` and are tested there.

use std::{fs, path::Path, path::PathBuf};

use reticent::{
    Result,
    bandit::{
        Aggregation, Anytime, Combiner, Curator, Episodes, JointLinUcb, Legacy, LinUcb,
        OnlineLinUcb, OnlineUcb, OpenDecisions, Server, ShuffleServer, Shuffler,
    },
    convex::{DoublingBandit, PrivateBandit},
    noise::{Noise, SecureNoise},
    online::{GradientDescent, LinearModel, Maler, OnlineLearner},
    randomize::{Bounds, FeatureRewardParams, FeatureRewardReport, Spent},
    release::{ContributionSums, PrivateSum},
    safe::{Agent, AgentReport, Coordinator, Ticket},
    wire::{
        Kind, MESSAGES, Message, PYTHON_ACCOUNTANT, PYTHON_CONVEX, PYTHON_FEATURE_REWARD,
        PYTHON_JOINT, PYTHON_LINUCB, PYTHON_LOCAL_PLAN, PYTHON_ONLINE_LINUCB, PYTHON_SHUFFLE_PLAN,
        STATES, from_json, pack, to_json, unpack,
    },
};
use reticent_device::{Choice, Ledger};
use serde::{Serialize, de::DeserializeOwned};

use super::samples::{self, PAIR, edited, seeded};
use crate::FastNoise;

mod texts;

/// Reads and writes again.
type Again = Box<dyn Fn(&[u8]) -> Result<Vec<u8>>>;

/// A golden file of the present version.
struct Golden {
    kind: Kind,
    /// Ending of its name behind the version.
    ending: &'static str,
    bytes: Vec<u8>,
    /// `None` for a message that is written and never read.
    again: Option<Again>,
}

impl Golden {
    fn file(&self) -> String {
        format!("{}.{}.{}", self.kind.name(), self.kind.version(), self.ending)
    }

    /// Tells whether every build writes the same bytes.
    fn repeats(&self) -> bool {
        ![SECURE, REWORDED].contains(&self.ending)
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).expect("a message is text")
    }
}

const SECURE: &str = "secure.bin";

/// Ending of a state whose sentences an earlier build worded otherwise: it is read and written again as it is.
const REWORDED: &str = "reworded.bin";

fn message<M: Message + DeserializeOwned>(message: &M) -> Golden {
    let again = |text: &[u8]| from_json::<M>(text).map(|message| to_json(&message).into_bytes());
    Golden { again: Some(Box::new(again)), ..written(message) }
}

fn written(message: &impl Message) -> Golden {
    fn kind<M: Message>(_: &M) -> Kind {
        M::KIND
    }
    let bytes = to_json(message).into_bytes();
    Golden { kind: kind(message), ending: "json", bytes, again: None }
}

/// All messages, with counts that a double does not hold where a count may be so large.
fn messages() -> Vec<Golden> {
    let plan = samples::local().check().expect("sound");
    let model = samples::model();
    let report = samples::report(&plan, &model, 1);
    let (_, _, answer) = samples::answered(seeded(), seeded());
    let large = r#""18446744073709551615""#;
    let edit = |name: &str, value: &str| {
        (format!(r#""{name}":{value},"#), format!(r#""{name}":{large},"#))
    };
    let [sequence, reports] = [edit("sequence", "1"), edit("reports", "1")];
    let model = edited(&edited(&model, &sequence.0, &sequence.1), &reports.0, &reports.1);
    let [round, index] = [edit("round", "1"), edit("index", "1")];
    let release = edited(&samples::release(), &round.0, &round.1);
    let acted_on = edit("model", "1");
    let number = edit("number", "0");
    vec![
        message(&model),
        message(&edited(&report, &acted_on.0, &acted_on.1)),
        message(&edited(&samples::batch(Aggregation::Permute), &number.0, &number.1)),
        message(&edited(&release, &index.0, &index.1)),
        message(&AgentReport { ticket: Ticket::numbered(u64::MAX), ..answer }),
        message(&answer.value),
        message(&FeatureRewardReport { values: PAIR.to_vec() }),
        message(&samples::arms_of_blocks()),
        message(samples::curator(seeded()).policy()),
        message(&samples::decision()),
        message(plan.reports()),
        message(&samples::features()),
        Golden { ending: "groups.json", ..message(&samples::grouped_features()) },
        Golden { ending: "merged.json", ..message(&samples::merged_release()) },
        message(&samples::protocol()),
        written(&samples::guarantee()),
    ]
}

fn state(
    name: &str,
    ending: &'static str,
    bytes: Vec<u8>,
    again: impl Fn(&[u8]) -> Result<Vec<u8>> + 'static,
) -> Golden {
    let kind = STATES.iter().find(|kind| kind.name() == name).expect("a kind of saved state");
    Golden { kind: *kind, ending, bytes, again: Some(Box::new(again)) }
}

/// States that hold no noise.
fn states() -> Vec<Golden> {
    macro_rules! loaded {
        ($($name:literal $type:ty: $sample:expr,)*) => {
            vec![$(state($name, "bin", $sample.save(), |bytes| Ok(<$type>::load(bytes)?.save()))),*]
        };
    }
    let mut all = loaded! {
        "anytime" Anytime: samples::anytime(),
        "choice" Choice: samples::reported().0,
        "combiner" Combiner: samples::combiner(),
        "contribution_sums" ContributionSums: samples::contribution_sums(),
        "gradient_descent" GradientDescent: samples::gradient_descent(),
        "joint_legacy" Legacy: samples::legacy(),
        "ledger" Ledger: samples::reported().1,
        "linear_model" LinearModel: samples::linear_model(),
        "linucb" LinUcb: samples::linucb(),
        "local_server" Server: samples::server(),
        "maler" Maler: samples::maler(),
        "online_learner" OnlineLearner: samples::online_learner(),
        "online_linucb" OnlineLinUcb: samples::online_linucb(),
        "online_ucb" OnlineUcb: samples::online_ucb(),
        "shuffle_server" ShuffleServer: samples::shuffle_server(),
        "spent" Spent: samples::spent(),
    };
    let legacy = |bytes: &[u8]| Ok(Legacy::load(bytes)?.save());
    all.push(state("joint_legacy", REWORDED, samples::legacy().save(), legacy));
    all.push(state("open_decisions", "bin", samples::open_decisions().save(), |bytes| {
        let mut open = OpenDecisions::<i32>::new(2);
        open.restore(bytes, u64::MAX)?;
        Ok(open.save())
    }));
    all
}

/// States on a source of noise.
fn states_on<N>(ending: &'static str, noise: fn() -> N) -> Vec<Golden>
where
    N: Noise + Serialize + DeserializeOwned + 'static,
{
    let (coordinator, agent, _) = samples::answered(noise(), noise());
    let joint = |bytes: &[u8]| Ok(JointLinUcb::<N>::resume(bytes, 0)?.save());
    vec![
        state("agent", ending, agent.save(), |bytes| Ok(Agent::<N>::resume(bytes, 1)?.save())),
        state("coordinator", ending, coordinator.save(), |bytes| {
            Ok(Coordinator::<N>::resume(bytes, 1)?.save())
        }),
        state("curator", ending, samples::curator(noise()).save(), |bytes| {
            Ok(Curator::<N>::resume(bytes, 1)?.save())
        }),
        state("doubling_bandit", ending, samples::doubling_bandit(noise()).save(), |bytes| {
            Ok(DoublingBandit::<_, N>::resume(bytes, 0, 0, samples::set())?.save())
        }),
        state("episodes", ending, samples::episodes(noise()).save(), |bytes| {
            Ok(Episodes::<N>::resume(bytes, 1)?.save())
        }),
        state("joint", ending, samples::joint(noise()).save(), joint),
        state("private_bandit", ending, samples::private_bandit(noise()).save(), |bytes| {
            Ok(PrivateBandit::<_, N>::resume(bytes, 0, 1, samples::set())?.save())
        }),
        state("private_sum", ending, samples::private_sum(noise()).save(), |bytes| {
            Ok(PrivateSum::<N>::resume(bytes, 1)?.save())
        }),
        state("shuffler", ending, samples::shuffler(noise()).save(), |bytes| {
            Ok(Shuffler::<N>::resume(bytes, 0)?.save())
        }),
    ]
}

/// States of the Python package, which holds learners on secure noise; `crates/python/tests/test_saved.py` reads and writes them too.
fn python_states() -> Vec<Golden> {
    let secure = || SecureNoise::from_system().expect("entropy");
    let again = |kind: Kind, bytes: &[u8]| {
        let (own, [state]): (serde_json::Value, _) = unpack(kind, bytes)?;
        let state = match kind == PYTHON_JOINT {
            true => JointLinUcb::<SecureNoise>::resume(&state, 0)?.save_with_open(),
            false => PrivateBandit::<_, SecureNoise>::resume(&state, 0, 1, samples::set())?.save(),
        };
        Ok(pack(kind, &own, &[&state]))
    };
    let joint = samples::joint_with_open(secure()).save_with_open();
    let convex = samples::private_bandit(secure()).save();
    let set = serde_json::json!({ "kind": "simplex", "outcomes": 3 });
    let mut open = OpenDecisions::<f64>::new(2);
    open.insert(0, 0, &[0.6, 0.8]).expect("opened");
    let next = serde_json::json!({ "next": 1 });
    let linucb = pack(PYTHON_LINUCB, &next, &[&samples::linucb().save(), &open.save()]);
    let online =
        pack(PYTHON_ONLINE_LINUCB, &next, &[&samples::online_linucb().save(), &open.save()]);
    // Tickets are random, and so are the bytes above; parameters are not.
    let events = samples::events();
    let randomizer = FeatureRewardParams::new(Bounds::unit(2), 2.0, 1e-5);
    vec![
        state(
            "python_joint",
            SECURE,
            pack(PYTHON_JOINT, &serde_json::json!({ "copies": 2 }), &[&joint]),
            move |bytes| again(PYTHON_JOINT, bytes),
        ),
        state(
            "python_convex",
            SECURE,
            pack(PYTHON_CONVEX, &serde_json::json!({ "copies": 1, "set": set }), &[&convex]),
            move |bytes| again(PYTHON_CONVEX, bytes),
        ),
        state("python_linucb", SECURE, linucb, |bytes| {
            let (own, [learner, saved]): (serde_json::Value, _) = unpack(PYTHON_LINUCB, bytes)?;
            let mut open = OpenDecisions::<f64>::new(2);
            open.restore(&saved, u64::MAX)?;
            Ok(pack(PYTHON_LINUCB, &own, &[&LinUcb::load(&learner)?.save(), &open.save()]))
        }),
        state("python_online_linucb", SECURE, online, |bytes| {
            let kind = PYTHON_ONLINE_LINUCB;
            let (own, [learner, saved]): (serde_json::Value, _) = unpack(kind, bytes)?;
            let mut open = OpenDecisions::<f64>::new(2);
            open.restore(&saved, u64::MAX)?;
            Ok(pack(kind, &own, &[&OnlineLinUcb::load(&learner)?.save(), &open.save()]))
        }),
        parameters(PYTHON_ACCOUNTANT, &events),
        parameters(PYTHON_FEATURE_REWARD, &randomizer),
        parameters(PYTHON_LOCAL_PLAN, &samples::local()),
        parameters(PYTHON_SHUFFLE_PLAN, &samples::shuffled(Aggregation::Sum)),
    ]
}

/// Stored form of an object that follows from its parameters.
fn parameters<T: Serialize + DeserializeOwned>(kind: Kind, params: &T) -> Golden {
    state(kind.name(), "bin", pack(kind, params, &[]), move |bytes| {
        let (params, []): (T, _) = unpack(kind, bytes)?;
        Ok(pack(kind, &params, &[]))
    })
}

fn all() -> Vec<Golden> {
    let secure = || SecureNoise::from_system().expect("entropy");
    let mut all = messages();
    all.extend(states());
    all.extend(python_states());
    all.extend(states_on::<FastNoise>("bin", seeded));
    all.extend(states_on::<SecureNoise>(SECURE, secure));
    all.push(state("curator", "merged.bin", samples::merged_curator(seeded()).save(), |bytes| {
        Ok(Curator::<FastNoise>::resume(bytes, 1)?.save())
    }));
    let with_open = samples::joint_with_open(seeded()).save_with_open();
    all.push(state("joint", "open.bin", with_open, |bytes| {
        Ok(JointLinUcb::<FastNoise>::resume(bytes, 1)?.save_with_open())
    }));
    all
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/wire")
}

/// Faults of the files of a folder, if these are all kinds.
fn complaints(folder: &Path, kinds: &[Kind], goldens: &[Golden]) -> Vec<String> {
    let mut wrong = Vec::new();
    for kind in kinds {
        if !goldens.iter().any(|golden| golden.kind == *kind) {
            wrong.push(format!("{kind} has no golden file"));
        }
    }
    for golden in goldens {
        let name = golden.file();
        let Ok(kept) = fs::read(folder.join(&name)) else {
            wrong.push(format!("{name} is missing"));
            continue;
        };
        if golden.repeats() && kept != golden.bytes {
            wrong.push(format!("{name} is not what this build writes"));
        }
        match golden.again.as_ref().map(|again| again(&kept)) {
            Some(Err(error)) => wrong.push(format!("{name} is not read: {error}")),
            Some(Ok(bytes)) if bytes != kept => wrong.push(format!("{name} is written otherwise")),
            _ => {}
        }
    }
    for entry in fs::read_dir(folder).expect("golden files").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("durable") || goldens.iter().any(|golden| golden.file() == name) {
            continue;
        }
        let (stem, version) = name.split_once('.').unwrap_or((&name, ""));
        let version = version.split('.').next().and_then(|version| version.parse::<u16>().ok());
        let known = |golden: &&Golden| {
            golden.kind.name() == stem && version.is_some_and(|old| old < golden.kind.version())
        };
        let Some(again) = goldens.iter().find(known).and_then(|golden| golden.again.as_ref())
        else {
            wrong.push(format!("{name} is of no kind or of a version to come"));
            continue;
        };
        if let Err(error) = again(&fs::read(entry.path()).expect("a golden file")) {
            let error = error.to_string();
            let remedies =
                ["update the older program", "use the release of reticent that wrote it"];
            if !remedies.iter().any(|remedy| error.contains(remedy)) {
                wrong.push(format!("{name} is refused without a remedy: {error}"));
            }
        }
    }
    wrong
}

fn kinds() -> Vec<Kind> {
    STATES.iter().chain(MESSAGES).copied().collect()
}

#[test]
fn every_kind_has_a_golden_file_that_is_read_and_written_again() {
    let goldens = all();
    if std::env::var_os("RETICENT_WRITE_VECTORS").is_some() {
        for golden in &goldens {
            let path = folder().join(golden.file());
            let kept = fs::read(&path).ok();
            let read =
                |kept: &Vec<u8>| golden.again.as_ref().is_some_and(|again| again(kept).is_ok());
            // Random contents are not replaced for nothing.
            if golden.repeats() || !kept.as_ref().is_some_and(read) {
                fs::write(path, &golden.bytes).expect("written");
            }
        }
    }
    let wrong = complaints(&folder(), &kinds(), &goldens);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Planted: files that are missing, damaged, of no kind, of an older version that is refused by name, and a kind without any.
#[test]
fn missing_damaged_and_foreign_golden_files_are_noticed() {
    let copy = std::env::temp_dir().join(format!("reticent-golden-{}", std::process::id()));
    fs::create_dir_all(&copy).expect("a folder");
    for entry in fs::read_dir(folder()).expect("golden files").flatten() {
        fs::copy(entry.path(), copy.join(entry.file_name())).expect("copied");
    }
    let mut goldens = all();
    let kinds = kinds();
    let wrong = |goldens: &[Golden]| complaints(&copy, &kinds, goldens).join("; ");
    assert_eq!(wrong(&goldens), "");
    let (spent, report) = (copy.join("spent.1.bin"), copy.join("report.2.json"));
    let (bytes, old) = (fs::read(&spent).expect("kept"), fs::read(&report).expect("kept"));
    fs::remove_file(&spent).expect("removed");
    assert_eq!(wrong(&goldens), "spent.1.bin is missing");
    fs::write(&spent, &bytes[..bytes.len() - 1]).expect("written");
    assert!(wrong(&goldens).contains("spent.1.bin is not read"), "{}", wrong(&goldens));
    fs::write(&spent, &bytes).expect("written");
    fs::write(copy.join("spent.2.bin"), &bytes).expect("written");
    assert_eq!(wrong(&goldens), "spent.2.bin is of no kind or of a version to come");
    fs::remove_file(copy.join("spent.2.bin")).expect("removed");
    fs::write(&report, &old[..old.len() / 2]).expect("written");
    assert_eq!(wrong(&goldens), "", "its first field is enough");
    fs::write(&report, "[]").expect("written");
    assert!(wrong(&goldens).contains("report.2.json is refused without a remedy"));
    fs::write(&report, &old).expect("written");
    goldens.retain(|golden| golden.kind.name() != "policy");
    assert!(wrong(&goldens).contains("policy 1 has no golden file"), "{}", wrong(&goldens));
    fs::remove_dir_all(&copy).expect("removed");
}
