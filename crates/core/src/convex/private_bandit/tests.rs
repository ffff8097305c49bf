use super::*;
use crate::{
    convex::{
        Baseline, DoublingBandit, Hull, Map, NoisyOco, Protection, Territory,
        oracle::{Birkhoff, L1Ball, Simplex, UniformMatroid},
    },
    linalg::dot,
    noise::{DiscreteGaussian, check},
    privacy::Claim,
    release::{Calibration, Mechanism, testing::Seeded},
    wire,
};

mod doubling;
mod saved;
mod sensitivity;

/// Random directions, but silent releases.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Mute(Seeded);

impl Noise for Mute {
    const PROTECTS_PEOPLE: bool = false;
    const NAME: &'static str = "test 3";

    fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    fn refresh(&mut self) -> Result<()> {
        self.0.refresh()
    }

    fn split(&mut self) -> Result<Self> {
        self.0.split().map(Mute)
    }

    fn discrete_gaussian(&mut self, _: &DiscreteGaussian) -> i64 {
        0
    }
}

fn params(horizon: u64, protection: Protection) -> PrivateBanditParams {
    PrivateBanditParams::new(1.0, horizon, protection)
}

fn start<O: LinearOracle>(
    params: PrivateBanditParams,
    set: DecisionSet<O>,
) -> PrivateBandit<O, Seeded> {
    params.check(set).unwrap().start(Seeded(7)).unwrap()
}

/// Mean loss over that of the centre.
fn relative<O: LinearOracle, N: Noise>(
    bandit: &mut PrivateBandit<O, N>,
    loss: impl Fn(&[f64]) -> f64,
) -> f64 {
    let centre = loss(bandit.set().shape().centre());
    let horizon = bandit.state.params.horizon;
    let mut total = 0.0;
    for _ in 0..horizon {
        let decision = bandit.decide().unwrap();
        let value = loss(&decision.point);
        total += value;
        bandit.observe(decision.ticket, value).unwrap();
    }
    total / (horizon as f64 * centre)
}

/// The distance from a point of the first axis.
fn target(n: usize) -> impl Fn(&[f64]) -> f64 {
    let mut target = vec![0.0; n];
    target[0] = 0.8;
    move |x| distance(x, &target)
}

#[test]
fn it_learns_and_with_the_printed_sign_it_climbs() {
    for protection in [Protection::None, Protection::central(1.0, 1e-6)] {
        let mut bandit = start(params(30_000, protection), L1Ball::set(5, 1.0).unwrap());
        let learnt = relative(&mut bandit, target(5));
        assert!(learnt < 0.45, "{learnt}");
        let mut printed = start(params(30_000, protection), L1Ball::set(5, 1.0).unwrap());
        printed.state.tuning.step *= -1.0;
        let climbed = relative(&mut printed, target(5));
        assert!(climbed > 1.3, "{climbed}");
    }
}

#[test]
fn given_noise_has_the_guarantee_of_the_noise() {
    let tree = Mechanism::Tree { levels: None };
    let central = |delta| Protection::Central { epsilon: 1.0, delta, mechanism: tree };
    let given = |protection, calibration| PrivateBanditParams {
        calibration: Some(calibration),
        claim: Some(Claim::new(1.0, 1e-6, "a publication")),
        padding: Some(10),
        ..params(10_000, protection)
    };
    let set = || L1Ball::set(5, 1.0).unwrap();
    let state = |params: &PrivateBanditParams| params.check(set()).unwrap().guarantee().unwrap();
    let pure = Protection::CentralPure { epsilon: 1.0 };
    for (protection, small, large) in [
        (central(1e-6), Calibration::Sigma(10.0), Calibration::Sigma(1e5)),
        (pure, Calibration::Scale(10.0), Calibration::Scale(1e6)),
    ] {
        for (calibration, holds) in [(small, false), (large, true)] {
            let params = given(protection, calibration);
            let guarantee = state(&params);
            assert_eq!(guarantee.claimed().unwrap().holds(), holds, "{guarantee}");
            let twice = PrivateBanditParams { contributions_per_person: 2, ..params.clone() };
            assert!(state(&twice).epsilon() > 1.5 * guarantee.epsilon());
            // Dummies come up to ten noises in every prefix: release 7 is made of three nodes.
            let missing = |release| params.missing(release).unwrap().0;
            assert_eq!([1, 2, 3, 7, 1023].map(missing), [9, 9, 8, 7, 0]);
        }
    }
    let good = given(central(1e-6), Calibration::Sigma(1e4));
    let refuse = |params: PrivateBanditParams, field: &str| {
        let error = params.check(set()).unwrap_err().to_string();
        assert!(error.starts_with(field), "{error}");
    };
    assert!(given(central(0.5), Calibration::Sigma(1e4)).check(set()).is_ok());
    let unclaimed = given(central(0.5), Calibration::Sigma(1e4));
    refuse(PrivateBanditParams { claim: None, ..unclaimed }, "delta: got 0.5");
    refuse(PrivateBanditParams { calibration: None, ..good.clone() }, "padding: got 10");
    refuse(PrivateBanditParams { padding: Some(65), ..good.clone() }, "padding: got 65");
    let blt = PrivateBanditParams { protection: Protection::central(1.0, 1e-6), ..good.clone() };
    refuse(blt, "padding: got 10");
    for other in [Protection::None, Protection::Local { epsilon: 1.0 }] {
        let params = PrivateBanditParams { protection: other, ..good.clone() };
        refuse(params.clone(), "calibration: got a value");
        refuse(PrivateBanditParams { calibration: None, ..params }, "claim: got a value");
    }
}

