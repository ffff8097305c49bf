use super::{state::State, *};
use crate::{
    bandit::{Policy, Regularizer, Rule},
    noise::SecureNoise,
    privacy::{Claim, Guarantee},
    randomize::Bounds,
    release::{
        Calibration, Mechanism, Schedule,
        testing::{Seeded, Silent},
    },
    wire,
};

mod append;
mod forgetting;
mod reports;
mod streams;
mod thompson;
mod window;

fn params() -> JointParams {
    JointParams::new(Bounds::unit(2), 1.0, 1e-6, Some(2000))
}

fn start(params: impl std::borrow::Borrow<JointParams>) -> JointLinUcb<Seeded> {
    params.borrow().check().unwrap().start(Seeded(5))
}

fn arms() -> Arms {
    Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0], [-0.6, 0.8]]).unwrap()
}

#[test]
fn what_is_requested_is_what_holds() {
    for (epsilon, delta) in [(1.0, 0.1), (1.0, 1e-6), (0.1, 1e-9), (8.0, 1e-5)] {
        let params = JointParams::new(Bounds::unit(5), epsilon, delta, Some(50_000_000));
        let guarantee = params.check().unwrap().guarantee().unwrap();
        assert!((guarantee.epsilon() - epsilon).abs() < 1e-9, "{}", guarantee.epsilon());
    }
}

/// Noise of a given size is priced by the accountant, whatever is claimed for it, and the claim is shown beside the price.
#[test]
fn given_noise_has_the_guarantee_of_the_noise() {
    let given = |sigma: f64, delta: f64| JointParams {
        mechanism: Some(Mechanism::Tree { levels: Some(12) }),
        schedule: Schedule::EveryRound,
        split: Some(1.0),
        calibration: Some(Calibration::Sigma(sigma)),
        claim: Some(Claim::new(0.5, delta, "a publication")),
        delta,
        ..params()
    };
    let state = |params: &JointParams| params.check().unwrap().guarantee().unwrap();
    // Twelve nodes of sensitivity 2 (split 1) and noise 100.
    let guarantee = state(&given(100.0, 1e-6));
    let mu = 2.0 * 12_f64.sqrt() / 100.0;
    assert!((guarantee.curve().mu().unwrap() / mu - 1.0).abs() < 1e-6);
    assert!(guarantee.claimed().is_some());
    assert!(guarantee.claimed().unwrap().holds());
    let false_claim = state(&given(1.0, 1e-6));
    assert!(!false_claim.claimed().unwrap().holds() && false_claim.epsilon() > 10.0);
    // A delta that is not accepted is stated where it is claimed, and refused where it is asked for.
    let generous = given(100.0, 0.5);
    assert_eq!(state(&generous).delta(), 0.5);
    for (field, bad) in [
        ("delta", JointParams { claim: None, ..generous.clone() }),
        ("delta", JointParams { calibration: None, ..generous.clone() }),
        (
            "claimed delta",
            JointParams { claim: Some(Claim::new(1.0, 0.0, "x")), ..generous.clone() },
        ),
        ("claimed epsilon", JointParams { claim: Some(Claim::new(-1.0, 0.1, "x")), ..params() }),
        ("split", JointParams { split: Some(-1.0), ..params() }),
        ("sigma", given(f64::NAN, 1e-6)),
        ("calibration", JointParams { horizon: None, mechanism: None, ..given(1.0, 1e-6) }),
    ] {
        match bad.check() {
            Err(Error::Invalid { field: named, .. }) => assert_eq!(named, field),
            other => panic!("{field}: {:?}", other.map(drop)),
        }
    }
    // Several contributions and restarts are priced as with a budget.
    let often = JointParams { contributions_per_person: 3, ..given(100.0, 1e-6) };
    assert!(state(&often).curve().mu().unwrap() > 1.7 * mu);
    let forgetful = JointParams { restart_every: Some(100), ..given(100.0, 1e-6) };
    assert!((state(&forgetful).curve().mu().unwrap() / mu - 1.0).abs() < 1e-6);
}

