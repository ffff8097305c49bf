//! The learners of this family, from their TOML tables to their trials.

use std::sync::Arc;

use reticent::{
    Error as CoreError,
    online::{Geometry, LinearModel, Method, OnlineParams, Prior},
};
use serde::{Deserialize, Serialize};

use super::{
    Source,
    people::{Privacy, PrivatePeople},
};
use crate::{
    FastNoise, Result,
    contest::{Card, Certificate, Contestant},
    trial::{Checkpoint, Measure, Trial, mix, name_hash},
};

/// The numeric regret bound is computed up to this dimension.
const MOST_BOUNDED: usize = 10_000;

/// One `[[algorithm]]` of an experiment with gradients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Algorithm {
    /// Algorithm 2 of van der Hoeven (2019).
    Reduction(PotentialToml),
    /// Algorithm 3.
    Coordinatewise(PotentialToml),
    /// The sum of both.
    Sum(PotentialToml),
    /// A learner that knows the largest noise level and assumes it in every round (after Jun and Orabona 2019).
    KnownNoise(KnownNoiseToml),
    /// Adaptive gradient descent on a ball that must contain the competitor.
    GradientDescent(DescentToml),
    /// AdaGrad on a box that must contain the competitor.
    Adagrad(DescentToml),
    /// Playing 0.
    Zero(ZeroToml),
}

/// Keys of the tuning-free learners.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PotentialToml {
    /// Its name in the report.
    pub name: Option<String>,
    /// The people who ask for privacy; nobody by default.
    pub privacy: Option<Privacy>,
    /// The prior over learning rates, by default `conjugate` with the squared gradient bound as its precision.
    #[serde(default)]
    pub prior: Prior,
    /// The direction learner's step.
    #[serde(default = "crate::lines::one")]
    pub step: f64,
    /// The set of directions.
    #[serde(default)]
    pub geometry: Geometry,
}

impl Default for PotentialToml {
    fn default() -> Self {
        PotentialToml {
            name: None,
            privacy: None,
            prior: Prior::default(),
            step: 1.0,
            geometry: Geometry::Ball,
        }
    }
}

/// Keys of the learner that knows the noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownNoiseToml {
    /// Its name in the report.
    pub name: Option<String>,
    /// The people who ask for privacy; nobody by default.
    pub privacy: Option<Privacy>,
    /// `sqrt(E||xi||^2)` of the noisiest person, by default what follows from `privacy`.
    pub deviation: Option<f64>,
    /// The direction learner's step.
    #[serde(default = "crate::lines::one")]
    pub step: f64,
}

/// Keys of the algorithm that plays 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZeroToml {
    /// Its name in the report.
    pub name: Option<String>,
    /// The people who ask for privacy; nobody by default.
    pub privacy: Option<Privacy>,
}

/// Keys of gradient descent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DescentToml {
    /// Its name in the report.
    pub name: Option<String>,
    /// The people who ask for privacy; nobody by default.
    pub privacy: Option<Privacy>,
    /// D: the ball's radius, or half the box's side.
    pub radius: f64,
    /// The step in units of the radius.
    #[serde(default = "crate::lines::one")]
    pub step: f64,
}

/// A learner ready to be simulated.
pub(super) struct GradientPlayer {
    card: Card,
    /// `None` for the algorithm that plays 0.
    params: Option<OnlineParams>,
    source: Arc<dyn Source>,
    private: Option<PrivatePeople>,
}

impl Algorithm {
    fn privacy(&self) -> Option<&Privacy> {
        match self {
            Algorithm::Reduction(lines)
            | Algorithm::Coordinatewise(lines)
            | Algorithm::Sum(lines) => lines.privacy.as_ref(),
            Algorithm::KnownNoise(lines) => lines.privacy.as_ref(),
            Algorithm::Zero(lines) => lines.privacy.as_ref(),
            Algorithm::GradientDescent(lines) | Algorithm::Adagrad(lines) => lines.privacy.as_ref(),
        }
    }