#[test]
fn every_point_lies_inside_unless_the_smoothing_exceeds_the_inradius() {
    let set = || L1Ball::set(5, 1.0).unwrap();
    let outside = |bandit: &mut PrivateBandit<L1Ball, Seeded>| {
        let loss = target(5);
        (0..4000)
            .filter(|_| {
                let decision = bandit.decide().unwrap();
                bandit.observe(decision.ticket, loss(&decision.point)).unwrap();
                decision.point.iter().map(|x| x.abs()).sum::<f64>() > 1.0 + 1e-9
            })
            .count()
    };
    let inradius = set().shape().inradius();
    let smoothed = |smoothing| PrivateBanditParams {
        smoothing: Some(smoothing),
        ..params(4000, Protection::None)
    };
    // Short horizons ask for more than the set has room for; the default stays at half the inradius.
    for protection in [Protection::None, Protection::Local { epsilon: 1.0 }] {
        let short = params(16, protection).check(set()).unwrap();
        assert_eq!(short.tuning().smoothing, 0.5 * inradius);
        // D n^(1/2) / T^(1/4) with D = 2, n = 5 and T = 16.
        let unit = 5_f64.sqrt();
        assert!(0.3 * unit / (1.0 + 1.0 / inradius).sqrt() > 0.5 * inradius);
    }
    assert_eq!(outside(&mut start(params(4000, Protection::None), set())), 0);
    assert_eq!(outside(&mut start(smoothed(inradius), set())), 0);
    let refused = smoothed(1.01 * inradius).check(set()).unwrap_err().to_string();
    assert!(refused.contains("smoothing") && refused.contains("inradius"), "{refused}");
    // Planted: what would happen without the check.
    let mut planted = start(params(4000, Protection::None), set());
    planted.state.tuning.smoothing = 1.5 * inradius;
    planted.state.tuning.shrink = 1.0 - 1.5;
    assert!(outside(&mut planted) > 1000);
}

#[test]
fn on_a_flat_set_directions_of_the_whole_space_leave_it() {
    let leaves = |whole: bool| {
        let mut bandit = start(params(2000, Protection::None), Simplex::set(4).unwrap());
        if whole {
            let shape = bandit.state.shape.clone();
            bandit.state.shape = Shape::new(
                shape.centre().to_vec(),
                shape.diameter(),
                shape.inradius(),
                Hull::whole(4),
            )
            .unwrap();
        }
        (0..2000).any(|_| {
            let decision = bandit.decide().unwrap();
            (decision.point.iter().sum::<f64>() - 1.0).abs() > 1e-9
                || decision.point.iter().any(|x| *x < -1e-12)
        })
    };
    assert!(!leaves(false));
    assert!(leaves(true));
}