#[test]
fn rewards_come_late_in_any_order_once_or_never() {
    let mut learner = start(params());
    let decisions: Vec<Decision> = (0..100).map(|_| learner.decide(&arms()).unwrap()).collect();
    for decision in decisions.iter().rev().skip(20) {
        learner.observe(decision.ticket, 0.5).unwrap();
    }
    assert_eq!((learner.rounds(), learner.open_decisions()), (80, 20));
    let before = learner.save();
    assert!(learner.observe(decisions[0].ticket, 0.5).is_err(), "a second answer");
    let strange = "00000000000000030123456789abcdef".parse().unwrap();
    assert!(learner.observe(strange, 0.5).is_err(), "no such ticket");
    assert!(learner.observe(decisions[99].ticket, f64::NAN).is_err());
    assert_eq!(learner.save(), before, "an error changed the state");
    assert!(learner.dismiss(decisions[99].ticket) && !learner.dismiss(decisions[99].ticket));
    assert!(learner.observe(decisions[99].ticket, 0.5).is_err(), "dismissed");
}

#[test]
fn bad_arms_are_refused_and_change_nothing() {
    let mut learner = start(params());
    let before = learner.save();
    assert!(learner.decide(&Arms::from_rows(3, &[[0.1, 0.2, 0.3]]).unwrap()).is_err());
    assert_eq!(learner.save(), before);
}

/// The rounds of releases, and the tickets, with an arm of this length in round 30.
fn times(length: f64) -> (Vec<u64>, Vec<Ticket>) {
    let mut learner = start(params());
    let (mut releases, mut tickets) = (Vec::new(), Vec::new());
    for round in 0..200 {
        let length = if round == 30 { length } else { 1.0 };
        let Ok(decision) =
            learner.decide(&Arms::from_rows(2, &[[0.6 * length, 0.8 * length]]).unwrap())
        else {
            continue;
        };
        tickets.push(decision.ticket);
        assert_eq!(decision.clipped_arms, usize::from(length > 1.0));
        if learner.observe(decision.ticket, 0.5).unwrap().released {
            releases.push(round);
        }
    }
    (releases, tickets)
}

#[test]
fn an_arm_beyond_its_bound_moves_no_release_and_no_ticket() {
    for length in [1.1, 5.0, 1e300] {
        assert_eq!(times(length), times(0.3), "{length}");
    }
}

#[test]
fn an_arm_beyond_its_bound_is_chosen_and_learnt_as_the_arm_at_the_bound() {
    let long = Arms::from_rows(2, &[[0.0, 0.9], [30.0, 40.0]]).unwrap();
    let clipped = Arms::from_rows(2, &[[0.0, 0.9], [0.6, 0.8]]).unwrap();
    let run = |arms: &Arms| {
        let mut learner = start(JointParams::new(Bounds::unit(2), 50.0, 1e-6, Some(2000)));
        let chosen: Vec<usize> = (0..500)
            .map(|_| {
                let decision = learner.decide(arms).unwrap();
                let reward = [0.9, -0.9][decision.arm];
                learner.observe(decision.ticket, reward).unwrap();
                decision.arm
            })
            .collect();
        (chosen, learner.policy().theta().to_vec())
    };
    let (chosen, theta) = run(&clipped);
    let again = run(&long);
    assert!(chosen.contains(&0), "scores of unclipped arms would never choose the short one");
    assert_eq!(chosen, again.0);
    let apart: f64 = theta.iter().zip(&again.1).map(|(a, b)| (a - b).abs()).sum();
    assert!(apart < 1e-6, "{apart}");
}

#[test]
fn a_reward_beyond_its_bound_counts_as_the_bound() {
    // An unclipped reward of 1000 would move the sums a thousand times as far as the noise is made for.
    let run = |reward: f64| {
        let mut learner = start(params());
        for _ in 0..64 {
            let decision = learner.decide(&arms()).unwrap();
            let observation = learner.observe(decision.ticket, reward).unwrap();
            assert_eq!(observation.clipped, reward > 1.0);
        }
        learner.policy().clone()
    };
    assert_eq!(run(1000.0), run(1.0));
    assert_ne!(run(0.5), run(1.0));
}

