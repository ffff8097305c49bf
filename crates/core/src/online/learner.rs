//! The front of this room: predict, take a possibly noisy gradient in, save, resume.
//!
//! The learner sees only what people send. It is told a bound on the gradients' means and nothing about anybody's noise: people
//! choose their own level, for every attribute, or send nothing.

use serde::{Deserialize, Serialize};

use super::{
    BoundBroken, Geometry, Gradient, LARGEST_PREDICTION, Potential, Prior, SignedLog, bounds,
    coordinatewise::Coordinatewise, mirror_descent::MirrorDescent, reduction::Reduction,
};
use crate::{
    Error, Result,
    error::{not_negative, positive},
    saved,
};

const KIND: &str = "online learner";

/// Which algorithm learns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Method {
    /// Algorithm 2: a direction and a length.
    Reduction {
        /// The prior of the length.
        prior: Prior,
        /// Where directions live.
        geometry: Geometry,
        /// The direction learner's step, 1 in the paper.
        step: f64,
    },
    /// Algorithm 3: every coordinate by itself.
    Coordinatewise {
        /// The prior of every coordinate.
        prior: Prior,
    },
    /// The sum of both iterates: as good as the better of the two, up to a constant.
    Sum {
        /// The prior of the length and of every coordinate.
        prior: Prior,
        /// Where directions live.
        geometry: Geometry,
        /// The direction learner's step.
        step: f64,
    },
    /// A baseline in the manner of Jun and Orabona (2019): Algorithm 2, told the largest noise of anybody and counting on it in
    /// every round.
    KnownNoise {
        /// `sqrt(E||xi||^2)` of the noisiest person.
        deviation: f64,
        /// The direction learner's step.
        step: f64,
    },
    /// A baseline: mirror descent with an adaptive step on a ball or a box (AdaGrad) that must contain the competitor.
    Descent {
        /// Ball or box.
        geometry: Geometry,
        /// Its radius.
        radius: f64,
        /// The step, in units of the radius.
        step: f64,
    },
}

/// Parameters of an [`OnlineLearner`].
///
/// ```
/// use reticent::online::OnlineParams;
/// let mut learner = OnlineParams::new(2, 1.0).check()?.start();
/// for _ in 0..200 {
///     let w = learner.weights();
///     learner.absorb(&[(w[0] - 3.0).signum(), 0.0])?; // a subgradient of |w_0 - 3|
/// }
/// assert!((learner.weights()[0] - 3.0).abs() < 1.0);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnlineParams {
    /// d.
    pub dimension: usize,
    /// G: no gradient is longer than this before noise, in the norm dual to the geometry (Euclidean by default).
    pub gradient_bound: f64,
    /// The algorithm.
    pub method: Method,
}

impl OnlineParams {
    /// The defaults: the sum of Algorithms 2 and 3 with the conjugate prior, `b = G^2`, on the Euclidean ball.
    pub fn new(dimension: usize, gradient_bound: f64) -> Self {
        let prior = Prior::Conjugate { precision: gradient_bound * gradient_bound };
        let method = Method::Sum { prior, geometry: Geometry::Ball, step: 1.0 };
        OnlineParams { dimension, gradient_bound, method }
    }

    /// Refuses what no learner can be built on.
    pub fn check(&self) -> Result<OnlinePlan> {
        const LARGEST: usize = 1 << 28;
        if !(1..=LARGEST).contains(&self.dimension) {
            return Err(Error::invalid(
                "dimension",
                self.dimension,
                format!("give 1 to {LARGEST}"),
            ));
        }
        let potential = |prior: Prior| Potential::new(prior, self.gradient_bound);
        match self.method {
            Method::Reduction { prior, step, .. } | Method::Sum { prior, step, .. } => {
                potential(prior)?;
                positive("step", step)?;
            }
            Method::Coordinatewise { prior } => drop(potential(prior)?),
            Method::KnownNoise { deviation, step } => {
                potential(Prior::Uniform)?;
                not_negative("deviation", deviation)?;
                if deviation > 1e50 * self.gradient_bound {
                    let remedy = "give at most 1e50 times gradient_bound";
                    return Err(Error::invalid("deviation", deviation, remedy));
                }
                positive("step", step)?;
            }
            Method::Descent { radius, step, .. } => {
                potential(Prior::Uniform)?;
                positive("radius", radius)?;
                positive("step", step)?;
                if radius * step > LARGEST_PREDICTION {
                    return Err(Error::invalid("radius", radius, "give at most 1e200"));
                }
            }
        }
        Ok(OnlinePlan { params: *self })
    }
}