#[test]
fn estimates_are_unbiased_with_the_dimension_of_the_hull() {
    // One batch over the whole horizon; its mean must be the slope within the hull.
    let slope = [0.1, 0.5, 0.2, 0.9];
    let loss = |x: &[f64]| dot(&slope, x);
    let estimate = |play: Play, seed: u64, rounds: u64| -> Vec<f64> {
        let params = PrivateBanditParams {
            play,
            batch: Some(rounds),
            values: Some((0.0, 1.0)),
            ..params(rounds, Protection::None)
        };
        let mut bandit =
            params.check(Simplex::set(4).unwrap()).unwrap().start(Seeded(seed)).unwrap();
        for _ in 0..rounds {
            let decision = bandit.decide().unwrap();
            bandit.observe(decision.ticket, loss(&decision.point)).unwrap();
        }
        let Aggregate::Plain(sum) = &bandit.aggregate else { panic!() };
        serde_json::to_value(sum).unwrap()["sum"]
            .as_array()
            .unwrap()
            .iter()
            .map(|x| x.as_f64().unwrap() / rounds as f64)
            .collect()
    };
    let mut inside = slope.to_vec();
    Simplex::set(4).unwrap().shape().hull().project(&mut inside);
    let (rounds, trials) = (500, 400);
    for play in [Play::Points, Play::Vertices] {
        let estimates: Vec<Vec<f64>> =
            (0..trials).map(|seed| estimate(play, seed, rounds)).collect();
        for (coordinate, exact) in inside.iter().enumerate() {
            let values: Vec<f64> = estimates.iter().map(|e| e[coordinate]).collect();
            let mean = values.iter().sum::<f64>() / trials as f64;
            let square =
                values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (trials - 1) as f64;
            assert!(
                !check::mean_alarm(values.iter().copied(), *exact, square.sqrt()),
                "{play:?} {mean} {exact}"
            );
            // Planted: n in place of n' is a third too much; points alone are sharp enough to see it.
            if play == Play::Points && exact.abs() > 0.2 {
                let wrong = values.iter().map(|v| v * 4.0 / 3.0);
                assert!(check::mean_alarm(wrong, *exact, square.sqrt()));
            }
        }
    }
}

#[test]
fn what_is_requested_is_what_holds() {
    let guarantee = |protection| {
        params(10_000, protection).check(Birkhoff::set(3).unwrap()).unwrap().guarantee()
    };
    for (protection, epsilon) in [
        (Protection::central(1.0, 1e-6), 1.0),
        (Protection::central(0.2, 1e-9), 0.2),
        (Protection::CentralPure { epsilon: 1.5 }, 1.5),
        (Protection::Local { epsilon: 0.7 }, 0.7),
    ] {
        let held = guarantee(protection).unwrap().epsilon();
        assert!((held - epsilon).abs() < 1e-5 * epsilon, "{held} for {epsilon}");
    }
    assert!(guarantee(Protection::None).is_err());
    // A person with three losses pays for all of them out of the same budget, or three times locally.
    let thrice = PrivateBanditParams {
        contributions_per_person: 3,
        ..params(10_000, Protection::central(1.0, 1e-6))
    };
    let plan = thrice.check(Birkhoff::set(3).unwrap()).unwrap();
    assert!((plan.guarantee().unwrap().epsilon() - 1.0).abs() < 1e-6);
    let local = PrivateBanditParams {
        contributions_per_person: 3,
        ..params(10_000, Protection::Local { epsilon: 0.7 })
    };
    let held = local.check(Birkhoff::set(3).unwrap()).unwrap().guarantee().unwrap().epsilon();
    assert!((held - 2.1).abs() < 1e-4, "{held}");
}