#[test]
fn a_saved_learner_goes_on_bit_for_bit_and_an_old_one_is_refused() {
    let mut one = start(params());
    let step = |learner: &mut JointLinUcb<Seeded>, count: u64| {
        for _ in 0..count {
            let decision = learner.decide(&arms()).unwrap();
            let reward = [0.9, -0.2, 0.1][decision.arm];
            learner.observe(decision.ticket, reward).unwrap();
        }
    };
    step(&mut one, 150);
    let _waiting = one.decide(&arms()).unwrap();
    let saved = one.save();
    let mut two = JointLinUcb::<Seeded>::resume(&saved, one.releases()).unwrap();
    step(&mut one, 500);
    step(&mut two, 500);
    assert_eq!(one.save(), two.save());
    assert!(matches!(
        JointLinUcb::<Seeded>::resume(&saved, one.releases()),
        Err(Error::StaleState { .. })
    ));
    let charged = JointLinUcb::<Seeded>::resume_charged(&saved, one.releases(), 0).unwrap();
    let (paid, before) = (charged.guarantee().unwrap(), one.guarantee().unwrap());
    assert!(paid.epsilon() > 1.3 * before.epsilon());
}

#[test]
fn the_horizon_need_not_be_known_and_people_may_return() {
    let unknown = JointParams::new(Bounds::unit(2), 1.0, 1e-6, None);
    let guarantee = unknown.check().unwrap().guarantee().unwrap();
    assert!((guarantee.epsilon() - 1.0).abs() < 1e-9, "{guarantee}");
    let mut learner = start(unknown);
    for _ in 0..5000 {
        let decision = learner.decide(&arms()).unwrap();
        learner.observe(decision.ticket, 0.1).unwrap();
    }
    assert!(learner.rounds() == 5000 && learner.releases() > 100);

    // A person with up to k interactions gets the same epsilon from more noise, and one from the same noise more epsilon.
    let deviation = |k| {
        let params = JointParams { contributions_per_person: k, ..params() };
        let plan = params.check().unwrap();
        let guarantee = plan.guarantee().unwrap();
        assert!((guarantee.epsilon() - 1.0).abs() < 1e-9, "{guarantee}");
        plan.sums().check().unwrap().start(Seeded(1)).deviations(1).unwrap()[0]
    };
    let (one, four) = (deviation(1), deviation(4));
    assert!(four > 1.9 * one && four < 4.1 * one, "{one} {four}");
}

/// Returns whether the rounds of releases tell two streams of rewards apart.
fn schedule_tells(rounds: impl Fn(&[f64]) -> Vec<usize>) -> bool {
    rounds(&[0.0; 500]) != rounds(&[1.0; 500])
}

#[test]
fn neither_the_schedule_nor_the_policy_looks_at_unreleased_data() {
    let ours = |rewards: &[f64]| {
        let mut learner = start(params());
        let mut releases = Vec::new();
        for (round, reward) in rewards.iter().enumerate() {
            let decision = learner.decide(&arms()).unwrap();
            let before = learner.policy().clone();
            if learner.observe(decision.ticket, *reward).unwrap().released {
                releases.push(round);
            } else {
                assert_eq!(*learner.policy(), before, "learnt without a release");
            }
        }
        assert!(releases.len() > 10);
        releases
    };
    assert!(!schedule_tells(ours));
    // Planted: a release whenever fifty more has been collected.
    let eager = |rewards: &[f64]| {
        let mut pending = 0.0;
        let mut due = |reward: f64| {
            pending += reward;
            pending >= 50.0 && std::mem::take(&mut pending) > 0.0
        };
        (0..rewards.len()).filter(|&round| due(rewards[round])).collect()
    };
    assert!(schedule_tells(eager));
}

#[test]
fn decision_sets_may_change_in_size() {
    let mut learner = start(params());
    for round in 0..200 {
        let count = 1 + round % 40;
        let rows: Vec<[f64; 2]> =
            (0..count).map(|i| f64::from(i).sin_cos()).map(|(s, c)| [0.9 * s, 0.9 * c]).collect();
        let decision = learner.decide(&Arms::from_rows(2, &rows).unwrap()).unwrap();
        assert!(decision.arm < count as usize);
        learner.observe(decision.ticket, 0.0).unwrap();
    }
    assert_eq!(learner.rounds(), 200);
}

