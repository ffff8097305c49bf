//! Learners that forget by half-lives.

use super::*;
use crate::{
    bandit::{Regularizer, Rule},
    release::{Mechanism, Schedule},
};

fn forgetful(half_life: f64) -> JointParams {
    JointParams::forgetting(Bounds::unit(2), 8.0, 1e-6, half_life)
}

#[test]
fn what_is_requested_is_what_holds_for_any_half_life_without_a_horizon() {
    for half_life in [64.0, 5000.0, 1e9] {
        let guarantee = forgetful(half_life).check().unwrap().guarantee().unwrap();
        assert!((guarantee.epsilon() - 8.0).abs() < 1e-6, "{}", guarantee.epsilon());
    }
    let k = JointParams { contributions_per_person: 10, ..forgetful(5000.0) };
    let noise = |params: &JointParams| params.check().unwrap().plan.deviations(500).unwrap()[0];
    assert!((noise(&k) / noise(&forgetful(5000.0)) / 10.0 - 1.0).abs() < 1e-6);
}

/// Arm 0 is the better one, and from round 6000 on arm 1. Errors in the last 3000 of 12000 rounds.
fn late_errors(params: JointParams) -> u32 {
    let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0]]).unwrap();
    let mut learner = start(params);
    (0..12_000).fold(0, |errors, round| {
        let decision = learner.decide(&arms).unwrap();
        let best = usize::from(round >= 6000);
        let reward = if decision.arm == best { 0.8 } else { -0.2 };
        learner.observe(decision.ticket, reward).unwrap();
        errors + u32::from(round >= 9000 && decision.arm != best)
    })
}

#[test]
fn a_learner_that_forgets_follows_a_change() {
    let never =
        JointParams { horizon: Some(12_000), ..JointParams::new(Bounds::unit(2), 8.0, 1e-6, None) };
    // A width that leaves nothing for the noise of rewards: there is none here, and exploring would find the change without forgetting.
    let rule = Rule::Tuned { ridge: 3.0, bonus: 0.2, width: 0.0 };
    let narrow = |params: JointParams| late_errors(JointParams { rule: rule.clone(), ..params });
    let (forgets, keeps) = (narrow(forgetful(1000.0)), narrow(never));
    assert!(forgets < 300 && keeps > 2000, "{forgets} {keeps}");
}

#[test]
fn a_billion_rounds_take_constant_memory() {
    const GAP: u64 = 1 << 16;
    let params = JointParams { schedule: Schedule::constant(GAP), ..forgetful(20.0 * GAP as f64) };
    let mut curator = params.check().unwrap().curator(Seeded(3));
    let promised = format!("{:?}", curator.guarantee().unwrap());
    let block = |sign: f64| {
        let (count, mean) = (GAP as f64, 0.5 * sign);
        [count * 0.5, 0.0, count * 0.5, count * 0.5 * mean, 0.0]
    };
    let (mut sizes, mut rounds) = (Vec::new(), 0);
    while rounds < 1_000_000_000 {
        // Taste changes in the middle.
        let sign = if rounds < 500_000_000 { 1.0 } else { -1.0 };
        assert_eq!(curator.until_release(), Some(GAP));
        assert!(curator.absorb_simulated(&block(sign), GAP).unwrap());
        rounds += GAP;
        if [200 * GAP, 7000 * GAP, 15_000 * GAP].contains(&rounds) {
            sizes.push((curator.save().len(), curator.policy().theta()[0]));
        }
    }
    let [(early, first), (middle, second), (late, third)] = sizes[..] else { panic!() };
    assert!(middle <= early + 64 && late <= early + 64, "{early} {middle} {late}");
    assert!((first - 0.5).abs() < 0.01 && (second - 0.5).abs() < 0.01, "{first} {second}");
    assert!((third + 0.5).abs() < 0.01, "{third}");
    assert!(!curator.is_over() && !curator.is_frozen());
    assert_eq!(format!("{:?}", curator.guarantee().unwrap()), promised, "one calibration");
    let resumed = Curator::<Seeded>::resume(&curator.save(), curator.releases()).unwrap();
    assert_eq!(resumed.policy(), curator.policy());
}

