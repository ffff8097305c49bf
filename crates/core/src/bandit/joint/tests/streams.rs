//! Blocks of contributions, restarts and warm starts.

use super::*;

/// Features and rewards that people of a simulated environment bring, one after another.
fn person(number: u64) -> ([f64; 2], f64) {
    let angle = number as f64 * 2.399;
    ([0.8 * angle.cos(), 0.8 * angle.sin()], (number as f64 * 0.7).sin())
}

#[test]
fn contributions_that_come_together_are_those_that_come_one_by_one() {
    let (mut single, mut many) = (
        params().check().unwrap().curator(Seeded(3)),
        params().check().unwrap().curator(Seeded(3)),
    );
    let mut next = 0;
    while next < 1500 {
        let count = many.until_release().unwrap().min(11);
        let mut sums = many.no_sums();
        for number in next..next + count {
            let (features, reward) = person(number);
            single.observe(&features, reward).unwrap();
            sums.add(&many.contribution(&features, reward).unwrap()).unwrap();
        }
        many.absorb_sums(&mut sums).unwrap();
        assert_eq!(sums.count(), 0, "no person is counted twice");
        next += count;
        assert_eq!(single.policy(), many.policy());
    }
    assert!(single.releases() > 10 && single.save() == many.save());
    // Never over a release: then it would be the sum of other people.
    let mut beyond = many.no_sums();
    let contribution = many.contribution(&[0.1, 0.1], 0.5).unwrap();
    (0..=many.until_release().unwrap()).for_each(|_| beyond.add(&contribution).unwrap());
    let before = many.save();
    assert!(many.absorb_sums(&mut beyond).is_err());
    assert_eq!(many.save(), before);
}

/// The first sums released after `before` contributions of others.
fn first_sums<N: Noise>(plan: &JointPlan, noise: N, before: u64) -> Vec<f64> {
    let mut learner = plan.clone().curator(noise);
    for number in 0..before {
        learner.observe(&person(number).0, 0.9).unwrap();
    }
    for number in 0..64 {
        learner.observe(&person(number).0, 0.1).unwrap();
    }
    learner.release().unwrap().sums().to_vec()
}

#[test]
fn a_curator_that_restarts_forgets_and_goes_on_at_the_same_price() {
    let forgetful = JointParams { restart_every: Some(300), horizon: None, ..params() };
    let short = JointParams { horizon: Some(300), ..params() };
    let plan = forgetful.check().unwrap();
    let guarantee = plan.guarantee().unwrap();
    assert_eq!(guarantee.epsilon(), short.check().unwrap().guarantee().unwrap().epsilon());
    let mut learner = plan.clone().curator(Seeded(9));
    let cold = learner.policy().clone();
    let (mut releases, mut seen) = (0, Vec::new());
    for number in 0..1000 {
        let (features, reward) = person(number);
        learner.observe(&features, reward).unwrap();
        if number % 300 == 0 {
            assert_eq!(learner.policy(), &cold, "{number}");
            assert_eq!(learner.rounds(), 1);
        }
        if learner.releases() > releases {
            releases = learner.releases();
            seen.push(number % 300);
        }
        if number == 650 {
            // The count of releases goes on, so that a state of an earlier stream is refused.
            let bytes = learner.save();
            assert!(Curator::<Seeded>::resume(&bytes, releases + 1).is_err());
            learner = Curator::resume(&bytes, releases).unwrap();
        }
    }
    // What is learnt in a later stream is what a new learner learns from the same people, and its noise is not that of the first.
    assert_eq!(first_sums(&plan, Silent, 300), first_sums(&plan, Silent, 0));
    assert_ne!(first_sums(&plan, Seeded(9), 300), first_sums(&plan, Seeded(9), 0));
    let each = seen.windows(2).take_while(|pair| pair[0] < pair[1]).count() + 1;
    assert_eq!(seen[..each], seen[each..2 * each], "every stream has the same times");
    assert!(!learner.is_over() && !learner.is_frozen());
    let twice = JointParams { contributions_per_person: 2, ..forgetful.clone() };
    assert!(twice.check().unwrap_err().to_string().contains("contributions_per_person"));
    let never = JointParams { restart_every: Some(5), ..forgetful };
    assert!(never.check().unwrap_err().to_string().contains("restart_every"));
}

