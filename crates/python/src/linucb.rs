//! The bandit without privacy, for comparison.

use pyo3::prelude::*;
use reticent::{
    bandit::{Arms, Choice, LinUcb as CoreLinUcb, LinUcbParams, Rule},
    noise::{Noise, SecureNoise},
    randomize::Bounds,
    release::{Schedule, Structure},
    wire::{Kind, PYTHON_LINUCB},
};

use crate::{
    convert::parameter_or,
    decision::Observation,
    error::Answer,
    features::{Features, with_levels},
    integers,
    ticketed::{Plain, Ticketed},
};

/// LinUCB without any privacy, with the same calls as the private bandits.
///
/// >>> import numpy, reticent
/// >>> bandit = reticent.LinUCB(dimension=2)
/// >>> arms = reticent.Arms(numpy.eye(2))
/// >>> for _ in range(1000):
/// ...     ticket, arm = bandit.decide(arms)
/// ...     _ = bandit.observe(ticket, 0.9 if arm == 1 else 0.1)
/// >>> bool(abs(bandit.theta[1] - 0.9) < 0.01)
/// True
///
/// With `blocks=K` every arm has one of K blocks of parameters, its last `shared` features aside, and a round costs what a block does:
///
/// >>> bandit = reticent.LinUCB(dimension=2, blocks=3)
/// >>> person = numpy.array([0.6, 0.8])
/// >>> ticket, arm = bandit.decide((range(3), numpy.tile(person, (3, 1))))     # or Arms(rows, blocks=...)
/// >>> _ = bandit.observe(ticket, 0.5)
///
/// `regularizer` is the ridge of `rule="certified"`, by default 1; the other rules have their own.
///
/// With `rule="thompson"` decisions are drawn, and carry their probability; `seed` repeats the draws, and comes from the system by default.
#[pyclass(module = "reticent", name = "LinUCB")]
pub(crate) struct LinUcb {
    pub(crate) learner: Ticketed<CoreLinUcb>,
    pub(crate) place: Option<Arms>,
}

impl Plain for CoreLinUcb {
    const KIND: Kind = PYTHON_LINUCB;

    fn bounds(&self) -> &Bounds {
        &self.params().bounds
    }

    fn choose(&mut self, arms: &Arms, number: u64) -> reticent::Result<(Choice, f64)> {
        let choice = CoreLinUcb::choose(self, arms, self.randomness(number))?;
        let probability = match self.policy().ensemble() {
            Some(_) => self.probabilities(arms)?[choice.arm],
            None => 1.0,
        };
        Ok((choice, probability))
    }

    fn observe(&mut self, block: usize, features: &[f64], reward: f64) -> reticent::Result<bool> {
        self.observe_in_block(block, features, reward)
    }

    fn save(&self) -> Vec<u8> {
        CoreLinUcb::save(self)
    }

    fn load(bytes: &[u8]) -> reticent::Result<Self> {
        CoreLinUcb::load(bytes)
    }
}

#[pymethods]
impl LinUcb {
    #[new]
    #[pyo3(signature = (dimension, *, feature_bound = 1.0, rewards = (-1.0, 1.0), intercept = None, rule = None, regularizer = None, restart_every = None, forget = None, seed = None, blocks = 1, shared = 0, features = None))]
    #[allow(clippy::too_many_arguments, reason = "keywords of one Python call")]
    fn new(
        #[pyo3(from_py_with = integers::dimension)] dimension: usize,
        feature_bound: f64,
        rewards: (f64, f64),
        intercept: Option<&Bound<'_, PyAny>>,
        rule: Option<&Bound<'_, PyAny>>,
        regularizer: Option<f64>,
        #[pyo3(from_py_with = integers::restart_every)] restart_every: Option<u64>,
        forget: Option<f64>,
        #[pyo3(from_py_with = integers::seed)] seed: Option<u64>,
        #[pyo3(from_py_with = integers::blocks)] blocks: usize,
        #[pyo3(from_py_with = integers::shared)] shared: usize,
        features: Option<&Bound<'_, Features>>,
    ) -> Answer<Self> {
        let (structure, intercept) =
            (Structure { blocks, shared }, crate::convert::intercept(intercept)?);
        let bounds =
            Bounds { feature_bound, rewards, intercept, structure, ..Bounds::unit(dimension) };
        let rule = with_levels(parameter_or("rule", rule, Rule::default())?, features)?;
        // Solved anew for each policy.
        let schedule = match rule {
            Rule::TwoLevel { .. } => Schedule::default(),
            _ => Schedule::EveryRound,
        };
        let params = LinUcbParams {
            rule: rule.clone(),
            regularizer,
            restart_every,
            forget,
            schedule: forget.map_or(schedule, Schedule::for_half_life),
            seed: match seed {
                Some(seed) => seed,
                None if rule.draws() => SecureNoise::from_system()?.bits(),
                None => 0,
            },
            ..LinUcbParams::new(bounds)
        };
        Ok(LinUcb { learner: Ticketed::new(params.check()?), place: None })
    }

    /// Learns the reward of an earlier decision; each ticket is used once.
    fn observe(&mut self, ticket: &str, reward: f64) -> Answer<Observation> {
        self.learner.observe(ticket, reward)
    }

    fn __repr__(&self) -> String {
        format!("LinUCB({} rewards; no privacy)", self.learner.learner.rounds())
    }
}
