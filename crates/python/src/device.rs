//! A device on a device, made from a loop's protocol: records in, choices and reports out, and a count of reports on the disk.

use std::{
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};

use pyo3::{
    prelude::*,
    types::{PyBytes, PyTuple},
};
use reticent::{noise::SecureNoise, wire::from_json};
use reticent_device::{Choice as CoreChoice, Device as CoreDevice, Ledger, Limits, ProtocolPlan};
use reticent_durable::LedgerFile;

use crate::{
    convert::message,
    error::{Answer, Failure},
    features::records,
    fork_guard::{ForkGuarded, Forked},
    integers,
    messages::{self, Report},
};

/// A choice that waits for its reward. `bytes(choice)` is kept on the device, `Choice(bytes)` reads it: it holds the person's raw features.
#[pyclass(frozen, eq, module = "reticent", name = "Choice")]
#[derive(PartialEq)]
pub(crate) struct Choice(pub(crate) CoreChoice);

#[pymethods]
impl Choice {
    #[new]
    fn new(saved: &[u8]) -> Answer<Self> {
        Ok(Choice(CoreChoice::load(saved)?))
    }

    /// Index of the chosen action, counted from 0.
    #[getter]
    fn index(&self) -> usize {
        self.0.index()
    }

    /// The vector of the context and the chosen action.
    #[getter]
    fn features(&self) -> Vec<f64> {
        self.0.features().to_vec()
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.save())
    }

    fn __repr__(&self) -> String {
        format!("Choice(index={})", self.0.index())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        (slf.get_type(), (slf.get().__bytes__(py),)).into_pyobject(py)
    }
}

impl Forked for CoreDevice<SecureNoise> {
    /// A copy would draw the same noise.
    fn forked(&mut self, _others: u64) -> reticent::Result<()> {
        let remedy = "its noise would come twice: make a new one here by `Person.from_protocol`, with the same file of the ledger";
        Err(reticent::Error::invalid("device", "a forked copy", remedy))
    }
}

/// Place where the count of reports is kept.
pub(crate) enum Count {
    File(LedgerFile),
    Memory(Option<Ledger>),
}

impl Count {
    /// In a file, or in memory where that is asked for: a count that is lost by accident is a new installation.
    pub(crate) fn new(ledger: Option<PathBuf>, in_memory: bool) -> Answer<Self> {
        match (ledger, in_memory) {
            (Some(path), false) => Ok(Count::File(LedgerFile::new(path))),
            (None, true) => Ok(Count::Memory(None)),
            (given, _) => {
                let value = if given.is_some() { "a path beside in_memory" } else { "missing" };
                let remedy = "expected the path of the file that counts this installation's reports; for simulations in_memory=True";
                Err(Failure::invalid("ledger", value, remedy))
            }
        }
    }

    pub(crate) fn read(&self) -> Answer<Option<Ledger>> {
        match self {
            Count::File(file) => Ok(file.read()?),
            Count::Memory(ledger) => Ok(ledger.clone()),
        }
    }
}

/// The device of one installation, made by `Person.from_protocol`. Only reports leave it.
#[pyclass(module = "reticent", name = "Device")]
pub(crate) struct Device {
    device: ForkGuarded<CoreDevice<SecureNoise>>,
    count: Count,
}

impl Device {
    /// The device of a person who brings this level; by default that of the smallest epsilon.
    pub(crate) fn from_protocol(
        protocol: &[u8],
        limits: Limits,
        level: Option<usize>,
        count: Count,
    ) -> Answer<Self> {
        let protocol: ProtocolPlan = from_json(protocol)?;
        let level = level.unwrap_or_else(|| protocol.params().report.levels.most_private());
        let device = CoreDevice::new(protocol, limits, level, SecureNoise::from_system()?)?;
        Ok(Device { device: ForkGuarded::new(device), count })
    }

