//! The device's part of `OnlineUCB`, `Anytime` and `Combiner`: features and reward with noise, and the report of them.

use pyo3::{
    prelude::*,
    types::{PyBytes, PyTuple},
};
use reticent::{
    noise::SecureNoise,
    privacy::Mode,
    randomize::{
        Bounds, FeatureReward as CoreRandomizer, FeatureRewardParams,
        FeatureRewardReport as CoreReport,
    },
    wire::{PYTHON_FEATURE_REWARD, from_json, pack, unpack},
};
use reticent_lab::{
    FastNoise,
    algorithm::bandit::{Budget, OnlineToml},
};

use crate::{
    convert::{Vector, entries, message, parameter_or, read_message, restored},
    error::Answer,
    guarantee::Guarantee,
    integers,
};

/// Features and reward of one person with noise. `bytes(report)` travels, `FeatureRewardReport(bytes)` reads it.
#[pyclass(frozen, eq, module = "reticent", name = "FeatureRewardReport")]
#[derive(PartialEq)]
pub(crate) struct FeatureRewardReport(CoreReport);

#[pymethods]
impl FeatureRewardReport {
    #[new]
    fn new(message: &[u8]) -> Answer<Self> {
        Ok(FeatureRewardReport(from_json(message)?))
    }

    /// The features with their noise, and then the reward with its own.
    #[getter]
    fn values(&self) -> Vec<f64> {
        self.0.values.clone()
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        message(py, &self.0)
    }

    fn __repr__(&self) -> String {
        format!("FeatureRewardReport({} randomised numbers)", self.0.values.len())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        (slf.get_type(), (slf.get().__bytes__(py),)).into_pyobject(py)
    }
}

/// The values of a report or of its bytes.
pub(crate) fn values(report: &Bound<'_, PyAny>) -> Answer<Vec<f64>> {
    match report.cast::<FeatureRewardReport>() {
        Ok(report) => Ok(report.get().0.values.clone()),
        Err(_) => Ok(read_message::<CoreReport>(report)?.values),
    }
}

/// The device's part of `OnlineUCB`, `Anytime` and `Combiner`: clips features and reward, and adds exact noise under a new key from the system.
///
/// It follows from public parameters alone. It keeps no count: a device reports once.
///
/// >>> import numpy, reticent
/// >>> server = reticent.OnlineUCB(dimension=2, epsilon=10.0, delta=1e-6, horizon=1000)
/// >>> device = reticent.FeatureReward(dimension=2, epsilon=10.0, delta=1e-6)      # the same as server.device()
/// >>> arms = numpy.array([[1.0, 0.0], [0.6, 0.8]])
/// >>> arm = reticent.Policy(bytes(server.policy())).decide(arms)
/// >>> server.absorb(bytes(device.report(arms[arm], 0.7)))
/// >>> device.guarantee.model
/// 'local'
#[pyclass(frozen, eq, module = "reticent", name = "FeatureReward")]
#[derive(PartialEq)]
pub(crate) struct FeatureReward(pub(crate) CoreRandomizer);

#[pymethods]
impl FeatureReward {
    #[new]
    #[pyo3(signature = (dimension, epsilon, delta, *, feature_bound = 1.0, rewards = (-1.0, 1.0), mode = None))]
    fn new(
        #[pyo3(from_py_with = integers::dimension)] dimension: usize,
        epsilon: f64,
        delta: f64,
        feature_bound: f64,
        rewards: (f64, f64),
        mode: Option<&Bound<'_, PyAny>>,
    ) -> Answer<Self> {
        let mode = parameter_or("mode", mode, Mode::Exact)?;
        let lines = OnlineToml { mode, ..OnlineToml::new(Budget { epsilon, delta }) };
        let bounds = Bounds { feature_bound, rewards, ..Bounds::unit(dimension) };
        Ok(FeatureReward(lines.randomizer(bounds)?.check()?))
    }

    /// Report: the features and the reward, clipped to their bounds, with noise.
    fn report(&self, features: Vector<'_>, reward: f64) -> Answer<FeatureRewardReport> {
        let mut noise = SecureNoise::from_system()?;
        let values = self.0.report(&entries(&features), reward, &mut noise)?;
        Ok(FeatureRewardReport(CoreReport { values }))
    }

    /// The same on seeded simulation noise, which protects no person: for experiments that give the same decisions each time.
    fn simulated(&self, #[pyo3(from_py_with = integers::seed)] seed: u64) -> SimulatedDevices {
        SimulatedDevices { randomizer: self.0.clone(), noise: FastNoise::seeded(seed) }
    }

    /// The standard deviation of the noise on every number.
    #[getter]
    fn deviation(&self) -> f64 {
        self.0.deviation()
    }

    /// Guarantee of a person who sends one report.
    #[getter]
    fn guarantee(&self) -> Answer<Guarantee> {
        Ok(self.0.guarantee()?.into())
    }

    fn __repr__(&self) -> Answer<String> {
        Ok(format!("FeatureReward({})", self.0.guarantee()?))
    }

    #[staticmethod]
    fn _load(state: &[u8]) -> Answer<Self> {
        let (params, []): (FeatureRewardParams, _) = unpack(PYTHON_FEATURE_REWARD, state)?;
        Ok(FeatureReward(params.check()?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let state = pack(PYTHON_FEATURE_REWARD, slf.get().0.params(), &[]);
        restored(slf, "_load", (PyBytes::new(slf.py(), &state),))
    }
}

/// Devices of all people on one seeded source of noise, which protects no person: made by `FeatureReward.simulated`.
#[pyclass(module = "reticent.lab", name = "SimulatedDevices")]
pub(crate) struct SimulatedDevices {
    randomizer: CoreRandomizer,
    noise: FastNoise,
}

#[pymethods]
impl SimulatedDevices {
    /// The report of the next person: see `FeatureReward.report`.
    fn report(&mut self, features: Vector<'_>, reward: f64) -> Answer<FeatureRewardReport> {
        let values = self.randomizer.report(&entries(&features), reward, &mut self.noise)?;
        Ok(FeatureRewardReport(CoreReport { values }))
    }

    /// The guarantee of a deployed device, marked as simulated: seeded noise protects no person.
    #[getter]
    fn guarantee(&self) -> Answer<Guarantee> {
        Ok(self.randomizer.guarantee()?.simulated().into())
    }
}