    /// Refuses keys that would have no effect.
    fn nothing_is_ignored(&self) -> Result<()> {
        let ignored = match self {
            Algorithm::Coordinatewise(PotentialToml { step, .. }) if *step != 1.0 => "step",
            Algorithm::Coordinatewise(PotentialToml { geometry, .. })
                if *geometry != Geometry::Ball =>
            {
                "geometry"
            }
            _ => return Ok(()),
        };
        let remedy = "it belongs to the direction of Algorithm 2: leave it out";
        Err(CoreError::invalid(ignored, "given", remedy).into())
    }

    /// Its name, and its method if it learns; `deviation` is that of the noisiest person.
    fn method(&self, deviation: f64) -> (String, Option<Method>) {
        let (given, name, method) = match self {
            Algorithm::Reduction(PotentialToml { name, prior, geometry, step, .. }) => {
                let method = Method::Reduction { prior: *prior, geometry: *geometry, step: *step };
                (name, format!("Algorithm 2, {prior}"), Some(method))
            }
            Algorithm::Coordinatewise(PotentialToml { name, prior, .. }) => {
                let method = Method::Coordinatewise { prior: *prior };
                (name, format!("Algorithm 3, {prior}"), Some(method))
            }
            Algorithm::Sum(PotentialToml { name, prior, geometry, step, .. }) => {
                let method = Method::Sum { prior: *prior, geometry: *geometry, step: *step };
                (name, format!("sum of 2 and 3, {prior}"), Some(method))
            }
            Algorithm::KnownNoise(KnownNoiseToml { name, deviation: given, step, .. }) => {
                let deviation = given.unwrap_or(deviation);
                let method = Method::KnownNoise { deviation, step: *step };
                (name, "knows the largest noise".into(), Some(method))
            }
            Algorithm::GradientDescent(DescentToml { name, radius, step, .. }) => {
                let method = Method::GradientDescent { radius: *radius, step: *step };
                (name, format!("gradient descent, D = {radius}"), Some(method))
            }
            Algorithm::Adagrad(DescentToml { name, radius, step, .. }) => {
                let method = Method::Adagrad { radius: *radius, step: *step };
                (name, format!("AdaGrad, D = {radius}"), Some(method))
            }
            Algorithm::Zero(ZeroToml { name, .. }) => (name, "playing 0".into(), None),
        };
        (given.clone().unwrap_or(name), method)
    }
}

impl GradientPlayer {
    pub(super) fn new(algorithm: &Algorithm, source: Arc<dyn Source>, rounds: u64) -> Result<Self> {
        let private = algorithm
            .privacy()
            .map(|privacy| PrivatePeople::new(privacy, &*source, rounds))
            .transpose()?
            .filter(|people| people.count > 0);
        let deviation = private.as_ref().map_or(0.0, |people| people.deviation);
        let (name, method) = algorithm.method(deviation);
        let params = method.map(|method| OnlineParams {
            dimension: source.dimension(),
            gradient_bound: match method.geometry() {
                Some(Geometry::Ball) => source.gradient_bound(),
                Some(Geometry::Box) => source.l1_bound(),
                None => source.coordinate_bound(),
            },
            method,
        });
        if let Some(params) = &params {
            params.check()?;
        }
        algorithm.nothing_is_ignored()?;
        let population = source.population(rounds);
        let certificate = |people: &PrivatePeople| Certificate {
            whom: format!("the {} of {population} people who ask for privacy", people.count),
            guarantee: people.guarantee.clone(),
        };
        // If some people ask for no privacy, there is no guarantee for all.
        let (guarantee, certificates) = match &private {
            Some(people) if people.count < population => (None, vec![certificate(people)]),
            people => (people.as_ref().map(|people| people.guarantee.clone()), Vec::new()),
        };
        let attacks = match (&private, algorithm.privacy()) {
            (Some(people), Some(privacy)) => people.attacks(privacy, &*source, rounds)?,
            _ => Vec::new(),
        };
        let remarks = source.remarks();
        let card = Card { name, guarantee, certificates, attacks, remarks, ..Card::default() };
        Ok(GradientPlayer { card, params, source, private })
    }
}