#[test]
fn a_warm_start_knows_what_the_earlier_learner_released_and_both_are_certified() {
    let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0]]).unwrap();
    let strong = JointParams {
        mechanism: Some(Mechanism::default()),
        ..JointParams::new(Bounds::unit(2), 8.0, 1e-6, Some(20_000))
    };
    let play = |learner: &mut JointLinUcb<Seeded>, people: u32| {
        (0..people).fold(0, |errors, _| {
            let decision = learner.decide(&arms).unwrap();
            learner.observe(decision.ticket, if decision.arm == 0 { 1.0 } else { 0.0 }).unwrap();
            errors + u32::from(decision.arm == 1)
        })
    };
    let mut earlier = start(&strong);
    assert!(earlier.legacy().is_err());
    play(&mut earlier, 20_000);
    let legacy = Legacy::load(&earlier.legacy().unwrap().save()).unwrap();
    let plan = strong.check().unwrap();
    let mut warm = plan.clone().start_from(legacy.clone(), Seeded(9)).unwrap();
    let (cold, warm_errors) = (play(&mut start(&strong), 500), play(&mut warm, 500));
    assert!(warm_errors * 2 < cold, "{warm_errors} against {cold}");
    let guarantee = warm.guarantee().unwrap();
    assert!((guarantee.epsilon() - 8.0).abs() < 1e-6);
    assert!(guarantee.conditions().iter().any(|c| c.contains("an earlier learner released")));
    let both = warm.guarantee_of_both().unwrap().unwrap();
    // It rests on what each of the two rests on, and simulated noise protects no person.
    let conditions = both.conditions().join(" ");
    assert!(conditions.contains("in the earlier learner: which rewards come"), "{conditions}");
    assert!(conditions.contains("finite numbers"), "{conditions}");
    assert!(both.to_string().starts_with("SIMULATION"), "{both}");
    assert!(both.epsilon() > 1.3 * guarantee.epsilon(), "{}", both.epsilon());
    let saved = JointLinUcb::<Seeded>::resume(&warm.save(), warm.releases()).unwrap();
    assert_eq!(saved.policy(), warm.policy());
    assert!(saved.guarantee_of_both().unwrap().is_some());
    assert!(start(&strong).guarantee_of_both().unwrap().is_none());
    let other =
        JointParams::new(Bounds { rewards: (-2.0, 2.0), ..Bounds::unit(2) }, 8.0, 1e-6, Some(200));
    assert!(other.check().unwrap().start_from(legacy.clone(), Seeded(1)).is_err());
    // Bounds on a regulariser were proved for the noise of one run.
    let rule = Rule::Regularized {
        regularizer: Regularizer::constant(100.0),
        failure_probability: None,
        parameter_bound: 1.0,
        reward_noise: 1.0,
    };
    let bounded = JointParams { rule, ..strong };
    let refused = bounded.check().unwrap().start_from(legacy, Seeded(1)).unwrap_err();
    assert!(refused.to_string().contains("one run"), "{refused}");
}

