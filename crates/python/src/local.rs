//! The bandit under local trust: a device and a report server.

use std::path::PathBuf;

use pyo3::{
    exceptions::PyFutureWarning,
    prelude::*,
    types::{PyBytes, PyTuple},
};
use reticent::{
    bandit::{Absorbed, Arms, LocalParams, LocalPlan as CorePlan, Rule, Server as CoreServer},
    noise::SecureNoise,
    randomize::{Bounds, Levels, Method, Person as CorePerson, ReportParams, Spent},
    release::Structure,
    wire::{PYTHON_LOCAL_PLAN, pack, unpack},
};
use reticent_device::Limits;
use reticent_lab::FastNoise;

use crate::{
    arms::with_arms,
    convert::restored,
    convert::{Vector, entries, parameter, parameter_or},
    device::{Count, Device},
    error::{Answer, Failure},
    fork_guard::{ForkGuarded, Forked},
    guarantee::Guarantee,
    integers,
    messages::{self, Model, Report, with_report, word},
    outlook::Outlook,
    sealed::SealedDevice,
    simulated::SimulatedPerson,
};

/// Bounds that data are clipped to.
pub(crate) fn bounds(
    dimension: usize,
    feature_bound: f64,
    rewards: (f64, f64),
    intercept: Option<&Bound<'_, PyAny>>,
    unit_arms: bool,
) -> Answer<Bounds> {
    let intercept = crate::convert::intercept(intercept)?;
    Ok(Bounds { feature_bound, rewards, intercept, unit_arms, ..Bounds::unit(dimension) })
}

/// Parameters that people and server agree on: bounds, levels of epsilon, and the randomiser, by default the best.
///
/// >>> import numpy, reticent
/// >>> plan = reticent.LocalPlan(dimension=2, epsilon=2.0, delta=1e-6, rewards=(0.0, 1.0))
/// >>> server = plan.server()
/// >>> model = bytes(server.publish())                     # to the device
/// >>> person = plan.person()
/// >>> arms = numpy.array([[1.0, 0.0], [0.6, 0.8]])
/// >>> arm = person.choose(model, arms)
/// >>> report = bytes(person.report(model, arms[arm], 0.7))    # clipped and randomised
/// >>> server.absorb(report), server.absorb(report)
/// ('counted', 'duplicate')
///
/// `method`, `rule` and `restart_every` are as in an experiment file: "unit_gram", or `{"gram_gaussian": {"split": 0.4}}`; with
/// `restart_every=5000` the server forgets everything after every 5000 reports.
#[pyclass(frozen, module = "reticent", name = "LocalPlan")]
pub(crate) struct LocalPlan(CorePlan);

