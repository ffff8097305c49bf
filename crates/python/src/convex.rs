//! Bandits over slates, routes, assignments and other sets that are known through a linear oracle.

use numpy::{PyArray1, ToPyArray};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict, PyTuple},
};
use reticent::{
    convex::{
        LinearOracle, Map, Play, PlayTicket, PrivateBandit, PrivateBanditParams, Protection,
        Territory,
    },
    noise::SecureNoise,
    randomize::{ValueLaplace, ValueReport as CoreReport},
    wire::{PYTHON_CONVEX, from_json, pack, unpack},
};
use reticent_lab::algorithm::convex::SetToml;

use crate::{
    convert::{message, parameter, parameter_or, read_message, restored},
    decision::Observation,
    error::{Answer, Failure},
    fork_guard::{ForkGuarded, Forked},
    guarantee::{Guarantee, beside},
    integers,
};

type Bandit = PrivateBandit<Box<dyn LinearOracle + Send + Sync>, SecureNoise>;

impl Forked for Bandit {
    fn forked(&mut self, others: u64) -> reticent::Result<()> {
        answered_once(self)?;
        (0..others).try_for_each(|_| self.branch())
    }
}

/// Refuses a copy under local protection: a person who is waited for would be asked by every copy, and one value protected twice.
fn answered_once(bandit: &Bandit) -> reticent::Result<()> {
    match (bandit.local_value(), bandit.open_decisions()) {
        (None, _) | (_, 0) => Ok(()),
        (Some(_), open) => {
            let remedy = "a copy would protect the same values once more: observe or dismiss them before the fork or the pickle";
            Err(reticent::Error::invalid("open decisions", open, remedy))
        }
    }
}

/// State saved beside the core's state.
#[derive(serde::Serialize, serde::Deserialize)]
struct Head {
    /// Copies that were made of this state.
    copies: u64,
    set: SetToml,
}

/// A point to play, and the ticket to hand back with its value. Unpacks as `ticket, point`.
#[pyclass(frozen, module = "reticent", name = "PlayDecision")]
pub(crate) struct PlayDecision {
    ticket: u64,
    point: Vec<f64>,
}

#[pymethods]
impl PlayDecision {
    /// To be handed back with the value.
    #[getter]
    fn ticket(&self) -> u64 {
        self.ticket
    }

    /// The point, or the vertex.
    #[getter]
    fn point<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.point.to_pyarray(py)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let pair = (self.ticket, self.point(py)).into_pyobject(py)?;
        pair.into_any().try_iter().map(Bound::into_any)
    }
}

/// A value that was protected on a person's device. `bytes(report)` travels, `ValueReport(bytes)` reads it.
#[pyclass(frozen, eq, module = "reticent", name = "ValueReport")]
#[derive(PartialEq)]
pub(crate) struct ValueReport(CoreReport);

#[pymethods]
impl ValueReport {
    #[new]
    fn new(message: &[u8]) -> Answer<Self> {
        Ok(ValueReport(from_json(message)?))
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        message(py, &self.0)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        (slf.get_type(), (slf.get().__bytes__(py),)).into_pyobject(py)
    }
}

/// The device's part of `ConvexBandit(local=True)`: clips a value to `[low, high]` and protects it with `epsilon`.
///
/// It keeps no count: a device reports once for each decision it was asked about, and at most `contributions_per_person` times.
///
/// >>> import reticent
/// >>> bandit = reticent.ConvexBandit({"kind": "simplex", "outcomes": 3}, 1.0, 100, epsilon=1.0, local=True, values=(0.0, 1.0))
/// >>> device = reticent.LocalValue(0.0, 1.0, epsilon=1.0)          # the same as bandit.local_value
/// >>> ticket, point = bandit.decide()
/// >>> bandit.absorb(ticket, bytes(device.report(0.7)))
/// Observation(clipped=False, released=False)
#[pyclass(frozen, eq, module = "reticent", name = "LocalValue")]
#[derive(PartialEq)]
pub(crate) struct LocalValue {
    /// Values below are clipped to it.
    #[pyo3(get)]
    low: f64,
    /// Values above are clipped to it.
    #[pyo3(get)]
    high: f64,
    /// Price of one report.
    #[pyo3(get)]
    epsilon: f64,
    value: ValueLaplace,
}

#[pymethods]
impl LocalValue {
    #[new]
    fn new(low: f64, high: f64, epsilon: f64) -> Answer<Self> {
        Ok(LocalValue { low, high, epsilon, value: ValueLaplace::new(low, high, epsilon)? })
    }

    /// Clips and protects a value, with noise from the system's entropy.
    fn report(&self, value: f64) -> Answer<ValueReport> {
        Ok(ValueReport(self.value.report(value, &mut SecureNoise::from_system()?)?))
    }

