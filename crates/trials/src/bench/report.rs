//! The reports of devices that are measured: d = 16, as a device makes them.

use std::sync::Arc;

use reticent::{features::Value, noise::SecureNoise, wire};

use reticent_server::{
    Error, Result,
    config::{DeviceLearner, ReportsPlan, ServiceFile},
};

/// Different reports; each has a name of its own when it is sent.
const MADE: usize = 64;

/// Its name.
pub(super) const NAME: &str = "devices";

/// The loop whose people's devices add the noise: 16 coordinates.
pub(super) const LOOP: &str = r#"
    [loop.devices]
    trust = "device"
    privacy = { epsilon = 2.0, delta = 1e-6, visits = 1, per = "ever" }
    learner = { tick = "10 minutes" }
    [loop.devices.context]
    age = { range = [18, 80] }
    device = { categories = ["phone", "computer"] }
    hour = { range = [0, 24] }
    [loop.devices.action]
    length = { range = [0, 60] }
    topic = { categories = ["news", "sport", "music", "science"] }
    [loop.devices.cross]
    with = [["age", "topic"], ["device", "length"]]
"#;

/// Reports before and after their names. A device has made each of them, and what takes long of it is done before the measurement.
#[derive(Clone, Copy)]
pub(super) struct Reports(&'static [(String, String)]);

impl Reports {
    /// Makes them under the first model.
    pub(super) fn make() -> Result<Self> {
        let plan = plan()?;
        let DeviceLearner::Local { protocol, plan } = &plan.learner else {
            return Err(Error::invalid(
                "trust",
                "shuffler",
                "figures are for reports to the server",
            ));
        };
        let model = plan.server().publish()?;
        let context = Value::from_iter([("device", "phone")]);
        let actions = ["news", "sport"].map(|topic| Value::from_iter([("topic", topic)]));
        let arms = protocol.arms(&context, &actions)?;
        let made = (0..MADE).map(|number| {
            let mut person = protocol.reports().person(0, SecureNoise::from_system()?)?;
            let report = person.report(&model, &arms.arm(number % 2), (number % 3) as f64 / 2.0)?;
            let text = wire::to_json(&report);
            let [high, low] = report.id();
            let name = format!("{high:016x}{low:016x}");
            let (before, after) = text.split_once(&name).ok_or_else(|| {
                Error::invalid("report.id", "not in its message", "write it as hexadecimal digits")
            })?;
            Ok((before.to_string(), after.to_string()))
        });
        // For as long as the process: the load is made by many tasks.
        Ok(Reports(made.collect::<Result<Vec<_>>>()?.leak()))
    }

    /// The report of this number, as JSON.
    pub(super) fn text(self, number: u64) -> String {
        let (before, after) = &self.0[number as usize % MADE];
        format!("{before}{:016x}{number:016x}{after}", reticent::hash::mix(number, 7))
    }

    /// `count` reports from this number on, in one request.
    pub(super) fn batch(self, first: u64, count: u64) -> String {
        let reports: Vec<String> = (first..first + count).map(|number| self.text(number)).collect();
        format!("{{\"reports\":[{}]}}", reports.join(","))
    }
}

/// The loop, checked to be the one that the figures are for.
fn plan() -> Result<Arc<ReportsPlan>> {
    let plan = ServiceFile::parse(LOOP)?.check()?.remove(0);
    match (plan.reports(), plan.features().dimension()) {
        (Some(reports), 16) => Ok(Arc::clone(reports)),
        (_, other) => Err(Error::invalid("dimension", other, "figures are for 16")),
    }
}
