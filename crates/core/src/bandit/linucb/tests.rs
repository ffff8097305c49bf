use nalgebra::{DMatrix, DVector};

use super::*;
use crate::{
    linalg::ridge::REFRESH,
    linalg::{dot, triangle},
    noise::{Noise, SecureNoise},
};

/// Rewards in [-B, B]; sigma and S in their units, for arms of norm 1.
fn certified(
    d: usize,
    reward: f64,
    sigma: f64,
    s: f64,
    regularizer: f64,
    alpha: f64,
) -> LinUcbParams {
    let rule = Rule::Certified {
        failure_probability: Some(alpha),
        parameter_bound: Some(s / reward),
        reward_noise: Some(sigma / reward),
        scale: 1.0,
    };
    let bounds = Bounds { rewards: (-reward, reward), ..Bounds::unit(d) };
    LinUcbParams { rule, regularizer: Some(regularizer), ..LinUcbParams::new(bounds) }
}

fn unit(d: usize, noise: &mut SecureNoise) -> Vec<f64> {
    let x: Vec<f64> = (0..d).map(|_| noise.standard_normal()).collect();
    let length = dot(&x, &x).sqrt();
    x.iter().map(|x| x / length).collect()
}

#[test]
fn a_dimension_that_no_machine_holds_is_refused() {
    for dimension in [0, 8193, 1 << 60, usize::MAX] {
        let error = LinUcbParams::new(Bounds::unit(dimension)).check().unwrap_err().to_string();
        assert!(error.contains("dimension: got") && error.contains("expected 1 to"), "{error}");
    }
    assert!(crate::bandit::Arms::zeros(1 << 40, 1 << 40).is_err());
}

/// Only the certified rule has it; nothing that a caller gives is passed over.
#[test]
fn a_regularizer_without_effect_is_refused() {
    for rule in [Rule::default(), Rule::THOMPSON, Rule::FIXED] {
        let regularizer = Some(2.0);
        let params = LinUcbParams { rule, regularizer, ..LinUcbParams::new(Bounds::unit(2)) };
        let error = params.check().unwrap_err().to_string();
        assert!(
            error.starts_with("regularizer: got 2; ") && error.contains("leave it out"),
            "{error}"
        );
        LinUcbParams { regularizer: None, ..params }.check().unwrap();
    }
    assert!(certified(2, 1.0, 1.0, 1.0, -1.0, 0.1).check().is_err());
}

#[test]
fn is_the_definition_before_and_after_a_refresh() {
    let mut noise = SecureNoise::seeded(3);
    let d = 4;
    let params = certified(d, 10.0, 0.7, 2.0, 0.3, 0.05);
    let mut learner = params.check().unwrap();
    let (mut gram, mut moment) = (DMatrix::identity(d, d) * 0.3, DVector::zeros(d));
    for t in 1..=REFRESH + 50 {
        let (x, y) = (unit(d, &mut noise), noise.standard_normal());
        learner.observe(&x, y).unwrap();
        let vector = DVector::from_vec(x);
        gram += &vector * vector.transpose();
        moment += y * &vector;
        if ![1, 7, REFRESH - 1, REFRESH, REFRESH + 50].contains(&t) {
            continue;
        }
        let theta = gram.clone().cholesky().unwrap().solve(&moment);
        let ln_growth = gram.determinant().ln() - d as f64 * 0.3_f64.ln();
        let beta = 0.7 * (2.0 * 20_f64.ln() + ln_growth).sqrt() + 2.0 * 0.3_f64.sqrt();
        let policy = learner.policy();
        assert!((policy.width() - beta).abs() < 1e-12 * beta, "round {t}");
        assert!((DVector::from_column_slice(policy.theta()) - theta).norm() < 1e-12);
        let mut whitening = DMatrix::zeros(d, d);
        for i in 0..d {
            for j in 0..=i {
                whitening[(i, j)] = policy.whitening()[triangle(i) + j];
            }
        }
        let identity = &whitening * &gram * whitening.transpose();
        assert!((identity - DMatrix::identity(d, d)).norm() < 1e-12, "round {t}");
    }
}

