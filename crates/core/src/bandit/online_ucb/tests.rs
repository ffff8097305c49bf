use nalgebra::{DMatrix, DVector};

use super::*;
use crate::{
    bandit::Arms,
    linalg::triangle,
    noise::{Noise, SecureNoise},
    privacy::Claim,
    release::Calibration,
};

fn unit(d: usize, noise: &mut SecureNoise) -> Vec<f64> {
    let x: Vec<f64> = (0..d).map(|_| noise.standard_normal()).collect();
    let length = dot(&x, &x).sqrt();
    x.iter().map(|x| x / length).collect()
}

/// Everything that the server does not see, of one run in which features are uniform on the sphere whatever happened: so
/// lambda is 1/d given any history.
struct Run {
    server: OnlineUcb,
    /// `sum <x~, e>^2` and `sum ||e||^2`.
    q: f64,
    e: f64,
    /// The right side of the theorem for q.
    identity: f64,
    longest_gradient: f64,
    /// The largest `||theta* - theta^||_V` and its largest excess over `S^2 + q`.
    largest: f64,
    excess: f64,
    /// The mean of `<theta_t, theta*>`.
    along: f64,
}

fn run(params: &OnlineUcbParams, rounds: u64, seed: u64) -> Run {
    let d = params.randomizer.bounds.dimension;
    let mut noise = SecureNoise::seeded(seed);
    let truth = DVector::from_vec(unit(d, &mut noise));
    let server = params.check().unwrap();
    let variance = server.randomizer().deviation().powi(2);
    let mut v = DMatrix::identity(d, d);
    let mut u = DVector::zeros(d);
    let mut run = Run {
        server,
        q: 0.0,
        e: 0.0,
        identity: 0.0,
        longest_gradient: 0.0,
        largest: 0.0,
        excess: f64::MIN,
        along: 0.0,
    };
    for _ in 0..rounds {
        let x = DVector::from_vec(unit(d, &mut noise));
        let mean = x.dot(&truth);
        let y = if noise.uniform() < 0.5 + 0.5 * mean { 1.0 } else { -1.0 };
        let randomizer = run.server.randomizer().clone();
        let report = randomizer.report(x.as_slice(), y, &mut noise).unwrap();
        let noisy = DVector::from_column_slice(&report[..d]);
        let theta = DVector::from_column_slice(run.server.prediction());
        let (eta, e) = (&noisy - &x, &theta - &truth);
        let z = report[d] - mean;
        let shrink = variance - params.ridge;
        let g = &noisy * (2.0 * (noisy.dot(&theta) - report[d])) - &theta * (2.0 * shrink);
        run.longest_gradient = run.longest_gradient.max(g.norm());
        run.q += noisy.dot(&e).powi(2);
        run.e += e.norm_squared();
        run.along += theta.dot(&truth) / rounds as f64;
        let quadratic = eta.dot(&e) * eta.dot(&truth) - variance * e.dot(&truth);
        run.identity += 0.5 * g.dot(&e) + variance * e.norm_squared()
            - params.ridge * theta.dot(&e)
            + z * noisy.dot(&e)
            - x.dot(&e) * eta.dot(&truth)
            - quadratic;
        v += &noisy * noisy.transpose();
        u += &noisy * noisy.dot(&theta);
        run.server.absorb(&report).unwrap();
        let estimate = DVector::from_column_slice(run.server.policy().theta());
        let away = &truth - &estimate;
        let distance = (away.transpose() * &v * &away)[(0, 0)].sqrt();
        run.largest = run.largest.max(distance);
        run.excess = run.excess.max(distance * distance - 1.0 - run.q);
    }
    // The policy is V^-1 u with the whitening of V.
    let solved = v.clone().cholesky().unwrap().solve(&u);
    let policy = run.server.policy();
    assert!((DVector::from_column_slice(policy.theta()) - solved).norm() < 1e-9);
    let whitening =
        DMatrix::from_fn(
            d,
            d,
            |i, j| {
                if j <= i { policy.whitening()[triangle(i) + j] } else { 0.0 }
            },
        );
    assert!((&whitening * &v * whitening.transpose() - DMatrix::identity(d, d)).norm() < 1e-9);
    run
}

