//! Streams that forget: what is released, at which price, and for how long.

use super::*;
use crate::release::{Factorization, HalfLife, blt::Blt};

const SCHEDULES: [Schedule; 3] = [
    Schedule::EveryRound,
    Schedule::Clock,
    Schedule::CappedGeometric { first: 7, least: 7, rate: 0.0, most: 7 },
];

/// A stream with this half-life, in rounds.
fn forgetful(half_life: f64, schedule: Schedule) -> PrivateSumParams {
    let domain = Domain::Vector { dimension: 2, bound: 1.0 };
    let params = PrivateSumParams::forgetting(domain, half_life, Calibration::Mu(0.9));
    PrivateSumParams { schedule, ..params }
}

/// Absorbs the contribution, and by the clock ticks.
fn take<N: Noise>(sum: &mut PrivateSum<N>, x: [f64; 2]) -> Option<Release> {
    let contribution = sum.clip(&x).unwrap();
    if sum.state.plan.schedule != Schedule::Clock {
        return sum.absorb(&contribution).unwrap();
    }
    let mut since = ContributionSums::new(sum.clipper().clone());
    since.add(&contribution).unwrap();
    Some(sum.tick(&mut since).unwrap())
}

#[test]
fn without_noise_every_release_is_the_weighted_sum() {
    for schedule in SCHEDULES {
        let gap = schedule.constant_gap().unwrap();
        let mut sum = start(&forgetful(70.0, schedule), Silent);
        let mut source = Seeded(5);
        let (mut weighted, mut since) = ([0.0; 2], [0.0; 2]);
        for round in 1..=3000_u64 {
            let x = [source.uniform() - 0.5, source.uniform() - 0.5];
            (0..2).for_each(|c| since[c] += x[c]);
            let release = take(&mut sum, x);
            assert_eq!(release.is_some(), round % gap == 0);
            let Some(release) = release else { continue };
            let kept = (-(gap as f64) / 70.0).exp2();
            (0..2).for_each(|c| weighted[c] = kept * weighted[c] + since[c]);
            since = [0.0; 2];
            for (got, want) in release.sums().iter().zip(weighted) {
                // C x is rounded to units of 2^-43 or so, and contributions towards 0.
                assert!((got - want).abs() < 1e-9, "{got} against {want} at {round}");
            }
            assert_eq!((release.round(), release.index()), (round, round / gap));
        }
    }
}

#[test]
fn one_calibration_holds_for_any_horizon_and_k_visits_cost_k_times_one() {
    for schedule in SCHEDULES {
        let endless = forgetful(70.0, schedule);
        let short = PrivateSumParams { horizon: Some(100), ..endless.clone() };
        let (endless, short) = (start(&endless, Silent), start(&short, Silent));
        assert_eq!(endless.event(), short.event());
        assert_eq!(endless.deviations(9).unwrap(), short.deviations(9).unwrap());
        assert!(mu(&endless) <= 0.9 + 1e-12 && mu(&endless) > 0.9 - 1e-7);
        // The noise is that of the last of 2^32 steps from a few half-lives on, and never larger.
        let [early, late, last] =
            [3, 2000, 1 << 32].map(|step| endless.deviations(step).unwrap()[0]);
        assert!(early < late && (last / late - 1.0).abs() < 1e-9);
        assert!(endless.deviations((1 << 32) + 1).is_err());
        let three = PrivateSumParams { contributions_per_person: 3, ..forgetful(70.0, schedule) };
        let three = start(&three, Silent).deviations(1).unwrap()[0];
        assert!((three / endless.deviations(1).unwrap()[0] / 3.0 - 1.0).abs() < 1e-7);
    }
    // Half-lives of 50 releases have less noise for ever than the default has over 10,000 rounds.
    let domain = Domain::Vector { dimension: 2, bound: 1.0 };
    let default = PrivateSumParams::new(domain, Some(10_000), Calibration::Mu(0.9));
    let releases = Schedule::default().releases(10_000);
    let default = start(&default, Silent).deviations(releases).unwrap()[0];
    let forgets = start(&forgetful(50.0, Schedule::Clock), Silent);
    assert!(forgets.deviations(1 << 32).unwrap()[0] < default);
}

