//! The bandit without privacy: the yardstick of the others.

use std::collections::BTreeMap;

use numpy::{PyArray1, ToPyArray};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyTuple},
};
use reticent::bandit::{Arms, LinUcb as CoreLinUcb, LinUcbParams};

use crate::{
    arms::with_arms,
    convert::restored,
    convert::{Vector, entries},
    error::{Answer, Failure},
    joint::{Decision, Many, tickets},
};

/// LinUCB without any privacy, with the same calls as the private bandits.
///
/// >>> import numpy, reticent
/// >>> bandit = reticent.LinUCB(dimension=2, noise=0.5)
/// >>> arms = reticent.Arms(numpy.eye(2))
/// >>> for _ in range(1000):
/// ...     ticket, arm = bandit.decide(arms)
/// ...     bandit.observe(ticket, 0.9 if arm == 1 else 0.1)
/// >>> bool(abs(bandit.theta[1] - 0.9) < 0.01)
/// True
#[pyclass(module = "reticent", name = "LinUCB")]
pub(crate) struct LinUcb {
    learner: Open,
    place: Option<Arms>,
}

/// A learner, and the features of decisions whose reward has not come.
struct Open {
    learner: CoreLinUcb,
    next: u64,
    open: BTreeMap<u64, Vec<f64>>,
}

impl Open {
    fn decide(&mut self, arms: &Arms) -> reticent::Result<(u64, usize)> {
        let arm = self.learner.choose(arms)?;
        let ticket = self.next;
        self.open.insert(ticket, arms.arm(arm));
        self.next += 1;
        Ok((ticket, arm))
    }

    fn observe(&mut self, ticket: u64, reward: f64) -> reticent::Result<()> {
        let Some(features) = self.open.get(&ticket) else {
            let remedy =
                "it was never given out, or its reward is known already, or it was dismissed";
            return Err(reticent::Error::invalid("ticket", ticket, remedy));
        };
        self.learner.update(features, reward)?;
        self.open.remove(&ticket);
        Ok(())
    }
}

#[pymethods]
impl LinUcb {
    #[new]
    #[pyo3(signature = (dimension, *, feature_bound = 1.0, noise = 1.0, parameter_bound = 1.0, regularizer = 1.0, confidence = 0.01))]
    fn new(
        dimension: usize,
        feature_bound: f64,
        noise: f64,
        parameter_bound: f64,
        regularizer: f64,
        confidence: f64,
    ) -> Answer<Self> {
        let params = LinUcbParams {
            dimension,
            feature_bound,
            noise,
            parameter_bound,
            regularizer,
            confidence,
        };
        let learner = Open { learner: params.check()?, next: 0, open: BTreeMap::new() };
        Ok(LinUcb { learner, place: None })
    }

    /// Chooses an arm for the next person, from `Arms` or an array with one arm a row.
    fn decide(&mut self, arms: &Bound<'_, PyAny>) -> Answer<Decision> {
        let learner = &mut self.learner;
        let (ticket, arm) = with_arms(arms, &mut self.place, |arms| learner.decide(arms))?;
        Ok(Decision { ticket, arm })
    }

    /// Learns the reward of an earlier decision, once.
    fn observe(&mut self, ticket: u64, reward: f64) -> Answer<()> {
        Ok(self.learner.observe(ticket, reward)?)
    }

    /// Decides for many people at once: see `JointBandit.decide_many`.
    #[pyo3(signature = (arms, people = None))]
    #[allow(clippy::type_complexity, reason = "two arrays")]
    fn decide_many<'py>(
        &mut self,
        py: Python<'py>,
        arms: &Bound<'py, PyAny>,
        people: Option<usize>,
    ) -> Answer<(Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u64>>)> {
        Many::new(arms, people)?.decide(py, &mut self.learner, Open::decide, |learner, ticket| {
            learner.open.remove(&ticket);
        })
    }

    /// Learns many rewards in order. Other threads run meanwhile.
    fn observe_many(
        &mut self,
        py: Python<'_>,
        tickets: &Bound<'_, PyAny>,
        rewards: Vector<'_>,
    ) -> Answer<()> {
        let (tickets, rewards) = (crate::linucb::tickets(tickets)?, entries(&rewards));
        if tickets.len() != rewards.len() {
            let (expected, found) = (tickets.len(), rewards.len());
            return Err(reticent::Error::Dimension { field: "rewards", expected, found }.into());
        }
        let learner = &mut self.learner;
        py.detach(|| {
            let mut pairs = tickets.iter().zip(rewards.iter()).enumerate();
            pairs.try_for_each(|(index, (ticket, reward))| {
                learner.observe(*ticket, *reward).map_err(|error| (index, error))
            })
        })
        .map_err(|(index, error)| Failure::at(index, error))
    }

    /// Gives up waiting for a reward; says whether it was waited for.
    fn dismiss(&mut self, ticket: u64) -> bool {
        self.learner.open.remove(&ticket).is_some()
    }

    /// Rewards learnt so far.
    #[getter]
    fn rounds(&self) -> u64 {
        self.learner.learner.rounds()
    }

    /// Decisions whose reward has not come.
    #[getter]
    fn open_decisions(&self) -> usize {
        self.learner.open.len()
    }

    /// The estimate of the unknown parameter.
    #[getter]
    fn theta<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.learner.learner.policy().theta().to_pyarray(py)
    }

    /// There is nothing to promise.
    #[getter]
    fn guarantee(&self) -> Option<crate::guarantee::Guarantee> {
        None
    }

    /// The whole state; protect these bytes as the data itself.
    fn save<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let Open { learner, next, open } = &self.learner;
        let learner = learner.save();
        let mut bytes = next.to_le_bytes().to_vec();
        bytes.extend((learner.len() as u64).to_le_bytes());
        bytes.extend(learner);
        for (ticket, features) in open {
            bytes.extend(ticket.to_le_bytes());
            bytes.extend(features.iter().flat_map(|x| x.to_le_bytes()));
        }
        PyBytes::new(py, &bytes)
    }

    /// Goes on bit for bit from saved bytes.
    #[staticmethod]
    fn load(state: &[u8]) -> Answer<Self> {
        let damaged = || {
            Failure::invalid("state", format!("{} bytes", state.len()), "give what `save` returned")
        };
        let word = |bytes: &[u8]| Some(u64::from_le_bytes(bytes.try_into().ok()?));
        let (head, rest) = state.split_at_checked(16).ok_or_else(damaged)?;
        let next = word(&head[..8]).ok_or_else(damaged)?;
        let length = word(&head[8..]).and_then(|n| usize::try_from(n).ok()).ok_or_else(damaged)?;
        let (learner, rest) = rest.split_at_checked(length).ok_or_else(damaged)?;
        let learner = CoreLinUcb::load(learner)?;
        let dimension = learner.params().dimension;
        let mut open = BTreeMap::new();
        let each = 8 * (dimension + 1);
        if rest.len() % each != 0 {
            return Err(damaged());
        }
        for one in rest.chunks(each) {
            let ticket = word(&one[..8]).filter(|t| *t < next).ok_or_else(damaged)?;
            let features: Vec<f64> =
                one[8..].chunks(8).filter_map(word).map(f64::from_bits).collect();
            if features.iter().any(|x| !x.is_finite()) {
                return Err(damaged());
            }
            open.insert(ticket, features);
        }
        Ok(LinUcb { learner: Open { learner, next, open }, place: None })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let state = slf.borrow().save(py);
        restored(slf, "load", (state,))
    }

    fn __repr__(&self) -> String {
        format!("LinUCB({} rewards; no privacy)", self.learner.learner.rounds())
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<LinUcb>()
}
