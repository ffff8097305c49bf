//! The published Wishart variants, deployed.

use reticent::{
    Error,
    bandit::{Arms, JointLinUcb},
    linalg::SymmetricEigen,
    privacy::Event,
    release::PrivateSumParams,
};

use super::*;
use crate::FastNoise;

fn noise(shifted: bool) -> PublishedNoise {
    if shifted { PublishedNoise::Wishart } else { PublishedNoise::WishartUnshifted }
}

fn wishart(epsilon: f64, delta: f64, horizon: u64, shifted: bool) -> JointParams {
    params(Problem::unit(2), noise(shifted), Constants::Printed, epsilon, delta, horizon).unwrap()
}

fn start(params: JointParams) -> JointLinUcb<FastNoise> {
    params.check().unwrap().start(FastNoise::seeded(5))
}

fn step(learner: &mut JointLinUcb<FastNoise>, count: u64) {
    let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0], [-0.6, 0.8]]).unwrap();
    for _ in 0..count {
        let decision = learner.decide(&arms).unwrap();
        learner.observe(decision.ticket, [0.9, -0.2, 0.1][decision.arm]).unwrap();
    }
}

#[test]
fn the_guarantee_is_the_composition_of_m_nodes_and_the_claim_holds() {
    for (delta, shifted) in [(0.1, true), (0.1, false), (1e-6, true)] {
        let problem = Problem::unit(5);
        let plan = params(problem, noise(shifted), Constants::Printed, 1.0, delta, 50_000_000);
        let plan = plan.unwrap().check().unwrap();
        let guarantee = plan.guarantee().unwrap();
        let claim = guarantee.claimed().unwrap();
        assert!(claim.holds() && claim.source.ends_with("section 4.1"), "{claim}");
        assert!(guarantee.epsilon() < 1.0, "{guarantee}");
        assert!(guarantee.conditions().iter().any(|condition| condition.contains("Theorem 4.1")));
        let node_epsilon = 1.0 / (8.0 * 27.0 * (2.0 / delta).ln()).sqrt();
        let event_found = plan.sums().check().unwrap().event();
        let Event::Repeated { event, times: 27 } = event_found else { panic!("{event_found:?}") };
        let Event::Approximate { epsilon, delta: node_delta } = *event else { panic!("{event:?}") };
        assert!((epsilon / node_epsilon - 1.0).abs() < 1e-12);
        assert!((node_delta / (delta / 54.0) - 1.0).abs() < 1e-12);
    }
}

/// Proposition 9, at every release of a stream without data: false alarm alpha/2 = 5e-8.
#[test]
fn the_regularizer_holds_with_the_shift_once_and_not_per_node() {
    for shifted in [true, false] {
        for constants in [Constants::Authors, Constants::Printed] {
            let published =
                Published::new(Problem::unit(2), 8.0, 1e-6, 1e-7, 100).unwrap().reading(constants);
            let plan = published.params(noise(shifted)).unwrap().check().unwrap();
            let regularizer = *plan.rule().regularizer().unwrap();
            let mut sum = plan.sums().check().unwrap().start(FastNoise::seeded(6));
            let nothing = sum.clip_with_reward(&[0.0, 0.0], 0.0).unwrap();
            for _ in 0..100 {
                let release = sum.absorb(&nothing).unwrap().unwrap();
                let values = SymmetricEigen::of(2, release.upper_triangle()).unwrap();
                let within = |shift: f64| {
                    let (low, high) = (values.values()[0] + shift, values.values()[1] + shift);
                    low >= regularizer.minimum && high <= regularizer.maximum
                };
                assert!(within(regularizer.shift), "{:?} {regularizer:?}", values.values());
                // Per node the shift would be taken off 8 times, and H would be negative definite.
                assert_eq!(within(8.0 * regularizer.shift), !shifted);
                assert!(!within(0.0) || !shifted, "no shift at all went unnoticed");
            }
        }
    }
}

#[test]
fn a_saved_learner_goes_on_bit_for_bit_and_a_replay_is_one_more_tree() {
    let mut one = start(wishart(1.0, 1e-4, 2000, true));
    step(&mut one, 150);
    let saved = one.save();
    let mut two = JointLinUcb::<FastNoise>::resume(&saved, one.releases()).unwrap();
    step(&mut one, 100);
    step(&mut two, 100);
    assert_eq!(one.save(), two.save());
    assert!(matches!(
        JointLinUcb::<FastNoise>::resume(&saved, one.releases()),
        Err(Error::StaleState { .. })
    ));
    let times = |learner: &JointLinUcb<FastNoise>| match learner.event() {
        Event::Repeated { times, .. } => times,
        other => panic!("{other:?}"),
    };
    let charged = JointLinUcb::<FastNoise>::resume_charged(&saved, one.releases(), 0).unwrap();
    assert_eq!((times(&one), times(&charged)), (12, 24));
    let (before, paid) = (one.guarantee().unwrap(), charged.guarantee().unwrap());
    assert!(paid.epsilon() > 1.3 * before.epsilon(), "{before} {paid}");
    assert!(before.claimed().unwrap().holds());
    // A third tree gives more than delta = 1e-4 away outright: that is said, not hidden.
    let again = JointLinUcb::<FastNoise>::resume_charged(&saved, one.releases(), 1).unwrap();
    assert_eq!(again.guarantee().unwrap().epsilon(), f64::INFINITY);
}

