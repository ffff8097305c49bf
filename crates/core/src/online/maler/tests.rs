use nalgebra::{DMatrix, DVector};

use super::{projection::Row, *};
use crate::{
    linalg::lanes::paths,
    noise::{Noise, SecureNoise},
};

fn normals(count: usize, noise: &mut SecureNoise) -> Vec<f64> {
    (0..count).map(|_| noise.standard_normal()).collect()
}

fn shortened(vector: Vec<f64>, length: f64) -> Vec<f64> {
    let mut vector = vector;
    into_ball(&mut vector, length);
    vector
}

/// Algorithms 5 to 8 line by line, one expert at a time, the projection in the eigenbasis by bisection.
struct Plain {
    params: MalerParams,
    experts: Vec<PlainExpert>,
    round: f64,
}

struct PlainExpert {
    /// 0 convex, 1 strongly convex, 2 exp-concave.
    family: u8,
    rate: f64,
    weight: f64,
    point: DVector<f64>,
    matrix: DMatrix<f64>,
}

impl Plain {
    fn new(params: MalerParams) -> Self {
        let (d, t) = (params.dimension, params.horizon as f64);
        let gd = params.gradient_bound * params.radius;
        let alpha = 0.5 * (1.0 / (8.0 * 7.0 / 50.0_f64)).min(1.0);
        let first = DMatrix::identity(d, d) / (4.0 * (alpha * params.radius).powi(2));
        let expert = |family, rate, weight| PlainExpert {
            family,
            rate,
            weight,
            point: DVector::zeros(d),
            matrix: first.clone(),
        };
        let mut experts = vec![expert(0, 1.0 / (4.0 * gd * t.sqrt()), 1.0 / 3.0)];
        let last = (0.5 * t.log2()).ceil() as i32;
        let c = 1.0 + 1.0 / (1.0 + f64::from(last));
        for i in 0..=last {
            let prior = c / (3.0 * f64::from(i + 1) * f64::from(i + 2));
            let rate = 0.5_f64.powi(i) / (10.0 * gd);
            experts.extend([1, 2].map(|family| expert(family, rate, prior)));
        }
        // The priors sum to one.
        assert!((experts.iter().map(|e| e.weight).sum::<f64>() - 1.0).abs() < 1e-12);
        Plain { params, experts, round: 0.0 }
    }

    fn prediction(&self) -> DVector<f64> {
        let (mut sum, mut all) = (DVector::zeros(self.params.dimension), 0.0);
        for e in &self.experts {
            sum += &e.point * (e.weight * e.rate);
            all += e.weight * e.rate;
        }
        sum / all
    }

    fn absorb(&mut self, gradient: &[f64]) {
        let MalerParams { radius, gradient_bound, .. } = self.params;
        let g = DVector::from_vec(shortened(gradient.to_vec(), gradient_bound));
        let theta = self.prediction();
        self.round += 1.0;
        let into = |point: DVector<f64>| {
            let length = point.norm();
            if length > radius { point * (radius / length) } else { point }
        };
        for e in &mut self.experts {
            let away = &e.point - &theta;
            let along = g.dot(&away);
            let eta = e.rate;
            let gg = gradient_bound * gradient_bound;
            let loss = eta * along
                + match e.family {
                    0 => (2.0 * eta * gradient_bound * radius).powi(2),
                    1 => eta * eta * gg * away.norm_squared(),
                    _ => eta * eta * along * along,
                };
            e.weight *= (-loss).exp();
            e.point = match e.family {
                0 => into(&e.point - &g * (2.0 * radius / (gradient_bound * self.round.sqrt()))),
                1 => {
                    let slope = &g * eta + away * (2.0 * eta * eta * gg);
                    into(&e.point - slope / (2.0 * eta * eta * gg * self.round))
                }
                _ => {
                    let slope = &g * (eta + 2.0 * eta * eta * along);
                    e.matrix += &slope * slope.transpose();
                    let alpha = 0.5 * 50.0 / 56.0;
                    let step = e.matrix.clone().cholesky().unwrap().solve(&slope) / alpha;
                    bisect(&e.matrix, &e.point - step, radius)
                }
            };
        }
    }
}

