//! The learners of this family, from their TOML tables to their trials.

use std::sync::Arc;

use reticent::online::{Geometry, LinearModel, Method, OnlineParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Source,
    method::{MethodToml, title},
    people::{Privacy, PrivatePeople},
};
use crate::{
    FastNoise, Result,
    algorithm::{Card, Certificate, RunnableAlgorithm},
    audit::attack::Attacks,
    play::trial::{Checkpoint, Measure, Trial, mix, name_hash},
};

/// The numeric regret bound is computed up to this dimension.
const MOST_BOUNDED: usize = 10_000;

/// One `[[algorithm]]` of an experiment with gradients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Algorithm {
    /// A learner from gradients of unknown noise.
    OnlineLearner(OnlineLearnerToml),
    /// Playing 0.
    Zero(ZeroToml),
}

/// Keys of the learner from gradients.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnlineLearnerToml {
    /// Its name in the report.
    pub name: Option<String>,
    /// The people who ask for privacy; none by default.
    pub privacy: Option<Privacy>,
    /// The learning algorithm, by default `sum`.
    #[serde(default)]
    pub method: MethodToml,
}

/// Keys of the algorithm that plays 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZeroToml {
    /// Its name in the report.
    pub name: Option<String>,
    /// The people who ask for privacy; none by default.
    pub privacy: Option<Privacy>,
}

/// A learner ready to be simulated.
pub(super) struct OnlineAlgorithm {
    card: Card,
    /// `None` for the algorithm that plays 0.
    params: Option<OnlineParams>,
    source: Arc<dyn Source>,
    private: Option<PrivatePeople>,
}

impl Algorithm {
    fn privacy(&self) -> Option<&Privacy> {
        match self {
            Algorithm::OnlineLearner(lines) => lines.privacy.as_ref(),
            Algorithm::Zero(lines) => lines.privacy.as_ref(),
        }
    }

    /// Its name, and its method if it learns; `deviation` is that of the noisiest person.
    fn method(&self, deviation: f64) -> (String, Option<Method>) {
        let (given, name, method) = match self {
            Algorithm::OnlineLearner(OnlineLearnerToml { name, method, .. }) => {
                let method = method.with_people(deviation);
                (name, title(&method), Some(method))
            }
            Algorithm::Zero(ZeroToml { name, .. }) => (name, "playing 0".into(), None),
        };
        (given.clone().unwrap_or(name), method)
    }
}

impl OnlineAlgorithm {
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
        let attacked = private.clone().zip(algorithm.privacy().cloned());
        let people = source.clone();
        let attacks = attacked.map_or_else(Attacks::default, |(private, privacy)| {
            Attacks::new(move || private.attacks(&privacy, &*people, rounds))
        });
        let remarks = source.remarks();
        let card = Card { name, guarantee, certificates, attacks, remarks, ..Card::default() };
        Ok(OnlineAlgorithm { card, params, source, private })
    }
}

impl crate::algorithm::sealed::Sealed for OnlineAlgorithm {}

impl RunnableAlgorithm for OnlineAlgorithm {
    fn card(&self) -> &Card {
        &self.card
    }

    fn data_hash(&self) -> u64 {
        self.source.data_hash()
    }

    fn trial(&self, seed: u64, trial: u64, checkpoints: &[u64]) -> Result<Trial> {
        // Every algorithm gets the same people in the same order, and different noise.
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
        let gauge = crate::play::watch::Gauge::current();
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
