//! The people who ask for privacy, their levels, and their randomisers.

use std::sync::Arc;

use reticent::{
    Error as CoreError,
    noise::Noise,
    privacy::{Event, Guarantee, TrustModel},
    randomize::{
        Gradient, GradientReport, KNormRandomizer, L1Laplace, LocalLaplace, Randomizer,
        StaircaseRandomizer,
    },
    schema::NotNegative,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Source;
use crate::{
    FastNoise, Result,
    audit::attack::{
        Attack, AuditNoise,
        neighbours::axis,
        online::{self, Device, NoiseNorm},
    },
    play::trial::mix,
};

/// `privacy = { ... }` of an algorithm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Privacy {
    /// The epsilon of everybody who asks for privacy; omitted for `attributes`.
    #[serde(default)]
    #[schemars(with = "NotNegative")]
    pub epsilon: f64,
    /// Number of people who ask for privacy; all by default. The trial draws them.
    pub people: Option<u64>,
    /// The randomiser.
    #[serde(default)]
    pub randomizer: RandomizerName,
    /// For `attributes`: tau of every attribute, which together are the level; 0 sends nothing.
    pub levels: Option<Vec<f64>>,
}

impl Privacy {
    /// Everybody at this level, by the default randomiser.
    pub fn everybody(epsilon: f64) -> Self {
        Privacy { epsilon, people: None, randomizer: RandomizerName::KNorm, levels: None }
    }
}

/// Randomisers by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RandomizerName {
    /// K-norm noise on the Euclidean ball.
    #[default]
    KNorm,
    /// Laplace noise calibrated to the l1 norm.
    L1Laplace,
    /// Laplace noise, the budget split evenly over attributes.
    EvenLaplace,
    /// Laplace noise at the `levels` given.
    Attributes,
    /// Staircase noise, the budget split evenly over attributes.
    Staircase,
}

/// A randomiser that has been built.
#[derive(Clone)]
pub(super) enum AnyRandomizer {
    KNorm(KNormRandomizer),
    L1Laplace(L1Laplace),
    LocalLaplace(LocalLaplace),
    Staircase(StaircaseRandomizer),
}

impl AnyRandomizer {
    /// The randomiser, and `E||xi||^2` of its noise.
    pub(super) fn new(privacy: &Privacy, source: &dyn Source) -> Result<(Self, f64)> {
        let d = source.dimension();
        let epsilon = privacy.epsilon;
        let attributes = privacy.randomizer == RandomizerName::Attributes;
        if privacy.levels.is_some() != attributes {
            let remedy = "give both levels and randomizer = \"attributes\", or neither";
            return Err(
                CoreError::invalid("levels", "inconsistent with `randomizer`", remedy).into()
            );
        }
        if attributes && epsilon != 0.0 {
            let remedy = "leave it out: the levels of the attributes add up to it";
            return Err(CoreError::invalid("epsilon", epsilon, remedy).into());
        }
        if !(attributes || epsilon.is_finite() && epsilon > 0.0) {
            return Err(
                CoreError::invalid("epsilon", epsilon, "expected a finite number above 0").into()
            );
        }
        // Every coordinate of a gradient is at most its Euclidean norm.
        let bound = source.gradient_bound();
        let split = vec![epsilon / d as f64; d];
        Ok(match privacy.randomizer {
            RandomizerName::KNorm => {
                let randomizer = KNormRandomizer::new(d, epsilon, bound)?;
                (AnyRandomizer::KNorm(randomizer), randomizer.second_moment())
            }
            RandomizerName::L1Laplace => {
                let randomizer = L1Laplace::new(d, epsilon, source.l1_bound())?;
                (AnyRandomizer::L1Laplace(randomizer), randomizer.second_moment())
            }
            RandomizerName::EvenLaplace | RandomizerName::Attributes => {
                let levels = privacy.levels.as_ref().unwrap_or(&split);
                if levels.len() != d {
                    return Err(CoreError::Dimension {
                        field: "levels",
                        expected: d,
                        found: levels.len(),
                    }
                    .into());
                }
                let randomizer = LocalLaplace::new(levels, source.coordinate_bound())?;
                let second_moment = randomizer.second_moment();
                (AnyRandomizer::LocalLaplace(randomizer), second_moment)
            }
            RandomizerName::Staircase => {
                let bound = source.coordinate_bound();
                let randomizer = StaircaseRandomizer::new(&split, bound)?;
                // At most the second moment of Laplace noise of the same level.
                let second_moment = 8.0 * (d as f64).powi(3) * (bound / epsilon).powi(2);
                (AnyRandomizer::Staircase(randomizer), second_moment)
            }
        })
    }

    pub(super) fn report<N: Noise>(
        &self,
        gradient: Gradient<'_>,
        noise: &mut N,
    ) -> reticent::Result<GradientReport> {
        match self {
            AnyRandomizer::KNorm(randomizer) => randomizer.report(gradient, noise),
            AnyRandomizer::L1Laplace(randomizer) => randomizer.report(gradient, noise),
            AnyRandomizer::LocalLaplace(randomizer) => randomizer.report(gradient, noise),
            AnyRandomizer::Staircase(randomizer) => randomizer.report(gradient, noise),
        }
    }