    fn __repr__(&self) -> String {
        format!("LocalValue(low={}, high={}, epsilon={})", self.low, self.high, self.epsilon)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let LocalValue { low, high, epsilon, .. } = *slf.get();
        (slf.get_type(), (low, high, epsilon)).into_pyobject(slf.py())
    }
}

/// A private bandit over a set, which needs no projection: `set` is a dictionary as in an experiment file.
///
/// With `epsilon` and `delta` a trusted curator protects values; with `delta=0` purely; `local=True` protects every value by itself:
/// on the person's device, see `LocalValue`, or by `observe` where the learner itself runs there. Without `epsilon` no person is
/// protected. For copies see `JointBandit`; one with `local=True` is not copied while it waits for values.
///
/// >>> import reticent
/// >>> slates = {"kind": "slates", "elements": 20, "size": 10}
/// >>> bandit = reticent.ConvexBandit(slates, lipschitz=1.0, horizon=10_000, epsilon=1.0, delta=1e-6, play="vertices")
/// >>> ticket, slate = bandit.decide()
/// >>> int(slate.sum())
/// 10
/// >>> bandit.observe(ticket, 0.7)
/// Observation(clipped=False, released=False)
#[pyclass(module = "reticent", name = "ConvexBandit")]
pub(crate) struct ConvexBandit {
    bandit: ForkGuarded<Bandit>,
    set: SetToml,
}

