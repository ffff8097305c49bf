//! The bandit without privacy, for comparison.

use numpy::{PyArray1, ToPyArray};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyTuple},
};
use reticent::{
    bandit::{Arms, Choice, LinUcb as CoreLinUcb, LinUcbParams, Rule},
    noise::{Noise, SecureNoise},
    randomize::Bounds,
    release::{Schedule, Structure},
    wire::{Kind, PYTHON_LINUCB},
};

use crate::{
    arms::with_arms,
    convert::{Vector, entries, parameter_or, restored},
    decision::{Chosen, Decision, Many, Observation, observe_many},
    error::Answer,
    ticketed::{Plain, Ticketed},
    whole,
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
    learner: Ticketed<CoreLinUcb>,
    place: Option<Arms>,
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
    #[pyo3(signature = (dimension, *, feature_bound = 1.0, rewards = (-1.0, 1.0), intercept = None, rule = None, regularizer = None, restart_every = None, forget = None, seed = None, blocks = 1, shared = 0))]
    #[allow(clippy::too_many_arguments, reason = "keywords of one Python call")]
    fn new(
        #[pyo3(from_py_with = whole::dimension)] dimension: usize,
        feature_bound: f64,
        rewards: (f64, f64),
        intercept: Option<&Bound<'_, PyAny>>,
        rule: Option<&Bound<'_, PyAny>>,
        regularizer: Option<f64>,
        #[pyo3(from_py_with = whole::restart_every)] restart_every: Option<u64>,
        forget: Option<f64>,
        #[pyo3(from_py_with = whole::seed)] seed: Option<u64>,
        #[pyo3(from_py_with = whole::blocks)] blocks: usize,
        #[pyo3(from_py_with = whole::shared)] shared: usize,
    ) -> Answer<Self> {
        let (structure, intercept) =
            (Structure { blocks, shared }, crate::convert::intercept(intercept)?);
        let bounds =
            Bounds { feature_bound, rewards, intercept, structure, ..Bounds::unit(dimension) };
        let rule = parameter_or("rule", rule, Rule::default())?;
        let params = LinUcbParams {
            rule,
            regularizer,
            restart_every,
            forget,
            schedule: forget.map_or(Schedule::EveryRound, Schedule::for_half_life),
            seed: match seed {
                Some(seed) => seed,
                None if rule.draws() => SecureNoise::from_system()?.bits(),
                None => 0,
            },
            ..LinUcbParams::new(bounds)
        };
        Ok(LinUcb { learner: Ticketed::new(params.check()?), place: None })
    }

    /// Chooses an arm for the next person, from `Arms` or an array with one arm a row.
    fn decide(&mut self, arms: &Bound<'_, PyAny>) -> Answer<Decision> {
        let learner = &mut self.learner;
        with_arms(arms, &mut self.place, |arms| learner.decide(arms))
    }

    /// Learns the reward of an earlier decision; each ticket is used once.
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
        let decide = |open: &mut Ticketed<CoreLinUcb>, arms: &Arms| {
            let decision = open.decide(arms)?;
            Ok((decision.ticket, decision.arm))
        };
        let dismiss = |open: &mut Ticketed<CoreLinUcb>, ticket| {
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
        Ok(LinUcb { learner: Ticketed::load(state)?, place: None })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let state = slf.try_borrow().map_err(PyErr::from)?.save(py);
        restored(slf, "load", (state,))
    }

    fn __repr__(&self) -> String {
        format!("LinUCB({} rewards; no privacy)", self.learner.learner.rounds())
    }
}
