//! `kind = "online_linucb"`: a bandit without privacy whose confidence set comes from an online learner.

use numpy::{PyArray1, ToPyArray};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyTuple},
};
use reticent::{
    bandit::{Arms, Choice, OnlineLinUcb as CoreOnlineLinUcb, OnlineLinUcbParams},
    randomize::Bounds,
    wire::{Kind, PYTHON_ONLINE_LINUCB},
};
use reticent_lab::bandits::{LearnerName, OnlineLinUcbToml};

use crate::{
    arms::with_arms,
    convert::{Vector, entries, parameter_or, restored},
    decision::{Chosen, Decision, Many, Observation, observe_many},
    error::Answer,
    ticketed::{Plain, Ticketed},
    whole,
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
    learner: Ticketed<CoreOnlineLinUcb>,
    place: Option<Arms>,
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
        #[pyo3(from_py_with = whole::dimension)] dimension: usize,
        #[pyo3(from_py_with = whole::horizon)] horizon: u64,
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

    /// Chooses an arm for the next person, from `Arms` or an array with one arm a row.
    fn decide(&mut self, arms: &Bound<'_, PyAny>) -> Answer<Decision> {
        let learner = &mut self.learner;
        with_arms(arms, &mut self.place, |arms| learner.decide(arms))
    }

    /// Learns the reward of an earlier decision; each ticket is used once. After `horizon` rewards it raises `HorizonExceeded`.
    fn observe(&mut self, ticket: &str, reward: f64) -> Answer<Observation> {
        Ok(self.learner.observe(crate::decision::ticket(ticket)?, reward)?)
    }

    /// Decides for many people at once: see `JointBandit.decide_many`.
    #[pyo3(signature = (arms, people = None))]
    fn decide_many<'py>(
        &mut self,
        py: Python<'py>,
        arms: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = whole::people)] people: Option<usize>,
    ) -> Answer<Chosen<'py>> {
        let decide = |open: &mut Ticketed<_>, arms: &Arms| {
            let decision = open.decide(arms)?;
            Ok((decision.ticket, decision.arm))
        };
        let dismiss = |open: &mut Ticketed<_>, ticket| {
            open.open.remove(ticket);
        };
        Many::new(arms, people)?.decide(py, &mut self.learner, decide, dismiss)
    }

    /// Learns many rewards in order. Other threads run meanwhile.
    fn observe_many(
        &mut self,
        py: Python<'_>,
        tickets: &Bound<'_, PyAny>,
        rewards: Vector<'_>,
    ) -> Answer<()> {
        let (tickets, rewards) = (crate::decision::tickets(tickets)?, entries(&rewards));
        let learner = &mut self.learner;
        observe_many(py, &tickets, &rewards, |ticket, reward| {
            Ok(learner.observe(ticket, reward).map(drop)?)
        })
    }

    /// Gives up waiting for a reward; returns whether the decision was open.
    fn dismiss(&mut self, ticket: &str) -> Answer<bool> {
        Ok(self.learner.open.remove(crate::decision::ticket(ticket)?))
    }

    /// Tickets of all open decisions, oldest first.
    fn open_tickets(&self) -> Vec<String> {
        self.learner.tickets()
    }

    /// Rewards learnt so far.
    #[getter]
    fn rounds(&self) -> u64 {
        self.learner.learner.rounds()
    }

    /// The number of decisions that wait for their reward.
    #[getter]
    fn open_decisions(&self) -> usize {
        self.learner.open.len()
    }

    /// The estimate of the unknown parameter.
    #[getter]
    fn theta<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.learner.learner.policy().theta().to_pyarray(py)
    }

    /// None: this bandit has no privacy guarantee.
    #[getter]
    fn guarantee(&self) -> Option<crate::guarantee::Guarantee> {
        None
    }

    /// The whole state; protect these bytes like the data.
    fn save<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.learner.save())
    }

    /// Continues bit for bit from saved bytes; tickets of open decisions stay valid, and new tickets never repeat old ones.
    #[staticmethod]
    fn load(state: &[u8]) -> Answer<Self> {
        Ok(OnlineLinUcb { learner: Ticketed::load(state)?, place: None })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let state = slf.try_borrow().map_err(PyErr::from)?.save(slf.py());
        restored(slf, "load", (state,))
    }

    fn __repr__(&self) -> String {
        format!("OnlineLinUCB({} rewards; no privacy)", self.learner.learner.rounds())
    }
}
