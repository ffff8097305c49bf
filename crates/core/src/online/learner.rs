//! The learner that callers use: predict, absorb a possibly noisy gradient, save, resume.
//!
//! The learner sees only what people send. It knows a bound on the means of the gradients but not the level of the noise: people choose
//! their own level for every attribute, or send nothing.

use serde::{Deserialize, Serialize};

use super::{
    BoundBroken, Geometry, LARGEST_PREDICTION, Potential, Prior, bounds,
    coordinatewise::Coordinatewise, mirror_descent::MirrorDescent, potential::LARGEST_RATIO,
    reduction::Reduction,
};
#[cfg(feature = "schema")]
use crate::schema::{NotNegative, Positive, add_names};
use crate::{
    Error, Result,
    error::{not_negative, positive},
    named::named,
    randomize::Gradient,
    refuse_if, wire,
};

/// The learning algorithm.
///
/// In Python and in experiment files it is its name, `"sum"`, or its name with parameters, `{"sum": {"step": 0.5}}`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(remote = "Self", rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Method", transform = add_names::<Self>))]
pub enum Method {
    /// Algorithm 2: a direction and a length.
    Reduction {
        /// The prior of the length.
        #[serde(default)]
        prior: Prior,
        /// The set of directions.
        #[serde(default)]
        geometry: Geometry,
        /// The direction learner's step, 1 in the paper.
        #[serde(default = "crate::wire::unity")]
        #[cfg_attr(feature = "schema", schemars(with = "Positive"))]
        step: f64,
    },
    /// Algorithm 3: every coordinate separately.
    Coordinatewise {
        /// The prior of every coordinate.
        #[serde(default)]
        prior: Prior,
    },
    /// The sum of the iterates of Algorithms 2 and 3: its regret is that of the better one, up to a constant.
    Sum {
        /// The prior of the length and of every coordinate.
        #[serde(default)]
        prior: Prior,
        /// The set of directions.
        #[serde(default)]
        geometry: Geometry,
        /// The direction learner's step.
        #[serde(default = "crate::wire::unity")]
        #[cfg_attr(feature = "schema", schemars(with = "Positive"))]
        step: f64,
    },
    /// A baseline in the manner of Jun and Orabona (2019): Algorithm 2 that is given the noise level of the noisiest person and assumes it
    /// in every round.
    KnownNoise {
        /// `sqrt(E||xi||^2)` of the noisiest person; an experiment file may leave it out, and has that of its people.
        #[cfg_attr(feature = "schema", schemars(with = "NotNegative"))]
        deviation: f64,
        /// The direction learner's step.
        #[serde(default = "crate::wire::unity")]
        #[cfg_attr(feature = "schema", schemars(with = "Positive"))]
        step: f64,
    },
    /// A baseline: gradient descent with an adaptive step on a Euclidean ball that must contain the competitor.
    GradientDescent {
        /// Its radius.
        #[cfg_attr(feature = "schema", schemars(with = "Positive"))]
        radius: f64,
        /// The step, in units of the radius.
        #[serde(default = "crate::wire::unity")]
        #[cfg_attr(feature = "schema", schemars(with = "Positive"))]
        step: f64,
    },
    /// A baseline: AdaGrad on a box that must contain the competitor.
    Adagrad {
        /// Half its side.
        #[cfg_attr(feature = "schema", schemars(with = "Positive"))]
        radius: f64,
        /// The step, in units of the radius.
        #[serde(default = "crate::wire::unity")]
        #[cfg_attr(feature = "schema", schemars(with = "Positive"))]
        step: f64,
    },
}

named!(Method, "{ gradient_descent = { radius = 1.0 } }", {
    "reduction": Method::Reduction { .. }
        => Method::Reduction { prior: Prior::default(), geometry: Geometry::Ball, step: 1.0 },
    "coordinatewise": Method::Coordinatewise { .. }
        => Method::Coordinatewise { prior: Prior::default() },
    "sum": Method::Sum { .. } => Method::default(),
    "known_noise": Method::KnownNoise { .. },
    "gradient_descent": Method::GradientDescent { .. },
    "adagrad": Method::Adagrad { .. },
});

impl Default for Method {
    /// The sum of Algorithms 2 and 3 with the conjugate prior, `b = G^2`, on the Euclidean ball.
    fn default() -> Self {
        Method::Sum { prior: Prior::default(), geometry: Geometry::Ball, step: 1.0 }
    }
}

impl Method {
    /// The set of directions, which says in which norm gradients are bounded; `None` where every coordinate is bounded by itself.
    pub fn geometry(&self) -> Option<Geometry> {
        match *self {
            Method::Reduction { geometry, .. } | Method::Sum { geometry, .. } => Some(geometry),
            Method::KnownNoise { .. } | Method::GradientDescent { .. } => Some(Geometry::Ball),
            Method::Adagrad { .. } => Some(Geometry::Box),
            Method::Coordinatewise { .. } => None,
        }
    }
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
    /// The default method: see [`Method::default`].
    pub fn new(dimension: usize, gradient_bound: f64) -> Self {
        OnlineParams { dimension, gradient_bound, method: Method::default() }
    }

