//! Device reports: their sizes, as the program makes them, and what taking them needs.

use std::fmt::Write;

use reticent::{features::Value, wire};
use reticent_lab::FastNoise;
use reticent_server::config::{DeviceLearner, ServiceFile};

use super::{Parameters, Result, people};

/// A loop of devices with 16 coordinates.
const LOOP: &str = r#"
    [loop.news]
    trust = "device"
    privacy = { epsilon = 4.0, delta = 1e-6, visits = 3, per = "30 days" }
    learner = { tick = "10 minutes" }
    [loop.news.context]
    age = { range = [18, 80] }
    device = { categories = ["phone", "computer"] }
    hour = { range = [0, 24] }
    [loop.news.action]
    length = { range = [0, 60] }
    topic = { categories = ["news", "sport", "music", "science"] }
    [loop.news.cross]
    with = [["age", "topic"], ["device", "length"]]
"#;

/// Bytes of what travels.
pub struct Sizes {
    /// Coordinates of the loop's features.
    pub dimension: usize,
    /// A report as JSON, the longest of some, rounded up to hundreds of bytes.
    pub report: f64,
    /// The same sealed for a shuffler: 8 bytes a number, and 137 around them.
    pub sealed: f64,
    /// The model that devices fetch, as JSON, rounded up in the same way.
    pub model: f64,
}

/// Rounded up, because digits of noise vary.
fn hundreds(bytes: usize) -> f64 {
    bytes.div_ceil(100) as f64 * 100.0
}

impl Sizes {
    /// Measured on messages that the program makes.
    pub fn of_program() -> Result<Self> {
        let plan = ServiceFile::parse(LOOP)?.check_devices()?.remove(0);
        let dimension = plan.features.names().len();
        let DeviceLearner::Local { protocol, .. } = &plan.learner else {
            return Err("the loop has no protocol of its own".into());
        };
        let mut server = plan.local().server();
        let first = server.publish()?;
        let context = Value::from_iter([("age", "31"), ("device", "phone"), ("hour", "17")]);
        let action = Value::from_iter([("topic", "news"), ("length", "5")]);
        let features = protocol.arms(&context, &[action])?.arm(0);
        // A model that knows something is larger than the first. The noise is simulated, so that sizes are the same in every run.
        let mut longest = 0;
        for seed in 0..200 {
            let mut person = protocol.reports().person(0, FastNoise::seeded(seed))?;
            let report = person.report(&first, &features, 1.0)?;
            longest = longest.max(wire::to_json(&report).len());
            server.absorb(&report)?;
        }
        let model = server.publish()?;
        let numbers = dimension * (dimension + 1) / 2 + dimension;
        Ok(Sizes {
            dimension,
            report: hundreds(longest),
            sealed: (8 * numbers + 137) as f64,
            model: hundreds(wire::to_json(&model).len()),
        })
    }
}

/// What taking reports needs.
pub fn table(parameters: &Parameters, sizes: &Sizes) -> String {
    let Parameters { reports, .. } = *parameters;
    let mut text = format!(
        "At {} reports a second, d = {}:\n\n| what | a second, or in all |\n| --- | --- |\n",
        people(reports),
        sizes.dimension
    );
    let cores = |rate: f64| people((rate / parameters.utilisation).ceil());
    let rows = [
        (
            format!("reports of {} bytes coming in", people(sizes.report)),
            format!("{} MB", people(reports * sizes.report / 1e6)),
        ),
        (
            format!("the same sealed, {} bytes", people(sizes.sealed)),
            format!("{} MB", people(reports * sizes.sealed / 1e6)),
        ),
        (
            format!("models of {} bytes going out", people(sizes.model)),
            format!("{} MB", people(parameters.fetches * reports * sizes.model / 1e6)),
        ),
        ("cores that take reports".into(), cores(reports / parameters.reports_core)),
        (
            "cores that make TLS handshakes".into(),
            cores(parameters.handshake * reports / parameters.handshakes_core),
        ),
        (
            "report ids that are remembered, 24 bytes each".into(),
            format!("{} GB", people(reports * parameters.late_seconds * 24.0 / 1e9)),
        ),
        (
            "bytes that all reports of a tick leave behind: one part a core, as above".into(),
            "they do not grow".into(),
        ),
    ];
    for (what, value) in rows {
        let _ = writeln!(text, "| {what} | {value} |");
    }
    text
}
