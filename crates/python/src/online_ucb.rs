//! Bandits under local privacy whose confidence sets come from an online learner: the servers of `kind = "online_ucb"`, `"anytime"` and
//! `"combiner"`. They see nothing that was not randomised on a device, so copies of them cost no person anything.

use numpy::{PyArray1, ToPyArray};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyTuple},
};
use reticent::{
    bandit::{
        Anytime as CoreAnytime, AnytimeParams, Combiner as CoreCombiner, CombinerParams,
        OnlineUcb as CoreOnlineUcb, OnlineUcbParams,
    },
    privacy::Mode,
    randomize::Bounds,
};
use reticent_lab::algorithm::bandit::{Budget, LearnerName, OnlineToml};

use crate::{
    convert::{parameter_or, restored},
    error::Answer,
    feature_reward::{FeatureReward, values},
    guarantee::Guarantee,
    integers,
    policy::Policy,
};

/// Parameters that the three servers share, by the names of an experiment file.
struct Choices<'a, 'py> {
    dimension: usize,
    feature_bound: f64,
    rewards: (f64, f64),
    learner: Option<&'a Bound<'py, PyAny>>,
    mode: Option<&'a Bound<'py, PyAny>>,
    /// The rest, with the defaults of a file.
    lines: OnlineToml,
}

impl Choices<'_, '_> {
    fn params(self, reports: u64) -> Answer<OnlineUcbParams> {
        let lines = OnlineToml {
            learner: parameter_or("learner", self.learner, LearnerName::default())?,
            mode: parameter_or("mode", self.mode, Mode::Exact)?,
            ..self.lines
        };
        let Choices { dimension, feature_bound, rewards, .. } = self;
        let bounds = Bounds { feature_bound, rewards, ..Bounds::unit(dimension) };
        Ok(lines.params(bounds, reports)?)
    }
}

/// The calls that the three servers have alike. PyO3 has no classes with type parameters, so they are written out for each class; `$horizon` is how
/// many reports it expects, and `$server` makes it from its `$choices`.
macro_rules! server {
    ($class:ident($core:ident), ($($horizon:ident)?), $choices:ident => $server:expr) => {
        #[pymethods]
        impl $class {
            #[new]
            #[pyo3(signature = (dimension, epsilon, delta, $($horizon,)? *, feature_bound = 1.0, rewards = (-1.0, 1.0), learner = None, literal = false,
                width = None, gradient_bound = None, step = None, exp_concave = None, mode = None))]
            #[allow(clippy::too_many_arguments, reason = "keywords of one Python call")]
            fn new(
                #[pyo3(from_py_with = integers::dimension)] dimension: usize,
                epsilon: f64,
                delta: f64,
                $(#[pyo3(from_py_with = integers::$horizon)] $horizon: u64,)?
                feature_bound: f64,
                rewards: (f64, f64),
                learner: Option<&Bound<'_, PyAny>>,
                literal: bool,
                width: Option<f64>,
                gradient_bound: Option<f64>,
                step: Option<f64>,
                exp_concave: Option<bool>,
                mode: Option<&Bound<'_, PyAny>>,
            ) -> Answer<Self> {
                let lines = OnlineToml {
                    literal,
                    width,
                    gradient_bound,
                    step,
                    exp_concave,
                    ..OnlineToml::new(Budget { epsilon, delta })
                };
                let $choices = Choices { dimension, feature_bound, rewards, learner, mode, lines };
                Ok($class($server))
            }

            /// The policy that the next person chooses by. It holds nothing that was not sent.
            fn policy(&self) -> Policy {
                Policy(self.0.policy().clone())
            }

            /// A device, the same for all reports.
            fn device(&self) -> FeatureReward {
                FeatureReward(self.0.randomizer().clone())
            }

            /// Guarantee of every person who sends one report.
            #[getter]
            fn guarantee(&self) -> Answer<Guarantee> {
                Ok(self.0.guarantee()?.into())
            }

            /// The whole state; there is no secret in it.
            fn save<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
                PyBytes::new(py, &self.0.save())
            }

            /// Goes on bit for bit from saved bytes.
            #[staticmethod]
            fn load(state: &[u8]) -> Answer<Self> {
                Ok($class($core::load(state)?))
            }

            fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
                let state = slf.try_borrow().map_err(PyErr::from)?.save(slf.py());
                restored(slf, "load", (state,))
            }
        }
    };
}