/// Returns whether theta* leaves the ellipsoid of the given share of its width in any of 20 x 1000 rounds.
fn leaves(share: f64) -> bool {
    let mut noise = SecureNoise::seeded(8);
    (0..20).any(|_| {
        let truth = unit(3, &mut noise);
        let mut learner = certified(3, 10.0, 1.0, 1.0, 1.0, 1e-8).check().unwrap();
        (0..1000).any(|round| {
            let rows: Vec<Vec<f64>> = (0..4).map(|_| unit(3, &mut noise)).collect();
            let choice = learner.choose(&Arms::from_rows(3, &rows).unwrap(), round).unwrap().arm;
            let x = &rows[choice];
            learner.observe(x, dot(x, &truth) + noise.standard_normal()).unwrap();
            let policy = learner.policy();
            let error: Vec<f64> = policy.theta().iter().zip(&truth).map(|(a, b)| a - b).collect();
            // ||e||_V^2 = rho |e|^2 + e^T G e.
            let mut square = dot(&error, &error);
            let mut entries = learner.regression.gram().iter();
            for i in 0..3 {
                for j in i..3 {
                    let twice = if i == j { 1.0 } else { 2.0 };
                    square += twice * entries.next().unwrap() * error[i] * error[j];
                }
            }
            square.sqrt() > share * policy.width()
        })
    })
}

#[test]
fn the_ellipsoid_holds_the_parameter_and_is_not_needlessly_wide() {
    assert!(!leaves(1.0)); // false alarm: 20 x 1e-8
    assert!(leaves(0.3));
}

#[test]
fn learns_among_fixed_arms() {
    let mut noise = SecureNoise::seeded(5);
    let truth = unit(5, &mut noise);
    let rows: Vec<Vec<f64>> = (0..25).map(|_| unit(5, &mut noise)).collect();
    let means: Vec<f64> = rows.iter().map(|x| dot(x, &truth)).collect();
    let best = means.iter().copied().fold(f64::MIN, f64::max);
    let arms = Arms::from_rows(5, &rows).unwrap();
    let mut learner = certified(5, 1.0, 0.1, 1.0, 1.0, 0.01).check().unwrap();
    let mut regret = 0.0;
    for t in 0..4000 {
        let choice = learner.choose(&arms, t).unwrap().arm;
        learner.observe(&rows[choice], means[choice] + 0.1 * noise.standard_normal()).unwrap();
        if t >= 3000 {
            regret += best - means[choice];
        }
    }
    assert!(regret / 1000.0 < 0.02, "mean regret at the end {}", regret / 1000.0);
}

#[test]
fn resumes_bit_for_bit_and_refuses_what_does_not_fit() {
    let mut noise = SecureNoise::seeded(4);
    let mut learner = certified(3, 1.0, 1.0, 1.0, 1.0, 0.01).check().unwrap();
    let mut resumed = None;
    for t in 0..REFRESH + 100 {
        if t == 700 {
            resumed = Some(LinUcb::load(&learner.save()).unwrap());
        }
        let rows: Vec<Vec<f64>> = (0..5).map(|_| unit(3, &mut noise)).collect();
        let arms = Arms::from_rows(3, &rows).unwrap();
        let choice = learner.choose(&arms, t).unwrap().arm;
        let reward = noise.standard_normal();
        learner.observe(&rows[choice], reward).unwrap();
        if let Some(resumed) = &mut resumed {
            assert_eq!(resumed.choose(&arms, t).unwrap().arm, choice);
            resumed.observe(&rows[choice], reward).unwrap();
            assert_eq!(resumed.policy(), learner.policy());
        }
    }
    assert_eq!(resumed.unwrap().save(), learner.save());
    let mut bytes = learner.save();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    assert!(LinUcb::load(&bytes).is_err());
    let mut short: Saved = wire::load(wire::kinds::LINUCB, &learner.save()).unwrap();
    short.params.bounds.dimension = 2;
    assert!(LinUcb::load(&wire::save(wire::kinds::LINUCB, &short)).is_err());
}

#[test]
fn what_is_out_of_range_is_clipped_and_said() {
    let learner = || LinUcbParams::new(Bounds::unit(2)).check().unwrap();
    let after = |features: [f64; 2], reward: f64| {
        let mut learner = learner();
        let clipped = learner.observe(&features, reward).unwrap();
        (clipped, learner.policy().theta().to_vec())
    };
    assert_eq!(after([1.0, 0.0], 1e9), (true, after([1.0, 0.0], 1.0).1));
    assert_eq!(after([1e300, 0.0], 0.5), (true, after([1.0, 0.0], 0.5).1));
    assert!(!after([0.6, 0.8], -1.0).0);
    // Scores are those of the arms at the bound: the longer one is not preferred for its length.
    let mut learner = learner();
    for _ in 0..100 {
        learner.observe(&[1.0, 0.0], 0.9).unwrap();
        learner.observe(&[0.0, 1.0], 0.1).unwrap();
    }
    let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.0, 50.0]]).unwrap();
    assert_eq!(learner.choose(&arms, 0).unwrap(), Choice { arm: 0, clipped_arms: 1 });
    assert_eq!(learner.policy().choose(&arms, 0).unwrap(), 1, "unclipped");
}