#[pymethods]
impl ConvexBandit {
    #[new]
    #[pyo3(signature = (set, lipschitz, horizon, epsilon = None, delta = None, *, local = false, contributions_per_person = 1,
        values = None, play = None, territory = None, map = None, batch = None, smoothing = None, step = None, antithetic = true))]
    #[allow(clippy::too_many_arguments, reason = "keywords of one Python call")]
    fn new(
        py: Python<'_>,
        set: &Bound<'_, PyDict>,
        lipschitz: f64,
        #[pyo3(from_py_with = integers::horizon)] horizon: u64,
        epsilon: Option<f64>,
        delta: Option<f64>,
        local: bool,
        #[pyo3(from_py_with = integers::contributions_per_person)] contributions_per_person: u64,
        values: Option<(f64, f64)>,
        play: Option<&Bound<'_, PyAny>>,
        territory: Option<&Bound<'_, PyAny>>,
        map: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = integers::batch)] batch: Option<u64>,
        smoothing: Option<f64>,
        step: Option<f64>,
        antithetic: bool,
    ) -> Answer<Self> {
        let protection = match (epsilon, delta, local) {
            (None, None, false) => Protection::None,
            (None, _, _) => {
                return Err(Failure::invalid(
                    "epsilon",
                    "missing",
                    "expected epsilon, or neither it nor delta",
                ));
            }
            (Some(epsilon), None | Some(0.0), true) => Protection::Local { epsilon },
            (Some(_), Some(delta), true) => {
                return Err(Failure::invalid(
                    "delta",
                    delta,
                    "local protection is pure: leave it out",
                ));
            }
            (Some(epsilon), None | Some(0.0), false) => Protection::CentralPure { epsilon },
            (Some(epsilon), Some(delta), false) => Protection::central(epsilon, delta),
        };
        let set: SetToml = parameter("set", set)?;
        let params = PrivateBanditParams {
            contributions_per_person,
            values,
            play: parameter_or("play", play, Play::default())?,
            territory: parameter_or("territory", territory, Territory::default())?,
            map: parameter_or("map", map, Map::Automatic)?,
            batch,
            smoothing,
            step,
            antithetic,
            ..PrivateBanditParams::new(lipschitz, horizon, protection)
        };
        let lines = &set;
        let bandit =
            py.detach(|| params.check(lines.build()?)?.start(SecureNoise::from_system()?))?;
        Ok(ConvexBandit { bandit: ForkGuarded::new(bandit), set })
    }

    /// The next point to play.
    fn decide(&mut self) -> Answer<PlayDecision> {
        let decision = self.bandit.enter()?.decide()?;
        Ok(PlayDecision { ticket: decision.ticket.number(), point: decision.point })
    }

    /// Learns the value of an earlier decision's loss, once. Other threads run meanwhile.
    fn observe(
        &mut self,
        py: Python<'_>,
        #[pyo3(from_py_with = integers::ticket)] ticket: u64,
        value: f64,
    ) -> Answer<Observation> {
        let bandit = self.bandit.enter()?;
        let seen = py.detach(|| bandit.observe(PlayTicket::numbered(ticket), value))?;
        Ok(Observation { clipped: seen.clipped, released: seen.released, late: false })
    }

    /// Learns a value that `LocalValue.report` protected on a person's device, once: the report or its bytes.
    fn absorb(
        &mut self,
        #[pyo3(from_py_with = integers::ticket)] ticket: u64,
        report: &Bound<'_, PyAny>,
    ) -> Answer<Observation> {
        let report = match report.cast::<ValueReport>() {
            Ok(report) => report.get().0,
            Err(_) => read_message(report)?,
        };
        let seen = self.bandit.enter()?.absorb(PlayTicket::numbered(ticket), report)?;
        Ok(Observation { clipped: seen.clipped, released: seen.released, late: false })
    }

    /// Device's part, which protects values for this learner; `None` unless `local=True`.
    #[getter]
    fn local_value(&self) -> Option<LocalValue> {
        let bandit = self.bandit.read();
        match (bandit.local_value(), bandit.params().protection) {
            (Some(value), Protection::Local { epsilon }) => {
                let (low, high) = value.range();
                Some(LocalValue { low, high, epsilon, value: *value })
            }
            _ => None,
        }
    }

    /// Decisions whose value has not come.
    #[getter]
    fn open_decisions(&self) -> usize {
        self.bandit.read().open_decisions()
    }

    /// Gives up waiting for a value; says whether it was waited for.
    fn dismiss(&mut self, #[pyo3(from_py_with = integers::ticket)] ticket: u64) -> Answer<bool> {
        Ok(self.bandit.enter()?.dismiss(PlayTicket::numbered(ticket)))
    }

    /// Point that the learner would play if it did not have to explore.
    #[getter]
    fn point<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.bandit.read().point().to_pyarray(py)
    }

    /// Guarantee of the whole run; `None` without protection.
    #[getter]
    fn guarantee(&mut self) -> Answer<Option<Guarantee>> {
        let bandit = self.bandit.enter()?;
        let (guarantee, replays) = match bandit.params().protection {
            Protection::None => return Ok(None),
            // Every value is protected by itself, against every reader.
            Protection::Local { .. } => return Ok(Some(bandit.guarantee()?.into())),
            _ => (bandit.guarantee()?, bandit.replays()),
        };
        Ok(Some(beside(guarantee, replays, self.bandit.copies()).into()))
    }

    /// Decisions taken so far: what `load` takes as a check.
    #[getter]
    fn decisions(&self) -> u64 {
        self.bandit.read().decisions()
    }

    /// Releases made so far: what `load` takes as a check.
    #[getter]
    fn releases(&self) -> u64 {
        self.bandit.read().releases()
    }

    /// The whole state, people's data included: protect these bytes as the data itself, and go on in one place only.
    fn save<'py>(&mut self, py: Python<'py>) -> Answer<Bound<'py, PyBytes>> {
        let state = self.bandit.enter()?.save();
        let head = Head { copies: self.bandit.copies(), set: self.set.clone() };
        Ok(PyBytes::new(py, &pack(PYTHON_CONVEX, &head, &[&state])))
    }

    /// Goes on from saved bytes; a state older than what has left is refused.
    #[staticmethod]
    #[pyo3(signature = (state, releases_made, decisions_made))]
    fn load(
        state: &[u8],
        #[pyo3(from_py_with = integers::releases_made)] releases_made: u64,
        #[pyo3(from_py_with = integers::decisions_made)] decisions_made: u64,
    ) -> Answer<Self> {
        let (Head { copies, set }, [state]) = unpack(PYTHON_CONVEX, state)?;
        let bandit = PrivateBandit::resume(&state, releases_made, decisions_made, set.build()?)?;
        Ok(ConvexBandit { bandit: ForkGuarded::copied(bandit, copies), set })
    }

    /// A copy beside the original, with fresh noise and the charge for all that are there.
    #[staticmethod]
    fn _copy(
        state: &[u8],
        #[pyo3(from_py_with = integers::decisions)] decisions: u64,
    ) -> Answer<Self> {
        let (Head { copies, set }, [state]) = unpack(PYTHON_CONVEX, state)?;
        let mut bandit = PrivateBandit::resume(&state, 0, decisions, set.build()?)?;
        bandit.forked(copies)?;
        Ok(ConvexBandit { bandit: ForkGuarded::new(bandit), set })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Answer<Bound<'py, PyTuple>> {
        let py = slf.py();
        let mut bandit = slf.try_borrow_mut().map_err(PyErr::from)?;
        answered_once(bandit.bandit.enter()?)?;
        bandit.bandit.count_copy();
        let (state, decisions) = (bandit.save(py)?, bandit.decisions());
        Ok(restored(slf, "_copy", (state, decisions))?)
    }
}
