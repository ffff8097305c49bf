//! One visit of one device of a loop with a shuffler as files: `vectors/sealed`, for a shuffler that permutes and for one that sums. JavaScript makes the same sealed bytes
//! from the same keys, and they open here.
//!
//! `case.json` has the inputs, and the secret of who opens the report. Key number i, the i-th that a generator asks for, has the bytes `(31 i + 7 j + 1) mod 256`, j
//! from 0 to 31. Only tests have such keys: the package takes them from the system, and JavaScript's test replaces `crypto` around the package.

use std::{cell::Cell, fs, path::PathBuf, rc::Rc};

use chacha20::{
    ChaCha20Rng,
    rand_core::{Rng as _, SeedableRng as _},
};
use reticent::{
    Result,
    bandit::{Aggregation, ShuffleParams, ShufflePlan},
    features::{Encoding, FeaturesParams, Value},
    noise::Noise,
    randomize::Bounds,
    wire::to_json,
};
use reticent_device::sealed::{SealKey, SealedDevice, from_hex, hex, protocol_hash};
use reticent_device::{Limits, ShuffledProtocol, little};
use serde_json::{Value as Json, json};

/// The keys of the case, one after the other, whichever generator asks.
struct Keys {
    next: Rc<Cell<u64>>,
    generator: ChaCha20Rng,
}

impl Keys {
    fn new() -> Self {
        Keys::of(Rc::default())
    }

    fn of(next: Rc<Cell<u64>>) -> Self {
        let number = next.replace(next.get() + 1);
        let byte = |place: usize| (31 * number as usize + 7 * place + 1) as u8;
        Keys { next, generator: ChaCha20Rng::from_seed(std::array::from_fn(byte)) }
    }
}

impl Noise for Keys {
    // As the generator that they stand for: a new key before every report.
    const PROTECTS_PEOPLE: bool = true;
    const NAME: &'static str = "keys of a test";

    fn bits(&mut self) -> u64 {
        self.generator.next_u64()
    }

    fn refresh(&mut self) -> Result<()> {
        *self = Keys::of(Rc::clone(&self.next));
        Ok(())
    }

    fn split(&mut self) -> Result<Self> {
        Ok(Keys::of(Rc::clone(&self.next)))
    }
}

const BATCH: u64 = 4;

fn rule() -> FeaturesParams {
    let words =
        |words: &[&str]| Encoding::Categories(words.iter().map(|word| word.to_string()).collect());
    let context = [("age", Encoding::Range(18.0, 80.0)), ("device", words(&["phone", "computer"]))];
    FeaturesParams::new(context, [("topic", words(&["news", "sport", "music"]))])
}

fn plan(aggregation: Aggregation) -> ShufflePlan {
    let rule = rule().check().expect("a rule");
    let bounds = Bounds {
        rewards: (0.0, 1.0),
        intercept: rule.constant(),
        ..Bounds::unit(rule.dimension())
    };
    let visits = if aggregation == Aggregation::Sum { 3 } else { 1 };
    let params = ShuffleParams {
        honest: Some(BATCH / 2),
        contributions_per_person: visits,
        ..ShuffleParams::new(bounds, 4.0, 1e-3, BATCH, aggregation)
    };
    params.check().expect("sound")
}

/// A model after one batch.
fn model(plan: &ShufflePlan) -> String {
    let (mut server, mut noise) = (plan.server().seeded(5), Keys::new());
    let first = server.publish().expect("a model");
    let mut features = vec![0.0; rule().check().expect("a rule").dimension()];
    features[0] = 0.5;
    let mut report = |_| {
        let mut person = plan.person(noise.split().expect("a key")).expect("a device");
        person.report(&first, &features, 1.0).expect("reported").values().to_vec()
    };
    let reports = (0..BATCH).map(&mut report).collect();
    let batch = plan.batch(0, reports, &mut noise).expect("a batch");
    server.absorb(&batch).expect("taken");
    to_json(&server.publish().expect("a model"))
}

