//! The central bandit, devices and the shuffler on simulation noise, which protects no person.

use numpy::{PyArray1, ToPyArray};
use pyo3::prelude::*;
use reticent::{
    bandit::{Arms, JointLinUcb, JointParams, Legacy, Shuffler},
    noise::Noise as _,
    randomize::Person,
};
use reticent_lab::{FastNoise, algorithm::bandit::trial_seeds};

use crate::{
    arms::with_arms,
    convert::{Vector, entries},
    decision::{Decision, Observation},
    error::Answer,
    guarantee::Guarantee,
    integers,
    messages::{self, Batch, Report, with_report},
};

/// A `JointBandit` on seeded noise that protects no person: made by `JointBandit.simulated`. It makes the decisions that a deployed one with
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

    /// A tick of the public clock, for `schedule="clock"`: see `JointBandit.tick`.
    fn tick(&mut self) -> Answer<()> {
        Ok(self.learner.tick()?)
    }

    /// The guarantee of the deployed bandit, marked as simulated: seeded noise protects no person.
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

/// A device on seeded noise that protects no person: made by `LocalPlan.simulated_person` and `ShufflePlan.simulated_person`.
#[pyclass(module = "reticent.lab", name = "SimulatedPerson")]
pub(crate) struct SimulatedPerson {
    person: Person<FastNoise>,
    place: Option<Arms>,
}

impl SimulatedPerson {
    pub(crate) fn of(person: Person<FastNoise>) -> Self {
        SimulatedPerson { person, place: None }
    }
}

#[pymethods]
impl SimulatedPerson {
    /// The arm to play, as the model has it.
    fn choose(&mut self, model: &Bound<'_, PyAny>, arms: &Bound<'_, PyAny>) -> Answer<usize> {
        let mut read = None;
        let model = messages::model(model, &mut read)?;
        with_arms(arms, &mut self.place, |arms| self.person.choose(model, arms))
    }

    /// The report of an arm played under `model` and its reward: see `Person.report`.
    #[pyo3(signature = (model, features, reward, block = 0))]
    fn report(
        &mut self,
        model: &Bound<'_, PyAny>,
        features: Vector<'_>,
        reward: f64,
        #[pyo3(from_py_with = integers::block)] block: usize,
    ) -> Answer<Report> {
        let mut read = None;
        let model = messages::model(model, &mut read)?;
        Ok(Report(self.person.report_in_block(model, block, &entries(&features), reward)?))
    }

    /// The guarantee of a person's own device, marked as simulated.
    #[getter]
    fn guarantee(&self) -> Answer<Guarantee> {
        Ok(self.person.guarantee()?.into())
    }
}

/// A shuffler on seeded noise that protects no person: made by `ShufflePlan.simulated_shuffler`.
#[pyclass(module = "reticent.lab", name = "SimulatedShuffler")]
pub(crate) struct SimulatedShuffler(pub(crate) Shuffler<FastNoise>);

#[pymethods]
impl SimulatedShuffler {
    /// Takes a report, once, and returns a batch when one is full.
    fn absorb(&mut self, report: &Bound<'_, PyAny>) -> Answer<Option<Batch>> {
        with_report(report, |report| Ok(self.0.absorb(report)?.map(Batch)))
    }
}

/// Seeded numbers of simulations, as experiments draw them: nothing deployed uses them.
///
/// >>> from reticent import lab
/// >>> lab.SimulationNoise(7).bits() == lab.SimulationNoise(7).bits()
/// True
#[pyclass(module = "reticent.lab", name = "SimulationNoise")]
pub(crate) struct SimulationNoise(FastNoise);

#[pymethods]
impl SimulationNoise {
    #[new]
    fn new(#[pyo3(from_py_with = integers::seed)] seed: u64) -> Self {
        SimulationNoise(FastNoise::seeded(seed))
    }

    /// 64 random bits: a seed, for instance.
    fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// A uniform number from 0 to below 1.
    fn uniform(&mut self) -> f64 {
        self.0.uniform()
    }
}

/// The seeds of an experiment's trial: that of its people, which all algorithms share, and that of the noise of the algorithm of this name.
#[pyfunction]
#[pyo3(name = "trial_seeds")]
pub(crate) fn seeds(
    #[pyo3(from_py_with = integers::seed)] seed: u64,
    #[pyo3(from_py_with = integers::trial)] trial: u64,
    name: &str,
) -> (u64, u64) {
    trial_seeds(seed, trial, name)
}