/// Checked parameters.
#[derive(Debug, Clone, Copy)]
pub struct OnlinePlan {
    params: OnlineParams,
}

impl OnlinePlan {
    /// A learner that has seen nothing and plays 0.
    pub fn start(&self) -> OnlineLearner {
        let OnlineParams { dimension, gradient_bound, method } = self.params;
        let potential =
            |prior| Potential::new(prior, gradient_bound).expect("the parameters were checked");
        let reduction = |prior, geometry, step, known| {
            Reduction::new(potential(prior), geometry, dimension, step, known)
        };
        let machine = match method {
            Method::Reduction { prior, geometry, step } => {
                Machine::Reduction(reduction(prior, geometry, step, None))
            }
            Method::Coordinatewise { prior } => {
                Machine::Coordinatewise(Coordinatewise::new(potential(prior), dimension))
            }
            Method::Sum { prior, geometry, step } => Machine::Sum(
                reduction(prior, geometry, step, None),
                Coordinatewise::new(potential(prior), dimension),
            ),
            Method::KnownNoise { deviation, step } => {
                let square = gradient_bound * gradient_bound + deviation * deviation;
                let prior = Prior::Conjugate { precision: gradient_bound * gradient_bound };
                Machine::Reduction(reduction(prior, Geometry::Ball, step, Some(square)))
            }
            Method::Descent { geometry, radius, step } => {
                Machine::Descent(MirrorDescent::new(geometry, dimension, radius, step))
            }
        };
        OnlineLearner { params: self.params, machine, rounds: 0, broken: None }
    }
}

/// What became of a gradient.
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use = "a broken gradient bound voids the regret bound"]
pub struct Absorbed {
    /// The gradients seen so far contradict the gradient bound.
    pub bound_broken: Option<BoundBroken>,
}

/// A learner without a bound on the competitor, fed by gradients of unknown noise.
///
/// It holds no noise: people draw their own, so a resumed learner cannot repeat any.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawLearner")]
pub struct OnlineLearner {
    params: OnlineParams,
    machine: Machine,
    rounds: u64,
    /// The first time the bound was found broken.
    broken: Option<BoundBroken>,
}

/// A learner before it is checked.
#[derive(Deserialize)]
struct RawLearner {
    params: OnlineParams,
    machine: Machine,
    rounds: u64,
    broken: Option<BoundBroken>,
}

impl TryFrom<RawLearner> for OnlineLearner {
    type Error = Error;