/// Inputs of the case.
fn case(summed: bool) -> Json {
    json!({
        "loop": "mixed",
        "summed": summed,
        "limits": { "epsilon": 4.0, "delta": 1e-3 },
        "seconds": 1_700_000_000_u64,
        "context": { "age": 31, "device": "phone", "name": "not looked at" },
        "actions": [{ "topic": "news" }, { "topic": "sport" }, { "topic": "chess" }],
        "reward": 0.75,
        "secret": "2a".repeat(32),
    })
}

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors/sealed").join(name)
}

/// The file of this name has these bytes; with RETICENT_WRITE_VECTORS it gets them.
fn expect_file(mode: &str, name: &str, bytes: &[u8]) {
    let path = folder(mode).join(name);
    if std::env::var_os("RETICENT_WRITE_VECTORS").is_some() {
        fs::create_dir_all(folder(mode)).expect("a folder");
        fs::write(&path, bytes).expect("written");
    }
    let kept = fs::read(&path).unwrap_or_default();
    assert!(kept == bytes, "{mode}/{name} is not what this build writes");
}

#[test]
fn a_sealed_report_of_the_case_is_the_golden_one() {
    for (mode, aggregation) in [("sealed", Aggregation::Permute), ("sum", Aggregation::Sum)] {
        let (summed, rule, plan) = (aggregation == Aggregation::Sum, rule(), plan(aggregation));
        let mut case = case(summed);
        let secret = from_hex(case["secret"].as_str().expect("text")).expect("digits");
        let opener = SealKey::of_secret(&secret.try_into().expect("32 bytes"));
        let params_hash = 0x0123_4567_89ab_cdef;
        let protocol = protocol_hash(&ShuffledProtocol {
            name: "mixed",
            features: &rule,
            reports: plan.local().reports(),
            params_hash,
            batch: BATCH,
            honest: BATCH / 2,
            summed,
        });
        // As the server and the shuffler answer.
        let mut sealing = json!({
            "loop": "mixed",
            "mode": mode,
            "protocol": hex(&protocol),
            "generation": format!("{params_hash:016x}"),
            "values": plan.report_length(),
            "batch": BATCH,
            "honest": BATCH / 2,
            "features": rule,
        });
        let own = json!({ "public_key": opener.public().text(), "protocol": hex(&protocol) });
        if !summed {
            sealing["public_key"] = own["public_key"].clone();
        }
        let (plan_text, model_text) = (to_json(plan.local().reports()), model(&plan));
        let limits = Limits { epsilon: 4.0, delta: 1e-3, ..Limits::of("mixed") };
        let answers = [&sealing, &own].map(|answer| answer.to_string().into_bytes());
        let answers = answers.each_ref().map(Vec::as_slice);
        let mut device = SealedDevice::new(plan_text.as_bytes(), answers, limits, Keys::new())
            .expect("a device");
        device.set_model(little::model(model_text.as_bytes()).expect("a model")).expect("its own");
        let record = |value: &Json| {
            Value::from_json("record", value.to_string().as_bytes()).expect("a record")
        };
        let actions: Vec<Value> =
            case["actions"].as_array().expect("a list").iter().map(record).collect();
        let choice = device.choose(&record(&case["context"]), &actions).expect("chosen");
        let seconds = case["seconds"].as_u64().expect("seconds");
        let reward = case["reward"].as_f64().expect("a reward");
        let (sealed, ledger) = device.report(None, seconds, &choice, reward).expect("reported");
        // It opens with the secret, and holds what a device makes.
        let envelope = device.subject().read(&sealed).expect("an envelope");
        let values = device.subject().open(&opener, envelope.id, &envelope.sealed).expect("opened");
        plan.check_values(&values).expect("a report");
        case["index"] = choice.index().into();
        case["left"] = ledger.left().into();
        case["values"] = json!(values.to_vec());
        let files = [
            ("plan.json", plan_text.into_bytes()),
            ("sealing.json", sealing.to_string().into_bytes()),
            ("shuffler.json", own.to_string().into_bytes()),
            ("model.json", model_text.into_bytes()),
            ("case.json", format!("{case:#}\n").into_bytes()),
            ("choice.bin", choice.save()),
            ("ledger.bin", ledger.save()),
            ("report.bin", sealed),
        ];
        for (name, bytes) in files {
            expect_file(mode, name, &bytes);
        }
    }
}
