//! The loop and the requests that are measured.

use std::sync::{Arc, LazyLock};

use reticent_server::{
    Error, Result,
    config::{CentralPlan, ServiceFile},
};

/// The loop: 16 coordinates, the default ensemble of 64 members.
pub(super) const LOOP: &str = r#"
    [loop.bench]
    privacy = { epsilon = 1.0, delta = 1e-6, visits = 10, per = "30 days" }
    reward = { range = [0, 1], window = "1 day", combine = "sum" }
    learner = { tick = "10 minutes", forget = "90 days" }
    [loop.bench.context]
    age = { range = [18, 80] }
    device = { categories = ["phone", "computer"] }
    hour = { range = [0, 24] }
    [loop.bench.action]
    length = { range = [0, 60] }
    topic = { categories = ["news", "sport", "music", "science"] }
    [loop.bench.cross]
    with = [["age", "topic"], ["device", "length"]]
"#;

/// The loop, checked to be the one that the figures are for.
pub(super) fn plan() -> Result<Arc<CentralPlan>> {
    let plan = ServiceFile::parse(LOOP)?.check()?.remove(0);
    match (plan.central(), plan.features().dimension()) {
        (Some(central), 16) => Ok(Arc::clone(central)),
        (_, other) => Err(Error::invalid("dimension", other, "figures are for 16")),
    }
}

/// The actions of every rank request, as JSON.
static ACTIONS: LazyLock<String> = LazyLock::new(|| {
    let topics = ["news", "sport", "music", "science"];
    let action = |i: usize| {
        format!(r#"{{"id":"a{i}","features":{{"topic":"{}","length":{}}}}}"#, topics[i % 4], 3 * i)
    };
    (0..20).map(action).collect::<Vec<_>>().join(",")
});

/// The rank request of this number, by one of a million people, as JSON. It is cheap to make: the load comes from the same machine.
pub(super) fn rank_request(number: u64) -> String {
    let person = reticent::hash::mix(number, 1) % 1_000_000;
    format!(
        r#"{{"event_id":"{}","person":"person-{person}","context":{{"age":{},"device":"phone","hour":17.5}},"actions":[{}]}}"#,
        event_id(number),
        18 + number % 60,
        ACTIONS.as_str()
    )
}

/// The name of the event of this number.
pub(super) fn event_id(number: u64) -> String {
    format!("event-{number:016x}")
}