/// Rounding and grid are priced for 2^32 steps: at d = 16 they cost less than 1e-7 of mu.
#[test]
fn the_price_of_two_to_the_32_steps_is_small() {
    let domain = Domain::regression(16, 1.0, 1.0);
    let params = PrivateSumParams::forgetting(domain, 5000.0, Calibration::Mu(0.9));
    let sum = start(&params, Silent);
    let Event::GridGaussian { mu, coordinates, .. } = sum.event() else { panic!() };
    assert_eq!(coordinates, 152.0 * 2f64.powi(32));
    let half_life = HalfLife::new(5000.0, &params.schedule).unwrap();
    let blt = Blt::forgetting(1 << 32, 8, half_life).unwrap();
    let ideal = 1.4 * blt.column_norm() / mu;
    let deviation = sum.deviations(1).unwrap()[1];
    assert!((deviation / ideal - 1.0).abs() < 1e-7, "{deviation} {ideal}");
}

/// 2^20 steps take a few seconds in a debug build, and a state is as large after them as after a thousand.
#[test]
fn a_million_steps_are_cheap_and_take_no_memory() {
    let domain = Domain::Vector { dimension: 1, bound: 1.0 };
    let params = PrivateSumParams {
        schedule: Schedule::Clock,
        ..PrivateSumParams::forgetting(domain, 50.0, Calibration::Mu(0.9))
    };
    let mut sum = start(&params, Silent);
    let one = sum.clip(&[1.0]).unwrap();
    let mut since = ContributionSums::new(sum.clipper().clone());
    let mut after = |steps: u64| {
        let mut last = 0.0;
        for _ in 0..steps {
            since.add(&one).unwrap();
            last = sum.tick(&mut since).unwrap().sums()[0];
        }
        (last, sum.save().len())
    };
    let (early, small) = after(5000);
    let (late, large) = after((1 << 20) - 5000);
    // Numbers have as many bytes as they have digits: a few more or less.
    assert!(large <= small + 16, "{small} {large}");
    let limit = 1.0 / (1.0 - (-1.0_f64 / 50.0).exp2());
    assert!((early / limit - 1.0).abs() < 1e-9 && (late / limit - 1.0).abs() < 1e-9, "{late}");
    assert_eq!(sum.rounds(), 1 << 20);
    assert!(!sum.is_over() && !sum.is_exhausted());
}

#[test]
fn a_resumed_stream_goes_on_and_an_old_state_is_refused_or_charged() {
    let mut sum = start(&forgetful(30.0, Schedule::EveryRound), Seeded(3));
    for _ in 0..60 {
        run(&mut sum, [0.3, -0.4]);
    }
    let bytes = sum.save();
    let mut resumed = PrivateSum::<Seeded>::resume(&bytes, 60).unwrap();
    for _ in 0..20 {
        assert_eq!(run(&mut sum, [0.1, 0.2]), run(&mut resumed, [0.1, 0.2]));
    }
    assert_eq!((sum.save(), sum.event()), (resumed.save(), resumed.event()));
    assert!(PrivateSum::<Seeded>::resume(&bytes, 61).is_err());
    let charged = PrivateSum::<Seeded>::resume_charged(&bytes, 80, 0).unwrap();
    assert!((mu(&charged) / mu(&sum) - 2f64.sqrt()).abs() < 1e-12);
}

/// The last step is the last, in either way of counting; nothing is lost by trying.
#[test]
fn the_stream_ends_after_its_steps() {
    for schedule in [Schedule::Clock, Schedule::EveryRound] {
        let mut sum = start(&forgetful(30.0, schedule), Seeded(3));
        take(&mut sum, [0.5, 0.5]);
        (sum.state.step, sum.state.round, sum.state.next) = ((1 << 32) - 1, (1 << 32) - 1, 1 << 32);
        assert!(!sum.is_exhausted());
        assert!(take(&mut sum, [0.5, 0.5]).is_some());
        assert!(sum.is_over() && sum.is_exhausted());
        let before = sum.save();
        let one = sum.clip(&[0.5, 0.5]).unwrap();
        let mut since = ContributionSums::new(sum.clipper().clone());
        since.add(&one).unwrap();
        assert!(sum.absorb(&one).is_err() && sum.tick(&mut since).is_err());
        assert_eq!(sum.save(), before);
    }
}