    fn try_from(raw: RawLearner) -> Result<Self> {
        let RawLearner { params, machine, rounds, broken } = raw;
        let OnlineParams { dimension, gradient_bound, method } = params;
        params.check()?;
        let potential = |prior| Potential::new(prior, gradient_bound);
        let sound = match (&method, &machine) {
            (Method::Reduction { prior, geometry, step }, Machine::Reduction(reduction)) => {
                reduction.is_sound(&potential(*prior)?, *geometry, dimension, *step, None)
            }
            (Method::KnownNoise { deviation, step }, Machine::Reduction(reduction)) => {
                let precision = gradient_bound * gradient_bound;
                let prior = potential(Prior::Conjugate { precision })?;
                let square = Some(precision + deviation * deviation);
                reduction.is_sound(&prior, Geometry::Ball, dimension, *step, square)
            }
            (Method::Coordinatewise { prior }, Machine::Coordinatewise(coordinates)) => {
                coordinates.is_sound(&potential(*prior)?, dimension)
            }
            (Method::Sum { prior, geometry, step }, Machine::Sum(reduction, coordinates)) => {
                let potential = potential(*prior)?;
                reduction.is_sound(&potential, *geometry, dimension, *step, None)
                    && coordinates.is_sound(&potential, dimension)
            }
            (Method::Descent { geometry, radius, step }, Machine::Descent(descent)) => {
                descent.is_sound(*geometry, dimension, *radius, *step)
            }
            _ => false,
        };
        if sound {
            Ok(OnlineLearner { params, machine, rounds, broken })
        } else {
            Err(Error::invalid("saved learner", "inconsistent", "restore another copy"))
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Machine {
    Reduction(Reduction),
    Coordinatewise(Coordinatewise),
    Sum(Reduction, Coordinatewise),
    Descent(MirrorDescent),
}

impl OnlineLearner {
    /// What the learner was built from.
    pub fn params(&self) -> &OnlineParams {
        &self.params
    }

    /// Rounds so far, those in which nothing was sent included.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// One coordinate of the iterate, without touching the others.
    pub fn weight(&self, index: usize) -> Result<f64> {
        if index >= self.params.dimension {
            let remedy = format!("give an index below dimension = {}", self.params.dimension);
            return Err(Error::invalid("index", index, remedy));
        }
        Ok(self.weight_at(index))
    }

    #[inline]
    fn weight_at(&self, index: usize) -> f64 {
        match &self.machine {
            Machine::Reduction(reduction) => reduction.weight(index),
            Machine::Coordinatewise(coordinates) => coordinates.weight(index),
            Machine::Sum(reduction, coordinates) => {
                reduction.weight(index) + coordinates.weight(index)
            }
            Machine::Descent(descent) => descent.coordinate(index),
        }
    }

    /// The whole iterate `w_t`.
    pub fn weights(&self) -> Vec<f64> {
        (0..self.params.dimension).map(|index| self.weight_at(index)).collect()
    }

    /// `<w_t, x>`, touching only the features that are not zero.
    pub fn score<'a>(&self, features: impl Into<Gradient<'a>>) -> Result<f64> {
        let features = features.into();
        features.check("features", self.params.dimension)?;
        let score = features.dot(|index| self.weight_at(index));
        // Saturated weights times large features may leave the doubles.
        Ok(if score.is_nan() { 0.0 } else { score.clamp(-f64::MAX, f64::MAX) })
    }

    /// The length `v_t` that Algorithm 2 plays, as sign and logarithm; nothing for the other methods.
    pub fn length(&self) -> Option<SignedLog> {
        match &self.machine {
            Machine::Reduction(reduction) | Machine::Sum(reduction, _) => Some(reduction.length()),
            _ => None,
        }
    }

    /// Takes in what a person sent: a subgradient at the iterate, plus symmetric noise of their own choice. An error changes nothing.
    pub fn absorb<'a>(&mut self, gradient: impl Into<Gradient<'a>>) -> Result<Absorbed> {
        let gradient = gradient.into();
        gradient.check_for(self.params.dimension, self.params.gradient_bound)?;
        self.rounds += 1;
        let broken = match &mut self.machine {
            Machine::Reduction(reduction) => reduction.absorb(gradient),
            Machine::Coordinatewise(coordinates) => coordinates.absorb(gradient),
            Machine::Sum(reduction, coordinates) => {
                let first = reduction.absorb(gradient);
                coordinates.absorb(gradient).or(first)
            }
            Machine::Descent(descent) => {
                descent.absorb(gradient);
                None
            }
        };
        if let (None, Some(found)) = (self.broken, broken) {
            self.broken = Some(BoundBroken { round: self.rounds, ..found });
        }
        Ok(Absorbed { bound_broken: self.broken })
    }

    /// As [`OnlineLearner::absorb`] for a gradient known to be free of noise: one above the bound is refused.
    pub fn absorb_exact<'a>(&mut self, gradient: impl Into<Gradient<'a>>) -> Result<Absorbed> {
        let gradient = gradient.into();
        gradient.check_for(self.params.dimension, self.params.gradient_bound)?;
        let norm = self.norm_of(gradient);
        let bound = self.params.gradient_bound;
        if norm > bound * (1.0 + 1e-9) {
            let remedy = format!(
                "clip it to gradient_bound = {bound}, or build the learner with a larger bound"
            );
            return Err(Error::invalid("norm of gradient", norm, remedy));
        }
        self.absorb(gradient)
    }

