//! The curator's bandit on simulation noise.

use numpy::{PyArray1, ToPyArray};
use pyo3::prelude::*;
use reticent::bandit::{Arms, JointLinUcb, JointParams, Legacy};
use reticent_lab::{FastNoise, bandits::trial_seeds};

use crate::{
    arms::with_arms,
    decision::{Decision, Observation},
    error::Answer,
    guarantee::Guarantee,
    whole,
};

/// A `JointBandit` on seeded noise that protects nobody: made by `JointBandit.simulated`. It makes the decisions that a deployed one with
/// the same parameters would make under the same noise, and those of an experiment.
#[pyclass(module = "reticent.lab", name = "SimulatedBandit")]
pub(crate) struct SimulatedBandit {
    learner: JointLinUcb<FastNoise>,
    place: Option<Arms>,
}

impl SimulatedBandit {
    pub(crate) fn new(
        py: Python<'_>,
        params: JointParams,
        warm_start: Option<Legacy>,
        seed: u64,
    ) -> Answer<Self> {
        let learner = py.detach(|| {
            let (plan, noise) = (params.check()?, FastNoise::seeded(seed));
            match warm_start {
                None => Ok(plan.start(noise)),
                Some(legacy) => plan.start_from(legacy, noise),
            }
        })?;
        Ok(SimulatedBandit { learner, place: None })
    }
}

#[pymethods]
impl SimulatedBandit {
    /// Chooses an arm for the next person, from `Arms` or an array with one arm a row.
    fn decide(&mut self, arms: &Bound<'_, PyAny>) -> Answer<Decision> {
        let learner = &mut self.learner;
        Ok(with_arms(arms, &mut self.place, |arms| learner.decide(arms))?.into())
    }

    /// Takes the reward of an earlier decision; each ticket is used once.
    fn observe(&mut self, ticket: &str, reward: f64) -> Answer<Observation> {
        Ok(self.learner.observe(crate::decision::ticket(ticket)?, reward)?.into())
    }

    /// The guarantee of the deployed bandit, marked as simulated: seeded noise protects nobody.
    #[getter]
    fn guarantee(&self) -> Answer<Guarantee> {
        Ok(self.learner.guarantee()?.into())
    }

    /// The estimate of the unknown parameter, from what has been released.
    #[getter]
    fn theta<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.learner.policy().theta().to_pyarray(py)
    }

    /// Contributions learnt so far.
    #[getter]
    fn rounds(&self) -> u64 {
        self.learner.rounds()
    }

    fn __repr__(&self) -> Answer<String> {
        Ok(format!(
            "SimulatedBandit({} rewards; {})",
            self.learner.rounds(),
            self.learner.guarantee()?
        ))
    }
}

/// The seeds of an experiment's trial: that of its people, which all algorithms share, and that of the noise of the algorithm of this name.
#[pyfunction]
#[pyo3(name = "trial_seeds")]
pub(crate) fn seeds(
    #[pyo3(from_py_with = whole::seed)] seed: u64,
    #[pyo3(from_py_with = whole::trial)] trial: u64,
    name: &str,
) -> (u64, u64) {
    trial_seeds(seed, trial, name)
}