/// The server of a linear bandit under local privacy that learns online, one report after the other (paper 0, Algorithm 1).
///
/// People choose by the published `policy()`, and send features and reward with the noise of `device()`; every report is absorbed once.
///
/// >>> import numpy, reticent
/// >>> server = reticent.OnlineUCB(dimension=2, epsilon=10.0, delta=1e-6, horizon=1000, rewards=(0.0, 1.0))
/// >>> device, arms = server.device(), numpy.eye(2)
/// >>> for _ in range(1000):
/// ...     arm = server.policy().decide(arms)
/// ...     server.absorb(device.report(arms[arm], 0.9 if arm == 1 else 0.1))
/// >>> server.rounds, server.guarantee.epsilon <= 10.0
/// (1000, True)
///
/// `learner` is "maler" (the default) or "gradient_descent". The defaults of `width`, of Maler's `gradient_bound` and of descent's `step` were chosen
/// by simulation; `literal=True` has those of the theory. With `mode="paper"` the noise and the constants are those of the publication, and the
/// guarantee is that of this noise.
#[pyclass(module = "reticent", name = "OnlineUCB")]
pub(crate) struct OnlineUcb(CoreOnlineUcb);

server!(OnlineUcb(CoreOnlineUcb), (horizon), choices => choices.params(horizon)?.check()?);

#[pymethods]
impl OnlineUcb {
    /// Learns from a report, `FeatureRewardReport` or its bytes. It is not noticed if one is handed in twice.
    fn absorb(&mut self, report: &Bound<'_, PyAny>) -> Answer<()> {
        Ok(self.0.absorb(&values(report)?)?)
    }

    /// Reports absorbed so far.
    #[getter]
    fn rounds(&self) -> u64 {
        self.0.rounds()
    }

    /// The prediction of the online learner, which is not the estimate of the policy.
    #[getter]
    fn prediction<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.prediction().to_pyarray(py)
    }

    fn __repr__(&self) -> String {
        format!("OnlineUCB({} reports)", self.0.rounds())
    }
}

/// `OnlineUCB` without a horizon: epochs that double, each begun from nothing (paper 0, Algorithm 9). It costs three to four times the regret of a
/// known horizon.
///
/// >>> import numpy, reticent
/// >>> server = reticent.Anytime(dimension=2, epsilon=10.0, delta=1e-6)
/// >>> device, arms = server.device(), numpy.eye(2)
/// >>> for _ in range(7):
/// ...     arm = server.policy().decide(arms)
/// ...     server.absorb(device.report(arms[arm], 0.5))
/// >>> server.rounds, server.epoch
/// (7, 3)
#[pyclass(module = "reticent", name = "Anytime")]
pub(crate) struct Anytime(CoreAnytime);

// Every epoch has its own number of reports.
server!(Anytime(CoreAnytime), (), choices => AnytimeParams::new(choices.params(1)?).check()?);

#[pymethods]
impl Anytime {
    /// Learns from a report, and begins a new epoch when this one is full: see `OnlineUCB.absorb`.
    fn absorb(&mut self, report: &Bound<'_, PyAny>) -> Answer<()> {
        Ok(self.0.absorb(&values(report)?)?)
    }

    /// Reports absorbed so far, in all epochs.
    #[getter]
    fn rounds(&self) -> u64 {
        self.0.rounds()
    }

    /// The number of the current epoch, which is 2^epoch reports long.
    #[getter]
    fn epoch(&self) -> u32 {
        self.0.epoch()
    }

    fn __repr__(&self) -> String {
        format!("Anytime({} reports, epoch {})", self.0.rounds(), self.0.epoch())
    }
}

/// `OnlineUCB` where the spread of features is unknown: a bandit over servers that each guess it (paper 0, Algorithm 2).
///
/// A person follows the policy of the server `current`, and their report is absorbed by that server:
///
/// >>> import numpy, reticent
/// >>> server = reticent.Combiner(dimension=2, epsilon=10.0, delta=1e-6, horizon=1000)
/// >>> device, arms = server.device(), numpy.eye(2)
/// >>> base, policy = server.current, server.policy()                  # both go to the person
/// >>> server.absorb(base, bytes(device.report(arms[policy.decide(arms)], 0.5)))
/// >>> sum(server.counts)
/// 1
#[pyclass(module = "reticent", name = "Combiner")]
pub(crate) struct Combiner(CoreCombiner);

server!(Combiner(CoreCombiner), (horizon), choices => CombinerParams::new(choices.params(horizon)?).check()?);

#[pymethods]
impl Combiner {
    /// The number of the server whose policy the next person follows.
    #[getter]
    fn current(&self) -> usize {
        self.0.current()
    }

    /// Learns from the report of a person who followed the policy of the server `base`: see `OnlineUCB.absorb`.
    fn absorb(
        &mut self,
        #[pyo3(from_py_with = integers::base)] base: usize,
        report: &Bound<'_, PyAny>,
    ) -> Answer<()> {
        Ok(self.0.absorb(base, &values(report)?)?)
    }

    /// Reports that each server has absorbed.
    #[getter]
    fn counts(&self) -> Vec<u64> {
        self.0.counts()
    }

    /// Returns whether its theorem says nothing at this horizon, because every server is allowed the regret of the worst possible play.
    #[getter]
    fn vacuous(&self) -> bool {
        self.0.is_vacuous()
    }

    fn __repr__(&self) -> String {
        format!("Combiner({} reports)", self.0.counts().iter().sum::<u64>())
    }
}