fn proved(d: usize, epsilon: f64, horizon: u64, ridge: f64) -> OnlineUcbParams {
    let randomizer = FeatureRewardParams::new(Bounds::unit(d), epsilon, 1e-6);
    OnlineUcbParams::proved(randomizer, horizon, 1.0 / d as f64, ridge).unwrap()
}

#[test]
fn the_theorem_is_an_identity_and_its_bounds_hold() {
    for (d, epsilon, ridge) in [(2, 10.0, 0.0), (3, 30.0, 0.1), (5, 3.0, 0.0)] {
        let params = proved(d, epsilon, 2000, ridge);
        let run = run(&params, 2000, 71);
        assert!((run.q - run.identity).abs() < 1e-8 * (1.0 + run.q), "{} {}", run.q, run.identity);
        assert!(run.excess <= 1e-8);
        let LearnerParams::Maler { gradient_bound, .. } = params.learner else { unreachable!() };
        assert!(run.longest_gradient <= gradient_bound);
        let Width::Proved(assumptions) = params.width else { unreachable!() };
        let confidence = params.confidence(run.server.randomizer(), assumptions);
        let regret = params.linear_regret(&confidence, gradient_bound);
        assert!(run.e.sqrt() <= confidence.distance(regret, gradient_bound));
        // The set holds theta* (false alarm: six times alpha = 1/2000 if the bounds were tight, which they are far from) ...
        let width = run.server.policy().width();
        assert!(run.largest <= width, "{} {width}", run.largest);
        // ... and a width without its square root, or of the first round's prior alone, would not.
        assert!(run.largest > 1.5, "{}", run.largest);
    }
}

fn descent(randomizer: FeatureRewardParams, horizon: u64, step: Step) -> OnlineUcbParams {
    let learner = LearnerParams::GradientDescent { step };
    OnlineUcbParams { learner, ..OnlineUcbParams::new(randomizer, horizon) }
}

#[test]
fn the_negative_term_undoes_what_the_noise_does_to_the_estimate() {
    let randomizer = FeatureRewardParams::new(Bounds::unit(3), 30.0, 1e-6);
    let params = descent(randomizer, 4000, Step::InverseRoot(0.2));
    let along = |params: &OnlineUcbParams| run(params, 4000, 72).along;
    let debiased = along(&params);
    // A ridge of sigma^2 takes the term away: theta shrinks to the share (1/3) / (1/3 + sigma^2).
    let variance = params.check().unwrap().randomizer().deviation().powi(2);
    let shrunk = along(&OnlineUcbParams { ridge: variance, ..params });
    let share = 1.0 / (1.0 + 3.0 * variance);
    assert!(debiased > 0.8 && share < 0.6, "{debiased} {share}");
    assert!((shrunk - share).abs() < 0.1, "{shrunk} {share}");
}

