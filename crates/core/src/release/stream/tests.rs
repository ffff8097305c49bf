use proptest::prelude::*;

use super::*;
use crate::noise::SecureNoise;
use crate::release::{
    Calibration, Domain, Mechanism, PrivateSumParams, Schedule,
    testing::{Seeded, Silent},
};

mod clock;
mod forgetting;
mod saved;

const MECHANISMS: [Mechanism; 6] = [
    Mechanism::Tree { levels: None },
    Mechanism::Tree { levels: Some(20) },
    Mechanism::Honaker,
    Mechanism::Toeplitz,
    Mechanism::Blt { buffers: 4 },
    Mechanism::PaddedTree { levels: None },
];

fn params(domain: Domain, horizon: Option<u64>, mechanism: Mechanism) -> PrivateSumParams {
    PrivateSumParams {
        mechanism,
        schedule: Schedule::EveryRound,
        ..PrivateSumParams::new(domain, horizon, Calibration::Mu(0.9))
    }
}

fn vector(horizon: u64) -> PrivateSumParams {
    params(Domain::Vector { dimension: 2, bound: 1.0 }, Some(horizon), Mechanism::default())
}

fn start<N: Noise>(params: &PrivateSumParams, noise: N) -> PrivateSum<N> {
    params.check().unwrap().start(noise)
}

fn mu<N: Noise>(sum: &PrivateSum<N>) -> f64 {
    match sum.event() {
        Event::GridGaussian { mu, .. } => mu,
        other => panic!("{other:?}"),
    }
}

#[test]
fn without_noise_every_release_is_the_exact_sum() {
    let domain = Domain::Regression {
        dimension: 2,
        feature_bound: 1.0,
        reward_bound: 2.0,
        split: 0.3,
        structure: Default::default(),
    };
    let capped = Schedule::CappedGeometric { first: 5, least: 3, rate: 0.1, most: 20 };
    for mechanism in MECHANISMS {
        for (horizon, schedule) in [
            (Some(300), Schedule::EveryRound),
            (Some(300), capped),
            (None, Schedule::EveryRound),
            (None, capped),
        ] {
            if horizon.is_none() && mechanism == (Mechanism::Tree { levels: Some(20) }) {
                continue;
            }
            let mut sum = start(
                &PrivateSumParams { schedule, ..params(domain.clone(), horizon, mechanism) },
                Silent,
            );
            let mut source = Seeded(9);
            let mut exact = [0.0; 5];
            for round in 1..=300_u64 {
                let mut uniform = || source.uniform() - 0.5;
                let (a, b, y) = (uniform(), uniform(), 4.0 * uniform());
                let products = [a * a, a * b, b * b, a * y, b * y];
                exact.iter_mut().zip(products).for_each(|(sum, product)| *sum += product);
                let contribution = sum.clip_with_reward(&[a, b], y).unwrap();
                assert!(!contribution.clipped());
                let release = sum.absorb(&contribution).unwrap();
                let due = schedule.times().take_while(|&t| t <= round).last() == Some(round);
                assert_eq!(release.is_some(), due);
                if let Some(release) = release {
                    assert_eq!((release.round(), sum.releases()), (round, release.index()));
                    for (got, want) in release.sums().iter().zip(exact) {
                        // Truncation to the feature grid, 2^-20 or so per round.
                        assert!((got - want).abs() < 3e-6 * round as f64, "{got} against {want}");
                    }
                    assert_eq!(release.vector(), &release.sums()[3..]);
                    assert_eq!(release.deviations(), sum.deviations(release.index()).unwrap());
                }
            }
        }
    }
}