#[test]
fn what_cannot_be_forgotten_is_refused() {
    let good = forgetful(70.0, Schedule::EveryRound);
    let domain = good.domain.clone();
    let tree = Mechanism::Tree { levels: None };
    let long = PrivateSumParams {
        schedule: Schedule::constant(1 << 32),
        forget: Some(2f64.powi(62)),
        ..good.clone()
    };
    for (field, params) in [
        ("forget", PrivateSumParams { forget: Some(0.0), ..good.clone() }),
        ("forget", PrivateSumParams { forget: Some(f64::NAN), ..good.clone() }),
        ("forget", PrivateSumParams { forget: Some(-1.0), ..good.clone() }),
        ("128-bit", long),
        ("schedule", PrivateSumParams { schedule: Schedule::default(), ..good.clone() }),
        ("mechanism", PrivateSumParams { mechanism: tree, ..good.clone() }),
        ("mechanism", PrivateSumParams { mechanism: Mechanism::Toeplitz, ..good.clone() }),
        ("buffers", PrivateSumParams { mechanism: Mechanism::Blt { buffers: 0 }, ..good.clone() }),
        ("horizon", PrivateSumParams { horizon: Some(0), ..good.clone() }),
        ("horizon", PrivateSumParams { horizon: Some((1 << 32) + 1), ..good.clone() }),
        (
            "mechanism",
            PrivateSumParams { calibration: Calibration::Pure { epsilon: 1.0 }, ..good.clone() },
        ),
        (
            "calibration",
            PrivateSumParams {
                calibration: Calibration::Wishart { node_epsilon: 0.5, node_delta: 1e-3 },
                domain: Domain::regression(2, 1.0, 1.0),
                ..good
            },
        ),
    ] {
        let error = params.check().unwrap_err().to_string();
        assert!(error.contains(field), "{field}: {error}");
    }
    assert_eq!(good.domain, domain);
    assert!((good.kept().unwrap() - (-1.0_f64 / 70.0).exp2()).abs() < 1e-15);
    assert_eq!(vector(10).kept().unwrap(), 1.0);
}

/// False alarm: the mean of 128 * 20 squared normals off by 5.5 deviations, below 1e-7.
#[test]
fn releases_carry_the_noise_they_say_and_no_less() {
    let domain = Domain::regression(5, 1.0, 3.0);
    let params = PrivateSumParams {
        schedule: Schedule::EveryRound,
        ..PrivateSumParams::forgetting(domain, 20.0, Calibration::Mu(0.9))
    };
    let mut square = 0.0;
    for trial in 0..128 {
        let mut sum = start(&params, Seeded(77 + trial));
        let nothing = sum.clip_with_reward(&[0.0; 5], 0.0).unwrap();
        let mut last = None;
        for _ in 0..100 {
            last = sum.absorb(&nothing).unwrap();
        }
        let release = last.unwrap();
        let parts = release.sums().iter().zip(release.deviations());
        square += parts.map(|(z, deviation)| (z / deviation).powi(2)).sum::<f64>();
    }
    let samples = 128.0 * 20.0;
    let alarm = |ratio: f64| (ratio - 1.0).abs() > 5.5 * (2.0_f64 / samples).sqrt();
    assert!(!alarm(square / samples), "{}", square / samples);
    // Planted: the deviation of a single draw, as if B were the identity.
    let row = start(&params, Silent).deviations(100).unwrap()[0]
        / start(&params, Silent).deviations(1).unwrap()[0];
    assert!(alarm(square / samples * row * row), "{row}");
}