fn bisect(matrix: &DMatrix<f64>, point: DVector<f64>, radius: f64) -> DVector<f64> {
    if point.norm() <= radius {
        return point;
    }
    let eigen = matrix.clone().symmetric_eigen();
    let c = eigen.eigenvectors.transpose() * point;
    let at = |m: f64| {
        DVector::from_fn(c.len(), |k, _| eigen.eigenvalues[k] * c[k] / (eigen.eigenvalues[k] + m))
    };
    let (mut low, mut high) = (0.0, 1e9);
    for _ in 0..120 {
        let middle = 0.5 * (low + high);
        if at(middle).norm() > radius { low = middle } else { high = middle }
    }
    &eigen.eigenvectors * at(high)
}

#[test]
fn is_the_published_algorithm() {
    let mut noise = SecureNoise::seeded(21);
    for (d, horizon) in [(1, 50), (2, 300), (5, 300), (9, 60), (3, 1 << 40)] {
        let params = MalerParams::new(d, 0.7, 3.0, horizon);
        let (mut ours, mut plain) = (params.check().unwrap(), Plain::new(params));
        let goal = DVector::from_vec(shortened(normals(d, &mut noise), 0.69));
        for t in 0..horizon.min(300) {
            // Noisy squared losses; now and then a gradient that is too long.
            let x =
                DVector::from_vec(normals(d, &mut noise)) * if t % 50 == 7 { 40.0 } else { 0.6 };
            let residual = x.dot(&(plain.prediction() - &goal)) + 0.5 * noise.standard_normal();
            let gradient = x * (2.0 * residual);
            plain.absorb(gradient.as_slice());
            ours.absorb(gradient.as_slice()).unwrap();
            let distance =
                (DVector::from_column_slice(ours.prediction()) - plain.prediction()).norm();
            assert!(distance < 1e-9, "d = {d}, round {t}: {distance}");
        }
        assert!(ours.shortened() > 0);
        assert_eq!(ours.tiles.len(), if horizon > 1 << 22 { 2 } else { 1 });
    }
}

impl MalerParams {
    /// The regret on convex losses is at most this.
    fn convex_regret_bound(&self) -> f64 {
        let size = self.gradient_bound * self.radius * (self.horizon as f64).sqrt();
        (4.0 * libm::log(3.0) + 3.0) * size
    }

    /// The regret on losses with `l(theta) - l(u) <= <g, theta - u> - (mu/2) ||theta - u||^2` is at most this.
    fn strongly_convex_regret_bound(&self, mu: f64) -> f64 {
        let experts = 1.0 + libm::log(self.horizon as f64);
        self.curved_regret_bound(experts, 0.5 * mu / self.gradient_bound.powi(2))
    }
}

/// Share of a prediction that comes from each family of experts, `w eta` by `w eta`; the three sum to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Influence {
    /// The expert for convex losses.
    convex: f64,
    /// The experts for exp-concave losses together.
    exp_concave: f64,
    /// The experts for strongly convex losses together.
    strongly_convex: f64,
}

impl Maler {
    /// The current influence of each family.
    fn influence(&self) -> Influence {
        let sum = |rates: &Row, logarithms: &Row| -> f64 {
            rates.iter().zip(logarithms).map(|(rate, &log)| rate * libm::exp(log)).sum()
        };
        let of = |tile: &Tile| {
            let Tile { rates, strongly_convex, exp_concave, .. } = tile;
            (sum(rates, &strongly_convex.log_weights), sum(rates, &exp_concave.log_weights))
        };
        let convex = self.params.convex_rate() * libm::exp(self.convex.log_weight);
        let (strong, concave) =
            self.tiles.iter().map(of).fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
        let all = convex + strong + concave;
        Influence {
            convex: convex / all,
            exp_concave: concave / all,
            strongly_convex: strong / all,
        }
    }
}