#[test]
fn bad_input_is_refused_and_changes_nothing() {
    let good = LinUcbParams::new(Bounds::unit(2));
    let bounds = |bounds| LinUcbParams { bounds, ..good.clone() };
    let unit = Bounds::unit(2);
    for bad in [
        bounds(Bounds { dimension: 0, ..unit }),
        bounds(Bounds { feature_bound: f64::INFINITY, ..unit }),
        bounds(Bounds { feature_bound: 1e60, ..unit }),
        bounds(Bounds { rewards: (0.0, 0.0), ..unit }),
        certified(2, 1.0, -1.0, 1.0, 1.0, 0.1),
        certified(2, 1.0, 1.0, f64::NAN, 1.0, 0.1),
        certified(2, 1.0, 1.0, 1.0, 0.0, 0.1),
        certified(2, 1.0, 1.0, 1.0, 1e-60, 0.1),
        certified(2, 1.0, 1.0, 1.0, 1.0, 1.0),
        LinUcbParams { restart_every: Some(0), ..good.clone() },
    ] {
        assert!(bad.check().is_err(), "{bad:?}");
    }
    let mut learner = good.check().unwrap();
    let before = learner.save();
    assert!(learner.observe(&[1.0], 1.0).is_err());
    assert!(learner.observe(&[f64::NAN, 0.0], 1.0).is_err());
    assert!(learner.observe(&[1.0, 0.0], f64::NAN).is_err());
    assert!(learner.observe(&[1.0, 0.0], f64::INFINITY).is_err());
    assert!(learner.choose(&Arms::zeros(3, 1).unwrap(), 0).is_err());
    assert_eq!(learner.save(), before);
}

/// Policy of the rule from the exact sums as a release without noise; on a schedule, at its times.
#[test]
fn it_is_the_rule_at_sums_without_noise() {
    use crate::{
        bandit::Regularizer,
        release::{Domain, Release, testing::Seeded},
    };
    let mut noise = SecureNoise::seeded(21);
    let bounds =
        Bounds { feature_bound: 2.0, rewards: (0.0, 3.0), intercept: Some(1.0), ..Bounds::unit(3) };
    let schedule = Schedule::Geometric { first: 7, rate: 0.3 };
    for (rule, schedule) in [
        (Rule::default(), Schedule::EveryRound),
        (Rule::CERTIFIED, Schedule::EveryRound),
        (Rule::CERTIFIED, schedule),
        (Rule::Fixed { ridge: 2.0, width: 0.7 }, schedule),
    ] {
        let params = LinUcbParams { rule: rule.clone(), schedule, ..LinUcbParams::new(bounds) };
        let (mut learner, mut blocks) = (params.check().unwrap(), params.check().unwrap());
        let domain = Domain::regression(3, 2.0, 1.5);
        let noiseless = match rule {
            // Proposition 4 leaves half of alpha to the noise.
            Rule::Certified { parameter_bound, reward_noise, .. } => Rule::Regularized {
                regularizer: Regularizer::constant(4.0),
                failure_probability: Some(2e-6),
                parameter_bound: parameter_bound.unwrap_or(1.0),
                reward_noise: reward_noise.unwrap_or(1.0),
            },
            ref other => other.clone(),
        };
        let plan = noiseless.plan(domain.clone(), None, None).unwrap();
        let (mut sums, mut block) = (vec![0.0; 9], vec![0.0; 9]);
        for t in 1..=40_u64 {
            let v = unit(2, &mut noise);
            let x = [3.0_f64.sqrt() * v[0], 3.0_f64.sqrt() * v[1], 1.0];
            let y = 3.0 * noise.uniform();
            let mut index = 0;
            for row in 0..3 {
                for column in row..3 {
                    block[index] += x[row] * x[column];
                    index += 1;
                }
                block[6 + row] += x[row] * (y - 1.5);
            }
            let due = blocks.until_learning() == (t - blocks.rounds());
            learner.observe(&x, y).unwrap();
            if due {
                let (gram, moment) = block.split_at(6);
                blocks.observe_sums(gram, moment, t - blocks.rounds()).unwrap();
                sums.iter_mut().zip(&block).for_each(|(sum, more)| *sum += more);
                block.fill(0.0);
                let zeros = vec![0.0; 9];
                let release =
                    Release::simulated::<Seeded>(domain.clone(), t, 1, sums.clone(), zeros)
                        .unwrap();
                let policy = plan.policy(&release).unwrap();
                for x in [[1.0, 0.5, 1.0], [-1.2, 0.3, 1.0]] {
                    let expected = policy.bound(&x);
                    for bound in [learner.policy().bound(&x), blocks.policy().bound(&x)] {
                        let close = (bound - expected).abs() < 1e-9 * expected.abs().max(1.0);
                        assert!(close, "{rule:?} {schedule:?} {t}: {bound} {expected}");
                    }
                }
            }
        }
    }
}

