//! A device under one ledger: at most k reports a period, whatever happens to the protocol, the clock and the storage.

use std::fmt::Debug;

use serde::de::DeserializeOwned;

use super::*;
use crate::testing::Seeded;
use reticent::{
    Result,
    bandit::{Aggregation, LocalParams, Rule, Server, ShuffleParams},
    features::{Encoding, FeaturesParams, Projection, Value, Weighting},
    randomize::{Bounds, Levels, Method, ReportParams},
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

/// The device of a person who asked for this very loop.
fn device(protocol: &ProtocolPlan) -> Result<Device<Seeded>> {
    let limits = Limits::of(&protocol.params().name);
    Device::new(protocol.clone(), limits, 0, Seeded(1))
}

/// A device with the first model of its loop, that server, and a choice.
fn started(protocol: &ProtocolPlan) -> Result<(Device<Seeded>, Server, Choice)> {
    let mut server = protocol.local(&protocol.params().report.clone().into())?.server();
    let mut device = device(protocol)?;
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
        assert_eq!((ledger.left(), ledger.reports()), (left as u64, 2 - left as u64));
    }
    assert_eq!(server.reports(), 2);
    let refused = |device: &mut Device<Seeded>, ledger: &Ledger, now| {
        let error = device.report(ledger, now, &choice, 1.0).unwrap_err().to_string();
        assert!(error.starts_with("reports left: got 0; at most 2"), "{error}");
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
    assert_eq!((next.reports(), next.left()), (2, 0));
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
    assert!(error.starts_with("ledger: got one of loop \"home\""), "{error}");
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

/// Little code accepts of damaged messages only those that the other reader reads as the same value, and every message that is written.
#[test]
fn little_code_reads_the_same_messages() -> Result<()> {
    let methods = [Method::GramGaussian { split: 0.5 }, Method::UnitGram, Method::UnitPair];
    let mut changed = params();
    changed.features.context.insert("a.b".into(), Encoding::Range(-1.0, 2.5));
    changed.features.action.insert("word".into(), Encoding::Hash { buckets: 3 });
    changed.features.cross.with = vec![vec!["a.b".into(), "topic".into()]];
    let dimension = changed.features.check()?.dimension() - 1;
    changed.features.projection = Some(Projection { dimension, seed: (1 << 53) - 1 });
    let plan = changed.features.check()?;
    changed.report.bounds.dimension = dimension;
    changed.report.bounds.intercept = plan.constant();
    changed.period = Period::Ever;
    let mut protocols = vec![params().check()?];
    let mut grouped = changed.clone();
    grouped.features.weighting = Weighting::Groups;
    grouped.features.projection = None;
    let plan = grouped.features.check()?;
    grouped.report.bounds.dimension = plan.dimension();
    grouped.report.bounds.intercept = plan.constant();
    protocols.push(grouped.check()?);
    assert!(to_json(&protocols[1]).contains("\"weighting\":\"groups\""));
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
    for aggregation in [Aggregation::Sum, Aggregation::Permute] {
        let params = ShuffleParams::new(Bounds::unit(3), 1.0, 1e-6, 100, aggregation).check()?;
        alike(to_json(params.local().reports()).as_bytes(), little::report_plan);
    }
    Ok(())
}

/// Nothing of the features leaves a device as it is: not where a protocol is made, and not where a server's message asks for it.
#[test]
fn protocols_that_would_show_features_are_refused() -> Result<()> {
    let sound = to_json(&params().check()?);
    let method = serde_json::to_string(&params().check()?.params().report.method).unwrap();
    for (name, method_of_it) in [
        ("triangle_gaussian", Method::TriangleGaussian),
        ("reward_gaussian", Method::RewardGaussian),
        ("reward_response", Method::RewardResponse),
    ] {
        let report = ReportParams { method: Some(method_of_it), ..params().report };
        let error = ProtocolParams { report, ..params() }.check().unwrap_err().to_string();
        assert!(error.starts_with(&format!("method: got {name}; devices")), "{error}");
        // The hash in the message is not looked at before.
        let asked = sound.replacen(&method, &format!("\"{name}\""), 1);
        assert_ne!(asked, sound);
        let error = from_json::<ProtocolPlan>(&asked).unwrap_err().to_string();
        assert!(error.contains(&format!("method: got {name}")), "{error}");
        assert!(little::protocol(asked.as_bytes()).is_err());
    }
    let report = ReportParams { public_arms: true, ..params().report };
    let error = ProtocolParams { report, ..params() }.check().unwrap_err().to_string();
    assert!(error.starts_with("public_arms: got true; a device's features"), "{error}");
    let asked = sound.replacen("\"public_arms\":false", "\"public_arms\":true", 1);
    assert_ne!(asked, sound);
    for error in [
        from_json::<ProtocolPlan>(&asked).unwrap_err(),
        little::protocol(asked.as_bytes()).unwrap_err(),
    ] {
        assert!(error.to_string().contains("public_arms: got true"), "{error}");
    }
    Ok(())
}

/// A server that names another loop, or asks for more than the person accepts, gets no device.
#[test]
fn protocols_and_levels_beyond_the_persons_limits_are_refused() -> Result<()> {
    let protocol = params().check()?;
    let of = |limits: Limits, level| Device::new(protocol.clone(), limits, level, Seeded(1));
    assert!(of(Limits::of("home"), 1).is_ok());
    let home = || Limits::of("home");
    for (limits, words) in [
        (Limits::of("shop"), "loop: got \"home\"; it is not the loop that was asked for"),
        (Limits { delta: 1e-7, ..home() }, "delta: got 0.000001; expected at most 0.0000001"),
        (Limits { reports: 1, ..home() }, "visits: got 2; expected at most 1"),
        (Limits { period: DAY + 1, ..home() }, "period: got 86400; expected at least 86401"),
        (Limits { epsilon: 3.0, ..home() }, "epsilon: got 4; expected at most 3"),
        (Limits { epsilon: f64::NAN, ..home() }, "epsilon: got 4; expected at most NaN"),
    ] {
        let error = of(limits, 1).unwrap_err().to_string();
        assert!(error.starts_with(words), "{error}");
    }
    // The levels that are left may be chosen, and no other later on.
    let mut cautious = of(Limits { epsilon: 3.0, ..home() }, 0)?;
    let error = cautious.set_level(1).unwrap_err().to_string();
    assert!(error.starts_with("epsilon: got 4; expected at most 3"), "{error}");
    assert_eq!(cautious.level(), 0);
    // Without an end there is no shorter period.
    let ever = ProtocolParams { period: Period::Ever, ..params() }.check()?;
    let limits = Limits { period: u64::MAX, ..home() };
    assert!(Device::new(ever, limits, 0, Seeded(1)).is_ok());
    Ok(())
}

/// Whatever k and period a server names next: the smallest k of a running period counts, and the period does not end earlier.
#[test]
fn neither_a_larger_k_nor_a_shorter_period_gives_more_reports() -> Result<()> {
    let of = |visits: u64, period: u64| {
        // The best method for many reports would have another kind of noise.
        let method = Some(Method::UnitPair);
        let report = ReportParams { method, contributions_per_person: visits, ..params().report };
        ProtocolParams { report, period: Period::Seconds(period), ..params() }.check()
    };
    let (two, many) = (of(2, 30 * DAY)?, of(100, DAY)?);
    let (mut device, _, choice) = started(&two)?;
    let (mut other, _, changed) = started(&many)?;
    let (_, ledger) = device.report(&Ledger::new(&two, NOW), NOW, &choice, 1.0)?;
    let end = ledger.end();
    let (_, ledger) = other.report(&ledger, NOW, &changed, 1.0)?;
    assert_eq!((ledger.most(), ledger.left(), ledger.end()), (2, 0, end));
    let ledger = Ledger::load(&ledger.save())?;
    for moment in [NOW, NOW + DAY, end - 1] {
        let error = other.report(&ledger, moment, &changed, 1.0).unwrap_err().to_string();
        assert!(error.starts_with("reports left: got 0; at most 2"), "{error}");
        // A message of the first protocol's hash that names a larger k is no way around it.
        assert_eq!(ledger.at(&two, moment)?.left(), 0);
    }
    // The other way round: a smaller k counts what was made under the larger one.
    let (_, ledger) = other.report(&Ledger::new(&many, NOW), NOW, &changed, 1.0)?;
    let (_, ledger) = other.report(&ledger, NOW, &changed, 1.0)?;
    assert_eq!(ledger.at(&two, NOW)?.left(), 0);
    assert!(device.report(&ledger, NOW, &choice, 1.0).is_err());
    Ok(())
}

/// Reports of each kind of noise could use up the limits by themselves.
#[test]
fn another_kind_of_noise_gets_no_reports_in_a_period_with_reports() -> Result<()> {
    let of = |method: Method| {
        let report = ReportParams { method: Some(method), ..params().report };
        ProtocolParams { report, ..params() }.check()
    };
    let (pure, gaussian) = (of(Method::UnitPair)?, of(Method::GramGaussian { split: 0.5 })?);
    let other_pure = of(Method::UnitGram)?;
    for (first, second) in [(&pure, &gaussian), (&gaussian, &pure)] {
        let (mut device, _, choice) = started(first)?;
        let (mut other, _, changed) = started(second)?;
        let new = Ledger::new(first, NOW);
        // Where nothing was reported yet, the next protocol decides.
        assert_eq!(new.at(second, NOW)?.at(first, NOW)?.left(), 2);
        let (_, ledger) = device.report(&new, NOW, &choice, 1.0)?;
        let ledger = Ledger::load(&ledger.save())?;
        assert_eq!(ledger.at(second, NOW)?.left(), 0);
        let error = other.report(&ledger, NOW, &changed, 1.0).unwrap_err().to_string();
        assert!(error.starts_with("reports left: got 0"), "{error}");
        // Back to the first kind the count goes on, and with the next period everything begins anew.
        assert_eq!(ledger.at(first, NOW)?.left(), 1);
        assert!(other.report(&ledger, ledger.end(), &changed, 1.0).is_ok());
    }
    let (mut device, _, choice) = started(&pure)?;
    let (_, ledger) = device.report(&Ledger::new(&pure, NOW), NOW, &choice, 1.0)?;
    assert_eq!(ledger.at(&other_pure, NOW)?.left(), 1, "of the same kind");
    Ok(())
}

/// Periods end at multiples of their length, which a server chooses: by a length of now and two seconds, a period of decades ends in two seconds.
#[test]
fn a_period_that_ends_at_once_gives_no_more_reports() -> Result<()> {
    let of = |length: u64| ProtocolParams { period: Period::Seconds(length), ..params() }.check();
    let (one, two) = (of(NOW + 2)?, of(NOW + 4)?);
    let (mut device, _, choice) = started(&one)?;
    let (mut other, _, changed) = started(&two)?;
    let mut ledger = Ledger::new(&one, NOW);
    assert_eq!(ledger.end(), NOW + 2);
    for _ in 0..2 {
        (_, ledger) = device.report(&ledger, NOW, &choice, 1.0)?;
    }
    assert_eq!((ledger.left(), ledger.end()), (0, NOW + Limits::PERIOD));
    let error = other.report(&ledger, NOW + 3, &changed, 1.0).unwrap_err().to_string();
    assert!(error.starts_with("reports left: got 0"), "{error}");
    assert!(other.report(&ledger, NOW + Limits::PERIOD, &changed, 1.0).is_ok());
    Ok(())
}

/// Logs and panics show no features.
#[test]
fn a_choice_prints_no_features() -> Result<()> {
    let (_, _, choice) = started(&params().check()?)?;
    let shown = format!("{choice:?}");
    assert!(shown.starts_with("Choice { model: 0, index: "), "{shown}");
    assert!(!shown.contains("features") && !shown.contains('['), "{shown}");
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