/// Regret against u and the final influence, where `loss` gives the loss's gradient at theta and its value at theta and at u.
fn run(
    params: MalerParams,
    u: &[f64],
    mut loss: impl FnMut(&[f64], &[f64]) -> (Vec<f64>, f64),
) -> (f64, Influence) {
    let mut learner = params.check().unwrap();
    let mut regret = 0.0;
    for _ in 0..params.horizon {
        let (gradient, excess) = loss(learner.prediction(), u);
        assert!(dot(&gradient, &gradient) <= params.gradient_bound.powi(2) * (1.0 + 1e-12));
        regret += excess;
        learner.absorb(&gradient).unwrap();
        assert!(dot(learner.prediction(), learner.prediction()) <= params.radius.powi(2) + 1e-9);
    }
    assert_eq!(learner.shortened(), 0);
    (regret, learner.influence())
}

/// Squared losses of unit features and labels in [-1, 1]: exp-concave, flat in all directions but one.
fn squared(params: MalerParams, seed: u64) -> (f64, Influence) {
    let mut noise = SecureNoise::seeded(seed);
    let u = shortened(normals(params.dimension, &mut noise), 0.9);
    run(params, &u, |theta, u| {
        let mut x = shortened(normals(theta.len(), &mut noise), 1e-9);
        let scale = 1.0 / dot(&x, &x).sqrt();
        // The first coordinate dominates, so that the other directions are poorly seen.
        x.iter_mut().enumerate().for_each(|(i, x)| *x *= scale * if i == 0 { 1.0 } else { 0.3 });
        let y = (dot(&x, u) + 0.1 * noise.standard_normal()).clamp(-1.0, 1.0);
        let (residual, best) = (dot(&x, theta) - y, dot(&x, u) - y);
        (x.iter().map(|x| 2.0 * residual * x).collect(), residual * residual - best * best)
    })
}

#[test]
fn squared_losses_are_learnt_at_the_exp_concave_rate_thanks_to_the_exp_concave_experts() {
    // |residual| <= 2, so that <x, e>^2 >= <g, e>^2 / 16 is what a squared loss has over its tangent.
    let params = MalerParams::new(5, 1.0, 4.0, 20_000);
    let (regret, influence) = squared(params, 31);
    assert!(regret <= params.exp_concave_regret_bound(1.0 / 16.0), "{regret}");
    assert!(regret < 0.2 * params.convex_regret_bound());
    assert!(influence.exp_concave > 0.6, "{influence:?}");
    // Without these experts the regret is larger.
    let (without, _) = squared(MalerParams { exp_concave: false, ..params }, 31);
    assert!(without > 1.5 * regret, "{without} against {regret}");
}

#[test]
fn strongly_convex_losses_are_learnt_at_their_rate_thanks_to_their_experts() {
    let params = MalerParams::new(20, 1.0, 4.0, 10_000);
    let go = |params: MalerParams| {
        let mut noise = SecureNoise::seeded(32);
        let u = shortened(normals(20, &mut noise), 0.5);
        // ||theta - z||^2 with E z = u: 2-strongly convex.
        run(params, &u, |theta, u| {
            let away = shortened(normals(20, &mut noise), 0.5);
            let z: Vec<f64> = u.iter().zip(&away).map(|(u, a)| u + a).collect();
            let square = |x: &[f64]| x.iter().zip(&z).map(|(x, z)| (x - z).powi(2)).sum::<f64>();
            let gradient = theta.iter().zip(&z).map(|(x, z)| 2.0 * (x - z)).collect();
            (gradient, square(theta) - square(u))
        })
    };
    let (regret, influence) = go(params);
    let (without, _) = go(MalerParams { strongly_convex: false, ..params });
    assert!(regret <= params.strongly_convex_regret_bound(2.0), "{regret}");
    assert!(influence.strongly_convex > 0.8, "{influence:?}");
    assert!(without > 1.5 * regret, "{without} against {regret}");
}

