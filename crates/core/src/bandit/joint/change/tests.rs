//! Tests of what raises an alarm, of what does not, and of what is used afterwards.

use super::*;
use crate::{
    bandit::{Arms, Curator, JointParams, Rule},
    noise::Noise,
    randomize::Bounds,
    release::{Schedule, testing::Seeded},
};

const GAP: u64 = 64;

fn params(epsilon: f64) -> JointParams {
    JointParams {
        detect_changes: true,
        ..JointParams::forgetting(Bounds::unit(2), epsilon, 1e-6, 1e6)
    }
}

fn start(params: &JointParams, seed: u64) -> Curator<Seeded> {
    params.check().unwrap().curator(Seeded(seed))
}

/// Rewards of 1 and -1 with means 0.6 and -0.2 on two arms, which change places after `change` rounds. Returns the errors of the last
/// quarter, and calls `look` after every release.
fn play(
    curator: &mut Curator<Seeded>,
    rounds: u64,
    change: u64,
    seed: u64,
    mut look: impl FnMut(&Curator<Seeded>),
) -> u64 {
    let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0]]).unwrap();
    let mut source = Seeded(seed);
    let mut errors = 0;
    for round in 0..rounds {
        let arm = curator.choose(&arms, source.below(1 << 40)).unwrap().arm;
        let best = usize::from(round >= change);
        let mean = if arm == best { 0.6 } else { -0.2 };
        let reward = if source.uniform() < 0.5 * (1.0 + mean) { 1.0 } else { -1.0 };
        errors += u64::from(round >= rounds / 4 * 3 && arm != best);
        if curator.observe(&arms.arm(arm), reward).unwrap() {
            look(curator);
        }
    }
    errors
}

#[test]
fn a_change_is_found_and_what_came_before_is_dropped() {
    for seed in 0..4 {
        let mut curator = start(&params(4.0), seed);
        let errors = play(&mut curator, 12_000, 6000, 50 + seed, |_| ());
        assert!(curator.changes() >= 1 && errors < 150, "{}: {errors}", curator.changes());
        let keeps = JointParams { detect_changes: false, ..params(4.0) };
        let mut keeps = start(&keeps, seed);
        let late = play(&mut keeps, 12_000, 6000, 50 + seed, |_| ());
        assert!(keeps.changes() == 0 && late > 5 * errors.max(60), "{late} {errors}");
    }
}

/// Without a change, 8 runs of 312 releases. At 4 deviations of a normal law 0.08 alarms are expected, and more than 4 have a probability
/// below 1e-7. Planted: a test that does not know the noise of releases.
#[test]
fn without_a_change_there_is_no_alarm_unless_noise_is_ignored() {
    let (mut alarms, mut blind_alarms) = (0, 0);
    for seed in 0..8 {
        let mut curator = start(&params(1.0), 100 + seed);
        play(&mut curator, 20_000, u64::MAX, 200 + seed, |curator| {
            let changes = &curator.state.changes;
            let release = curator.release().unwrap();
            let Some(mark) = &changes.mark else { return };
            let silent = |release: &Release| {
                let zeros = vec![0.0; release.deviations().len()];
                let domain = release.domain().clone();
                let sums = release.sums().to_vec();
                Release::new(domain, release.round(), release.index(), sums, zeros)
            };
            let blind = Mark { noise: 0.0, ..mark.clone() };
            let alarm = curator.with_stream(|stream| {
                let window = stream.between(&mark.release, release)?;
                let (evidence, deviation) = stream.evidence(&blind, &silent(&window));
                Some(evidence < -DEVIATIONS * deviation)
            });
            blind_alarms += u32::from(alarm.flatten() == Some(true));
        });
        alarms += curator.changes();
    }
    assert!(alarms <= 4 && blind_alarms > 20, "{alarms} {blind_alarms}");
}