#[test]
fn it_learns_and_without_feedback_it_does_not() {
    // Two arms 1 apart in mean; playing at random errs half the time. The noise at epsilon = 8 is far smaller.
    let run = |informative: bool| {
        let params = JointParams::new(Bounds::unit(2), 8.0, 1e-6, Some(20_000));
        let mut learner = start(params);
        let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0]]).unwrap();
        let mut errors = 0;
        for _ in 0..20_000 {
            let decision = learner.decide(&arms).unwrap();
            errors += u32::from(decision.arm == 1);
            let reward = if informative && decision.arm == 0 { 1.0 } else { 0.0 };
            learner.observe(decision.ticket, reward).unwrap();
        }
        errors
    };
    let informed = run(true);
    assert!(informed < 3000, "{informed}");
    assert!(run(false) > 5000);
}

/// Found by fuzzing: a sound checksum around parts that do not belong together made `decide` panic.
#[test]
fn parts_of_different_learners_are_refused() {
    type Parts = (Vec<u8>, curator::State, Option<Seeded>);
    let parts = |params: JointParams| -> Parts {
        wire::load(wire::kinds::CURATOR, &start(params).curator.save()).unwrap()
    };
    let resume = |sum: &[u8], state: &curator::State| {
        let bytes = wire::save(wire::kinds::CURATOR, &(sum, state, None::<Seeded>));
        Curator::<Seeded>::resume(&bytes, 0).map(drop)
    };
    let (sum, state, _) = parts(params());
    assert!(resume(&sum, &state).is_ok());
    let again = || parts(params()).1;
    let three = || Policy::dense(vec![0.0; 3], vec![0.0; 6], 1.0, 0.0);
    let nan = || Policy::dense(vec![f64::NAN; 2], vec![0.0; 3], 1.0, 0.0);
    for policy in [three(), nan()] {
        assert!(resume(&sum, &curator::State { policy, ..again() }).is_err());
    }
    let (other_sum, other_state, _) =
        parts(JointParams::new(Bounds::unit(3), 1.0, 1e-6, Some(2000)));
    assert!(resume(&other_sum, &state).is_err());
    assert!(resume(&sum, &curator::State { rule: other_state.rule, ..again() }).is_err());
    let (curator, state, _): (Vec<u8>, State, Option<Vec<u8>>) =
        wire::load(wire::kinds::JOINT, &start(params()).save()).unwrap();
    let many = State { decisions: u64::MAX, ..state };
    let bytes = wire::save(wire::kinds::JOINT, &(curator, many, None::<Vec<u8>>));
    assert!(JointLinUcb::<Seeded>::resume(&bytes, 0).is_err());
}

/// Rewards of 0 and 1 with a constant feature: their middle is taken off, and half the range needs half the noise.
#[test]
fn rewards_are_centred_where_arms_share_a_constant() {
    let constant = 0.5_f64.sqrt();
    let plain = Bounds { rewards: (0.0, 1.0), ..Bounds::unit(3) };
    let centred = Bounds { intercept: Some(constant), ..plain };
    let deviation = |bounds| {
        let params = JointParams::new(bounds, 1.0, 1e-6, Some(2000));
        *params.check().unwrap().plan.deviations(1).unwrap().last().unwrap()
    };
    assert!((deviation(plain) / deviation(centred) - 2.0).abs() < 1e-9);
    // No person is ever rewarded by the first arm and every person by the second: their bounds are near 0 and 1 less the centre.
    let params = JointParams::new(centred, 1e3, 1e-6, Some(20_000));
    let mut learner = params.check().unwrap().curator(Seeded(4));
    let arms = [[constant, 0.0, constant], [0.0, constant, constant]];
    for number in 0..20_000 {
        learner.observe(&arms[number % 2], (number % 2) as f64).unwrap();
    }
    let mean = |x: &[f64]| -> f64 {
        0.5 + x.iter().zip(learner.policy().theta()).map(|(x, t)| x * t).sum::<f64>()
    };
    assert!(mean(&arms[0]).abs() < 0.02 && (mean(&arms[1]) - 1.0).abs() < 0.02);
}

