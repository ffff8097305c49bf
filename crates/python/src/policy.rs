//! A released policy by itself: what decides where the learner is not.

use numpy::{PyArray1, ToPyArray};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyTuple},
};
use reticent::{
    bandit::Policy as CorePolicy,
    noise::{Noise as _, SecureNoise},
    wire::from_json,
};

use crate::{arms::with_arms, convert::message, error::Answer, integers};

/// A rule for choosing arms that was released, and holds nothing else: any number of replicas may decide by it. `bytes(policy)` travels,
/// `Policy(bytes)` reads it.
///
/// >>> import numpy, reticent
/// >>> bandit = reticent.JointBandit(dimension=2, epsilon=1.0, delta=1e-6, horizon=1000)
/// >>> replica = reticent.Policy(bytes(bandit.policy()))
/// >>> replica.decide(numpy.eye(2)) in (0, 1)
/// True
#[pyclass(frozen, eq, module = "reticent", name = "Policy")]
#[derive(PartialEq)]
pub(crate) struct Policy(pub(crate) CorePolicy);

#[pymethods]
impl Policy {
    #[new]
    fn new(message: &[u8]) -> Answer<Self> {
        Ok(Policy(from_json(message)?))
    }

    /// The arm to play, arms longer than `feature_bound` scaled to it as the learner does. `randomness` is public: it draws under
    /// `rule="thompson"`, by default from the system, and breaks ties elsewhere.
    #[pyo3(signature = (arms, feature_bound = 1.0, randomness = None))]
    fn decide(
        &self,
        arms: &Bound<'_, PyAny>,
        feature_bound: f64,
        #[pyo3(from_py_with = integers::randomness)] randomness: Option<u64>,
    ) -> Answer<usize> {
        let randomness = match randomness {
            Some(randomness) => randomness,
            None if self.0.ensemble().is_some() => SecureNoise::from_system()?.bits(),
            None => 0,
        };
        with_arms(arms, &mut None, |arms| {
            Ok(self.0.choose_within(arms, feature_bound, randomness)?.arm)
        })
    }

    /// The probability with which `decide` plays each arm.
    #[pyo3(signature = (arms, feature_bound = 1.0))]
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        arms: &Bound<'py, PyAny>,
        feature_bound: f64,
    ) -> Answer<Bound<'py, PyArray1<f64>>> {
        let probabilities =
            with_arms(arms, &mut None, |arms| self.0.probabilities_within(arms, feature_bound))?;
        Ok(probabilities.to_pyarray(py))
    }

    /// The estimate of the unknown parameter.
    #[getter]
    fn theta<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.theta().to_pyarray(py)
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        message(py, &self.0)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        (slf.get_type(), (slf.get().__bytes__(py),)).into_pyobject(py)
    }
}
