//! A device under one ledger: at most k reports a period, whatever happens to the protocol, the clock and the storage.

use std::fmt::Debug;

use serde::de::DeserializeOwned;

use super::*;
use crate::{
    Result,
    bandit::{LocalParams, Rule, Server},
    features::{Encoding, FeaturesParams, Projection, Value},
    randomize::{Levels, Method, ReportParams},
    release::testing::Seeded,
    wire::{Message, from_json, to_json},
};

const NOW: u64 = 1_700_000_000;
const DAY: u64 = 86_400;

fn params() -> ProtocolParams {
    let topics = ["news", "sport"].map(String::from).to_vec();
    let rule = FeaturesParams::new([], [("topic", Encoding::Categories(topics))]);
    let params = ProtocolParams::new("home", rule, (0.0, 1.0), 1.0, 1e-6).unwrap();
    let report = ReportParams {
        levels: Levels::Public(vec![1.0, 4.0]),
        contributions_per_person: 2,
        ..params.report
    };
    ProtocolParams { report, period: Period::Seconds(DAY), ..params }
}

fn actions() -> Vec<Value> {
    ["news", "sport"].iter().map(|topic| Value::from_iter([("topic", *topic)])).collect()
}

/// A device with the first model of its loop, that server, and a choice.
fn started(protocol: &ProtocolPlan) -> Result<(Device<Seeded>, Server, Choice)> {
    let mut server = protocol.local(&protocol.params().report.clone().into())?.server();
    let mut device = Device::new(protocol.clone(), 0, Seeded(1))?;
    assert!(device.choose(&Value::Missing, &actions()).is_err(), "there is no model yet");
    device.set_model(server.publish()?)?;
    let choice = device.choose(&Value::Missing, &actions())?;
    Ok((device, server, choice))
}

#[test]
fn at_most_k_reports_leave_in_a_period() -> Result<()> {
    let protocol = params().check()?;
    let (mut device, mut server, choice) = started(&protocol)?;
    let mut ledger = Ledger::new(&protocol, NOW);
    for left in [1, 0] {
        device.set_level(left)?;
        let (report, next) = device.report(&ledger, NOW, &choice, 1.0)?;
        server.absorb(&report)?;
        // A restart goes on from what was stored.
        ledger = Ledger::load(&next.save())?;
        assert_eq!((ledger.left(&protocol), ledger.reports()), (left as u64, 2 - left as u64));
    }
    assert_eq!(server.reports(), 2);
    let refused = |device: &mut Device<Seeded>, ledger: &Ledger, now| {
        let error = device.report(ledger, now, &choice, 1.0).unwrap_err().to_string();
        assert!(error.starts_with("reports left is 0: at most 2"), "{error}");
    };
    refused(&mut device, &ledger, NOW);
    // A clock that is set back refills nothing; one second before the end neither.
    refused(&mut device, &ledger, NOW - 40 * DAY);
    refused(&mut device, &ledger, ledger.end() - 1);
    let (_, next) = device.report(&ledger, ledger.end(), &choice, 1.0)?;
    assert_eq!((next.reports(), next.end()), (1, ledger.end() + DAY));
    Ok(())
}

/// Two programs that share a storage: the second one's own count is old, and the stored one counts.
#[test]
fn the_stored_ledger_counts_and_not_the_devices_memory() -> Result<()> {
    let protocol = params().check()?;
    let (mut one, _, choice) = started(&protocol)?;
    let (mut two, _, _) = started(&protocol)?;
    let new = Ledger::new(&protocol, NOW);
    let (_, ledger) = one.report(&new, NOW, &choice, 1.0)?;
    let (_, ledger) = two.report(&ledger, NOW, &choice, 0.0)?;
    assert!(one.report(&ledger, NOW, &choice, 1.0).is_err());
    // A transaction that failed was never counted: the same device reports from the older ledger.
    assert!(one.report(&new, NOW, &choice, 1.0).is_ok());
    Ok(())
}

#[test]
fn another_protocol_of_the_loop_counts_on() -> Result<()> {
    let protocol = params().check()?;
    let (mut device, _, choice) = started(&protocol)?;
    let (_, ledger) = device.report(&Ledger::new(&protocol, NOW), NOW, &choice, 1.0)?;
    let mut longer = params();
    longer.period = Period::Seconds(30 * DAY);
    let longer = longer.check()?;
    let (mut other, _, new_choice) = started(&longer)?;
    // A choice under the old protocol is refused, and nothing is counted.
    let error = other.report(&ledger, NOW, &choice, 1.0).unwrap_err().to_string();
    assert!(error.contains("the protocol has changed"), "{error}");
    let (_, next) = other.report(&ledger, NOW, &new_choice, 1.0)?;
    assert_eq!((next.reports(), next.left(&longer)), (2, 0));
    assert!(next.end() >= ledger.end() && next.end() - NOW <= 30 * DAY);
    assert!(other.report(&next, NOW, &new_choice, 1.0).is_err());
    // Back to the old one: nothing is left either.
    assert!(device.report(&next, NOW, &choice, 1.0).is_err());
    // A ledger without an end is kept for ever.
    let mut ever = params();
    ever.period = Period::Ever;
    let ever = ever.check()?;
    let kept = ledger.at(&ever, NOW)?;
    assert_eq!((kept.reports(), kept.end()), (1, u64::MAX));
    assert_eq!(kept.at(&protocol, NOW + 365 * DAY)?.reports(), 1);
    // Another loop's ledger is not this one's.
    let mut shop = params();
    shop.name = "shop".into();
    let error = ledger.at(&shop.check()?, NOW).unwrap_err().to_string();
    assert!(error.starts_with("ledger is of loop \"home\""), "{error}");
    Ok(())
}

