use super::*;
use crate::{
    noise::Noise,
    online::{LinearModel, Loss},
    randomize::{KNormRandomizer, L1Laplace, LocalLaplace, Randomizer},
    release::testing::Seeded,
};

const CONJUGATE: Prior = Prior::Conjugate { precision: Some(1.0) };

fn methods() -> [Method; 8] {
    let geometry = Geometry::Ball;
    [
        Method::Reduction { prior: CONJUGATE, geometry, step: 1.0 },
        Method::Reduction { prior: Prior::Improper, geometry: Geometry::Box, step: 1.0 },
        Method::Coordinatewise { prior: Prior::Improper },
        Method::Coordinatewise { prior: Prior::ChernovVovk },
        Method::Sum { prior: Prior::Uniform, geometry, step: 1.0 },
        Method::KnownNoise { deviation: 0.5, step: 1.0 },
        Method::GradientDescent { radius: 3.0, step: 1.0 },
        Method::Adagrad { radius: 3.0, step: 1.0 },
    ]
}

fn start(dimension: usize, method: Method) -> OnlineLearner {
    OnlineParams { dimension, gradient_bound: 1.0, method }.check().unwrap().start()
}

/// `|<w, x> - <u, x>|` for x on the unit sphere in few dimensions; returns the regret.
fn play(learner: &mut OnlineLearner, u: &[f64], rounds: usize, noise: f64, seed: u64) -> f64 {
    let mut source = Seeded(seed);
    let mut regret = 0.0;
    for _ in 0..rounds {
        let x = crate::noise::uniform_direction(u.len(), &mut source);
        let miss = learner.score(&x).unwrap() - x.iter().zip(u).map(|(x, u)| x * u).sum::<f64>();
        regret += miss.abs();
        let mut laplace = || noise * (source.exponential() - source.exponential());
        let gradient: Vec<f64> = x.iter().map(|x| miss.signum() * x + laplace()).collect();
        let _ = learner.absorb(&gradient).unwrap();
    }
    regret
}

#[test]
fn every_method_learns_with_and_without_noise() {
    let u = [2.0, -1.0, 0.0];
    for method in methods() {
        for noise in [0.0, 0.3] {
            let mut learner = start(3, method);
            let regret = play(&mut learner, &u, 3000, noise, 7);
            // Playing 0 costs |u| E|x_1| = 3350.
            assert!(regret < 700.0, "{method:?} {noise}: {regret}");
            assert_eq!(learner.bound_broken(), None);
            if let Some(bound) = learner.regret_bound(&u).unwrap() {
                assert!(regret < bound, "{method:?} {noise}: {regret} {bound}");
            }
        }
    }
}

#[test]
fn a_resumed_learner_continues_bit_for_bit() {
    for method in methods() {
        let mut one = start(4, method);
        play(&mut one, &[1.0, 2.0, 0.0, -3.0], 50, 0.5, 1);
        let bytes = one.save();
        let mut other = OnlineLearner::load(&bytes).unwrap();
        assert_eq!(one, other);
        for learner in [&mut one, &mut other] {
            play(learner, &[1.0, 2.0, 0.0, -3.0], 50, 0.5, 2);
        }
        let bits = |l: &OnlineLearner| l.weights().iter().map(|w| w.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&one), bits(&other), "{method:?}");
        for length in 0..bytes.len() {
            assert!(OnlineLearner::load(&bytes[..length]).is_err());
        }
    }
}

#[test]
fn a_state_that_no_run_could_have_left_is_refused() {
    for method in methods() {
        let mut learner = start(4, method);
        play(&mut learner, &[1.0, 2.0, 0.0, -3.0], 20, 0.5, 1);
        let refuse = |change: &dyn Fn(&mut OnlineLearner)| {
            let mut changed = learner.clone();
            change(&mut changed);
            assert!(OnlineLearner::load(&changed.save()).is_err(), "{method:?}");
        };
        refuse(&|learner| learner.params.dimension = 5);
        refuse(&|learner| learner.params.gradient_bound = f64::NAN);
        refuse(&|learner| {
            let geometry = Geometry::Ball;
            let prior = Prior::Conjugate { precision: Some(7.0) };
            learner.params.method = Method::Reduction { prior, geometry, step: 1.0 };
        });
        for bad in [f64::NAN, f64::INFINITY] {
            refuse(&|learner| match &mut learner.machine {
                Machine::Reduction(reduction) => reduction.spoil(bad),
                Machine::Sum(_, coordinates) | Machine::Coordinatewise(coordinates) => {
                    coordinates.spoil(bad);
                }
                Machine::Descent(descent) => descent.spoil(bad),
            });
        }
    }
}

#[test]
fn dense_and_sparse_gradients_are_the_same() {
    for method in methods() {
        let (mut dense, mut sparse) = (start(6, method), start(6, method));
        for round in 0..40 {
            let mut gradient = [0.0; 6];
            gradient[round % 6] = 0.3;
            gradient[(round * round) % 6] -= 0.5;
            let entries: Vec<_> = Gradient::from(&gradient).entries().collect();
            let _ = dense.absorb(&gradient).unwrap();
            let _ = sparse.absorb(&entries).unwrap();
        }
        let _ = (dense.skip(), sparse.absorb(Gradient::Sparse(&[])).unwrap());
        assert_eq!(dense, sparse, "{method:?}");
    }
}