impl crate::contest::sealed::Sealed for GradientPlayer {}

impl Contestant for GradientPlayer {
    fn card(&self) -> &Card {
        &self.card
    }

    fn data_hash(&self) -> u64 {
        self.source.data_hash()
    }

    fn trial(&self, seed: u64, trial: u64, checkpoints: &[u64]) -> Result<Trial> {
        // Every contestant gets the same people in the same order, and different noise.
        let seed = mix(seed, trial);
        let mut noise = FastNoise::seeded(mix(seed, name_hash(self.name())));
        let rounds = checkpoints.last().copied().unwrap_or(0);
        let crowd = self.source.crowd(rounds, seed)?;
        let private = match &self.private {
            Some(people) => people.draw(crowd.people.len() as u64, seed),
            None => vec![false; crowd.people.len()],
        };
        let loss = self.source.loss();
        let mut model = match &self.params {
            Some(params) => Some(LinearModel::new(params.check()?.start(), loss)),
            None => None,
        };
        let (mut curve, mut regret, mut round) = (Vec::with_capacity(checkpoints.len()), 0.0, 0);
        let mut clipped = 0_u64;
        let gauge = crate::watch::Gauge::current();
        for &checkpoint in checkpoints {
            while round < checkpoint {
                gauge.reached(round)?;
                let person = crowd.who[round as usize];
                let (features, label) = &crowd.people[person];
                let best: f64 =
                    features.iter().map(|&(index, x)| x * crowd.competitor[index]).sum();
                regret -= loss.value(best, *label)?;
                match &mut model {
                    None => regret += loss.value(0.0, *label)?,
                    Some(model) => {
                        let (gradient, lesson) = model.gradient(features, *label)?;
                        regret += lesson.loss;
                        clipped += u64::from(lesson.clipped);
                        let people = self.private.as_ref().filter(|_| private[person]);
                        let report = match people {
                            Some(people) => {
                                people.randomizer.report((&gradient).into(), &mut noise)?
                            }
                            None => reticent::randomize::GradientReport::Sparse(gradient),
                        };
                        model.absorb(&report)?;
                    }
                }
                round += 1;
            }
            curve.push(Checkpoint { round, regret });
        }
        let mut measures = Vec::new();
        if let Some(model) = &model {
            let share = clipped as f64 / rounds.max(1) as f64;
            measures.push(Measure { what: "gradients clipped, share of rounds", value: share });
            let broken = f64::from(u8::from(model.learner().bound_broken().is_some()));
            measures.push(Measure {
                what: "gradient bound found broken, share of trials",
                value: broken,
            });
            // A supremum for each coordinate: with a million of them this would take longer than the trial.
            if crowd.held_out.is_empty()
                && crowd.competitor.len() <= MOST_BOUNDED
                && let Some(bound) = model.learner().regret_bound(&crowd.competitor)?
            {
                measures.push(Measure { what: "numeric regret bound", value: bound });
            }
        }
        if !crowd.held_out.is_empty() {
            let (mut losses, mut right) = (0.0, 0.0);
            for (features, label) in &crowd.held_out {
                let score = match &model {
                    Some(model) => model.score(features)?,
                    None => 0.0,
                };
                losses += loss.value(score, *label)?;
                right += if score == 0.0 { 0.5 } else { f64::from(u8::from(score * label > 0.0)) };
            }
            let people = crowd.held_out.len() as f64;
            measures.push(Measure { what: "mean loss on people held out", value: losses / people });
            if loss.classifies() {
                measures
                    .push(Measure { what: "accuracy on people held out", value: right / people });
            }
        }
        Ok(Trial { curve, measures })
    }
}
