//! A curator that randomises contributions one by one.

use super::*;
use crate::{
    bandit::Rule,
    release::{Calibration, Mechanism, Release, Schedule, Structure, testing::Seeded},
};

fn reports(bounds: Bounds, epsilon: f64) -> JointParams {
    JointParams {
        mechanism: Some(Mechanism::Reports),
        schedule: Schedule::EveryRound,
        ..JointParams::new(bounds, epsilon, 1e-6, Some(20_000))
    }
}

fn chosen(params: &JointParams) -> Mechanism {
    params.check().unwrap().params().mechanism.unwrap()
}

#[test]
fn reports_are_the_default_at_large_budgets_where_nothing_stands_in_their_way() {
    let at = |epsilon, d, people| JointParams::new(Bounds::unit(d), epsilon, 1e-6, Some(people));
    for epsilon in [0.1, 1.0, 4.0] {
        assert_eq!(chosen(&at(epsilon, 5, 20_000)), Mechanism::default(), "{epsilon}");
    }
    for epsilon in [16.0, 32.0, 100.0] {
        assert_eq!(chosen(&at(epsilon, 5, 20_000)), Mechanism::Reports, "{epsilon}");
    }
    // Neither has noise that matters.
    assert_eq!(chosen(&at(1e6, 5, 20_000)), Mechanism::default());
    // The noise of reports goes on growing: with more people the stream is better.
    assert_eq!(chosen(&at(8.0, 5, 100)), Mechanism::Reports);
    assert_eq!(chosen(&at(8.0, 5, 20_000)), Mechanism::default());
    let large = at(32.0, 5, 20_000);
    let mu = Some(Calibration::Mu(1.0));
    for other in [
        JointParams { rule: Rule::CERTIFIED, ..large.clone() },
        JointParams { rule: Rule::THOMPSON, ..large.clone() },
        JointParams { schedule: Schedule::Clock, ..large.clone() },
        JointParams { calibration: mu, ..large.clone() },
        JointParams { split: Some(0.4), ..large.clone() },
        JointParams { horizon: None, ..large.clone() },
        JointParams::forgetting(Bounds::unit(5), 32.0, 1e-6, 1000.0),
    ] {
        assert_eq!(chosen(&other), Mechanism::default());
    }
    let asked = JointParams { mechanism: Some(Mechanism::Reports), ..large };
    for (field, refused) in [
        ("rule", JointParams { rule: Rule::CERTIFIED, ..asked.clone() }),
        ("mechanism", JointParams { schedule: Schedule::Clock, ..asked.clone() }),
        ("calibration", JointParams { calibration: mu, ..asked.clone() }),
        ("split", JointParams { split: Some(0.4), ..asked.clone() }),
        (
            "mechanism",
            JointParams { forget: Some(1000.0), schedule: Schedule::constant(10), ..asked.clone() },
        ),
    ] {
        let error = refused.check().unwrap_err().to_string();
        assert!(error.starts_with(field), "{error}");
    }
}

#[test]
fn the_certificate_is_that_of_the_reports_of_one_person_replays_included() {
    let once = reports(Bounds::unit(3), 4.0);
    let held = once.check().unwrap().guarantee().unwrap();
    assert!(held.epsilon() <= 4.0 + 1e-9 && held.epsilon() > 3.9, "{}", held.epsilon());
    let thrice = JointParams { contributions_per_person: 3, ..once.clone() };
    let plan = thrice.check().unwrap();
    assert!(plan.guarantee().unwrap().epsilon() <= 4.0 + 1e-9);
    let noise = |params: &JointParams| params.check().unwrap().plan.deviations(1).unwrap()[0];
    assert!(noise(&thrice) > 2.0 * noise(&once));
    let mut curator = once.check().unwrap().curator(Seeded(1));
    curator.branch().unwrap();
    assert!(curator.guarantee().unwrap().epsilon() > 1.5 * held.epsilon());
}