/// Regret against zero when the gradient always pushes away from it: `2 |theta|`, which is convex and no more.
fn pushed_away(learner: &mut impl BallLearner, rounds: u64) -> f64 {
    let push = |theta: &[f64]| [0.0, 0.0, 2.0_f64.copysign(theta[2])];
    let mut regret = 0.0;
    for _ in 0..rounds {
        regret += 2.0 * learner.prediction()[2].abs();
        learner.absorb(&push(learner.prediction())).unwrap();
    }
    regret
}

#[test]
fn kinked_losses_keep_the_convex_rate() {
    let params = MalerParams::new(3, 1.0, 2.0, 20_000);
    let regret = pushed_away(&mut params.check().unwrap(), 20_000);
    assert!(regret > 0.0 && regret <= params.convex_regret_bound(), "{regret}");
    // A wrong variant that violates the bound: steps that do not fall.
    let step = crate::online::Step::Constant(0.1);
    let descent = crate::online::GradientDescentParams { dimension: 3, radius: 1.0, step };
    let regret = pushed_away(&mut descent.check().unwrap(), 20_000);
    assert!(regret > params.convex_regret_bound(), "{regret}");
}

#[test]
fn every_instruction_set_gives_the_same_bits() {
    for d in [1, 2, 5, 7, 11] {
        let run = |arch: Arch| {
            let mut noise = SecureNoise::seeded(34);
            let mut learner = MalerParams::new(d, 1.0, 2.0, 100).check().unwrap();
            for _ in 0..100 {
                let g: Vec<f64> = normals(d, &mut noise).iter().map(|x| x + 0.5).collect();
                learner.absorb_on(arch, &g).unwrap();
            }
            learner.save()
        };
        for path in paths() {
            assert!(run(path) == run(Arch::Scalar), "{path:?}, dimension {d}");
        }
    }
}

#[test]
fn resumes_bit_for_bit_and_refuses_what_does_not_fit() {
    let mut noise = SecureNoise::seeded(35);
    let mut learner = MalerParams::new(4, 1.0, 2.0, 60).check().unwrap();
    let mut resumed = None;
    for t in 0..60 {
        if t == 30 {
            resumed = Some(Maler::load(&learner.save()).unwrap());
        }
        let g = normals(4, &mut noise);
        learner.absorb(&g).unwrap();
        if let Some(resumed) = &mut resumed {
            resumed.absorb(&g).unwrap();
        }
    }
    let mut resumed = resumed.unwrap();
    assert_eq!(resumed, learner);
    let past = resumed.absorb(&[0.0; 4]);
    assert_eq!(past, Err(Error::HorizonExceeded { round: 61, horizon: 60 }));
    assert!(resumed.absorb(&[0.0; 3]).is_err());
    assert!(resumed.absorb(&[f64::NAN; 4]).is_err());
    assert_eq!(resumed, learner);
    for spoil in [
        |m: &mut Maler| m.rounds = 61,
        |m: &mut Maler| m.prediction[0] = f64::NAN,
        |m: &mut Maler| m.tiles[0].matrices[0][1] = -1.0,
        |m: &mut Maler| m.tiles[0].rates[0] *= 2.0,
        |m: &mut Maler| m.tiles[0].exp_concave.points.truncate(1),
        |m: &mut Maler| m.tiles.clear(),
    ] {
        let mut spoilt = learner.clone();
        spoil(&mut spoilt);
        assert!(Maler::load(&spoilt.save()).is_err());
    }
    let good = *learner.params();
    for (params, field) in [
        (MalerParams { dimension: 0, ..good }, "dimension: got 0"),
        (MalerParams { radius: 0.0, ..good }, "radius: got 0"),
        (MalerParams { gradient_bound: f64::INFINITY, ..good }, "gradient_bound: got inf"),
        (MalerParams { horizon: 0, ..good }, "horizon: got 0"),
    ] {
        assert!(params.check().unwrap_err().to_string().starts_with(field));
    }
}