#[test]
fn resumes_bit_for_bit_with_either_learner() {
    let randomizer = FeatureRewardParams::new(Bounds::unit(3), 5.0, 1e-6);
    for params in [
        OnlineUcbParams::new(randomizer.clone(), 1500),
        descent(randomizer, 1500, Step::Constant(1e-3)),
    ] {
        let mut one = run(&params, 1030, 73).server;
        let mut two = OnlineUcb::load(&one.save()).unwrap();
        let mut noise = SecureNoise::seeded(74);
        let rows: Vec<Vec<f64>> = (0..20).map(|_| unit(3, &mut noise)).collect();
        let arms = Arms::from_rows(3, &rows).unwrap();
        for _ in 0..100 {
            let choice = one.policy().choose(&arms, 0).unwrap();
            assert_eq!(two.policy().choose(&arms, 0).unwrap(), choice);
            let report = one.randomizer().report(&rows[choice], 0.5, &mut noise).unwrap();
            one.absorb(&report).unwrap();
            two.absorb(&report).unwrap();
        }
        assert_eq!(one.save(), two.save());
        // A learner of other parameters, or of other rounds, is refused.
        let mut saved = one.saved();
        saved.params.radius = 2.0;
        assert!(saved.revive().is_err());
        let mut saved = one.saved();
        saved.learner = params.check().unwrap().learner;
        assert!(saved.revive().is_err());
        let bytes = one.save();
        assert!(OnlineUcb::load(&bytes[..bytes.len() - 1]).is_err());
    }
}

#[test]
fn bad_reports_and_parameters_are_named_and_change_nothing() {
    let randomizer = FeatureRewardParams::new(Bounds::unit(2), 1.0, 1e-6);
    let good = OnlineUcbParams::new(randomizer.clone(), 1);
    let mut server = good.check().unwrap();
    let before = server.save();
    let largest = server.randomizer().largest_entry();
    for bad in [
        &[1.0, 0.0][..],
        &[f64::NAN, 0.0, 0.0],
        &[0.0, 0.0, f64::INFINITY],
        // A forged report that no device makes would outweigh all others'.
        &[1.001 * largest, 0.0, 0.0],
        &[0.0, 0.0, -1.001 * largest],
    ] {
        assert!(server.absorb(bad).unwrap_err().to_string().starts_with("report"));
    }
    assert_eq!(server.save(), before);
    server.absorb(&[0.5; 3]).unwrap();
    let past = Err(Error::HorizonExceeded { round: 2, horizon: 1 });
    assert_eq!(server.absorb(&[0.5; 3]), past);
    let weak = LearnerParams::Maler { gradient_bound: 1.0, exp_concave: true };
    let proved = OnlineUcbParams::proved(randomizer.clone(), 1000, 0.1, 0.2).unwrap();
    for (params, field) in [
        (OnlineUcbParams { horizon: 0, ..good.clone() }, "horizon: got 0"),
        (OnlineUcbParams { radius: -1.0, ..good.clone() }, "radius: got -1"),
        (OnlineUcbParams { ridge: f64::NAN, ..good.clone() }, "ridge: got NaN"),
        (OnlineUcbParams { width: Width::Constant(-1.0), ..good.clone() }, "width: got -1"),
        (OnlineUcbParams { learner: weak, ..proved.clone() }, "gradient_bound: got 1"),
        (OnlineUcbParams { radius: 0.5, ..proved.clone() }, "parameter_bound: got 1"),
    ] {
        let message = params.check().unwrap_err().to_string();
        assert!(message.starts_with(field), "{message}");
    }
    assert!(OnlineUcbParams::proved(randomizer, 1000, -1.0, 0.2).is_err());
}

#[test]
fn the_promise_is_the_randomisers_and_a_claim_stands_beside_it() {
    let bounds = Bounds { rewards: (0.0, 1.0), ..Bounds::unit(5) };
    let given = FeatureRewardParams {
        calibration: Some(Calibration::Sigma(0.2 * (2.0 * 12.5_f64.ln()).sqrt())),
        claim: Some(Claim::new(10.0, 0.1, "a publication")),
        ..FeatureRewardParams::new(bounds, 10.0, 0.1)
    };
    let guarantee = OnlineUcbParams::new(given, 20_000).check().unwrap().guarantee().unwrap();
    let claim = guarantee.claimed().unwrap();
    assert!(!claim.holds() && (claim.true_delta - 0.6076).abs() < 1e-4);
    assert_eq!(guarantee.model(), crate::privacy::TrustModel::Local);
    assert_eq!(guarantee.warnings().len(), 2); // delta above 1e-3, and above 1/n
}