/// Public examples teach as people would, cost nothing, and cannot be sums about people with their learners left out.
#[test]
fn a_public_prior_teaches_and_costs_nothing() {
    let params = JointParams::new(Bounds::unit(2), 1.0, 1e-6, Some(1000));
    let examples = [([1.0, 0.0], 1.0, 500.0), ([0.0, 1.0], -1.0, 500.0)];
    let prior = Legacy::public(&params, examples.iter().map(|(x, r, w)| (&x[..], *r, *w))).unwrap();
    assert!(prior.is_public());
    // Up to the grid of contributions.
    for (sum, expected) in prior.release().sums().iter().zip([500.0, 0.0, 500.0, 500.0, -500.0]) {
        assert!((sum - expected).abs() < 0.5, "{sum} {expected}");
    }
    let plan = params.check().unwrap();
    let warm = plan.clone().curator_from(prior.clone(), Seeded(1)).unwrap();
    let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0]]).unwrap();
    let right = (0..100).filter(|pick| warm.choose(&arms, *pick).unwrap().arm == 0).count();
    assert!(right > 90, "{right}");
    assert!(warm.earlier_events().is_empty() && warm.guarantee_of_both().unwrap().is_none());
    let guarantee = warm.guarantee().unwrap();
    assert!((guarantee.epsilon() - 1.0).abs() < 1e-6);
    assert!(guarantee.conditions().join(" ").contains("public examples"));
    let saved = Curator::<Seeded>::resume(&warm.save(), 0).unwrap();
    assert_eq!(saved.policy(), warm.policy());
    // Released sums whose learners were taken out are not public.
    let mut earlier = plan.clone().curator(Seeded(2));
    for number in 0..1000 {
        let (features, reward) = person(number);
        earlier.observe(&features, reward).unwrap();
    }
    let released = earlier.legacy().unwrap();
    assert!(Legacy::load(&released.save()).is_ok());
    assert!(Legacy::load(&released.without_learners().save()).is_err());
    let other = JointParams::new(Bounds::unit(3), 1.0, 1e-6, Some(1000));
    assert!(other.check().unwrap().curator_from(prior, Seeded(1)).is_err());
    for (features, reward, weight) in
        [([1.0, f64::NAN], 0.0, 1.0), ([1.0, 0.0], f64::INFINITY, 1.0), ([1.0, 0.0], 0.0, -1.0)]
    {
        assert!(Legacy::public(&params, [(&features[..], reward, weight)]).is_err());
    }
    assert!(Legacy::public(&params, [(&[1.0][..], 0.0, 1.0)]).is_err());
}

/// Three learners, each beginning with what the one before released: sums and costs of all of them, and a restart forgets sums only.
#[test]
fn a_chain_of_warm_starts_adds_sums_and_costs() {
    let params = JointParams { horizon: Some(300), ..params() };
    let mu = |guarantee: &Guarantee| guarantee.curve().mu().unwrap();
    let observe = |learner: &mut Curator<Seeded>, count: u64| {
        for number in 0..count {
            let (features, reward) = person(number);
            learner.observe(&features, reward).unwrap();
        }
    };
    let mut first = params.check().unwrap().curator(Seeded(1));
    observe(&mut first, 64);
    let mut second =
        params.check().unwrap().curator_from(first.legacy().unwrap(), Seeded(2)).unwrap();
    observe(&mut second, 64);
    let forgetful = JointParams { restart_every: Some(100), ..params.clone() };
    let mut third =
        forgetful.check().unwrap().curator_from(second.legacy().unwrap(), Seeded(3)).unwrap();
    assert_eq!(second.legacy().unwrap().release().round(), 128);
    assert_eq!(third.earlier_events(), [first.event(), second.event()]);
    let both = |learner: &Curator<Seeded>| learner.guarantee_of_both().unwrap().unwrap();
    let own = mu(&first.guarantee().unwrap());
    assert!((mu(&both(&second)) / own - 2.0_f64.sqrt()).abs() < 1e-6);
    let third_own = mu(&third.guarantee().unwrap());
    let all = (2.0 * own * own + third_own * third_own).sqrt();
    assert!((mu(&both(&third)) / all - 1.0).abs() < 1e-6);
    observe(&mut third, 101);
    assert!((mu(&both(&third)) / all - 1.0).abs() < 1e-6, "people who were in several stay so");
    let conditions = third.guarantee().unwrap().conditions().join(" ");
    assert!(conditions.contains("an earlier one"), "{conditions}");
    observe(&mut third, 63);
    assert_eq!(third.legacy().unwrap().release().round(), 64, "the sums are forgotten");
    // Noise of a given size is handed over with its deviations and its price.
    let given = JointParams { calibration: Some(Calibration::Sigma(200.0)), ..params.clone() };
    let mut given = given.check().unwrap().curator(Seeded(4));
    observe(&mut given, 64);
    let alone = mu(&given.guarantee().unwrap());
    let after = params.check().unwrap().curator_from(given.legacy().unwrap(), Seeded(5)).unwrap();
    assert!((mu(&both(&after)) / alone.hypot(own) - 1.0).abs() < 1e-6);
}