/// One step a tick, empty ticks included.
#[test]
fn a_clock_needs_no_horizon_either() {
    let params = JointParams { schedule: Schedule::Clock, ..forgetful(30.0) };
    let plan = params.check().unwrap();
    let before = plan.guarantee().unwrap();
    let mut curator = plan.curator(Silent);
    let kept = (-1.0_f64 / 30.0).exp2();
    let mut weighted = 0.0;
    for tick in 0..300_u32 {
        let mut since = curator.no_sums();
        // People come in every third tick, several at once, and not at all in the last hundred.
        let people = if tick % 3 == 0 && tick < 200 { 5 } else { 0 };
        let contribution = curator.contribution(&[0.6, 0.8], 0.5).unwrap();
        (0..people).for_each(|_| since.add(&contribution).unwrap());
        curator.tick(&mut since).unwrap();
        weighted = kept * weighted + 0.36 * f64::from(people);
        let sum = curator.release().unwrap().sums()[0];
        assert!((sum - weighted).abs() < 1e-4, "{sum} against {weighted} at {tick}");
    }
    assert_eq!((curator.releases(), curator.is_over()), (300, false));
    assert_eq!(curator.guarantee().unwrap().epsilon(), before.epsilon());
    let long = JointParams { horizon: Some(1 << 32), ..params.clone() };
    assert_eq!(long.check().unwrap().guarantee().unwrap().epsilon(), before.epsilon());
    let longer = JointParams { horizon: Some((1 << 32) + 1), ..params };
    assert!(longer.check().unwrap_err().to_string().contains("2^32"));
}

/// Tests that a warm start is worth what a contribution of its age is worth, here and in what is handed on.
#[test]
fn a_warm_start_is_forgotten_at_the_same_rate() {
    let gap = forgetful(640.0).schedule.constant_gap().unwrap();
    let mut earlier = forgetful(640.0).check().unwrap().curator(Silent);
    for _ in 0..10 * gap {
        earlier.observe(&[0.8, 0.0], 1.0).unwrap();
    }
    let legacy = earlier.legacy().unwrap();
    let plan = forgetful(640.0).check().unwrap();
    let mut learner = plan.curator_from(legacy.clone(), Silent).unwrap();
    for release in 1..=400_u64 {
        for _ in 0..gap {
            learner.observe(&[0.0, 0.8], 1.0).unwrap();
        }
        let weight = (-((release * gap) as f64) / 640.0).exp2();
        let handed_on = learner.legacy().unwrap();
        let (sums, before) = (handed_on.release().sums(), legacy.release().sums());
        assert!((sums[0] - weight * before[0]).abs() < 1e-6 * before[0], "{release}");
        let deviations = handed_on.release().deviations();
        let own = learner.release().unwrap().deviations()[0];
        let want = own.hypot(weight * legacy.release().deviations()[0]);
        assert!((deviations[0] / want - 1.0).abs() < 1e-12);
        // The policy knows the direction that only the legacy has seen less and less.
        let theta = learner.policy().theta()[0];
        assert!(release != 1 || theta > 0.5, "{theta}");
        assert!(release != 400 || theta < 0.45, "{theta}");
    }
    // A learner that does not forget takes it too, as it is.
    let keeps = JointParams::new(Bounds::unit(2), 8.0, 1e-6, Some(2000)).check().unwrap();
    assert!(keeps.curator_from(legacy, Silent).is_ok());
}

#[test]
fn what_does_not_go_with_half_lives_is_refused() {
    let good = forgetful(640.0);
    let regularizer = Regularizer { shift: 0.0, minimum: 1.0, maximum: 2.0, vector: 1.0 };
    let regularized = Rule::Regularized {
        regularizer,
        failure_probability: None,
        parameter_bound: 1.0,
        reward_noise: 1.0,
    };
    for (field, params) in [
        ("forget", JointParams { forget: Some(0.0), ..good.clone() }),
        ("forget", JointParams { forget: Some(-5.0), ..good.clone() }),
        ("forget", JointParams { forget: Some(f64::NAN), ..good.clone() }),
        ("forget", JointParams { forget: Some(f64::INFINITY), ..good.clone() }),
        ("forget", JointParams { forget: Some(5.0), ..good.clone() }),
        ("restart_every", JointParams { restart_every: Some(300), ..good.clone() }),
        ("schedule", JointParams { schedule: Schedule::default(), ..good.clone() }),
        ("mechanism", JointParams { mechanism: Some(Mechanism::Honaker), ..good.clone() }),
        ("rule", JointParams { rule: regularized, ..good.clone() }),
    ] {
        let error = params.check().unwrap_err().to_string();
        assert!(error.contains(field), "{field}: {error}");
    }
    // A set that is certified holds for a theta* that stays, and says so nowhere but in its rule.
    let certified = JointParams { rule: Rule::CERTIFIED, ..good };
    assert!(certified.check().unwrap().rule().rule().is_certified());
}