#[test]
fn the_event_is_what_was_asked_for_and_the_noise_no_less() {
    for mechanism in MECHANISMS {
        for horizon in [Some(1000), None] {
            if horizon.is_none() && mechanism == (Mechanism::Tree { levels: Some(20) }) {
                continue;
            }
            let domain = Domain::Symmetric { dimension: 3, bound: 2.0 };
            let sum = start(&params(domain, horizon, mechanism), Silent);
            assert!(mu(&sum) <= 0.9 + 1e-12 && mu(&sum) > 0.9 - 1e-7, "{}", mu(&sum));
            assert!(sum.event().check().is_ok());
            if let Some(steps) = horizon {
                let factor = mechanism.build(steps).unwrap();
                let sigma = 4.0 * factor.as_dyn().column_norm() / 0.9;
                let deviations = sum.deviations(1000).unwrap();
                let want = sigma * factor.as_dyn().prefix_deviation(1000);
                assert!((deviations[1] / want - 1.0).abs() < 1e-7);
                // The diagonal carries sqrt 2 as much.
                assert!((deviations[0] / deviations[1] - 2f64.sqrt()).abs() < 1e-12);
            }
        }
    }
}

#[test]
fn sigma_and_mu_are_two_names_for_one_calibration() {
    let by_mu = start(&vector(500), Silent);
    let factor = Mechanism::default().build(500).unwrap();
    let sigma = 2.0 * factor.as_dyn().column_norm() / 0.9;
    let by_sigma = PrivateSumParams { calibration: Calibration::Sigma(sigma), ..vector(500) };
    assert!((mu(&start(&by_sigma, Silent)) / mu(&by_mu) - 1.0).abs() < 1e-7);
}

#[test]
fn several_contributions_cost_more_noise_and_batches_add_up() {
    for mechanism in MECHANISMS {
        let deviation = |contributions_per_person, schedule| {
            let params = PrivateSumParams {
                contributions_per_person,
                schedule,
                ..params(Domain::Vector { dimension: 1, bound: 1.0 }, Some(600), mechanism)
            };
            start(&params, Silent).deviations(1).unwrap()[0]
        };
        let factor = mechanism.build(600).unwrap();
        let every = deviation(3, Schedule::EveryRound) / deviation(1, Schedule::EveryRound);
        let want = factor.as_dyn().person_norm(3) / factor.as_dyn().column_norm();
        assert!((every / want - 1.0).abs() < 1e-7 && every < 3.0);
        let batched = deviation(3, Schedule::default()) / deviation(1, Schedule::default());
        assert!((batched / 3.0 - 1.0).abs() < 1e-7);
    }
}

/// False alarm: the mean of 128 * 20 squared normals off by 5.5 deviations (chi-square tail), below 1e-7 each.
#[test]
fn releases_carry_the_noise_they_say() {
    for mechanism in MECHANISMS {
        let domain = Domain::Regression {
            dimension: 5,
            feature_bound: 1.0,
            reward_bound: 3.0,
            split: 0.4,
            structure: Default::default(),
        };
        let (mut square, mut planted) = (0.0, 0.0);
        for trial in 0..128 {
            let mut sum = start(&params(domain.clone(), Some(100), mechanism), Seeded(77 + trial));
            let nothing = sum.clip_with_reward(&[0.0; 5], 0.0).unwrap();
            let mut last = None;
            for _ in 0..100 {
                last = sum.absorb(&nothing).unwrap();
            }
            let release = last.unwrap();
            for (c, (z, deviation)) in release.sums().iter().zip(release.deviations()).enumerate() {
                square += (z / deviation).powi(2);
                // Planted: footnote 4 of the paper, a diagonal without its sqrt 2.
                let diagonal = [0, 5, 9, 12, 14].contains(&c);
                planted += (z / deviation).powi(2) * if diagonal { 2.0 } else { 1.0 };
            }
        }
        let samples = 128.0 * 20.0;
        let ratio = square / samples;
        let alarm = 5.5 * (2.0_f64 / samples).sqrt();
        assert!((ratio - 1.0).abs() < alarm, "{mechanism:?}: {ratio}");
        assert!((planted / samples - 1.0).abs() > alarm, "{mechanism:?}: {planted}");
    }
}

fn run<N: Noise>(sum: &mut PrivateSum<N>, x: [f64; 2]) -> Release {
    let contribution = sum.clip(&x).unwrap();
    sum.absorb(&contribution).unwrap().unwrap()
}