#[test]
fn vertices_are_played_and_their_variance_is_reported() {
    let set = UniformMatroid::set(6, 2).unwrap();
    let slope: Vec<f64> = (0..6).map(|i| 0.15 * f64::from(i)).collect();
    let loss = |x: &[f64]| dot(&slope, x);
    let params = PrivateBanditParams {
        play: Play::Vertices,
        values: Some((0.0, 1.5)),
        ..params(60_000, Protection::central(2.0, 1e-6))
    };
    let mut bandit = start(params.clone(), set);
    let (mut early, mut late) = (0.0, 0.0);
    for round in 0..60_000 {
        let decision = bandit.decide().unwrap();
        assert!(decision.point.iter().all(|x| *x == 0.0 || *x == 1.0));
        assert_eq!(decision.point.iter().sum::<f64>(), 2.0);
        let value = loss(&decision.point);
        if round < 10_000 {
            early += value
        } else if round >= 50_000 {
            late += value
        }
        bandit.observe(decision.ticket, value).unwrap();
    }
    assert!(late < 0.8 * early, "{late} against {early}");
    let variance = bandit.counts().vertex_variance;
    assert!(variance > 0.1 && variance < 2.0, "{variance}");
    assert_eq!(bandit.counts().clipped, 0);
    assert!((bandit.guarantee().unwrap().epsilon() - 2.0).abs() < 1e-5, "unchanged");
    for bad in [
        PrivateBanditParams { territory: Territory::Around, ..params.clone() },
        PrivateBanditParams { map: Map::Projection, ..params },
    ] {
        assert!(bad.check(UniformMatroid::set(6, 2).unwrap()).is_err());
    }
}

#[test]
fn values_outside_the_range_are_clipped_and_counted() {
    let mut bandit = start(params(100, Protection::central(1.0, 1e-6)), Simplex::set(3).unwrap());
    for value in [-0.1, 0.0, 1.0, 2f64.sqrt(), 1.5, 1e300] {
        let ticket = bandit.decide().unwrap().ticket;
        let clipped = !(0.0..=2f64.sqrt()).contains(&value);
        assert_eq!(bandit.observe(ticket, value).unwrap().clipped, clipped, "{value}");
    }
    assert_eq!((bandit.counts().clipped, bandit.counts().rounds), (3, 6));
    // Locally the device hears of it, and the learner's state is made of reports alone.
    let mut local =
        start(params(100, Protection::Local { epsilon: 1.0 }), Simplex::set(3).unwrap());
    let ticket = local.decide().unwrap().ticket;
    assert!(local.observe(ticket, 1e300).unwrap().clipped);
    assert_eq!((local.counts().clipped, local.counts().rounds), (0, 1));
}

#[test]
fn the_horizon_is_the_end() {
    let mut bandit = start(params(10, Protection::None), Simplex::set(3).unwrap());
    for _ in 0..10 {
        let ticket = bandit.decide().unwrap().ticket;
        bandit.observe(ticket, 0.5).unwrap();
    }
    assert!(matches!(bandit.decide(), Err(Error::HorizonExceeded { round: 11, horizon: 10 })));
}

#[test]
fn bad_parameters_are_named() {
    let good = params(1000, Protection::central(1.0, 1e-6));
    let refuse = |bad: PrivateBanditParams, field: &str| {
        let error = bad.check(Simplex::set(4).unwrap()).unwrap_err().to_string();
        assert!(error.contains(field), "{error}");
    };
    refuse(PrivateBanditParams { lipschitz: 0.0, ..good.clone() }, "lipschitz");
    refuse(PrivateBanditParams { lipschitz: f64::NAN, ..good.clone() }, "lipschitz");
    refuse(PrivateBanditParams { horizon: 0, ..good.clone() }, "horizon");
    refuse(PrivateBanditParams { batch: Some(0), ..good.clone() }, "batch");
    refuse(PrivateBanditParams { batch: Some(7), ..good.clone() }, "batch");
    refuse(PrivateBanditParams { batch: Some(2000), ..good.clone() }, "batch");
    refuse(PrivateBanditParams { smoothing: Some(-1.0), ..good.clone() }, "smoothing");
    refuse(PrivateBanditParams { step: Some(f64::INFINITY), ..good.clone() }, "step");
    refuse(PrivateBanditParams { values: Some((1.0, 1.0)), ..good.clone() }, "values");
    refuse(PrivateBanditParams { values: Some((0.0, f64::NAN)), ..good.clone() }, "values");
    refuse(PrivateBanditParams { contributions_per_person: 0, ..good.clone() }, "contributions");
    refuse(
        PrivateBanditParams { protection: Protection::central(-1.0, 1e-6), ..good.clone() },
        "epsilon",
    );
    refuse(
        PrivateBanditParams { protection: Protection::central(1.0, 0.0), ..good.clone() },
        "delta",
    );
    refuse(
        PrivateBanditParams { protection: Protection::Local { epsilon: 0.0 }, ..good.clone() },
        "epsilon",
    );
    refuse(
        PrivateBanditParams {
            protection: Protection::CentralPure { epsilon: f64::NAN },
            ..good.clone()
        },
        "epsilon",
    );
    let large =
        params(1000, Protection::central(1.0, 0.1)).check(Simplex::set(4).unwrap()).unwrap();
    assert!(!large.guarantee().unwrap().warnings().is_empty(), "delta of a tenth");
}

