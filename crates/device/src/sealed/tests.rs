//! A sealed report is read by one key, under one name, and has one length; and a device seals only reports that it has priced and counted.

use crate::{Ledger, Limits, ShuffledProtocol};
use reticent::{
    bandit::{Aggregation, ShuffleParams, ShufflePlan},
    features::{Encoding, FeaturesParams, Value},
    noise::SecureNoise,
    randomize::Bounds,
    wire::to_json,
};
use serde_json::{Value as Json, json};

use super::*;

fn subject() -> Subject {
    Subject { loop_name: "news".into(), protocol: [7; 32], values: 3 }
}

fn key(byte: u8) -> SealKey {
    SealKey::of_secret(&[byte; 32])
}

fn system() -> SecureNoise {
    SecureNoise::from_system().unwrap()
}

#[test]
fn a_report_is_read_by_its_own_key_loop_protocol_and_id_alone() {
    let (subject, key_one) = (subject(), key(1));
    let values = [0.25, -1.0, f64::MIN_POSITIVE];
    let envelope = subject.seal(&mut system(), key_one.public(), 7, &values).unwrap();
    let bytes = envelope.bytes();
    assert_eq!(bytes.len(), subject.length());
    let read = subject.read(&bytes).unwrap();
    assert_eq!((read.clone(), read.model), (envelope.clone(), 7));
    assert_eq!(subject.open(&key_one, read.id, &read.sealed).unwrap()[..], values);
    // What is bound.
    let mut other_id = read.id;
    other_id[0] ^= 1;
    assert_eq!(subject.open(&key_one, other_id, &read.sealed), None);
    assert_eq!(subject.open(&key(2), read.id, &read.sealed), None);
    let other_loop = Subject { loop_name: "shop".into(), ..subject.clone() };
    assert_eq!(other_loop.open(&key_one, read.id, &read.sealed), None);
    let other_protocol = Subject { protocol: [1; 32], ..subject.clone() };
    assert_eq!(other_protocol.open(&key_one, read.id, &read.sealed), None);
    for index in 0..read.sealed.len() {
        let mut changed = read.sealed.clone();
        changed[index] ^= 1;
        assert_eq!(subject.open(&key_one, read.id, &changed), None, "{index}");
    }
    // The number of the model stands outside, and is bound through the id.
    let newer = subject.read(&Envelope { model: 8, ..read.clone() }.bytes()).unwrap();
    assert_eq!((newer.model, newer.sealed == read.sealed), (8, true));
    assert_ne!(newer.id, read.id);
    assert_eq!(subject.open(&key_one, newer.id, &newer.sealed), None);
    // The same report sealed again has nothing in common with the first one but its length.
    let again = subject.seal(&mut system(), key_one.public(), 7, &values).unwrap();
    assert!(again.id != envelope.id && again.sealed != envelope.sealed);
    assert!(again.sealed[..32] != envelope.sealed[..32], "a new key for every report");
    assert_eq!(again.bytes().len(), bytes.len());
}

#[test]
fn foreign_and_damaged_envelopes_are_refused() {
    let (subject, key_one) = (subject(), key(1));
    let bytes = subject.seal(&mut system(), key_one.public(), 7, &[0.0; 3]).unwrap().bytes();
    for length in 0..bytes.len() {
        assert!(subject.read(&bytes[..length]).is_err(), "{length}");
    }
    let refused = |index: usize| {
        let mut changed = bytes.clone();
        changed[index] ^= 1;
        subject.read(&changed).unwrap_err().to_string()
    };
    assert!(refused(0).starts_with("report: got "));
    for index in 1..33 {
        assert!(refused(index).starts_with("protocol: got "), "{index}");
    }
    assert!(subject.read(&[bytes.clone(), vec![0]].concat()).is_err());
    assert!(subject.seal(&mut system(), key_one.public(), 7, &[0.0; 2]).is_err());
    assert!(PublicKey::parse("00").is_err());
    let parsed = PublicKey::parse(&key_one.public().text()).unwrap();
    assert_eq!(&parsed, key_one.public());
    // A point of small order: the secret would be public.
    let weak = PublicKey::parse(&"00".repeat(32)).unwrap();
    let error = subject.seal(&mut system(), &weak, 7, &[0.0; 3]).unwrap_err().to_string();
    assert!(error.starts_with("public_key: got \"0000"), "{error}");
}