/// Reports of one and the same contribution: mean and deviation of the sums are those of a release. In blocks with a shared part, and in units
/// of the data other than 1.
#[test]
fn sums_of_reports_are_unbiased_and_as_noisy_as_stated() {
    let structure = Structure { blocks: 2, shared: 1 };
    let rewards = (-2.0, 2.0);
    for (bounds, block) in [
        (Bounds { rewards, feature_bound: 3.0, ..Bounds::unit(2) }, 0),
        (Bounds { rewards, feature_bound: 3.0, structure, ..Bounds::unit(2) }, 1),
    ] {
        for epsilon in [3.0, 12.0] {
            let mut curator = reports(bounds, epsilon).check().unwrap().curator(Seeded(3));
            // At the end of its range a reward is sent as it is; elsewhere a coin is drawn for it, whose noise is not the randomiser's.
            let (features, reward, rounds) = ([1.8, -2.4], 2.0, 20_000);
            for _ in 0..rounds {
                assert!(curator.observe_in_block(block, &features, reward).unwrap());
            }
            let release = curator.release().unwrap();
            let exact = vec![1.8 * 1.8, -1.8 * 2.4, 2.4 * 2.4, 1.8 * reward, -2.4 * reward];
            let exact = bounds.structure.embed_sums(2, block, exact).unwrap();
            let parts = release.sums().iter().zip(release.deviations()).zip(exact);
            for ((sum, deviation), exact) in parts {
                let error = (sum - f64::from(rounds) * exact) / deviation;
                // PrivUnit's noise is spread over the coordinates; one has at most a few times its share.
                assert!(error.abs() < 12.0, "{bounds} {epsilon}: {error}");
                assert!(*deviation < 0.3 * f64::from(rounds) * 9.0);
            }
        }
    }
}

/// Number of times the first release lies on one person's side, on both neighbouring data sets.
fn votes(run: impl Fn(f64, u64) -> f64) -> [f64; 2] {
    const RUNS: u64 = 20_000;
    [1.0, -1.0].map(|reward| {
        let runs = (0..RUNS).filter(|seed| run(reward, *seed) > 0.0);
        runs.count() as f64 / RUNS as f64
    })
}

/// With 20,000 runs a share errs by less than 0.02 with probability 1 - 1e-6 (Hoeffding: 2 exp(-2 n 0.02^2) = 2.3e-7).
fn violates([one, other]: [f64; 2], epsilon: f64) -> bool {
    (one - 0.02) > epsilon.exp() * (other + 0.02)
}

#[test]
fn one_release_does_not_tell_more_than_epsilon_and_raw_contributions_would() {
    let epsilon = 1.0;
    let plan = reports(Bounds::unit(2), epsilon).check().unwrap();
    let side = |release: &Release| 0.6 * release.vector()[0] + 0.8 * release.vector()[1];
    let released = |plan: &JointPlan| {
        votes(|reward, seed| {
            let mut curator = plan.clone().curator(Seeded(seed << 20));
            curator.observe(&[0.6, 0.8], reward).unwrap();
            side(curator.release().unwrap())
        })
    };
    let right = released(&plan);
    assert!(!violates(right, epsilon), "{right:?}");
    // The attack sees the person at all.
    assert!(right[0] > right[1] + 0.1, "{right:?}");
    // Planted: reports of a budget that is three times as large, and the contribution as it is in place of its report.
    let loud = released(&reports(Bounds::unit(2), 3.0 * epsilon).check().unwrap());
    let raw = votes(|reward, _| {
        let mut curator = plan.clone().curator(Seeded(1));
        let exact = [0.36, 0.48, 0.64, 0.6 * reward, 0.8 * reward];
        side(&curator.sum.absorb_randomized(&exact).unwrap().unwrap())
    });
    assert!(violates(loud, epsilon) && violates(raw, epsilon), "{loud:?} {raw:?}");
}

#[test]
fn exact_sums_are_refused_and_a_saved_curator_goes_on() {
    let plan = reports(Bounds::unit(2), 8.0).check().unwrap();
    let mut curator = plan.clone().curator(Seeded(5));
    let mut sums = curator.no_sums();
    sums.add(&curator.contribution(&[0.6, 0.8], 0.5).unwrap()).unwrap();
    assert!(curator.absorb_sums(&mut sums).is_err());
    assert_eq!((curator.rounds(), curator.releases(), sums.count()), (0, 0, 1));
    assert!(curator.observe(&[0.6, f64::NAN], 0.5).is_err());
    assert!(curator.observe(&[0.6, 0.8], 0.5).unwrap());
    let mut again = Curator::<Seeded>::resume(&curator.save(), 1).unwrap();
    assert_eq!(again.release(), curator.release());
    for curator in [&mut curator, &mut again] {
        assert!(curator.observe(&[0.8, -0.6], 0.1).unwrap());
    }
    assert_eq!(again.release(), curator.release());
    assert!(Curator::<Seeded>::resume(&curator.save(), 5).is_err());
    // Parameters that would make another randomiser than the one that was priced.
    let releases = curator.releases();
    curator.state.params.epsilon = 16.0;
    assert!(Curator::<Seeded>::resume(&curator.save(), releases).is_err());
    curator.state.params.epsilon = 8.0;
    assert!(Curator::<Seeded>::resume(&curator.save(), releases).is_ok());
}
