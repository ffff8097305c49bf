//! Rank's own work without I/O: features of 20 actions in 16 dimensions, a choice, probabilities over 64 members.
//!
//! ```text
//! cargo run --release -p reticent-server --example rank_bench
//! ```
//!
//! The median of many repetitions, for `loops::decide` and for its parts; `by vector` reads the context again for every action, for comparison.

use std::{hint::black_box, time::Instant};

use reticent::{
    bandit::{Arms, Policy},
    features::Report,
    noise::SecureNoise,
};
use reticent_server::{
    config::{LoopPlan, ServiceFile},
    loops::{Coins, RankRequest, decide},
};

const LOOP: &str = r#"
    [loop.bench]
    privacy = { epsilon = 1.0, delta = 1e-6 }
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
const ACTIONS: usize = 20;

/// The median time of a call in microseconds.
fn median(mut call: impl FnMut(u64)) -> f64 {
    const CALLS: u64 = 100;
    (0..200).for_each(&mut call);
    let mut times: Vec<f64> = (0..501)
        .map(|batch| {
            let started = Instant::now();
            (0..CALLS).for_each(|i| call(batch * CALLS + i));
            started.elapsed().as_secs_f64() * 1e6 / CALLS as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn by_vector(plan: &LoopPlan, request: &RankRequest) -> Vec<Vec<f64>> {
    let mut report = Report::default();
    let vector = |action: &reticent_server::loops::Action| {
        plan.features.vector(&request.context, &action.features, &mut report)
    };
    request.actions.iter().map(vector).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let plan = ServiceFile::parse(LOOP)?.check()?.remove(0);
    let topics = ["news", "sport", "music", "science"];
    let actions: Vec<serde_json::Value> = (0..ACTIONS)
        .map(|i| serde_json::json!({"id": format!("a{i}"), "features": {"topic": topics[i % 4], "length": 3 * i}}))
        .collect();
    let body = serde_json::json!({"context": {"age": 31, "device": "phone", "hour": 17.5}, "actions": actions});
    let text = body.to_string();
    let request: RankRequest = serde_json::from_str(&text)?;
    let policy: Policy = plan.learner.clone().curator(SecureNoise::from_system()?).policy().clone();
    println!(
        "d = {}, K = {ACTIONS}, members = {:?}",
        policy.dimension(),
        policy.ensemble().map(|e| e.members())
    );
    let rows = by_vector(&plan, &request);
    let arms = Arms::from_rows(policy.dimension(), &rows)?;
    let report = |what: &str, time: f64| println!("{what:<40} {time:>8.2} us");
    report(
        "decide",
        median(|i| {
            let coins = Coins { holdout: i, pick: i.wrapping_mul(0x9e37_79b9_7f4a_7c15) };
            let _ = black_box(decide(&plan, &policy, black_box(&request), coins));
        }),
    );
    report(
        "  features, by writer",
        median(|_| {
            let mut seen = Report::default();
            let mut writer = plan.features.writer(&request.context, &mut seen);
            let mut row = vec![0.0; plan.features.dimension()];
            for action in &request.actions {
                writer.write(&action.features, &mut seen, &mut row);
                black_box(&row);
            }
        }),
    );
    report(
        "  features, by vector",
        median(|_| {
            black_box(by_vector(&plan, black_box(&request)));
        }),
    );
    report(
        "  probabilities",
        median(|_| {
            let _ = black_box(policy.probabilities_within(black_box(&arms), 1.0));
        }),
    );
    report(
        "  choice",
        median(|i| {
            let _ = black_box(policy.choose_within(black_box(&arms), 1.0, i));
        }),
    );
    report(
        "coins",
        median(|_| {
            let _ = black_box(Coins::draw());
        }),
    );
    report(
        "reading the request's JSON",
        median(|_| {
            let _ = black_box(serde_json::from_str::<RankRequest>(black_box(&text)));
        }),
    );
    Ok(())
}