    fn event(&self) -> reticent::Result<Event> {
        match self {
            AnyRandomizer::KNorm(randomizer) => randomizer.event(),
            AnyRandomizer::L1Laplace(randomizer) => randomizer.event(),
            AnyRandomizer::LocalLaplace(randomizer) => randomizer.event(),
            AnyRandomizer::Staircase(randomizer) => randomizer.event(),
        }
    }

    /// The guarantee of a person with the given number of reports by each of these randomisers, when one machine reads the data and
    /// publishes only reports.
    pub(super) fn curated_guarantee(sent: &[(&Self, u64)]) -> reticent::Result<Guarantee> {
        let part = |&(randomizer, times): &(&Self, u64)| Ok((randomizer.event()?, times));
        let parts = sent.iter().map(part).collect::<reticent::Result<Vec<_>>>()?;
        let mut guarantee = Guarantee::of_mixture(&parts, TrustModel::Joint, DELTA)?;
        for (randomizer, times) in sent {
            let local = randomizer.guarantee(*times)?;
            guarantee = local.conditions().iter().fold(guarantee, |g, c| g.with_condition(c));
        }
        Ok(guarantee)
    }

    pub(super) fn guarantee(&self, reports: u64) -> reticent::Result<Guarantee> {
        match self {
            AnyRandomizer::KNorm(randomizer) => randomizer.guarantee_of_person(reports, DELTA),
            AnyRandomizer::L1Laplace(randomizer) => randomizer.guarantee_of_person(reports, DELTA),
            AnyRandomizer::LocalLaplace(randomizer) => {
                randomizer.guarantee_of_person(reports, DELTA)
            }
            AnyRandomizer::Staircase(randomizer) => randomizer.guarantee_of_person(reports, DELTA),
        }
    }
}

/// The private people of a run.
#[derive(Clone)]
pub(super) struct PrivatePeople {
    pub(super) randomizer: AnyRandomizer,
    /// Their number.
    pub(super) count: u64,
    pub(super) guarantee: Guarantee,
    /// `sqrt(E||xi||^2)` of one report.
    pub(super) deviation: f64,
}

/// A delta for the guarantee, which is pure and holds with any delta.
const DELTA: f64 = 1e-9;

/// The largest number of one person's reports that an audit examines.
const MOST_REPORTS: u64 = 16;

impl PrivatePeople {
    pub(super) fn new(privacy: &Privacy, source: &dyn Source, rounds: u64) -> Result<Self> {
        let (randomizer, second_moment) = AnyRandomizer::new(privacy, source)?;
        let population = source.population(rounds);
        let count = privacy.people.unwrap_or(population);
        if count > population {
            let remedy =
                format!("expected at most {population}, the number of people who take part");
            return Err(CoreError::invalid("people", count, remedy).into());
        }
        let guarantee = randomizer.guarantee(source.takes_part(rounds))?.simulated();
        let guarantee = source.conditions().into_iter().fold(guarantee, Guarantee::with_condition);
        Ok(PrivatePeople { randomizer, count, guarantee, deviation: second_moment.sqrt() })
    }

    /// The attack on the guarantee of one of them.
    pub(super) fn attacks(
        &self,
        privacy: &Privacy,
        source: &dyn Source,
        rounds: u64,
    ) -> Result<Vec<Attack>> {
        let reports = source.takes_part(rounds).min(MOST_REPORTS);
        let d = source.dimension();
        let weights = || privacy.levels.clone().unwrap_or_else(|| vec![1.0; d]);
        let (gradient, norm) = match self.randomizer {
            AnyRandomizer::KNorm(_) => (axis(d, source.gradient_bound()), NoiseNorm::Euclidean),
            AnyRandomizer::L1Laplace(_) => {
                (axis(d, source.l1_bound()), NoiseNorm::Absolute(vec![1.0; d]))
            }
            AnyRandomizer::LocalLaplace(_) | AnyRandomizer::Staircase(_) => {
                (vec![source.coordinate_bound(); d], NoiseNorm::Absolute(weights()))
            }
        };
        let guarantee = self.randomizer.guarantee(reports)?;
        let randomizer = self.randomizer.clone();
        let device: Device = Arc::new(move |gradient: Gradient<'_>, noise: &mut AuditNoise| {
            randomizer.report(gradient, noise)
        });
        Ok(online::attacks(device, gradient, norm, reports, &guarantee))
    }

    /// Marks the people of `population` who ask for privacy: the same for every algorithm of a trial.
    pub(super) fn draw(&self, population: u64, seed: u64) -> Vec<bool> {
        let mut noise = FastNoise::seeded(mix(seed, 77));
        let mut private = vec![self.count >= population; population as usize];
        let mut left = if self.count >= population { 0 } else { self.count };
        while left > 0 {
            let person = noise.below(population) as usize;
            left -= u64::from(!private[person]);
            private[person] = true;
        }
        private
    }
}