#[test]
fn other_maps_run_where_their_sets_allow() {
    let set = || L1Ball::set(4, 1.0).unwrap();
    let projected = PrivateBanditParams {
        map: Map::Projection,
        batch: Some(1),
        antithetic: false,
        ..params(20_000, Protection::central(1.0, 1e-6))
    };
    let mut bandit = start(projected.clone(), set());
    assert!(relative(&mut bandit, target(4)) < 1.0);
    assert_eq!((bandit.releases(), bandit.counts().map.oracle_calls), (20_000, 0));
    assert!(projected.check(Birkhoff::set(3).unwrap()).is_err(), "no projection");
    let entropic = PrivateBanditParams { map: Map::Entropic, ..params(30_000, Protection::None) };
    let simplex = Simplex::set(4).unwrap();
    let loss = |x: &[f64]| dot(&[0.1, 0.9, 0.9, 0.9], x);
    let mut bandit = start(entropic, simplex);
    relative(&mut bandit, loss);
    assert!(bandit.point()[0] > 0.8, "{:?}", bandit.point());
}

/// Points are public: the generator that protects people is where it was, however many are played.
#[test]
fn directions_do_not_come_from_the_generator_that_protects_people() {
    for protection in [Protection::None, Protection::central(1.0, 1e-6)] {
        let params = PrivateBanditParams { batch: Some(100), ..params(1000, protection) };
        let mut bandit = start(params, UniformMatroid::set(5, 2).unwrap());
        let before = bandit.aggregate.source().clone();
        for _ in 0..20 {
            let decision = bandit.decide().unwrap();
            bandit.observe(decision.ticket, 0.1).unwrap();
        }
        assert_eq!(*bandit.aggregate.source(), before);
    }
}

#[test]
fn without_noise_it_is_noisy_oco_with_smoothed_gradients() {
    let set = || UniformMatroid::set(5, 2).unwrap();
    let (batch, smoothing, step) = (50, 0.05, 1e-3);
    let params = PrivateBanditParams {
        antithetic: false,
        territory: Territory::Around,
        baseline: Baseline::Zero,
        batch: Some(batch),
        smoothing: Some(smoothing),
        step: Some(step),
        values: Some((-10.0, 10.0)),
        ..params(1000, Protection::None)
    };
    let loss = target(5);
    let mut bandit = start(params, set());
    relative(&mut bandit, &loss);
    // The framework on the gradients of the batches, from the same directions.
    let mut map = MirrorMap::new(&set(), Map::Projection, 0.1, 100).unwrap();
    let map = |dual: &[f64], point: &mut [f64]| map.apply(&set(), dual, point);
    let mut framework = NoisyOco::new(5, step, map).unwrap();
    let (hull, mut noise) = (set().shape().hull().clone(), Seeded(7).split().unwrap());
    let (mut sum, mut direction) = ([0.0; 5], [0.0; 5]);
    for _ in 0..1000 / batch {
        let mut gradient = [0.0; 5];
        for _ in 0..batch {
            hull.sample(&mut direction, &mut noise);
            let at: Vec<f64> =
                framework.point().iter().zip(&direction).map(|(x, u)| x + smoothing * u).collect();
            let weight = hull.dimension() as f64 / smoothing * loss(&at);
            gradient.iter_mut().zip(&direction).for_each(|(g, u)| *g += weight * u);
        }
        framework.observe(&gradient).unwrap();
        sum.iter_mut().zip(&gradient).for_each(|(sum, g)| *sum += g);
    }
    let point = framework.point();
    let gap = distance(bandit.point(), point);
    assert!(gap < 1e-9 && distance(bandit.point(), set().shape().centre()) > 0.01, "{gap}");
    assert!(dot(&sum, point) < dot(&sum, set().shape().centre()));
    assert!(dot(point, &[1.0; 5]) - 2.0 < 1e-9);
}
