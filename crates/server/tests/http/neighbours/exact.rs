//! The exact parts of released numbers: with noise that is small beside one visit, two worlds show by how much a person moves them.
//!
//! Features have norm at most 1 and centred rewards at most half of the range, so that a contribution (the upper triangle of x x^T, and y x) has norm at most
//! `rho = sqrt(1 + 1/4)`. A person of k visits moves a sum by at most `k rho` when they are taken out, and by at most `2 k rho` when they are replaced.

use reticent::{release::Release, wire};

use super::world::{LOOPS, Script, TICK, Visit};
use crate::common::{Server, Setup};

/// Noise of about a thousandth of a visit: this loop protects nobody.
const EPSILON: &str = "epsilon = 1e8";

const RHO: f64 = 1.118_034;

/// Visits that are learnt from.
const K: f64 = 2.0;

/// The last released sums of a world with the deviations of their noise. Nobody else comes, and all questions are answered with the first action.
async fn released(visits: &[Visit], most: u32) -> (Vec<f64>, Vec<f64>) {
    let loops =
        LOOPS.replace("epsilon = 1.0", EPSILON).replace("visits = 2", &format!("visits = {most}"));
    let server = Server::set_up(Setup { loops, ..Setup::default() }).await;
    let script = Script { visits: visits.to_vec(), erased: None, clumsy: false };
    for slot in 0..12 {
        super::world::act(&server, &script, slot).await;
        server.clock.pass(TICK);
        server.service.tick("home").await.unwrap();
    }
    let list = server.get(&server.read_key, "/v1/loops/home/releases").await.expect(200);
    let last: serde_json::Value = serde_json::from_str(list.body.lines().last().unwrap()).unwrap();
    let release: Release = wire::from_json(last["release"].as_str().unwrap().as_bytes()).unwrap();
    (release.sums().to_vec(), release.deviations().to_vec())
}

/// How far two worlds are apart, and how much of it noise may be: ten deviations of every coordinate.
fn distance(one: &(Vec<f64>, Vec<f64>), other: &(Vec<f64>, Vec<f64>)) -> (f64, f64) {
    let square =
        |numbers: &mut dyn Iterator<Item = f64>| numbers.map(|n| n * n).sum::<f64>().sqrt();
    let apart = square(&mut one.0.iter().zip(&other.0).map(|(one, other)| one - other));
    let noise =
        square(&mut one.1.iter().zip(&other.1).map(|(one, other)| 10.0 * one.hypot(*other)));
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
        ("not rewarded", visits(|visit| visit.reward = None), K),
        ("moved", visits(|visit| visit.slot = 8 - visit.slot), 2.0 * K * RHO),
        (
            "replaced",
            visits(|visit| (visit.device, visit.reward) = ("computer", Some(0.0))),
            2.0 * K * RHO,
        ),
    ];
    for (name, visits, most) in worlds {
        let (apart, noise) = distance(&base, &released(&visits, 2).await);
        assert!(noise < 0.2, "{noise}");
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