#[test]
fn restarts_forget_everything() {
    let params = LinUcbParams { restart_every: Some(10), ..LinUcbParams::new(Bounds::unit(2)) };
    let (mut learner, mut fresh) = (params.check().unwrap(), params.check().unwrap());
    for _ in 0..10 {
        learner.observe(&[1.0, 0.0], 1.0).unwrap();
    }
    learner.observe(&[0.0, 1.0], 0.5).unwrap();
    fresh.observe(&[0.0, 1.0], 0.5).unwrap();
    assert_eq!(learner.policy(), fresh.policy());
    assert_eq!(learner.rounds(), 1);
}

#[test]
fn half_lives_weigh_every_reward_by_its_age() {
    let (d, gap) = (3, 5);
    let mut noise = SecureNoise::seeded(31);
    for schedule in [Schedule::constant(gap), Schedule::EveryRound] {
        let gap = schedule.constant_gap().unwrap();
        let rule = Rule::Fixed { ridge: 0.5, width: 1.0 };
        let bounds = Bounds::unit(d);
        let params =
            LinUcbParams { rule, schedule, forget: Some(40.0), ..LinUcbParams::new(bounds) };
        let mut learner = params.check().unwrap();
        let mut rewards = Vec::new();
        for round in 1..=400_u64 {
            let (x, y) = (unit(d, &mut noise), 2.0 * noise.uniform() - 1.0);
            learner.observe(&x, y).unwrap();
            rewards.push((DVector::from_vec(x), y));
            if round == 200 {
                learner = LinUcb::load(&learner.save()).unwrap();
            }
            if round % gap != 0 {
                continue;
            }
            let (mut gram, mut moment) = (DMatrix::identity(d, d) * 0.5, DVector::zeros(d));
            for (number, (x, y)) in rewards.iter().enumerate() {
                let steps = (round - 1 - number as u64) / gap;
                let weight = (-((steps * gap) as f64) / 40.0).exp2();
                gram += weight * x * x.transpose();
                moment += weight * *y * x;
            }
            let theta = gram.cholesky().unwrap().solve(&moment);
            for (got, want) in learner.policy().theta().iter().zip(theta.iter()) {
                assert!((got - want).abs() < 1e-10, "{got} against {want} at {round}");
            }
        }
    }
    let good = LinUcbParams { forget: Some(40.0), ..LinUcbParams::new(Bounds::unit(2)) };
    for (field, bad) in [
        ("forget", LinUcbParams { forget: Some(0.0), ..good.clone() }),
        ("forget", LinUcbParams { forget: Some(f64::NAN), ..good.clone() }),
        ("restart_every", LinUcbParams { restart_every: Some(9), ..good.clone() }),
        ("schedule", LinUcbParams { schedule: Schedule::default(), ..good.clone() }),
    ] {
        let error = bad.check().unwrap_err().to_string();
        assert!(error.contains(field), "{field}: {error}");
    }
}

/// The certified width of the i-th policy pays for alpha/(i (i + 1)).
#[test]
fn a_certified_width_that_forgets_pays_for_every_policy() {
    let plain = certified(2, 1.0, 1.0, 1.0, 1.0, 0.05);
    let forgets = LinUcbParams { forget: Some(1e9), ..plain.clone() };
    let (mut plain, mut forgets) = (plain.check().unwrap(), forgets.check().unwrap());
    for round in 1..=20_u32 {
        plain.observe(&[0.6, 0.8], 0.5).unwrap();
        forgets.observe(&[0.6, 0.8], 0.5).unwrap();
        let square = |learner: &LinUcb| (learner.policy().width() - 1.0).powi(2);
        let more = square(&forgets) - square(&plain);
        let want = 2.0 * f64::from(round * (round + 1)).ln();
        assert!((more - want).abs() < 1e-6, "{more} against {want}");
    }
}