/// A loop of one feature with a shuffler.
struct World {
    features: FeaturesParams,
    plan: ShufflePlan,
    sealing: Json,
}

impl World {
    fn new(aggregation: Aggregation, visits: u64) -> Self {
        let features = FeaturesParams::new([], [("price", Encoding::Range(0.0, 1.0))]);
        let rule = features.check().unwrap();
        let bounds = Bounds { intercept: rule.constant(), ..Bounds::unit(rule.dimension()) };
        let params = ShuffleParams {
            honest: Some(500),
            contributions_per_person: visits,
            ..ShuffleParams::new(bounds, 1.0, 1e-6, 1000, aggregation)
        };
        let plan = params.check().unwrap();
        let mut world = World { features, plan, sealing: Json::Null };
        let summed = world.protocol().summed;
        world.sealing = json!({
            "loop": "news",
            "mode": if summed { "sum" } else { "sealed" },
            "public_key": if summed { Json::Null } else { json!(key(1).public().text()) },
            "protocol": hex(&protocol_hash(&world.protocol())),
            "generation": format!("{:016x}", world.protocol().params_hash),
            "values": world.plan.report_length(),
            "batch": 1000,
            "honest": 500,
            "features": world.features,
        });
        world
    }

    fn protocol(&self) -> ShuffledProtocol<'_> {
        ShuffledProtocol {
            name: "news",
            features: &self.features,
            reports: self.plan.local().reports(),
            params_hash: 0xfedc_ba98_7654_3210,
            batch: 1000,
            honest: 500,
            summed: self.plan.params().aggregation == Aggregation::Sum,
        }
    }

    fn shuffler(&self) -> Json {
        let own = self.sealing["public_key"].as_str().map(str::to_string);
        let key = own.unwrap_or_else(|| key(2).public().text());
        json!({ "public_key": key, "protocol": self.sealing["protocol"] })
    }

    fn join(&self, sealing: &Json, limits: Limits) -> reticent::Result<SealedDevice<SecureNoise>> {
        self.join_through(sealing, &self.shuffler(), limits)
    }

    fn join_through(
        &self,
        sealing: &Json,
        shuffler: &Json,
        limits: Limits,
    ) -> reticent::Result<SealedDevice<SecureNoise>> {
        let plan = to_json(self.plan.local().reports());
        let answers = [sealing, shuffler].map(|answer| answer.to_string().into_bytes());
        let answers = answers.each_ref().map(Vec::as_slice);
        SealedDevice::new(plan.as_bytes(), answers, limits, system())
    }

    fn device(&self) -> SealedDevice<SecureNoise> {
        let mut device = self.join(&self.sealing, limits()).unwrap();
        device.set_model(self.plan.local().server().publish().unwrap()).unwrap();
        device
    }
}

fn limits() -> Limits {
    Limits { epsilon: 1.0, delta: 1e-6, ..Limits::of("news") }
}

#[test]
fn a_device_seals_a_counted_report_to_its_reader() {
    for (aggregation, visits) in [(Aggregation::Permute, 1), (Aggregation::Sum, 3)] {
        let world = World::new(aggregation, visits);
        let mut device = world.device();
        let opener = if aggregation == Aggregation::Sum { key(2) } else { key(1) };
        let mut ledger: Option<Ledger> = None;
        for left in (0..visits).rev() {
            let actions = ["0", "1"].map(|price| Value::from_iter([("price", price)]));
            let choice = device.choose(&Value::Missing, &actions).unwrap();
            let (sealed, counted) = device.report(ledger.as_ref(), 0, &choice, 1.0).unwrap();
            assert_eq!((counted.left(), sealed.len()), (left, device.subject().length()));
            let envelope = device.subject().read(&sealed).unwrap();
            assert_eq!(envelope.protocol, protocol_hash(&world.protocol()));
            assert_eq!((envelope.model, envelope.key_id), (0, opener.public().id()));
            let values = device.subject().open(&opener, envelope.id, &envelope.sealed).unwrap();
            world.plan.check_values(&values).unwrap();
            ledger = Some(counted);
        }
        let choice = device.choose(&Value::Missing, &[Value::Missing]).unwrap();
        let refused = device.report(ledger.as_ref(), 0, &choice, 1.0).unwrap_err().to_string();
        assert!(refused.starts_with("reports left: got 0"), "{refused}");
        // A device that is made anew goes on with the stored count.
        let stored = Ledger::load(&ledger.unwrap().save()).unwrap();
        assert_eq!(world.device().ledger(Some(&stored), 0).unwrap().left(), 0);
        assert_eq!(world.device().ledger(None, 0).unwrap().left(), visits);
    }
}

