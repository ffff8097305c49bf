//! Reports that another program has made, of two neighbouring people: a page's, another language's, a build with other flags. The message is attacked as it
//! left that program, whatever noise it drew from.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use reticent::{randomize::Report, refuse_if};
use reticent_device::ProtocolPlan;

use super::{Attack, DataSet, Test, View, local::seen};
use crate::Result;

/// Reports of each person, at least: fewer teach a test nothing.
const LEAST: u64 = 4000;

/// The attack on these reports under their protocol. Each report is used once: to learn the test, to choose its threshold, or for the bound.
///
/// A violation is not confirmed with other noise, because there are no other reports: run it with the confidence that the verdict is to have.
pub fn attack(protocol: &ProtocolPlan, first: &[Report], second: &[Report]) -> Result<Attack> {
    let params = protocol.params();
    let checker = protocol.local(&params.report.clone().into())?.server();
    for report in first.iter().chain(second) {
        checker.check_report(report)?;
    }
    let count = first.len().min(second.len()) as u64;
    let remedy = format!("expected at least {LEAST} reports of each of the two people");
    refuse_if(count < LEAST, "reports", count, remedy)?;
    let level = first[0].level();
    let mixed = first.iter().chain(second).any(|report| report.level() != level);
    refuse_if(mixed, "level", "several", "expected reports of one level")?;
    let guarantee = match level {
        Some(level) => protocol.reports().guarantee(level)?,
        None => protocol.reports().guarantee_at_any_level()?,
    };
    let values = |reports: &[Report]| -> Arc<[Vec<f64>]> {
        reports.iter().map(|report| seen(protocol.reports().method(), report.values())).collect()
    };
    let neighbours = (values(first), values(second));
    let samples = bounding(count, neighbours.0[0].len());
    let adversary = format!(
        "the server sees one of {count} reports of each of two people, made by another program; learned test"
    );
    let attack = Attack::new(adversary, &guarantee, samples, move || {
        let (neighbours, next) = (neighbours.clone(), [AtomicUsize::new(0), AtomicUsize::new(0)]);
        let view: View = Box::new(move |data: DataSet, _| {
            let at = next[data as usize].fetch_add(1, Ordering::Relaxed);
            let given = data.pick((&*neighbours.0, &*neighbours.1)).get(at);
            let missing = || reticent::Error::invalid("reports", at, "expected more of them");
            Ok(given.cloned().ok_or_else(missing)?)
        });
        Ok((view, Test::Linear { difference: None }))
    });
    Ok(attack.between(samples, samples))
}

/// Number of reports that the bound is computed from, of this number: one is looked at first, a quarter as many choose the threshold, and the rest teaches the test.
fn bounding(count: u64, numbers: usize) -> u64 {
    let test = Test::Linear { difference: None };
    let used =
        |samples: u64| 1 + samples + (samples / 4).max(100) + test.training(samples, numbers);
    (0..=count).rev().find(|samples| used(*samples) <= count).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use reticent::{
        features::{Encoding, FeaturesParams, Value},
        randomize::{Levels, ReportParams},
    };
    use reticent_device::{Device, Ledger, Limits, ProtocolParams};

    use super::*;
    use crate::{
        FastNoise,
        audit::attack::{AuditOptions, Verdict},
    };

    fn protocol() -> ProtocolPlan {
        let topics = ["news", "sport"].map(String::from).to_vec();
        let rule = FeaturesParams::new([], [("topic", Encoding::Categories(topics))]);
        let params = ProtocolParams::new("home", rule, (0.0, 1.0), 1.0, 1e-6).unwrap();
        let levels = Levels::Public(vec![1.0, 4.0]);
        let report = ReportParams { levels, ..params.report };
        ProtocolParams { report, ..params }.check().unwrap()
    }

    /// Reports of new installations, each of which visits once.
    fn reports(protocol: &ProtocolPlan, level: usize, topic: &str, reward: f64) -> Vec<Report> {
        let noise = FastNoise::seeded(level as u64 + reward.to_bits());
        let mut device = Device::new(protocol.clone(), Limits::of("home"), level, noise).unwrap();
        let params = protocol.params().report.clone().into();
        device.set_model(protocol.local(&params).unwrap().server().publish().unwrap()).unwrap();
        let action = Value::from_iter([("topic", topic)]);
        let choice = device.choose(&Value::Missing, &[action]).unwrap();
        let new = Ledger::new(protocol, 0);
        let report = |_| device.report(&new, 0, &choice, reward).unwrap().0;
        (0..20_000).map(report).collect()
    }

    fn verdict(attack: &Attack) -> (Verdict, f64) {
        // The false-alarm rate of a verdict.
        let options = AuditOptions { confidence: 1.0 - 1e-6, ..AuditOptions::default() };
        let audits = attack.run("reports", &options).unwrap();
        (audits[0].verdict, audits[0].epsilon_lower_bound)
    }

    #[test]
    fn reports_of_another_program_are_attacked_against_their_own_certificate() {
        let protocol = protocol();
        let pair = |level| {
            (reports(&protocol, level, "news", 1.0), reports(&protocol, level, "sport", 0.0))
        };
        let (first, second) = pair(0);
        let (found, bound) = verdict(&attack(&protocol, &first, &second).unwrap());
        assert_eq!(found, Verdict::Consistent);
        assert!(bound > 0.3, "the attack has power: {bound}");
        // Planted: the noise of epsilon 4 under the name of epsilon 1.
        let renamed = |reports: Vec<Report>| -> Vec<Report> {
            let text = |report| reticent::wire::to_json(&report);
            let rename = |text: String| text.replacen("\"level\":1", "\"level\":0", 1);
            reports
                .into_iter()
                .map(|report| reticent::wire::from_json(rename(text(report))).unwrap())
                .collect()
        };
        let (first, second) = pair(1);
        let (first, second) = (renamed(first), renamed(second));
        let (found, bound) = verdict(&attack(&protocol, &first, &second).unwrap());
        assert_eq!(found, Verdict::Violated);
        assert!(bound > 1.5, "{bound}");
    }

    #[test]
    fn too_few_reports_and_those_of_several_levels_or_protocols_are_refused() {
        let protocol = protocol();
        let (first, second) =
            (reports(&protocol, 0, "news", 1.0), reports(&protocol, 1, "news", 1.0));
        let refusal = |first: &[Report], second: &[Report]| {
            attack(&protocol, first, second).unwrap_err().to_string()
        };
        assert!(
            refusal(&first[..100], &first).starts_with("reports: got 100; expected at least 4000")
        );
        assert!(refusal(&first, &second).starts_with("level: got several"));
        let other = ProtocolParams { name: "shop".into(), ..protocol.params().clone() };
        assert!(attack(&other.check().unwrap(), &first, &first).is_err());
        assert!((4000..30_000).all(|count| {
            let samples = bounding(count, 12);
            samples >= 1000 && samples <= count / 5 * 4
        }));
    }
}
