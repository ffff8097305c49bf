//! `kind = "online_linucb"`: a bandit without privacy whose confidence set comes from an online learner.

use pyo3::prelude::*;
use reticent::{
    bandit::{Arms, Choice, OnlineLinUcb as CoreOnlineLinUcb, OnlineLinUcbParams},
    randomize::Bounds,
    wire::{Kind, PYTHON_ONLINE_LINUCB},
};
use reticent_lab::algorithm::bandit::{LearnerName, OnlineLinUcbToml};

use crate::{
    convert::parameter_or,
    decision::Observation,
    error::Answer,
    integers,
    ticketed::{Plain, Ticketed},
};

/// LinUCB without privacy, with the confidence set that an online learner's regret gives (paper 0, Algorithm 4): it shows what that costs beside
/// `LinUCB`. It has the same calls.
///
/// >>> import numpy, reticent
/// >>> bandit = reticent.OnlineLinUCB(dimension=2, horizon=1000, rewards=(0.0, 1.0), reward_noise=0.5)
/// >>> ticket, arm = bandit.decide(numpy.eye(2))
/// >>> bandit.observe(ticket, 0.7)
/// Observation(clipped=False, released=True)
///
/// `learner` is "maler" (the default) or "gradient_descent", whose `step` is over the root of the round. With `width` the set is not certified.
#[pyclass(module = "reticent", name = "OnlineLinUCB")]
pub(crate) struct OnlineLinUcb {
    pub(crate) learner: Ticketed<CoreOnlineLinUcb>,
    pub(crate) place: Option<Arms>,
}

impl Plain for CoreOnlineLinUcb {
    const KIND: Kind = PYTHON_ONLINE_LINUCB;

    fn bounds(&self) -> &Bounds {
        &self.params().bounds
    }

    fn choose(&mut self, arms: &Arms, _: u64) -> reticent::Result<(Choice, f64)> {
        Ok((CoreOnlineLinUcb::choose(self, arms)?, 1.0))
    }

    fn observe(&mut self, _: usize, features: &[f64], reward: f64) -> reticent::Result<bool> {
        CoreOnlineLinUcb::observe(self, features, reward)
    }

    fn save(&self) -> Vec<u8> {
        CoreOnlineLinUcb::save(self)
    }

    fn load(bytes: &[u8]) -> reticent::Result<Self> {
        CoreOnlineLinUcb::load(bytes)
    }
}

#[pymethods]
impl OnlineLinUcb {
    #[new]
    #[pyo3(signature = (dimension, horizon, *, feature_bound = 1.0, rewards = (-1.0, 1.0), parameter_bound = 1.0, reward_noise = 1.0,
        failure_probability = 0.01, learner = None, width = None, step = None))]
    #[allow(clippy::too_many_arguments, reason = "keywords of one Python call")]
    fn new(
        #[pyo3(from_py_with = integers::dimension)] dimension: usize,
        #[pyo3(from_py_with = integers::horizon)] horizon: u64,
        feature_bound: f64,
        rewards: (f64, f64),
        parameter_bound: f64,
        reward_noise: f64,
        failure_probability: f64,
        learner: Option<&Bound<'_, PyAny>>,
        width: Option<f64>,
        step: Option<f64>,
    ) -> Answer<Self> {
        let learner = parameter_or("learner", learner, LearnerName::default())?;
        let lines = OnlineLinUcbToml { learner, width, step, ..OnlineLinUcbToml::default() };
        let bounds = Bounds { feature_bound, rewards, ..Bounds::unit(dimension) };
        let params = lines.params(OnlineLinUcbParams {
            parameter_bound,
            reward_noise,
            failure_probability,
            ..OnlineLinUcbParams::new(bounds, horizon)
        })?;
        Ok(OnlineLinUcb { learner: Ticketed::new(params.check()?), place: None })
    }

    /// Learns the reward of an earlier decision; each ticket is used once. After `horizon` rewards it raises `HorizonExceeded`.
    fn observe(&mut self, ticket: &str, reward: f64) -> Answer<Observation> {
        self.learner.observe(ticket, reward)
    }

    fn __repr__(&self) -> String {
        format!("OnlineLinUCB({} rewards; no privacy)", self.learner.learner.rounds())
    }
}