/// After an alarm the policy is that of a learner who never saw what came before, but for noise: without noise, exactly.
#[test]
fn sums_since_a_change_are_those_of_the_rewards_since() {
    let stream_params = JointParams { forget: Some(640.0), ..params(1e4) };
    let mut curator = start(&stream_params, 3);
    let gap = stream_params.schedule.constant_gap().unwrap();
    for _ in 0..40 * gap {
        curator.observe(&[0.8, 0.0], 0.9).unwrap();
    }
    assert_eq!(curator.changes(), 0);
    while curator.changes() == 0 {
        curator.observe(&[0.8, 0.0], -0.9).unwrap();
        assert!(curator.rounds() < 60 * gap, "the change was not found");
    }
    assert!(curator.legacy().unwrap_err().to_string().contains("after a change"));
    assert_eq!(curator.policy().theta(), [0.0; 2]);
    let (mut weighted, kept) = (0.0, (-(gap as f64) / 640.0).exp2());
    for step in 1..=100 {
        for _ in 0..gap {
            curator.observe(&[0.0, 0.8], 0.5).unwrap();
        }
        weighted = kept * weighted + 0.64 * gap as f64;
        let since = curator.legacy().unwrap();
        let (sums, deviations) = (since.release().sums(), since.release().deviations());
        for (sum, want, deviation) in
            [(sums[0], 0.0, deviations[0]), (sums[2], weighted, deviations[2])]
        {
            assert!((sum - want).abs() < 6.0 * deviation, "{step}: {sum} against {want}");
        }
        assert!(deviations[0] < 0.01 * weighted || step < 10);
    }
    assert_eq!(curator.changes(), 1);
}

#[test]
fn a_saved_learner_goes_on_with_its_mark_and_a_held_release_changes_nothing() {
    let mut curator = start(&params(8.0), 7);
    let (mut bytes, mut releases) = (Vec::new(), 0);
    play(&mut curator, 6000, 3000, 9, |curator| {
        let resumed = Curator::<Seeded>::resume(&curator.save(), curator.releases()).unwrap();
        assert_eq!(resumed.state.changes, curator.state.changes);
        (bytes, releases) = (curator.save(), curator.releases());
    });
    assert!(curator.changes() > 0);
    let mut holds = Curator::<Seeded>::resume(&bytes, releases).unwrap();
    holds.hold_releases();
    let before = holds.state.changes.clone();
    let mut since = holds.no_sums();
    let bad = holds.contribution(&[1.0, 1.0], -1.0).unwrap();
    (0..GAP).for_each(|_| since.add(&bad).unwrap());
    assert!(holds.absorb_sums(&mut since).unwrap());
    assert_eq!(holds.state.changes, before);
    let after = Curator::<Seeded>::resume(&holds.save(), releases + 1).unwrap();
    holds.commit();
    assert_eq!(after.state.changes, holds.state.changes);
    assert_eq!(after.policy(), holds.policy());
    // A mark with a later number than the last release is refused.
    let mut forged = holds.state.changes.clone();
    let future = holds.release().unwrap().numbered(releases + 9);
    forged.base = Some(future);
    let error = forged.check(holds.release()).unwrap_err().to_string();
    assert!(error.contains("changes"), "{error}");
    assert!(holds.state.changes.check(holds.release()).is_ok());
}

#[test]
fn a_product_with_a_triangle_is_that_with_the_matrix() {
    let triangle = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    assert_eq!(product(&triangle, &[1.0, 10.0, 100.0]), [321.0, 542.0, 653.0]);
}

#[test]
fn what_does_not_go_with_the_test_is_refused() {
    let good = params(1.0);
    let clock = JointParams { schedule: Schedule::Clock, ..good.clone() };
    assert!(clock.check().is_ok());
    for (words, bad) in [
        ("forget", JointParams { forget: None, ..good.clone() }),
        ("rule", JointParams { rule: Rule::CERTIFIED, ..good }),
    ] {
        let error = bad.check().unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}