#[test]
fn errors_count_nothing_and_damaged_states_are_refused() -> Result<()> {
    let protocol = params().check()?;
    let (mut device, _, choice) = started(&protocol)?;
    let ledger = Ledger::new(&protocol, NOW);
    assert!(device.report(&ledger, NOW, &choice, f64::NAN).is_err());
    assert!(device.set_level(2).is_err() && device.level() == 0);
    let foreign = started(&ProtocolParams { name: "shop".into(), ..params() }.check()?)?;
    assert!(device.set_model(foreign.0.model().cloned().unwrap()).is_err());
    assert_eq!(device.model().map(|model| model.sequence()), Some(0));
    let (_, next) = device.report(&ledger, NOW, &choice, 0.5)?;
    assert_eq!(next.reports(), 1);
    assert_eq!(Choice::load(&choice.save())?, choice);
    for (bytes, read) in [
        (next.save(), (|bytes| Ledger::load(bytes).is_ok()) as fn(&[u8]) -> bool),
        (choice.save(), |bytes| Choice::load(bytes).is_ok()),
    ] {
        assert!((0..bytes.len()).all(|length| !read(&bytes[..length])));
        let flipped = |at: usize| {
            let mut flipped = bytes.clone();
            flipped[at] ^= 4;
            flipped
        };
        assert!((0..bytes.len()).all(|at| !read(&flipped(at))));
    }
    Ok(())
}

/// What little code accepts of a damaged message is what the other reader makes of it, and every message that is written is accepted.
#[test]
fn little_code_reads_the_same_messages() -> Result<()> {
    let methods = [
        Method::GramGaussian { split: 0.5 },
        Method::UnitGram,
        Method::UnitPair,
        Method::RewardGaussian,
        Method::RewardResponse,
    ];
    let mut changed = params();
    changed.features.context.insert("a.b".into(), Encoding::Range(-1.0, 2.5));
    changed.features.action.insert("word".into(), Encoding::Hash { buckets: 3 });
    changed.features.cross.with = vec![vec!["a.b".into(), "topic".into()]];
    let dimension = changed.features.check()?.dimension() - 1;
    changed.features.projection = Some(Projection { dimension, seed: (1 << 53) - 1 });
    let plan = changed.features.check()?;
    changed.report.bounds.dimension = dimension;
    changed.report.bounds.intercept = plan.constant();
    changed.report.public_arms = true;
    changed.period = Period::Ever;
    let mut protocols = vec![params().check()?];
    for method in methods {
        let report = ReportParams { method: Some(method), ..changed.report.clone() };
        protocols.push(ProtocolParams { report, ..changed.clone() }.check()?);
    }
    let shares = vec![0.25, 0.75];
    changed.report.levels = Levels::Hidden { epsilons: vec![1.0, 2.0], shares };
    changed.period = Period::Seconds(1 << 60);
    protocols.push(changed.check()?);
    let mut models = Vec::new();
    for rule in [Rule::default(), Rule::THOMPSON] {
        let report = protocols[0].params().report.clone();
        let params = LocalParams { rule, ..LocalParams::from(report) };
        let mut server = protocols[0].local(&params)?.server();
        models.push(server.publish()?);
    }
    for protocol in &protocols {
        alike(to_json(protocol).as_bytes(), little::protocol);
    }
    for model in &models {
        alike(to_json(model).as_bytes(), little::model);
    }
    // Randomisers that devices do not have are refused where a protocol is made.
    let report = ReportParams { method: Some(Method::TriangleGaussian), ..params().report };
    let error = ProtocolParams { report, ..params() }.check().unwrap_err().to_string();
    assert!(error.starts_with("method is triangle_gaussian: devices"), "{error}");
    Ok(())
}

fn alike<M: Message + DeserializeOwned + PartialEq + Debug>(
    text: &[u8],
    little: fn(&[u8]) -> Result<M>,
) {
    assert_eq!(little(text).unwrap(), from_json::<M>(text).unwrap());
    let check = |damaged: &[u8]| {
        if let Ok(message) = little(damaged) {
            assert_eq!(
                Ok(message),
                from_json::<M>(damaged),
                "{}",
                String::from_utf8_lossy(damaged)
            );
        }
    };
    for at in (0..text.len()).step_by(3) {
        assert!(little(&text[..at]).is_err());
        for byte in [b' ', b'"', b'1', b',', b'e'] {
            let mut damaged = text.to_vec();
            damaged[at] = byte;
            check(&damaged);
        }
    }
    let words = String::from_utf8_lossy(text);
    for (from, to) in [
        ("\"kind\"", "\"version\""),
        (",\"version\":", ",\"version\":1,\"version\":"),
        ("\"features\"", "\"colour\":1,\"features\""),
        ("\"guide\"", "\"colour\":1,\"guide\""),
        ("\"blocks\":1", "\"blocks\":1,\"blocks\":1"),
    ] {
        if words.contains(from) {
            assert!(little(words.replacen(from, to, 1).as_bytes()).is_err(), "{from}");
        }
    }
}