    /// A person who sends nothing: the round counts, and nothing is learnt.
    pub fn skip(&mut self) -> Absorbed {
        self.rounds += 1;
        Absorbed { bound_broken: self.broken }
    }

    /// The norm in which this learner's gradients are bounded.
    pub fn norm_of(&self, gradient: Gradient<'_>) -> f64 {
        match self.params.method {
            Method::Reduction { geometry, .. }
            | Method::Sum { geometry, .. }
            | Method::Descent { geometry, .. } => geometry.dual_norm(gradient),
            Method::Coordinatewise { .. } => gradient.largest(),
            Method::KnownNoise { .. } => Geometry::Ball.dual_norm(gradient),
        }
    }

    /// Whether the gradients so far contradict the gradient bound.
    pub fn bound_broken(&self) -> Option<BoundBroken> {
        self.broken
    }

    /// The numeric regret bound against `competitor` at the gradients seen so far, whose mean over the noise bounds the expected
    /// regret: `F*(u)` of [`bounds`], and what the direction learner may lose. Nothing for the baselines, whose guarantees rest on more.
    pub fn regret_bound(&self, competitor: &[f64]) -> Result<Option<f64>> {
        crate::error::finite_vector("competitor", competitor, self.params.dimension)?;
        let coordinates = |learner: &Coordinatewise, u: &dyn Fn(usize) -> f64| {
            (0..self.params.dimension)
                .map(|index| {
                    let squares = learner.statistics(index).squares;
                    bounds::conjugate(learner.potential(), u(index), squares)
                })
                .sum::<Result<f64>>()
        };
        Ok(match &self.machine {
            Machine::Reduction(reduction) => reduction.regret_bound(competitor)?,
            Machine::Coordinatewise(learner) => {
                Some(coordinates(learner, &|index| competitor[index])?)
            }
            Machine::Sum(reduction, learner) => {
                // Against u = u + 0 either part may be the one that competes, while the other stays near zero.
                let still = vec![0.0; self.params.dimension];
                let (moving, resting) =
                    (reduction.regret_bound(competitor)?, reduction.regret_bound(&still)?);
                let first = coordinates(learner, &|index| competitor[index])?;
                let second = coordinates(learner, &|_| 0.0)?;
                moving.zip(resting).map(|(moving, resting)| (moving + second).min(resting + first))
            }
            Machine::Descent(_) => None,
        })
    }

    /// The whole state.
    pub fn save(&self) -> Vec<u8> {
        saved::save(KIND, self)
    }