#[pymethods]
impl LocalPlan {
    #[new]
    #[pyo3(signature = (dimension, epsilon, delta, *, feature_bound = 1.0, rewards = (-1.0, 1.0), intercept = None,
        unit_arms = false, public_arms = false, shares = None, contributions_per_person = 1, method = None, rule = None,
        late_models = 1000, restart_every = None, blocks = 1, shared = 0))]
    #[allow(clippy::too_many_arguments, reason = "keywords of one Python call")]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = integers::dimension)] dimension: usize,
        epsilon: &Bound<'_, PyAny>,
        delta: f64,
        feature_bound: f64,
        rewards: (f64, f64),
        intercept: Option<&Bound<'_, PyAny>>,
        unit_arms: bool,
        public_arms: bool,
        shares: Option<Vec<f64>>,
        #[pyo3(from_py_with = integers::contributions_per_person)] contributions_per_person: u64,
        method: Option<&Bound<'_, PyAny>>,
        rule: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = integers::late_models)] late_models: u64,
        #[pyo3(from_py_with = integers::restart_every)] restart_every: Option<u64>,
        #[pyo3(from_py_with = integers::blocks)] blocks: usize,
        #[pyo3(from_py_with = integers::shared)] shared: usize,
    ) -> Answer<Self> {
        let epsilons: Vec<f64> = match epsilon.extract::<f64>() {
            Ok(epsilon) => vec![epsilon],
            Err(_) => epsilon.extract()?,
        };
        let levels = match shares {
            None => Levels::Public(epsilons),
            Some(shares) => Levels::Hidden { epsilons, shares },
        };
        let structure = Structure { blocks, shared };
        let bounds = bounds(dimension, feature_bound, rewards, intercept, unit_arms)?;
        let bounds = Bounds { structure, ..bounds };
        let method: Option<Method> =
            method.map(|method| parameter("method", method)).transpose()?;
        let report = ReportParams {
            levels,
            public_arms,
            contributions_per_person,
            method,
            ..ReportParams::new(bounds, 1.0, delta)
        };
        let rule = parameter_or("rule", rule, Rule::default())?;
        let params = LocalParams { report, rule, late_models, restart_every };
        Ok(LocalPlan(py.detach(|| params.check())?))
    }

    /// The noise against the signal of the reports of this many people.
    fn outlook(&self, #[pyo3(from_py_with = integers::people)] people: u64) -> Outlook {
        Outlook(self.0.outlook(people))
    }

    /// Reason why this randomiser: one sentence.
    #[getter]
    fn reason(&self) -> String {
        self.0.reason().into()
    }

    /// The randomiser in use, as an experiment file writes it.
    #[getter]
    fn method<'py>(&self, py: Python<'py>) -> Answer<Bound<'py, PyAny>> {
        crate::convert::plain(py, self.0.method())
    }

    /// Guarantee of a person who makes all their reports at this level.
    #[pyo3(signature = (level = 0))]
    fn guarantee(&self, #[pyo3(from_py_with = integers::level)] level: usize) -> Answer<Guarantee> {
        Ok(self.0.guarantee(level)?.into())
    }

    /// Guarantee of every person, at any mixture of levels.
    fn guarantee_at_any_level(&self) -> Answer<Guarantee> {
        Ok(self.0.guarantee_at_any_level()?.into())
    }

    /// Former name of `guarantee_at_any_level`.
    fn guarantee_of_anybody(&self, py: Python<'_>) -> Answer<Guarantee> {
        let words = c"guarantee_of_anybody is now guarantee_at_any_level; the former name ends with the next version";
        PyErr::warn(py, &py.get_type::<PyFutureWarning>(), words, 1)?;
        self.guarantee_at_any_level()
    }

    /// The device of a person who brings this level; `spent` is the record of the reports that they sent before.
    #[pyo3(signature = (level = 0, spent = None))]
    fn person(
        &self,
        #[pyo3(from_py_with = integers::level)] level: usize,
        spent: Option<&[u8]>,
    ) -> Answer<Person> {
        let noise = SecureNoise::from_system()?;
        Ok(Person::of(match spent {
            None => self.0.person(level, noise)?,
            Some(spent) => self.0.person_after(level, &Spent::load(spent)?, noise)?,
        }))
    }

    /// A device on seeded simulation noise, which protects no person: for experiments that give the same decisions each time.
    #[pyo3(signature = (seed, level = 0))]
    fn simulated_person(
        &self,
        #[pyo3(from_py_with = integers::seed)] seed: u64,
        #[pyo3(from_py_with = integers::level)] level: usize,
    ) -> Answer<SimulatedPerson> {
        Ok(SimulatedPerson::of(self.0.person(level, FastNoise::seeded(seed))?))
    }

    /// The report server, before any report.
    fn server(&self) -> Server {
        Server(self.0.server())
    }

    fn __repr__(&self) -> String {
        format!("LocalPlan({})", self.0.reason())
    }

    #[staticmethod]
    fn _load(params: &[u8]) -> Answer<Self> {
        let (params, []): (LocalParams, _) = unpack(PYTHON_LOCAL_PLAN, params)?;
        Ok(LocalPlan(params.check()?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let params = pack(PYTHON_LOCAL_PLAN, slf.get().0.params(), &[]);
        restored(slf, "_load", (PyBytes::new(slf.py(), &params),))
    }
}

impl Forked for CorePerson<SecureNoise> {
    /// Two copies of one person's device would report twice as often as was promised: no copy goes on.
    fn forked(&mut self, _others: u64) -> reticent::Result<()> {
        let remedy = "its reports would be counted in each copy by itself: use it where it was made, or start it here by `plan.person(spent=person.spent)` and there no more";
        Err(reticent::Error::invalid("person", "a forked copy", remedy))
    }
}

/// A person's device. It is not saved: store `spent`, and start it again with that.
#[pyclass(module = "reticent", name = "Person")]
pub(crate) struct Person {
    person: ForkGuarded<CorePerson<SecureNoise>>,
    place: Option<Arms>,
}

impl Person {
    pub(crate) fn of(person: CorePerson<SecureNoise>) -> Self {
        Person { person: ForkGuarded::new(person), place: None }
    }
}

#[pymethods]
impl Person {
    /// A device from the bytes of a loop's protocol, and nothing else: it makes vectors, chooses and reports.
    ///
    /// `loop` is the name that was asked for: a protocol of another is refused. `ledger` is the file that counts reports, one for each service and loop,
    /// which all processes of an installation share. For simulations `in_memory=True` stands in its place: the count is lost with the object.
    /// `level` is the index of one of the protocol's levels, by default that of the smallest epsilon.
    ///
    /// The person's own limits, whatever the protocol asks for: epsilon and delta of all reports of a period together, reports in a period, and the
    /// seconds of a period, at least.
    #[staticmethod]
    #[pyo3(signature = (protocol, r#loop, *, ledger = None, in_memory = false, level = None, most_epsilon = Limits::EPSILON,
        most_delta = Limits::DELTA, most_reports = Limits::REPORTS, shortest_period = Limits::PERIOD))]
    #[allow(clippy::too_many_arguments)]
    fn from_protocol(
        protocol: &[u8],
        r#loop: String,
        ledger: Option<PathBuf>,
        in_memory: bool,
        #[pyo3(from_py_with = integers::level)] level: Option<usize>,
        most_epsilon: f64,
        most_delta: f64,
        #[pyo3(from_py_with = integers::most_reports)] most_reports: u64,
        #[pyo3(from_py_with = integers::shortest_period)] shortest_period: u64,
    ) -> Answer<Device> {
        let limits = Limits {
            name: r#loop,
            epsilon: most_epsilon,
            delta: most_delta,
            reports: most_reports,
            period: shortest_period,
        };
        Device::from_protocol(protocol, limits, level, Count::new(ledger, in_memory)?)
    }

    /// A device of a loop with a shuffler, from the message of its plan of reports and what the server and the shuffler answer about
    /// sealing (`GET /v1/loops/{loop}/sealing`).
    ///
    /// `loop` and `ledger` are as in `from_protocol`, and so are the limits: epsilon and delta of all reports together, by this device's own accountant, if half of
    /// every batch is honest, or fewer where the loop says so. A loop beyond them is refused, and so are plans that show features, and a server that
    /// tells its devices another protocol or key than its shuffler.
    #[staticmethod]
    #[pyo3(signature = (plan, server, shuffler, r#loop, *, ledger = None, in_memory = false, most_epsilon = Limits::EPSILON, most_delta = Limits::DELTA,
        most_reports = Limits::REPORTS, shortest_period = Limits::PERIOD))]
    #[allow(clippy::too_many_arguments, reason = "keywords of one Python call")]
    fn from_sealing(
        py: Python<'_>,
        plan: &[u8],
        server: &[u8],
        shuffler: &[u8],
        r#loop: String,
        ledger: Option<PathBuf>,
        in_memory: bool,
        most_epsilon: f64,
        most_delta: f64,
        #[pyo3(from_py_with = integers::most_reports)] most_reports: u64,
        #[pyo3(from_py_with = integers::shortest_period)] shortest_period: u64,
    ) -> Answer<SealedDevice> {
        let limits = Limits {
            name: r#loop,
            epsilon: most_epsilon,
            delta: most_delta,
            reports: most_reports,
            period: shortest_period,
        };
        let count = Count::new(ledger, in_memory)?;
        SealedDevice::from_sealing(py, plan, [server, shuffler], limits, count)
    }

    /// The arm to play, as the model has it.
    #[pyo3(signature = (model, arms))]
    fn choose(&mut self, model: &Bound<'_, PyAny>, arms: &Bound<'_, PyAny>) -> Answer<usize> {
        let mut read = None;
        let model = messages::model(model, &mut read)?;
        let person = self.person.enter()?;
        with_arms(arms, &mut self.place, |arms| person.choose(model, arms))
    }

    /// The report of an arm played under `model` and its reward: clipped and randomised. `block` is the arm's block of parameters, which
    /// the report does not tell.
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
        let person = self.person.enter()?;
        Ok(Report(person.report_in_block(model, block, &entries(&features), reward)?))
    }

    /// Reports that may still be made.
    #[getter]
    fn reports_left(&self) -> u64 {
        self.person.read().reports_left()
    }

    /// Reports sent until now, for `plan.person(spent=...)` when the device starts again.
    #[getter]
    fn spent<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.person.read().spent().save())
    }

    /// Number of reports that were made from features or a reward outside their bounds, which were changed to fit. It stays on the device.
    #[getter]
    fn clipped(&self) -> u64 {
        self.person.read().clipped()
    }

    /// Guarantee of all reports of this person together: those made so far, and those left at this level.
    #[getter]
    fn guarantee(&self) -> Answer<Guarantee> {
        Ok(self.person.read().guarantee()?.into())
    }
}