/// By the clock neither the number nor the times of rewards move a release, for any participants; what is learnt is the same.
#[test]
fn a_curator_by_the_clock_releases_on_request() {
    let params = JointParams { schedule: Schedule::Clock, horizon: Some(40), ..params() };
    let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.6, 0.8]]).unwrap();
    let releases = |come: &dyn Fn(u64) -> bool| {
        let mut learner = start(params.clone());
        (0..40)
            .map(|tick| {
                for person in 0..5 {
                    let decision = learner.decide(&arms).unwrap();
                    if come(5 * tick + person) {
                        assert!(!learner.observe(decision.ticket, 1.0).unwrap().released);
                    }
                }
                learner.tick().unwrap();
                (learner.releases(), learner.rounds(), learner.is_frozen())
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(releases(&|_| true), releases(&|person| person % 7 == 3));
    let mut learner = start(params.clone());
    assert!(learner.guarantee().unwrap().conditions().iter().any(|c| c.contains("clock ticks")));
    // Ticket by ticket or as sums: the same policy.
    let mut curator = params.check().unwrap().curator(Seeded(5));
    let mut since = curator.no_sums();
    for person in 0..20 {
        let decision = learner.decide(&arms).unwrap();
        learner.observe(decision.ticket, 0.05 * f64::from(person)).unwrap();
        let features = arms.arm(decision.arm);
        since.add(&curator.contribution(&features, 0.05 * f64::from(person)).unwrap()).unwrap();
    }
    learner.tick().unwrap();
    curator.tick(&mut since).unwrap();
    assert_eq!(learner.policy(), curator.policy());
    (1..40).for_each(|_| learner.tick().unwrap());
    assert!(learner.tick().is_err() && learner.is_frozen());
    let restarts = JointParams { restart_every: Some(80), ..params.clone() };
    assert!(restarts.check().unwrap_err().to_string().contains("clock"));
    let counted = JointParams { schedule: Schedule::EveryRound, ..params };
    assert!(start(counted).tick().unwrap_err().to_string().contains("`schedule` = clock"));
}

/// The certified set is proved for noise of mean 0.
#[test]
fn wishart_noise_has_no_certified_rule() {
    let wishart = JointParams {
        calibration: Some(Calibration::Wishart { node_epsilon: 0.9, node_delta: 1e-3 }),
        mechanism: Some(Mechanism::Tree { levels: Some(12) }),
        schedule: Schedule::EveryRound,
        ..params()
    };
    assert!(wishart.check().is_ok());
    let error = JointParams { rule: Rule::CERTIFIED, ..wishart }.check().unwrap_err().to_string();
    assert!(error.contains("Gaussian"), "{error}");
}

/// Numbers of this size overflow when they are squared, so that no release can be turned into a policy: that is counted, saved and resumed.
#[test]
fn releases_that_become_no_policy_are_counted() {
    let huge = Bounds { feature_bound: 1e90, rewards: (-1e90, 1e90), ..Bounds::unit(2) };
    let start = |bounds: Bounds| {
        let params = JointParams {
            rule: Rule::THOMPSON,
            schedule: Schedule::EveryRound,
            ..JointParams::new(bounds, 1.0, 1e-6, Some(16))
        };
        params.check().unwrap().curator(SecureNoise::seeded(1))
    };
    let (mut cold, mut sound) = (start(huge), start(Bounds::unit(2)));
    for _ in 0..3 {
        assert!(cold.observe(&[6e89, 8e89], 5e89).unwrap());
        assert!(sound.observe(&[0.6, 0.8], 0.5).unwrap());
    }
    assert_eq!((cold.cold_releases(), sound.cold_releases()), (3, 0));
    let again = Curator::<SecureNoise>::resume(&cold.save(), 3).unwrap();
    assert_eq!(again.cold_releases(), 3);
}