    fn ledger_at(&self, seconds: Option<u64>) -> Answer<Ledger> {
        let (protocol, seconds) = (self.device.read().protocol(), moment(seconds)?);
        Ok(match self.count.read()? {
            None => Ledger::new(protocol, seconds),
            Some(ledger) => ledger.at(protocol, seconds)?,
        })
    }
}

#[pymethods]
impl Device {
    /// Choices from now on follow this model.
    fn set_model(&mut self, model: &Bound<'_, PyAny>) -> Answer<()> {
        let mut read = None;
        let model = messages::model(model, &mut read)?.clone();
        Ok(self.device.enter()?.set_model(model)?)
    }

    /// Reports from now on are made at this level. The choice of a level must not depend on what the reports would say.
    fn set_level(&mut self, #[pyo3(from_py_with = integers::level)] level: usize) -> Answer<()> {
        Ok(self.device.enter()?.set_level(level)?)
    }

    /// The action to take. Records are as in `Features.arms`.
    fn choose(&mut self, context: &Bound<'_, PyAny>, actions: &Bound<'_, PyAny>) -> Answer<Choice> {
        let device = self.device.enter()?;
        let (context, actions) = records(device.protocol().features(), context, actions)?;
        Ok(Choice(device.choose(&context, &actions)?))
    }

    /// The report of a choice and its reward, which may leave: it was counted before it is returned. Beyond the period's count it is refused.
    /// `now` is the time in seconds after the beginning of 1970, by default the system's.
    #[pyo3(signature = (choice, reward, *, now = None))]
    fn report(
        &mut self,
        choice: &Choice,
        reward: f64,
        #[pyo3(from_py_with = integers::now)] now: Option<u64>,
    ) -> Answer<Report> {
        let (seconds, device) = (moment(now)?, self.device.enter()?);
        match &mut self.count {
            Count::File(file) => Ok(Report(file.report(device, seconds, &choice.0, reward)?)),
            Count::Memory(stored) => {
                let new = || Ledger::new(device.protocol(), seconds);
                let ledger = stored.clone().unwrap_or_else(new);
                let (report, ledger) = device.report(&ledger, seconds, &choice.0, reward)?;
                *stored = Some(ledger);
                Ok(Report(report))
            }
        }
    }

    /// Reports that may still be made in this period.
    #[pyo3(signature = (*, now = None))]
    fn reports_left(&self, #[pyo3(from_py_with = integers::now)] now: Option<u64>) -> Answer<u64> {
        Ok(self.ledger_at(now)?.left())
    }

    /// The ledger as it is stored; `None` for a new installation.
    #[getter]
    fn ledger<'py>(&self, py: Python<'py>) -> Answer<Option<Bound<'py, PyBytes>>> {
        Ok(self.count.read()?.map(|ledger| PyBytes::new(py, &ledger.save())))
    }

    /// The message that it was made from.
    #[getter]
    fn protocol<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        message(py, self.device.read().protocol())
    }

    /// The loop's name.
    #[getter]
    fn r#loop(&self) -> &str {
        &self.device.read().protocol().params().name
    }

    /// The levels of epsilon that the person chooses from.
    #[getter]
    fn levels(&self) -> Vec<f64> {
        self.device.read().protocol().params().report.levels.epsilons().to_vec()
    }

    /// The index of the person's level.
    #[getter]
    fn level(&self) -> usize {
        self.device.read().level()
    }

    /// At most this many reports leave this installation in a period.
    #[getter]
    fn reports_per_period(&self) -> u64 {
        self.device.read().protocol().params().report.contributions_per_person
    }

    fn __repr__(&self) -> String {
        format!("Device(loop={:?}, level={})", self.r#loop(), self.level())
    }
}

/// A moment, or now, in seconds after the beginning of 1970.
pub(crate) fn moment(given: Option<u64>) -> Answer<u64> {
    let system = || SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_secs());
    given.map_or_else(system, Ok).map_err(|_| {
        Failure::invalid("clock", "a time before 1970", "set the system's clock, or give `now`")
    })
}