    /// Continues bit for bit where [`OnlineLearner::save`] stopped.
    pub fn resume(bytes: &[u8]) -> Result<Self> {
        saved::load(KIND, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        noise::Noise,
        online::{LinearModel, Loss},
        randomize::{KNormRandomizer, L1Laplace, LocalLaplace, Randomizer},
        release::testing::Seeded,
    };

    const CONJUGATE: Prior = Prior::Conjugate { precision: 1.0 };

    fn methods() -> [Method; 8] {
        let geometry = Geometry::Ball;
        [
            Method::Reduction { prior: CONJUGATE, geometry, step: 1.0 },
            Method::Reduction { prior: Prior::Improper, geometry: Geometry::Box, step: 1.0 },
            Method::Coordinatewise { prior: Prior::Improper },
            Method::Coordinatewise { prior: Prior::ChernovVovk },
            Method::Sum { prior: Prior::Uniform, geometry, step: 1.0 },
            Method::KnownNoise { deviation: 0.5, step: 1.0 },
            Method::Descent { geometry, radius: 3.0, step: 1.0 },
            Method::Descent { geometry: Geometry::Box, radius: 3.0, step: 1.0 },
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
            let miss =
                learner.score(&x).unwrap() - x.iter().zip(u).map(|(x, u)| x * u).sum::<f64>();
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
            let mut other = OnlineLearner::resume(&bytes).unwrap();
            assert_eq!(one, other);
            for learner in [&mut one, &mut other] {
                play(learner, &[1.0, 2.0, 0.0, -3.0], 50, 0.5, 2);
            }
            let bits =
                |l: &OnlineLearner| l.weights().iter().map(|w| w.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&one), bits(&other), "{method:?}");
            for length in 0..bytes.len() {
                assert!(OnlineLearner::resume(&bytes[..length]).is_err());
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
                assert!(OnlineLearner::resume(&changed.save()).is_err(), "{method:?}");
            };
            refuse(&|learner| learner.params.dimension = 5);
            refuse(&|learner| learner.params.gradient_bound = f64::NAN);
            refuse(&|learner| {
                let geometry = Geometry::Ball;
                let prior = Prior::Conjugate { precision: 7.0 };
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
                // Always to the same side, and twice as long as promised.
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
        // The same in the clear is refused at once.
        let mut learner = start(2, methods()[0]);
        let error = learner.absorb_exact(&[-2.0, 0.0]).unwrap_err().to_string();
        assert!(error.contains("norm of gradient is 2") && error.contains("gradient_bound = 1"));
    }

    #[test]
    fn predictions_saturate_and_keep_their_logarithm() {
        let mut learner = start(1, methods()[0]);
        for _ in 0..5000 {
            let _ = learner.absorb(&[-1.0]).unwrap();
        }
        assert!(learner.length().unwrap().ln() > 700.0);
        assert_eq!(learner.weights(), [LARGEST_PREDICTION]);
        assert!(learner.score(&[1e250]).unwrap().is_finite());
        // All the way back, and it has come down again: nothing was lost to the saturation.
        let mut learner = start(1, Method::Coordinatewise { prior: Prior::Improper });
        for gradient in [[-1.0], [1.0]] {
            for _ in 0..5000 {
                let _ = learner.absorb(&gradient).unwrap();
            }
        }
        assert_eq!(learner.weights(), [0.0]);
    }

    #[test]
    fn people_of_all_kinds_teach_one_linear_model() {
        // Person by person: silent, in the clear, K-norm, l1, a level per attribute.
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
                1 => drop(model.learn(&x, label).unwrap()),
                2 => drop(model.learn_privately(&x, label, &k_norm, &mut noise).unwrap()),
                3 => drop(model.learn_privately(&x, label, &l1, &mut noise).unwrap()),
                _ => drop(model.learn_privately(&x, label, &attributes, &mut noise).unwrap()),
            }
        }
        assert!(late / count > 0.85, "{}", late / count);
        assert_eq!(LinearModel::resume(&model.save()).unwrap(), model);
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
            params(
                2,
                1.0,
                Method::Reduction { prior: CONJUGATE, geometry: Geometry::Ball, step: 0.0 },
            ),
            params(2, 1.0, Method::Coordinatewise { prior: Prior::Conjugate { precision: -1.0 } }),
            params(2, 1.0, Method::KnownNoise { deviation: -1.0, step: 1.0 }),
            params(2, 1.0, Method::Descent { geometry: Geometry::Ball, radius: 0.0, step: 1.0 }),
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }
}