#[test]
fn what_a_server_says_is_priced_and_compared() {
    for aggregation in [Aggregation::Permute, Aggregation::Sum] {
        let world = World::new(aggregation, 1);
        let refused = |change: &dyn Fn(&mut Json), limits: Limits| {
            let mut sealing = world.sealing.clone();
            change(&mut sealing);
            world.join(&sealing, limits).unwrap_err().to_string()
        };
        for (field, value, words) in [
            ("batch", json!(900), "epsilon: got 1."),
            ("batch", json!(2000), "protocol: got "),
            ("honest", json!(400), "epsilon: got 1."),
            ("honest", json!(600), "protocol: got "),
            ("generation", json!("0000000000000001"), "protocol: got "),
            ("protocol", json!("00".repeat(32)), "protocol: got \"0000"),
            ("protocol", json!("00"), "protocol: got nothing or another form"),
            ("features", json!({}), "context: got nothing or another form"),
            ("batch", json!("many"), "batch: got nothing or another form"),
            ("honest", Json::Null, "honest: got nothing or another form"),
            ("generation", json!("x"), "generation: got nothing or another form"),
            ("mode", json!("open"), "mode: got nothing or another form"),
        ] {
            let error = refused(&|sealing| sealing[field] = value.clone(), limits());
            assert!(error.starts_with(words), "{field}: {error}");
        }
        let unchanged = |_: &mut Json| {};
        let error = refused(&unchanged, Limits { epsilon: 0.9, ..limits() });
        assert!(error.starts_with("epsilon: got "), "{error}");
        let error = refused(&unchanged, Limits { name: "shop".into(), ..limits() });
        assert!(error.starts_with("protocol: got "), "{error}");
        let error = refused(&|sealing| *sealing = json!([]), limits());
        assert!(error.starts_with("sealing: got "), "{error}");
    }
}

/// A server could give every device a key or a protocol of its own: the shuffler's answer shows it before a report is counted.
#[test]
fn a_shuffler_that_knows_another_protocol_or_key_than_the_server_tells_is_refused() {
    for aggregation in [Aggregation::Permute, Aggregation::Sum] {
        let world = World::new(aggregation, 1);
        let join = |answer: Json| world.join_through(&world.sealing, &answer, limits());
        join(world.shuffler()).unwrap();
        let mut other = world.shuffler();
        other["protocol"] = json!("11".repeat(32));
        let error = join(other).unwrap_err().to_string();
        assert!(
            error.starts_with("protocol: got \"1111") && error.contains("same file"),
            "{error}"
        );
        for unreadable in [json!({}), json!([]), json!({ "public_key": "zz", "protocol": "" })] {
            assert!(join(unreadable).is_err());
        }
        let mut other = world.shuffler();
        other["public_key"] = json!(key(3).public().text());
        let joined = join(other);
        match aggregation {
            // It names its own key, and the server none.
            Aggregation::Sum => drop(joined.unwrap()),
            _ => {
                let error = joined.unwrap_err().to_string();
                let named = world.sealing["public_key"].as_str().unwrap();
                assert!(
                    error.starts_with(&format!("public_key: got {named:?}; the shuffler knows"))
                );
            }
        }
    }
}

/// Whatever a server or a shuffler answers, it is read as itself or refused.
#[test]
fn damaged_answers_are_refused_and_end_nothing() {
    let world = World::new(Aggregation::Sum, 1);
    let (sealing, shuffler) = (world.sealing.to_string(), world.shuffler().to_string());
    let read = Sealing::read(sealing.as_bytes()).unwrap();
    assert_eq!((read.summed(), &read.features), (true, &world.features));
    for text in [sealing, shuffler] {
        for at in 0..text.len() {
            let cut = &text.as_bytes()[..at];
            assert!(Sealing::read(cut).is_err() && ShufflerSealing::read(cut).is_err());
            for byte in [0, b' ', b'"', b'1', b'-', b'e', b'}', 0xff] {
                let mut damaged = text.as_bytes().to_vec();
                damaged[at] = byte;
                let _ = (Sealing::read(&damaged), ShufflerSealing::read(&damaged));
            }
        }
    }
}
