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
    privacy::Mode,
};
use reticent_lab::losses::SetLines;

use crate::{
    convert::restored,
    convert::{parameter, parameter_or, text},
    error::{Answer, Failure},
    guarantee::Guarantee,
    joint::Observation,
    mine::{Forked, Mine},
};

type Bandit = PrivateBandit<Box<dyn LinearOracle + Send + Sync>, SecureNoise>;

impl Forked for Bandit {
    fn forked(&mut self) -> reticent::Result<()> {
        self.branch()
    }
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

/// A private bandit over a set, which needs no projection: `set` is a dictionary as in an experiment file.
///
/// With `epsilon` and `delta` a trusted curator protects values; with `delta=0` purely; `local=True` protects every value by itself;
/// without `epsilon` nobody is protected. For copies see `JointBandit`.
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
    bandit: Mine<Bandit>,
    set: SetLines,
    copies: u64,
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
        horizon: u64,
        epsilon: Option<f64>,
        delta: Option<f64>,
        local: bool,
        contributions_per_person: u64,
        values: Option<(f64, f64)>,
        play: Option<&Bound<'_, PyAny>>,
        territory: Option<&Bound<'_, PyAny>>,
        map: Option<&Bound<'_, PyAny>>,
        batch: Option<u64>,
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
                    "give epsilon, or neither it nor delta",
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
        let set: SetLines = parameter("set", set)?;
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
            mode: Mode::Exact,
            ..PrivateBanditParams::new(lipschitz, horizon, protection)
        };
        let lines = &set;
        let bandit =
            py.detach(|| params.check(lines.build()?)?.start(SecureNoise::from_system()?))?;
        Ok(ConvexBandit { bandit: Mine::new(bandit), set, copies: 0 })
    }

    /// The next point to play.
    fn decide(&mut self) -> Answer<PlayDecision> {
        let decision = self.bandit.enter()?.decide()?;
        Ok(PlayDecision { ticket: decision.ticket.number(), point: decision.point })
    }

    /// Learns the value of an earlier decision's loss, once. Other threads run meanwhile.
    fn observe(&mut self, py: Python<'_>, ticket: u64, value: f64) -> Answer<Observation> {
        let bandit = self.bandit.enter()?;
        let seen = py.detach(|| bandit.observe(PlayTicket::numbered(ticket), value))?;
        Ok(Observation { clipped: seen.clipped, released: seen.released })
    }

    /// Gives up waiting for a value; says whether it was waited for.
    fn dismiss(&mut self, ticket: u64) -> Answer<bool> {
        Ok(self.bandit.enter()?.dismiss(PlayTicket::numbered(ticket)))
    }

    /// Where the learner would play if it did not have to explore.
    #[getter]
    fn point<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.bandit.read().point().to_pyarray(py)
    }

    /// What may be promised of the whole run; `None` without protection.
    #[getter]
    fn guarantee(&mut self) -> Answer<Option<Guarantee>> {
        let bandit = self.bandit.enter()?;
        if bandit.params().protection == Protection::None {
            return Ok(None);
        }
        let guarantee = bandit.guarantee()?;
        Ok(Some(match self.copies {
            0 => guarantee.into(),
            copies => guarantee
                .with_condition(format!(
                    "{copies} copies of this state were pickled: one that goes on beside it has its own, larger guarantee"
                ))
                .into(),
        }))
    }

    /// Decisions taken so far: what `load` may be told.
    #[getter]
    fn decisions(&self) -> u64 {
        self.bandit.read().decisions()
    }

    /// Releases made so far: what `load` may be told.
    #[getter]
    fn releases(&self) -> u64 {
        self.bandit.read().releases()
    }

    /// The whole state, people's data included: protect these bytes as the data itself, and go on in one place only.
    fn save<'py>(&mut self, py: Python<'py>) -> Answer<Bound<'py, PyBytes>> {
        let set = text(&self.set);
        let mut bytes = (set.len() as u64).to_le_bytes().to_vec();
        bytes.extend(set.as_bytes());
        bytes.extend(self.bandit.enter()?.save());
        Ok(PyBytes::new(py, &bytes))
    }

    /// Goes on from saved bytes, with fresh noise; a state older than what has left is refused.
    #[staticmethod]
    #[pyo3(signature = (state, decisions_made, releases_made))]
    fn load(state: &[u8], decisions_made: u64, releases_made: u64) -> Answer<Self> {
        let damaged = || {
            Failure::invalid("state", format!("{} bytes", state.len()), "give what `save` returned")
        };
        let (length, rest) = state.split_at_checked(8).ok_or_else(damaged)?;
        let length = u64::from_le_bytes(length.try_into().map_err(|_| damaged())?);
        let length = usize::try_from(length).map_err(|_| damaged())?;
        let (set, bandit) = rest.split_at_checked(length).ok_or_else(damaged)?;
        let set: SetLines = serde_json::from_slice(set).map_err(|_| damaged())?;
        let mut bandit =
            PrivateBandit::resume(set.build()?, bandit, decisions_made, releases_made)?;
        bandit.refresh_noise()?;
        Ok(ConvexBandit { bandit: Mine::new(bandit), set, copies: 0 })
    }

    #[staticmethod]
    fn _copy(state: &[u8], decisions: u64, copies: u64) -> Answer<Self> {
        let mut copy = ConvexBandit::load(state, decisions, 0)?;
        for _ in 0..copies {
            copy.bandit.enter()?.branch()?;
        }
        Ok(copy)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Answer<Bound<'py, PyTuple>> {
        let py = slf.py();
        let state = slf.borrow_mut().save(py)?;
        slf.borrow_mut().copies += 1;
        let (copies, decisions) = (slf.borrow().copies, slf.borrow().decisions());
        Ok(restored(slf, "_copy", (state, decisions, copies))?)
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PlayDecision>()?;
    module.add_class::<ConvexBandit>()
}
