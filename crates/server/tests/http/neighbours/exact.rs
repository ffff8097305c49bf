//! The exact parts of released numbers: with noise that is small beside a crowd that does the same, two worlds show by how much each of them moves a sum.
//!
//! Features have norm at most 1 and centred rewards at most 0.5 of the range, so that a contribution (the upper triangle of x x^T, and y x) has norm at most
//! `rho = sqrt(1 + 1/4)`. A person of k visits moves a sum by at most `k rho` when they are taken out, and by at most `2 k rho` when they are replaced.

use reticent::{release::Release, wire};
use serde_json::{Value, json};

use super::world::{TICK, Visit};
use crate::common::{Server, Setup};

/// Noise that protects no person.
const LOOPS: &str = r#"
    [loop.home]
    privacy = { epsilon = 1000.0, delta = 1e-6, visits = 2, per = "30 days" }
    learner = { tick = "10 seconds", horizon = 16 }
    reward = { range = [0, 1], window = "20 seconds" }
    [loop.home.context]
    device = { categories = ["phone", "computer"] }
    [loop.home.action]
    topic = { categories = ["news", "sport"] }
"#;

/// People who do the same.
const CROWD: usize = 256;

/// The norm of one contribution, at most.
const RHO: f64 = 1.118_034;

/// Visits that are learnt from.
const K: f64 = 2.0;

/// Sums with the deviations of their noise.
type Sums = (Vec<f64>, Vec<f64>);

/// The last released sums of a world in which a crowd makes these visits.
async fn released(visits: &[Visit], most: u32) -> Sums {
    let loops = LOOPS.replace("visits = 2", &format!("visits = {most}"));
    let server = Server::set_up(Setup { loops, ..Setup::default() }).await;
    for slot in 0..12 {
        for (number, visit) in visits.iter().enumerate() {
            if visit.slot == slot {
                let requests = crowd(|member| rank_request(visit, number, member));
                send(&server, "rank/batch", &json!({ "requests": requests })).await;
            }
            if let (Some(reward), true) = (visit.reward, visit.slot + 1 == slot) {
                let rewards =
                    crowd(|member| json!({"event_id": id(number, member), "value": reward}));
                send(&server, "rewards/batch", &json!({ "rewards": rewards })).await;
            }
        }
        server.clock.pass(TICK);
        server.service.tick("home").await.unwrap();
    }
    let list = server.get(&server.read_key, "/v1/loops/home/releases").await.expect(200);
    let last: Value = serde_json::from_str(list.body.lines().last().unwrap()).unwrap();
    let release: Release = wire::from_json(last["release"].as_str().unwrap().as_bytes()).unwrap();
    let each = |numbers: &[f64]| numbers.iter().map(|number| number / CROWD as f64).collect();
    (each(release.sums()), each(release.deviations()))
}

fn crowd(what: impl Fn(usize) -> Value) -> Vec<Value> {
    (0..CROWD).map(what).collect()
}

fn id(visit: usize, member: usize) -> String {
    format!("visit {visit} of {member}")
}

fn rank_request(visit: &Visit, number: usize, member: usize) -> Value {
    json!({
        "event_id": id(number, member), "person": format!("{:?} {member}", visit.person),
        "context": {"device": visit.device}, "defer": visit.defer,
        "actions": [{"id": "a", "features": {"topic": "news"}}, {"id": "b", "features": {"topic": "sport"}}],
    })
}

/// Sends a batch of which every member must be taken.
async fn send(server: &Server, call: &str, body: &Value) {
    let path = format!("/v1/loops/home/{call}");
    let answer = server.post(&server.app_key, &path, &body.to_string()).await.expect(200);
    assert!(!answer.body.contains("problem"), "{}", answer.body);
}

/// Distance by which one member of the crowd moves the sums from one world to the other, and bound on its noise: m normal numbers of deviation s have a norm above `s (sqrt(m) + 6)` with
/// probability below 1e-7.
fn distance(one: &Sums, other: &Sums) -> (f64, f64) {
    let differences = one.0.iter().zip(&other.0).map(|(one, other)| one - other);
    let apart = differences.map(|difference| difference.powi(2)).sum::<f64>().sqrt();
    let deviations = one.1.iter().zip(&other.1).map(|(one, other)| one.hypot(*other));
    let noise = deviations.fold(0.0, f64::max) * ((one.0.len() as f64).sqrt() + 6.0);
    (apart, noise)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_exact_parts_differ_by_no_more_than_the_noise_is_made_for() {
    let visits = |change: fn(&mut Visit)| {
        let mut visits: Vec<Visit> = [2, 3, 3, 4, 5, 6].map(Visit::at).to_vec();
        visits.iter_mut().for_each(change);
        visits
    };
    let base = released(&visits(|_| {}), 2).await;
    let worlds: [(&str, Vec<Visit>, f64); 5] = [
        ("none", Vec::new(), K * RHO),
        ("not activated", visits(|visit| visit.defer = true), K * RHO),
        ("not rewarded", visits(|visit| visit.reward = None), 2.0 * K * RHO),
        ("moved", visits(|visit| visit.slot = 8 - visit.slot), 2.0 * K * RHO),
        (
            "replaced",
            visits(|visit| (visit.device, visit.reward) = ("computer", Some(0.0))),
            2.0 * K * RHO,
        ),
    ];
    for (name, visits, most) in worlds {
        let (apart, noise) = distance(&base, &released(&visits, 2).await);
        assert!(noise < 0.1, "{noise}");
        assert!(apart <= most + noise, "{name}: {apart} above {most}");
        // Something was learnt from: the worlds are not the same. A person who moves is in the last sum either way.
        assert!(apart > 0.5 || name == "moved", "{name}: {apart}");
    }
    // The planted fault: a ledger that lets six visits pass where the certificate says two.
    let unlimited = released(&visits(|_| {}), 6).await;
    let none = released(&[], 6).await;
    let (apart, noise) = distance(&unlimited, &none);
    assert!(apart > K * RHO + noise, "{apart}");
}
