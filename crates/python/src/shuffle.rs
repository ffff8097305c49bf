//! The local bandit behind a shuffler.

use pyo3::{
    prelude::*,
    types::{PyBytes, PyTuple},
};
use reticent::{
    bandit::{
        Aggregation, Rule, ShuffleParams, ShufflePlan as CorePlan, ShuffleServer as CoreServer,
        Shuffler as CoreShuffler,
    },
    noise::SecureNoise,
    randomize::Spent,
    wire::{PYTHON_SHUFFLE_PLAN, pack, unpack},
};
use reticent_lab::FastNoise;

use crate::{
    convert::restored,
    convert::{parameter, parameter_or, read_message},
    error::Answer,
    fork_guard::{ForkGuarded, Forked},
    guarantee::Guarantee,
    integers,
    local::{Person, bounds},
    messages::{Batch, Model, with_report, word},
    outlook::Outlook,
    simulated::{SimulatedPerson, SimulatedShuffler},
};

/// The parameters that people, shuffler and server share: (epsilon, delta) of the shuffler's output. `aggregation` is "sum" or "permute", by
/// default what carries more information. Without `batch` it is the one that suits `horizon`, the number of all reports.
///
/// >>> import numpy, reticent
/// >>> plan = reticent.ShufflePlan(dimension=2, epsilon=1.0, delta=1e-6, batch=100, aggregation="sum", rewards=(0.0, 1.0))
/// >>> shuffler, server = plan.shuffler(), plan.server()
/// >>> model = server.publish()
/// >>> arms = numpy.eye(2)
/// >>> for _ in range(100):
/// ...     person = plan.person()
/// ...     arm = person.choose(model, arms)
/// ...     batch = shuffler.absorb(bytes(person.report(model, arms[arm], 0.5)))
/// >>> server.absorb(bytes(batch)), server.reports
/// ('counted', 100)
#[pyclass(frozen, module = "reticent", name = "ShufflePlan")]
pub(crate) struct ShufflePlan(CorePlan);