#[test]
fn no_two_releases_differ_by_exactly_the_data() {
    // A port that reuses fixed draws fails here: its differences are the data to the last digit.
    for mechanism in MECHANISMS {
        let domain = Domain::Vector { dimension: 2, bound: 1.0 };
        let mut sum = start(&params(domain, Some(20), mechanism), Seeded(11));
        let releases: Vec<Release> = (0..20).map(|_| run(&mut sum, [0.5, -0.25])).collect();
        for (early, first) in releases.iter().enumerate() {
            for (gap, second) in releases[early + 1..].iter().enumerate() {
                let data = [0.5, -0.25].map(|x| x * (gap + 1) as f64);
                let noise = |c: usize| second.sums()[c] - first.sums()[c] - data[c];
                assert!(noise(0).abs().max(noise(1).abs()) > 1e-3, "{mechanism:?} {early} {gap}");
            }
        }
    }
}

#[test]
fn no_two_releases_under_wishart_noise_differ_by_exactly_the_data_and_reused_draws_do() {
    let calibration = Calibration::Wishart { node_epsilon: 0.9, node_delta: 1e-3 };
    let domain = Domain::regression(2, 1.0, 1.0);
    let tree = Mechanism::Tree { levels: Some(8) };
    let leaks = |reuse: bool| {
        let params = PrivateSumParams { calibration, ..params(domain.clone(), Some(32), tree) };
        let mut sum = start(&params, Seeded(7));
        let mut release = |_| {
            if reuse {
                sum.state.noise = Seeded(7);
            }
            let row = sum.clip_with_reward(&[0.5, -0.25], 0.5).unwrap();
            sum.absorb(&row).unwrap().unwrap()
        };
        let releases: Vec<Release> = (0..32).map(&mut release).collect();
        let pairs = (0..32).flat_map(|late: usize| (0..late).map(move |early| (early, late)));
        let exact = |&(early, late): &(usize, usize)| {
            let moved = [0.25, -0.125, 0.0625, 0.25, -0.125].map(|x| x * (late - early) as f64);
            let difference = |c: usize| releases[late].sums()[c] - releases[early].sums()[c];
            (0..5).all(|c| (difference(c) - moved[c]).abs() < 1e-3)
        };
        pairs.filter(exact).count()
    };
    assert_eq!(leaks(false), 0);
    assert!(leaks(true) > 0);
}

#[test]
fn the_horizon_ends_the_stream_and_changes_nothing() {
    let mut sum = start(&vector(3), Seeded(6));
    for _ in 0..3 {
        run(&mut sum, [0.0, 0.1]);
    }
    let before = sum.save();
    let more = sum.clip(&[0.0, 0.1]).unwrap();
    assert_eq!(sum.absorb(&more), Err(Error::HorizonExceeded { round: 4, horizon: 3 }));
    assert_eq!(sum.save(), before);
}

#[test]
fn printing_shows_no_data() {
    let mut sum =
        start(&PrivateSumParams { schedule: Schedule::default(), ..vector(100) }, Seeded(6));
    let contribution = sum.clip(&[0.5, 0.5]).unwrap();
    sum.absorb(&contribution).unwrap();
    assert_eq!(format!("{sum:?}"), "PrivateSum { rounds: 1, releases: 0, .. }");
    assert_eq!(format!("{contribution:?}"), "Contribution { clipped: false, .. }");
}

#[test]
fn a_contribution_to_another_stream_is_refused() {
    let mut sum = start(&vector(10), Seeded(7));
    let before = sum.save();
    // A larger bound would be a larger sensitivity.
    let wide = params(Domain::Vector { dimension: 2, bound: 9.0 }, Some(10), Mechanism::default());
    let foreign = start(&wide, Silent).clip(&[5.0, 5.0]).unwrap();
    assert!(matches!(sum.absorb(&foreign), Err(Error::Invalid { field: "contribution", .. })));
    assert_eq!(sum.save(), before);
}