#[test]
fn bad_gradients_leave_the_state_as_it_was() {
    for method in methods() {
        let mut learner = start(2, method);
        play(&mut learner, &[1.0, 1.0], 20, 0.1, 3);
        let before = learner.save();
        assert!(learner.absorb(&[1.0, f64::NAN]).is_err());
        assert!(learner.absorb(&[f64::INFINITY, 0.0]).is_err());
        assert!(learner.absorb(&[1.0]).is_err());
        assert!(learner.absorb(&[(2, 1.0)]).is_err());
        assert!(learner.absorb(&[1e300, 0.0]).is_err());
        assert!(learner.absorb_exact(&[1.2, 0.0]).is_err());
        assert!(learner.score(&[f64::NAN, 0.0]).is_err());
        assert!(learner.weight(2).is_err());
        assert_eq!(before, learner.save(), "{method:?}");
    }
}

#[test]
fn a_broken_bound_is_reported_and_a_kept_one_is_not() {
    for method in &methods()[..6] {
        let mut learner = start(2, *method);
        let mut found = None;
        for round in 0..3000 {
            // Gradients of constant sign and twice the declared bound.
            let absorbed = learner.absorb(&[-2.0, 0.0]).unwrap();
            if let Some(broken) = absorbed.bound_broken {
                found = Some((round, broken));
                break;
            }
        }
        let (round, broken) = found.unwrap_or_else(|| panic!("{method:?}: not found"));
        assert!(round < 1000 && broken.round == round + 1, "{method:?}");
        assert!(broken.to_string().contains("gradient_bound"));
        assert_eq!(learner.bound_broken(), Some(broken));
    }
    // The same gradient, declared free of noise, is refused at once.
    let mut learner = start(2, methods()[0]);
    let error = learner.absorb_exact(&[-2.0, 0.0]).unwrap_err().to_string();
    assert!(error.contains("norm of gradient: got 2") && error.contains("gradient_bound = 1"));
}

#[test]
fn predictions_saturate_and_keep_their_logarithm() {
    let mut learner = start(1, methods()[0]);
    for _ in 0..5000 {
        let _ = learner.absorb(&[-1.0]).unwrap();
    }
    assert_eq!(learner.weights(), [LARGEST_PREDICTION]);
    assert!(learner.score(&[1e250]).unwrap().is_finite());
    // After as many gradients in the other direction the prediction is back: saturation loses no information.
    let mut learner = start(1, Method::Coordinatewise { prior: Prior::Improper });
    for gradient in [[-1.0], [1.0]] {
        for _ in 0..5000 {
            let _ = learner.absorb(&gradient).unwrap();
        }
    }
    assert_eq!(learner.weights(), [0.0]);
}

#[test]
fn one_linear_model_learns_from_people_with_different_randomisers() {
    // People in turn send nothing, a gradient without noise, K-norm noise, l1 noise, and a level per attribute.
    let mut model =
        LinearModel::new(OnlineParams::new(3, 1.0).check().unwrap().start(), Loss::Logistic);
    let mut noise = Seeded(8);
    let truth = [2.0, -2.0, 0.0];
    let k_norm = KNormRandomizer::new(3, 8.0, 1.0).unwrap();
    let l1 = L1Laplace::new(3, 8.0, 2.0).unwrap();
    let attributes = LocalLaplace::new(&[4.0, 4.0, 0.0], 1.0).unwrap();
    let (mut late, mut count) = (0.0, 0.0);
    for person in 0..20_000 {
        let x = crate::noise::uniform_direction(3, &mut noise);
        let score: f64 = x.iter().zip(truth).map(|(x, u)| 4.0 * x * u).sum();
        let label = if noise.uniform() < 1.0 / (1.0 + (-score).exp()) { 1.0 } else { -1.0 };
        if person > 15_000 {
            late += f64::from(u8::from(model.score(&x).unwrap() * label > 0.0));
            count += 1.0;
        }
        match person % 5 {
            0 => model.skip(),
            1 => drop(model.observe(&x, label).unwrap()),
            2 => drop(model.observe_privately(&x, label, &k_norm, &mut noise).unwrap()),
            3 => drop(model.observe_privately(&x, label, &l1, &mut noise).unwrap()),
            _ => drop(model.observe_privately(&x, label, &attributes, &mut noise).unwrap()),
        }
    }
    assert!(late / count > 0.85, "{}", late / count);
    assert_eq!(LinearModel::load(&model.save()).unwrap(), model);
    assert_eq!(model.learner().rounds(), 20_000);
    let guarantee = attributes.guarantee(1e-9).unwrap();
    assert!(guarantee.epsilon() <= 8.0);
    assert!(guarantee.conditions().iter().any(|c| c.contains("level itself is not protected")));
}

#[test]
fn bad_parameters_are_refused() {
    let params =
        |dimension, gradient_bound, method| OnlineParams { dimension, gradient_bound, method };
    let fine = methods()[0];
    for bad in [
        params(0, 1.0, fine),
        params(2, 0.0, fine),
        params(2, f64::NAN, fine),
        params(2, 1.0, Method::Reduction { prior: CONJUGATE, geometry: Geometry::Ball, step: 0.0 }),
        params(
            2,
            1.0,
            Method::Coordinatewise { prior: Prior::Conjugate { precision: Some(-1.0) } },
        ),
        params(2, 1.0, Method::KnownNoise { deviation: -1.0, step: 1.0 }),
        params(2, 1.0, Method::GradientDescent { radius: 0.0, step: 1.0 }),
    ] {
        assert!(bad.check().is_err(), "{bad:?}");
    }
}
