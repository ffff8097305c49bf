//! One visit of one device as files: `vectors/device`. JavaScript makes the same report from the same keys, and Python reads and writes the same bytes.
//!
//! `case.json` has the inputs. Key number i, the i-th that the generator asks for, has the bytes `(31 i + 7 j + 1) mod 256`, j from 0 to 31. Only
//! tests have such keys: the package takes them from the system, and JavaScript's test replaces `crypto` around the package.

use std::{fs, path::PathBuf};

use chacha20::{
    ChaCha20Rng,
    rand_core::{Rng as _, SeedableRng as _},
};
use reticent::{
    Result,
    bandit::{LocalParams, Rule},
    features::{Encoding, FeaturesParams, Value},
    noise::Noise,
    randomize::{Levels, ReportParams},
    wire::{from_json, to_json},
};
use reticent_device::web::WebDevice;
use reticent_device::{Device, Ledger, Limits, Period, ProtocolParams, ProtocolPlan};
use serde_json::{Value as Json, json};

/// The keys of the case, one after the other.
struct Keys {
    next: u64,
    generator: ChaCha20Rng,
}

impl Keys {
    fn new() -> Self {
        Keys { next: 1, generator: generator(0) }
    }
}

fn generator(number: u64) -> ChaCha20Rng {
    let byte = |place: usize| (31 * number as usize + 7 * place + 1) as u8;
    ChaCha20Rng::from_seed(std::array::from_fn(byte))
}

impl Noise for Keys {
    // As the generator that they stand for: a new key before every report.
    const PROTECTS_PEOPLE: bool = true;
    const NAME: &'static str = "keys of a test";

    fn bits(&mut self) -> u64 {
        self.generator.next_u64()
    }

    fn refresh(&mut self) -> Result<()> {
        self.generator = generator(self.next);
        self.next += 1;
        Ok(())
    }

    fn split(&mut self) -> Result<Self> {
        Ok(Keys::new())
    }
}

fn protocol() -> ProtocolPlan {
    let words =
        |words: &[&str]| Encoding::Categories(words.iter().map(|w| w.to_string()).collect());
    let mut rule = FeaturesParams::new(
        [
            ("age", Encoding::Range(18.0, 80.0)),
            ("device", words(&["phone", "computer"])),
            ("place.country", Encoding::Hash { buckets: 3 }),
        ],
        [("topic", words(&["news", "sport", "music"]))],
    );
    rule.cross.with = vec![vec!["device".into(), "topic".into()]];
    let params = ProtocolParams::new("home", rule, (0.0, 1.0), 1.0, 1e-6).expect("a rule");
    let report = ReportParams {
        levels: Levels::Public(vec![1.0, 4.0, 8.0]),
        contributions_per_person: 3,
        ..params.report
    };
    ProtocolParams { report, period: Period::Seconds(30 * 86_400), ..params }
        .check()
        .expect("sound")
}

/// Inputs of the case.
fn case() -> Json {
    json!({
        "level": 2,
        "seconds": 1_700_000_000_u64,
        "context": { "age": 31, "device": "phone", "place": { "country": "CH" }, "name": "not looked at" },
        "actions": [{ "topic": "news" }, { "topic": "sport" }, { "topic": "music" }, { "topic": "chess" }],
        "reward": 0.75,
    })
}

/// A model after 40 reports of seeded people, by Thompson sampling: it has an ensemble.
fn model(protocol: &ProtocolPlan) -> String {
    let report = protocol.params().report.clone();
    let params = LocalParams { rule: Rule::THOMPSON, ..LocalParams::from(report) };
    let mut server = protocol.local(&params).expect("the protocol's own").server().seeded(5);
    let mut device =
        Device::new(protocol.clone(), Limits::of("home"), 2, Keys::new()).expect("a level");
    let ages = (0..40).map(|person| 20 + person);
    for age in ages {
        device.set_model(server.publish().expect("a model")).expect("of this protocol");
        let context = Value::from_iter([("age", age.to_string()), ("device", "phone".into())]);
        let actions = ["news", "sport"].map(|topic| Value::from_iter([("topic", topic)]));
        let choice = device.choose(&context, &actions).expect("chosen");
        let reward = if choice.index() == 1 { 1.0 } else { 0.0 };
        let ledger = Ledger::new(protocol, 0);
        let (report, _) = device.report(&ledger, 0, &choice, reward).expect("reported");
        server.absorb(&report).expect("taken");
    }
    to_json(&server.publish().expect("a model"))
}

/// The limits of a person who asked for the loop of the case.
fn home() -> Limits {
    Limits::of("home")
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors/device")
}

/// The file of this name has these bytes; with RETICENT_WRITE_VECTORS it gets them.
fn expect_file(name: &str, bytes: &[u8]) {
    let path = folder().join(name);
    if std::env::var_os("RETICENT_WRITE_VECTORS").is_some() {
        fs::create_dir_all(folder()).expect("a folder");
        fs::write(&path, bytes).expect("written");
    }
    let kept = fs::read(&path).unwrap_or_default();
    assert!(kept == bytes, "{name} is not what this build writes");
}