#[test]
fn an_unknown_horizon_ends_only_where_the_mechanism_does() {
    // The longest Toeplitz epoch is 2^17 steps; everything before is covered by shorter ones.
    let params = params(Domain::Vector { dimension: 1, bound: 1.0 }, None, Mechanism::Toeplitz);
    let sum = start(&params, Silent);
    assert!(sum.deviations(2_000_000).is_ok());
    assert!(sum.deviations(0).is_err());
    assert!(sum.deviations(u64::MAX).is_err());
}

proptest! {
    #[test]
    fn bad_parameters_are_named(
        value in prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(0.0), -1e9_f64..0.0],
        horizon in prop::sample::select(vec![Some(1000), None]),
    ) {
        let good = PrivateSumParams { horizon, ..vector(1000) };
        prop_assert!(good.check().is_ok());
        for (field, bad) in [
            ("mu", PrivateSumParams { calibration: Calibration::Mu(value), ..good.clone() }),
            ("sigma", PrivateSumParams { calibration: Calibration::Sigma(value), ..good.clone() }),
            ("bound", PrivateSumParams { domain: Domain::Vector { dimension: 2, bound: value }, ..good }),
            ("split", PrivateSumParams {
                domain: Domain::Regression { dimension: 2, feature_bound: 1.0, reward_bound: 1.0, split: value, structure: Default::default() }, ..good
            }),
            ("horizon", PrivateSumParams { horizon: Some(0), ..good.clone() }),
            ("horizon", PrivateSumParams { horizon: Some(7), schedule: Schedule::default(), ..good.clone() }),
            ("contributions_per_person", PrivateSumParams { contributions_per_person: 0, ..good.clone() }),
            ("buffers", PrivateSumParams { mechanism: Mechanism::Blt { buffers: 0 }, ..good.clone() }),
            ("levels", PrivateSumParams { mechanism: Mechanism::Tree { levels: Some(3) }, ..good.clone() }),
            ("first", PrivateSumParams { schedule: Schedule::Geometric { first: 0, rate: 0.1 }, ..good }),
        ] {
            match bad.check() {
                Err(Error::Invalid { field: named, .. }) => prop_assert_eq!(named, field),
                other => prop_assert!(false, "{} gave {:?}", field, other.map(drop)),
            }
        }
    }

    #[test]
    fn extreme_parameters_give_errors_not_panics(
        exponent in -300_i32..300, mu_exponent in -300_i32..300, horizon in prop::option::of(any::<u64>()), k: u64, mechanism in 0_usize..5, dimension in 1_usize..4,
    ) {
        let (bound, mu) = (10f64.powi(exponent), 10f64.powi(mu_exponent));
        for domain in [
            Domain::Vector { dimension, bound },
            Domain::Symmetric { dimension, bound },
            Domain::regression(dimension, bound, 1.0),
            Domain::regression(dimension, 1.0, bound),
        ] {
            let params = PrivateSumParams {
                schedule: Schedule::default(),
                contributions_per_person: k,
                calibration: Calibration::Mu(mu),
                ..params(domain.clone(), horizon, MECHANISMS[mechanism])
            };
            if let Ok(plan) = params.check() {
                let mut sum = plan.start(Seeded(1));
                let x = vec![bound; dimension];
                let contribution = match domain {
                    Domain::Regression { .. } => sum.clip_with_reward(&x, bound),
                    _ => sum.clip(&x),
                }.unwrap();
                for _ in 0..70 {
                    // A short horizon may end first.
                    let _ = sum.absorb(&contribution);
                }
            }
        }
    }

    #[test]
    fn damaged_bytes_never_resume(position in 0_usize..400, bit in 0_u32..8) {
        let mut bytes = start(&vector(20), Seeded(8)).save();
        let position = position % bytes.len();
        bytes[position] ^= 1 << bit;
        let refused = matches!(PrivateSum::<Seeded>::resume(&bytes, 0), Err(Error::CorruptState { .. }));
        prop_assert!(refused);
    }
}