#[pymethods]
impl ShufflePlan {
    #[new]
    #[pyo3(signature = (dimension, epsilon, delta, batch = None, aggregation = None, *, horizon = None, feature_bound = 1.0, rewards = (-1.0, 1.0),
        intercept = None, unit_arms = false, honest = None, contributions_per_person = 1, rule = None))]
    #[allow(clippy::too_many_arguments, reason = "keywords of one Python call")]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = integers::dimension)] dimension: usize,
        epsilon: f64,
        delta: f64,
        #[pyo3(from_py_with = integers::batch)] batch: Option<u64>,
        aggregation: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = integers::horizon)] horizon: Option<u64>,
        feature_bound: f64,
        rewards: (f64, f64),
        intercept: Option<&Bound<'_, PyAny>>,
        unit_arms: bool,
        #[pyo3(from_py_with = integers::honest)] honest: Option<u64>,
        #[pyo3(from_py_with = integers::contributions_per_person)] contributions_per_person: u64,
        rule: Option<&Bound<'_, PyAny>>,
    ) -> Answer<Self> {
        let batch = ShuffleParams::batch_or_suited(batch, dimension, epsilon, horizon)?;
        let bounds = bounds(dimension, feature_bound, rewards, intercept, unit_arms)?;
        let params = ShuffleParams {
            honest,
            contributions_per_person,
            rule: parameter_or("rule", rule, Rule::default())?,
            ..ShuffleParams::new(bounds, epsilon, delta, batch, Aggregation::Sum)
        };
        let aggregation = match aggregation {
            None => py.detach(|| params.suited_aggregation())?,
            Some(word) => parameter("aggregation", word)?,
        };
        let params = ShuffleParams { aggregation, ..params };
        Ok(ShufflePlan(py.detach(|| params.check())?))
    }

    /// The guarantee of a person if the shuffler is trusted.
    #[getter]
    fn guarantee(&self) -> Answer<Guarantee> {
        Ok(self.0.guarantee()?.into())
    }

    /// The noise against the signal of the reports of this many people.
    fn outlook(&self, #[pyo3(from_py_with = integers::people)] people: u64) -> Outlook {
        Outlook(self.0.outlook(people))
    }

    /// The guarantee of a person if the shuffler reveals everything.
    #[getter]
    fn local_guarantee(&self) -> Answer<Guarantee> {
        Ok(self.0.local_guarantee()?.into())
    }

    /// A person's device; `spent` is the value that it returned when it was last used.
    #[pyo3(signature = (spent = None))]
    fn person(&self, spent: Option<&[u8]>) -> Answer<Person> {
        let noise = SecureNoise::from_system()?;
        Ok(Person::of(match spent {
            None => self.0.person(noise)?,
            Some(spent) => self.0.person_after(&Spent::load(spent)?, noise)?,
        }))
    }

    /// A device on seeded simulation noise, which protects no person: for experiments that give the same decisions each time.
    fn simulated_person(
        &self,
        #[pyo3(from_py_with = integers::seed)] seed: u64,
    ) -> Answer<SimulatedPerson> {
        Ok(SimulatedPerson::of(self.0.person(FastNoise::seeded(seed))?))
    }

    /// The shuffler on seeded simulation noise, which protects no person.
    fn simulated_shuffler(
        &self,
        #[pyo3(from_py_with = integers::seed)] seed: u64,
    ) -> Answer<SimulatedShuffler> {
        Ok(SimulatedShuffler(self.0.shuffler(FastNoise::seeded(seed))?))
    }

    /// The shuffler: run it where the server has no access to its memory.
    fn shuffler(&self) -> Answer<Shuffler> {
        Ok(Shuffler(ForkGuarded::new(self.0.shuffler(SecureNoise::from_system()?)?)))
    }

    /// The report server.
    fn server(&self) -> ShuffleServer {
        ShuffleServer(self.0.server())
    }

    #[staticmethod]
    fn _load(params: &[u8]) -> Answer<Self> {
        let (params, []): (ShuffleParams, _) = unpack(PYTHON_SHUFFLE_PLAN, params)?;
        Ok(ShufflePlan(params.check()?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let params = pack(PYTHON_SHUFFLE_PLAN, slf.get().0.params(), &[]);
        restored(slf, "_load", (PyBytes::new(slf.py(), &params),))
    }
}

impl Forked for CoreShuffler<SecureNoise> {
    /// A copy must not continue: waiting reports would be in two batches, and the reports common to both would identify them.
    fn forked(&mut self, _others: u64) -> reticent::Result<()> {
        let remedy = "waiting reports would be seen twice: use it where it was made, or `save` and `load` it";
        Err(reticent::Error::invalid("shuffler", "a forked copy", remedy))
    }
}

/// The component between people and server.
#[pyclass(module = "reticent", name = "Shuffler")]
pub(crate) struct Shuffler(ForkGuarded<CoreShuffler<SecureNoise>>);

#[pymethods]
impl Shuffler {
    /// Takes a report, once, and returns a batch when one is full.
    fn absorb(&mut self, report: &Bound<'_, PyAny>) -> Answer<Option<Batch>> {
        let shuffler = self.0.enter()?;
        with_report(report, |report| Ok(shuffler.absorb(report)?.map(Batch)))
    }

    /// Reports that wait for their batch to fill.
    #[getter]
    fn waiting(&self) -> usize {
        self.0.read().waiting()
    }

    /// The number of batches made; `load` needs this number.
    #[getter]
    fn batches(&self) -> u64 {
        self.0.read().batches()
    }

    /// The whole state: as secret as the shuffler itself.
    fn save<'py>(&mut self, py: Python<'py>) -> Answer<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.enter()?.save()))
    }

    /// Continues from saved bytes, if no batch has been made since.
    #[staticmethod]
    fn load(
        state: &[u8],
        #[pyo3(from_py_with = integers::batches_made)] batches_made: u64,
    ) -> Answer<Self> {
        Ok(Shuffler(ForkGuarded::new(CoreShuffler::resume(state, batches_made)?)))
    }
}

/// The report server behind a shuffler.
#[pyclass(module = "reticent", name = "ShuffleServer")]
pub(crate) struct ShuffleServer(CoreServer);

#[pymethods]
impl ShuffleServer {
    /// Absorbs a batch, once: "counted" or "duplicate".
    fn absorb(&mut self, batch: &Bound<'_, PyAny>) -> Answer<String> {
        Ok(word(match batch.cast::<Batch>() {
            Ok(batch) => self.0.absorb(&batch.get().0)?,
            Err(_) => self.0.absorb(&read_message(batch)?)?,
        }))
    }

    /// The next model.
    fn publish(&mut self) -> Answer<Model> {
        Ok(Model(self.0.publish()?))
    }

    /// Reports counted so far.
    #[getter]
    fn reports(&self) -> u64 {
        self.0.reports()
    }

    /// The whole state; it contains nothing secret.
    fn save<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.save())
    }

    /// Goes on bit for bit from saved bytes.
    #[staticmethod]
    fn load(state: &[u8]) -> Answer<Self> {
        Ok(ShuffleServer(CoreServer::load(state)?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let state = slf.try_borrow().map_err(PyErr::from)?.save(py);
        restored(slf, "load", (state,))
    }
}