#[test]
fn several_contributions_are_paid_for() {
    let person = |contributions_per_person| {
        let params = JointParams { contributions_per_person, ..wishart(1.0, 1e-4, 2000, false) };
        params.check().unwrap().guarantee()
    };
    let (once, thrice) = (person(1).unwrap(), person(3).unwrap());
    assert!(thrice.curve().epsilon(1e-3).unwrap() > 2.0 * once.curve().epsilon(1e-3).unwrap());
    assert!(!thrice.claimed().unwrap().holds(), "the paper claims it for one contribution");
}

#[test]
fn it_learns_and_without_feedback_it_does_not() {
    // Two arms 1 apart in mean. The largest epsilon that Theorem 8 covers; releases seldom, to be fast.
    let run = |shifted, informative: bool| {
        let params =
            JointParams { schedule: Schedule::default(), ..wishart(45.0, 1e-6, 200_000, shifted) };
        let mut learner = start(params);
        let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0]]).unwrap();
        let mut errors = 0;
        for _ in 0..200_000 {
            let decision = learner.decide(&arms).unwrap();
            errors += u32::from(decision.arm == 1);
            let reward = if informative && decision.arm == 0 { 1.0 } else { 0.0 };
            learner.observe(decision.ticket, reward).unwrap();
        }
        errors
    };
    for shifted in [true, false] {
        let informed = run(shifted, true);
        assert!(informed < 20_000, "{informed}");
    }
    assert!(run(true, false) > 50_000);
}

#[test]
fn what_the_publication_does_not_cover_is_named() {
    let made = |epsilon, delta, alpha, horizon| {
        Published::new(Problem::unit(2), epsilon, delta, alpha, horizon)?
            .reading(Constants::Printed)
            .params(PublishedNoise::Wishart)?
            .check()
    };
    let good = wishart(1.0, 1e-4, 2000, true);
    assert!(good.check().is_ok());
    let exact = JointParams { rule: Rule::CERTIFIED, horizon: None, ..wishart_free() };
    for (field, refused) in [
        ("node_epsilon", made(40.0, 1e-4, 5e-4, 2000)),
        ("node_delta", made(1.0, 0.9, 0.5, 1)),
        ("epsilon", made(f64::NAN, 1e-4, 5e-4, 2000)),
        ("delta", made(1.0, 0.0, 5e-4, 2000)),
        (
            "horizon",
            in_place_of(exact, PublishedNoise::Wishart, Constants::Printed)
                .and_then(|params| params.check()),
        ),
        ("alpha", made(1.4, 0.7, 1e-300, 1)),
        (
            "contributions_per_person",
            JointParams { contributions_per_person: 2000, ..good.clone() }.check(),
        ),
    ] {
        match refused {
            Err(Error::Invalid { field: named, .. }) => assert_eq!(named, field),
            other => panic!("{field}: {:?}", other.map(drop)),
        }
    }
    // Wishart noise belongs to trees of a known depth, over rows of features and reward.
    let sums = good.check().unwrap().sums().clone();
    let blt = PrivateSumParams { mechanism: Mechanism::default(), ..sums.clone() };
    let endless = PrivateSumParams { horizon: None, ..sums };
    for bad in [blt, endless] {
        let refused = bad.check().unwrap_err();
        assert!(matches!(refused, Error::Invalid { field: "calibration", .. }), "{refused}");
    }
}

fn wishart_free() -> JointParams {
    JointParams::new(Bounds::unit(2), 1.0, 1e-4, Some(2000))
}

/// No contribution may be added to sums under noise whose mean is not 0.
#[test]
fn wishart_sums_are_not_handed_over() {
    let plain = JointParams { schedule: Schedule::EveryRound, ..wishart_free() };
    let mut earlier = plain.check().unwrap().curator(FastNoise::seeded(1));
    earlier.observe(&[1.0, 0.0], 1.0).unwrap();
    let legacy = earlier.legacy().unwrap();
    let plan = wishart(1.0, 1e-4, 2000, true).check().unwrap();
    let refused = plan.clone().curator_from(legacy, FastNoise::seeded(2)).unwrap_err();
    assert!(refused.to_string().contains("mean is not 0"), "{refused}");
    let mut later = plan.curator(FastNoise::seeded(3));
    later.observe(&[1.0, 0.0], 1.0).unwrap();
    assert!(later.legacy().unwrap_err().to_string().contains("mean is not 0"));
}