    /// Refuses parameters outside their ranges.
    pub fn check(&self) -> Result<OnlinePlan> {
        const LARGEST: usize = 1 << 28;
        let remedy = format_args!("expected 1 to {LARGEST}");
        refuse_if(!(1..=LARGEST).contains(&self.dimension), "dimension", self.dimension, remedy)?;
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
                let remedy = "expected at most 1e50 times gradient_bound";
                refuse_if(deviation > 1e50 * self.gradient_bound, "deviation", deviation, remedy)?;
                positive("step", step)?;
            }
            Method::GradientDescent { radius, step } | Method::Adagrad { radius, step } => {
                potential(Prior::Uniform)?;
                positive("radius", radius)?;
                positive("step", step)?;
                let refused = radius * step > LARGEST_PREDICTION;
                refuse_if(refused, "radius", radius, "expected at most 1e200")?;
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
    /// A learner without data, which plays 0.
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
                Machine::Reduction(reduction(Prior::default(), Geometry::Ball, step, Some(square)))
            }
            Method::GradientDescent { radius, step } => {
                Machine::Descent(MirrorDescent::new(Geometry::Ball, dimension, radius, step))
            }
            Method::Adagrad { radius, step } => {
                Machine::Descent(MirrorDescent::new(Geometry::Box, dimension, radius, step))
            }
        };
        OnlineLearner { params: self.params, machine, rounds: 0, broken: None }
    }
}

/// The result of absorbing a gradient.
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use = "a broken gradient bound voids the regret bound"]
pub struct Absorbed {
    /// The gradients seen so far contradict the gradient bound.
    pub bound_broken: Option<BoundBroken>,
}

/// A learner from gradients of unknown noise that needs no bound on the competitor.
///
/// It draws no noise itself: people draw their own, so a resumed learner cannot repeat noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawLearner")]
pub struct OnlineLearner {
    params: OnlineParams,
    machine: Machine,
    rounds: u64,
    /// The first detection of a broken bound.
    broken: Option<BoundBroken>,
}

/// A deserialised learner before it is checked.
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
                let prior = potential(Prior::default())?;
                let square = Some(gradient_bound * gradient_bound + deviation * deviation);
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
            (Method::GradientDescent { radius, step }, Machine::Descent(descent)) => {
                descent.is_sound(Geometry::Ball, dimension, *radius, *step)
            }
            (Method::Adagrad { radius, step }, Machine::Descent(descent)) => {
                descent.is_sound(Geometry::Box, dimension, *radius, *step)
            }
            _ => false,
        };
        refuse_if(!sound, "saved learner", "inconsistent parts", "restore another copy")?;
        Ok(OnlineLearner { params, machine, rounds, broken })
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
    /// The parameters.
    pub fn params(&self) -> &OnlineParams {
        &self.params
    }

    /// Rounds so far, including those in which nothing was sent.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// One coordinate of the iterate, without computing the others.
    pub fn weight(&self, index: usize) -> Result<f64> {
        let remedy = format_args!("expected an index below dimension = {}", self.params.dimension);
        refuse_if(index >= self.params.dimension, "index", index, remedy)?;
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

    /// `<w_t, x>`, computed from the nonzero features only.
    pub fn score<'a>(&self, features: impl Into<Gradient<'a>>) -> Result<f64> {
        let features = features.into();
        features.check("features", self.params.dimension)?;
        let score = features.dot(|index| self.weight_at(index));
        // Saturated weights times large features may overflow.
        Ok(if score.is_nan() { 0.0 } else { score.clamp(-f64::MAX, f64::MAX) })
    }

    /// Absorbs a person's report: a subgradient at the iterate, plus symmetric noise of their own choice. An error changes nothing.
    pub fn absorb<'a>(&mut self, gradient: impl Into<Gradient<'a>>) -> Result<Absorbed> {
        let gradient = gradient.into();
        self.check_gradient(gradient)?;
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
        self.check_gradient(gradient)?;
        let norm = self.norm_of(gradient);
        let bound = self.params.gradient_bound;
        let remedy = format_args!(
            "clip it to gradient_bound = {bound}, or build the learner with a larger bound"
        );
        refuse_if(norm > bound * (1.0 + 1e-9), "norm of gradient", norm, remedy)?;
        self.absorb(gradient)
    }

    /// Refuses entries that are not finite, and sizes whose squares would overflow the learner's sums.
    fn check_gradient(&self, gradient: Gradient<'_>) -> Result<()> {
        gradient.check("gradient", self.params.dimension)?;
        let bound = self.params.gradient_bound;
        match gradient.entries().find(|(_, value)| value.abs() > LARGEST_RATIO * bound) {
            None => Ok(()),
            Some((index, value)) => Err(Error::invalid(
                "gradient",
                format!("{value:e} at index {index}"),
                format!("expected at most {LARGEST_RATIO:e} times gradient_bound = {bound}"),
            )),
        }
    }

    /// A round in which a person sends nothing: it is counted, and nothing is learnt.
    pub fn skip(&mut self) -> Absorbed {
        self.rounds += 1;
        Absorbed { bound_broken: self.broken }
    }

    /// The norm in which this learner's gradients are bounded.
    pub fn norm_of(&self, gradient: Gradient<'_>) -> f64 {
        match self.params.method.geometry() {
            Some(geometry) => geometry.dual_norm(gradient),
            None => gradient.largest(),
        }
    }

    /// Returns whether the gradients so far contradict the gradient bound.
    pub fn bound_broken(&self) -> Option<BoundBroken> {
        self.broken
    }

    /// The numeric regret bound against `competitor` at the gradients seen so far, whose mean over the noise bounds the expected regret:
    /// `F*(u)` of [`bounds`] plus the bound of the direction learner. `None` for the baselines, whose bounds need further assumptions.
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
                // The sum competes with u if one part competes with u and the other with 0; either assignment gives a bound.
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
        wire::save(wire::kinds::ONLINE_LEARNER, self)
    }

    /// Continues bit for bit where [`OnlineLearner::save`] stopped.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        wire::load(wire::kinds::ONLINE_LEARNER, bytes)
    }
}

#[cfg(test)]
mod tests;