#[test]
fn a_report_of_the_case_is_the_golden_one() {
    let protocol = protocol();
    let (protocol_text, model_text) = (to_json(&protocol), model(&protocol));
    let mut case = case();
    let level = case["level"].as_u64().expect("a level") as usize;
    let mut device =
        WebDevice::new(protocol_text.as_bytes(), home(), level, Keys::new()).expect("a device");
    device.set_model(model_text.as_bytes()).expect("a model");
    let bytes = |field: &str| case[field].to_string().into_bytes();
    let (index, choice) = device.choose(&bytes("context"), &bytes("actions")).expect("chosen");
    let seconds = case["seconds"].as_u64().expect("seconds");
    let reward = case["reward"].as_f64().expect("a reward");
    let (ledger, report) = device.report(&choice, &[], seconds, reward).expect("reported");
    let status = device.status(&ledger, seconds).expect("read");
    assert_eq!((status.left, status.end), (2, (seconds / 2_592_000 + 1) * 2_592_000));
    case["index"] = index.into();
    case["left"] = status.left.into();
    let files = [
        ("protocol.json", protocol_text.into_bytes()),
        ("model.json", model_text.into_bytes()),
        ("case.json", format!("{:#}\n", case).into_bytes()),
        ("choice.bin", choice),
        ("ledger.bin", ledger),
        ("report.json", report),
    ];
    for (name, bytes) in files {
        expect_file(name, &bytes);
    }
    // What was written is read, and written again.
    let kept = fs::read(folder().join("protocol.json")).expect("written");
    let read: ProtocolPlan = from_json(&kept).expect("read");
    assert_eq!((read.hash(), to_json(&read).into_bytes()), (protocol.hash(), kept));
}

/// Records in every form, and the choices that are made of them: each of one action, so that nothing is drawn.
fn records() -> Vec<(Json, Json)> {
    let nested = |lists: usize, inner: Json| (0..lists).fold(inner, |inner, _| json!([inner]));
    let named =
        |names: usize, inner: Json| (0..names).fold(inner, |inner, _| json!({ "n": inner }));
    let news = || json!({ "topic": "news" });
    vec![
        (json!(null), news()),
        (json!({ "age": 31, "device": "phone" }), news()),
        (json!({ "age": "31", "place.country": "CH" }), json!([{ "x": 1 }, { "topic": "music" }])),
        (json!({ "age": 1e300, "device": true }), json!({ "topic": ["news"] })),
        (json!({ "age": -7, "place": { "country": 0.25 } }), json!({ "topic": "weather" })),
        (json!({ "age": [], "device": {}, "place": [{ "country": "\u{1f600}" }] }), json!(null)),
        (json!("text"), json!(7)),
        // As deep as records are read, and one deeper.
        (nested(15, json!({ "age": 80 })), nested(15, json!({ "topic": "sport" }))),
        (nested(16, json!({ "age": 80 })), nested(16, json!({ "topic": "sport" }))),
        (json!({ "age": nested(14, json!(80)) }), news()),
        (named(15, json!({ "age": 80 })), named(120, news())),
    ]
}

#[test]
fn records_give_the_golden_choices() {
    let protocol = protocol();
    let mut device =
        WebDevice::new(to_json(&protocol).as_bytes(), home(), 2, Keys::new()).expect("a device");
    device.set_model(model(&protocol).as_bytes()).expect("a model");
    let mut made = Vec::new();
    for (context, action) in records() {
        let actions = json!([action]).to_string();
        let (index, choice) =
            device.choose(context.to_string().as_bytes(), actions.as_bytes()).expect("chosen");
        assert_eq!(index, 0);
        let choice: String = choice.iter().map(|byte| format!("{byte:02x}")).collect();
        made.push(json!({ "context": context, "action": action, "choice": choice }));
    }
    let lines: Vec<String> = made.iter().map(Json::to_string).collect();
    let text = format!("[\n{}\n]\n", lines.join(",\n"));
    // The deepest record that is read counts, and the next one does not.
    let choice = |at: usize| made[at]["choice"].clone();
    assert!(choice(7) != choice(8) && choice(8) == choice(6));
    expect_file("records.json", text.as_bytes());
}

/// Bad input is refused by field, and does not repeat what stood in it.
#[test]
fn bad_input_is_refused() {
    let text = to_json(&protocol());
    let device = |text: &[u8], limits, level| WebDevice::new(text, limits, level, Keys::new());
    assert!(device(b"{}", home(), 0).is_err());
    assert!(device(text.as_bytes(), home(), 3).is_err());
    assert!(device(text.as_bytes(), Limits::of("shop"), 0).is_err());
    assert!(device(text.as_bytes(), Limits { epsilon: 0.5, ..home() }, 0).is_err());
    let mut device = device(text.as_bytes(), home(), 0).expect("a device");
    device.set_model(model(&protocol()).as_bytes()).expect("a model");
    for (context, actions, words) in [
        ("{\"secret", "[]", "context: got a text that is not JSON at byte 8"),
        ("null", "{}", "actions: got no list"),
        ("null", "[]", "actions: got []"),
        ("null", "[1", "actions: got a text that is not JSON"),
    ] {
        let error = device.choose(context.as_bytes(), actions.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(words) && !error.contains("secret"), "{error}");
    }
    assert!(device.report(b"choice", &[], 0, 0.5).is_err());
    assert!(device.status(b"ledger", 0).is_err());
}