/// Save, decide for a first person, crash, load, decide for a second: the first one's reward is not the second one's.
#[test]
fn a_ticket_of_a_life_that_crashed_is_refused() {
    let plan = params().check().unwrap();
    let mut learner = plan.start(SecureNoise::seeded(1));
    let kept = learner.decide(&arms()).unwrap().ticket;
    let (state, whole) = (learner.save(), learner.save_with_open());
    let first = learner.decide(&arms()).unwrap().ticket;
    let mut again = JointLinUcb::<SecureNoise>::resume(&state, 0).unwrap();
    let second = again.decide(&arms()).unwrap().ticket;
    assert_ne!(first, second);
    let refused = again.observe(first, 1.0).unwrap_err().to_string();
    assert!(refused.contains("restarted"), "{refused}");
    assert!(again.observe(kept, 1.0).is_err(), "`save` keeps no open decision");
    assert_eq!((again.rounds(), again.open_decisions()), (0, 1));
    // After a stop in order they are carried over.
    let mut moved = JointLinUcb::<SecureNoise>::resume(&whole, 0).unwrap();
    moved.observe(kept, 1.0).unwrap();
    assert_eq!((moved.rounds(), moved.open_decisions()), (1, 0));
    // A decision that was counted cannot come back beside the state that counted it.
    let mut later = JointLinUcb::<SecureNoise>::resume(&moved.save_with_open(), 0).unwrap();
    assert!(later.observe(kept, 1.0).is_err());
    assert_eq!((later.rounds(), later.open_decisions()), (1, 0));
    let mut copy = JointLinUcb::<SecureNoise>::resume(&state, 0).unwrap();
    copy.branch().unwrap();
    assert_ne!(copy.decide(&arms()).unwrap().ticket, second);
}

#[test]
fn a_release_that_is_held_is_not_used_before_it_is_committed() {
    let every = JointParams { schedule: crate::release::Schedule::EveryRound, ..params() };
    let (mut held, mut plain) = (start(&every), start(&every));
    held.hold_releases();
    let ticket = held.decide(&arms()).unwrap().ticket;
    assert!(held.observe(ticket, 1.0).unwrap().released && held.holds_release());
    assert_eq!(*held.policy(), *start(&every).policy());
    assert!(held.legacy().is_err());
    assert!(held.decide(&arms()).is_err() && held.observe(ticket, 1.0).is_err());
    // What is stored meanwhile is the state after the release.
    let stored = JointLinUcb::<Seeded>::resume(&held.save(), held.releases()).unwrap();
    let ticket = plain.decide(&arms()).unwrap().ticket;
    plain.observe(ticket, 1.0).unwrap();
    assert_eq!(stored.policy(), plain.policy());
    held.commit();
    assert!(!held.holds_release());
    assert_eq!(held.policy(), plain.policy());
    held.decide(&arms()).unwrap();
}

#[test]
fn only_a_stale_state_is_charged_and_the_count_before_is_what_was_charged_before() {
    let every = JointParams { schedule: crate::release::Schedule::EveryRound, ..params() };
    let mut learner = start(every);
    let step = |learner: &mut JointLinUcb<Seeded>| {
        let ticket = learner.decide(&arms()).unwrap().ticket;
        learner.observe(ticket, 0.5).unwrap();
    };
    step(&mut learner);
    let old = learner.save();
    step(&mut learner);
    let charged = |bytes: &[u8], made, before| {
        JointLinUcb::<Seeded>::resume_charged(bytes, made, before).unwrap()
    };
    assert_eq!(charged(&learner.save(), 2, 0).replays(), 0, "not stale");
    assert_eq!(
        charged(&learner.save(), 2, 1).replays(),
        1,
        "not stale, and one was charged before"
    );
    let mut first = charged(&old, 2, 0);
    assert_eq!((first.replays(), first.releases()), (1, 2));
    step(&mut first);
    assert_eq!(charged(&first.save(), 3, 1).replays(), 1, "its own state knows of it");
    assert_eq!(charged(&old, 3, 1).replays(), 2, "the old one is replayed a second time");
}

/// 200,000 decisions at d = 50 took 92 MB as vectors of doubles in a tree.
#[test]
fn open_decisions_take_little_memory_and_no_place_in_the_state() {
    let big = JointParams::new(Bounds::unit(50), 1.0, 1e-6, Some(1_000_000));
    let mut learner = start(big);
    let empty = learner.save().len();
    let arms = Arms::from_rows(50, &[[0.1; 50]]).unwrap();
    for _ in 0..1000 {
        learner.decide(&arms).unwrap();
    }
    assert!(learner.save().len() <= empty + 8);
    let whole = learner.save_with_open().len();
    assert!(whole < empty + 1000 * (50 * 4 + 30), "{whole}");
}