/// The report server. It sees nothing that was not randomised on a device, so copies of it cost no person anything.
#[pyclass(module = "reticent", name = "Server")]
pub(crate) struct Server(CoreServer);

#[pymethods]
impl Server {
    /// Takes a report in, once: "counted", "duplicate", "late" or "unneeded".
    fn absorb(&mut self, report: &Bound<'_, PyAny>) -> Answer<String> {
        with_report(report, |report| Ok(word(self.0.absorb(report)?)))
    }

    /// Takes many reports in; says how many were counted.
    fn absorb_many(&mut self, py: Python<'_>, reports: Vec<Bound<'_, PyAny>>) -> Answer<usize> {
        let mut read = Vec::with_capacity(reports.len());
        for report in &reports {
            with_report(report, |report| {
                read.push(report.clone());
                Ok(())
            })?;
        }
        let server = &mut self.0;
        py.detach(|| {
            let mut counted = 0;
            for (index, report) in read.iter().enumerate() {
                let absorbed = server.absorb(report).map_err(|error| (index, error))?;
                counted += usize::from(absorbed == Absorbed::Counted);
            }
            Ok(counted)
        })
        .map_err(|(index, error)| Failure::at(index, error))
    }

    /// The next model, made from all reports so far.
    fn publish(&mut self) -> Answer<Model> {
        Ok(Model(self.0.publish()?))
    }

    /// Reports counted so far.
    #[getter]
    fn reports(&self) -> u64 {
        self.0.reports()
    }

    /// The expected reward of an arm, as the reports have it now.
    #[pyo3(signature = (features, block = 0))]
    fn expected_reward(
        &self,
        features: Vector<'_>,
        #[pyo3(from_py_with = integers::block)] block: usize,
    ) -> Answer<f64> {
        Ok(self.0.expected_reward_in_block(block, &entries(&features))?)
    }

    /// The whole state; there is no secret in it.
    fn save<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.save())
    }

    /// Goes on bit for bit from saved bytes.
    #[staticmethod]
    fn load(state: &[u8]) -> Answer<Self> {
        Ok(Server(CoreServer::load(state)?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let state = slf.try_borrow().map_err(PyErr::from)?.save(py);
        restored(slf, "load", (state,))
    }

    fn __repr__(&self) -> String {
        format!("Server({} reports)", self.0.reports())
    }
}