#[test]
fn several_contributions_cost_more_with_an_unknown_horizon_too() {
    let domain = Domain::Vector { dimension: 2, bound: 1.0 };
    let once = params(domain, None, Mechanism::default());
    let thrice = PrivateSumParams { contributions_per_person: 3, ..once.clone() };
    // The same mu for the person means three times the noise for each contribution.
    let deviation = |params: &PrivateSumParams| start(params, Silent).deviations(1).unwrap()[0];
    assert!((deviation(&thrice) / deviation(&once) - 3.0).abs() < 1e-6);
    assert!((mu(&start(&thrice, Silent)) / mu(&start(&once, Silent)) - 1.0).abs() < 1e-6);
}

#[test]
fn laplace_trees_are_pure_and_priced_by_levels_dimension_and_contributions() {
    let params = PrivateSumParams {
        mechanism: Mechanism::Tree { levels: None },
        schedule: Schedule::EveryRound,
        contributions_per_person: 2,
        ..PrivateSumParams::new(
            Domain::Vector { dimension: 3, bound: 0.5 },
            Some(100),
            Calibration::Pure { epsilon: 0.8 },
        )
    };
    let plan = params.check().unwrap();
    let Event::DiscreteLaplace { sensitivity, scale } = plan.event() else {
        panic!("{:?}", plan.event())
    };
    let epsilon = sensitivity as f64 / scale;
    assert!(epsilon > 0.799_999 && epsilon <= 0.800_001, "{epsilon}");
    let guarantee = plan.guarantee(1e-12).unwrap();
    assert!((guarantee.epsilon() - epsilon).abs() < 1e-6, "{}", guarantee.epsilon());
    // Seven levels complete within 100 steps; each sees both contributions, each 2 * 0.5 * sqrt 3 long in l1.
    let by_scale = PrivateSumParams { calibration: Calibration::Scale(2.0), ..params };
    let Event::DiscreteLaplace { sensitivity, scale } = by_scale.check().unwrap().event() else {
        panic!()
    };
    assert!((sensitivity as f64 / scale - 2.0 * 7.0 * 3f64.sqrt() / 2.0).abs() < 1e-6);
    // The noise is there: release 1 has one node, 2 b^2 variance in each coordinate.
    let release = |seed| {
        let mut sum = by_scale.check().unwrap().start(Seeded(seed));
        let contribution = sum.clip(&[0.0; 3]).unwrap();
        sum.absorb(&contribution).unwrap().unwrap()
    };
    let draws: Vec<f64> = (0..8000).flat_map(|seed| release(seed).sums().to_vec()).collect();
    let alarm = |factor: f64| {
        crate::noise::check::mean_alarm(
            draws.iter().map(|x| factor * x * x / 8.0),
            1.0,
            5f64.sqrt(),
        )
    };
    assert!(!alarm(1.0) && alarm(1.1));
    assert!((release(1).deviations()[0] - 8f64.sqrt()).abs() < 1e-6);
}

#[test]
fn laplace_noise_is_refused_where_its_price_is_not_known() {
    let good = PrivateSumParams {
        mechanism: Mechanism::Honaker,
        ..PrivateSumParams::new(
            Domain::Vector { dimension: 2, bound: 1.0 },
            Some(1000),
            Calibration::Pure { epsilon: 1.0 },
        )
    };
    assert!(good.check().is_ok());
    for bad in [
        PrivateSumParams { mechanism: Mechanism::default(), ..good.clone() },
        PrivateSumParams { domain: Domain::Symmetric { dimension: 2, bound: 1.0 }, ..good },
        PrivateSumParams { horizon: None, ..good.clone() },
        PrivateSumParams { calibration: Calibration::Pure { epsilon: f64::NAN }, ..good.clone() },
        PrivateSumParams { calibration: Calibration::Scale(0.0), ..good },
    ] {
        assert!(bad.check().is_err(), "{bad:?}");
    }
}
