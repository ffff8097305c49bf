//! `reticent.privacy`: events, the accountant, a calculator, and noise.

use numpy::{PyArray1, ToPyArray};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyTuple},
};
use reticent::{
    noise::{DiscreteGaussian, DiscreteLaplace, Noise as _, SecureNoise},
    privacy::{
        Accountant as CoreAccountant, Event as CoreEvent, Guarantee as CoreGuarantee, gaussian,
        shuffle,
    },
    wire::{PYTHON_ACCOUNTANT, pack, unpack},
};

use crate::{
    convert::restored,
    convert::{parameter, plain, text},
    error::{Answer, Failure},
    guarantee::Guarantee,
    integers::{self, WholeNumber},
};

/// One release, or several put together, as seen by one person. `a + b` is both events one after the other, `a * 30` is the event thirty
/// times.
///
/// >>> from reticent.privacy import Event
/// >>> month = Event.gaussian(1.0, sigma=20.0) * 30 + Event.laplace(1.0, scale=2.0)
/// >>> round(month.epsilon(delta=1e-6), 3) <= 1.7
/// True
#[pyclass(frozen, eq, module = "reticent.privacy", name = "Event")]
#[derive(PartialEq)]
pub(crate) struct Event(CoreEvent);

fn checked(event: CoreEvent) -> Answer<Event> {
    event.check()?;
    Ok(Event(event))
}

#[pymethods]
impl Event {
    /// Any event as an experiment file writes it, such as `{"kind": "priv_unit", "cap": 0.3, "inside": 0.7}`.
    #[new]
    fn new(description: &Bound<'_, PyAny>) -> Answer<Self> {
        checked(parameter("event", description)?)
    }

    /// Gaussian noise of deviation `sigma` on something of l2 sensitivity `sensitivity`.
    #[staticmethod]
    fn gaussian(sensitivity: f64, sigma: f64) -> Answer<Self> {
        checked(CoreEvent::Gaussian { sensitivity, sigma })
    }

    /// A discrete Gaussian on one integer.
    #[staticmethod]
    fn discrete_gaussian(
        #[pyo3(from_py_with = integers::sensitivity)] sensitivity: u64,
        sigma: f64,
    ) -> Answer<Self> {
        checked(CoreEvent::DiscreteGaussian { sensitivity, sigma })
    }

    /// Laplace noise of scale `scale` on one number.
    #[staticmethod]
    fn laplace(sensitivity: f64, scale: f64) -> Answer<Self> {
        checked(CoreEvent::Laplace { sensitivity, scale })
    }

    /// Discrete Laplace noise on one integer.
    #[staticmethod]
    fn discrete_laplace(
        #[pyo3(from_py_with = integers::sensitivity)] sensitivity: u64,
        scale: f64,
    ) -> Answer<Self> {
        checked(CoreEvent::DiscreteLaplace { sensitivity, scale })
    }

    /// Randomised response among `categories`.
    #[staticmethod]
    fn randomized_response(
        #[pyo3(from_py_with = integers::categories)] categories: u64,
        epsilon: f64,
    ) -> Answer<Self> {
        checked(CoreEvent::RandomizedResponse { categories, epsilon })
    }

    /// Any mechanism known to be `epsilon`-DP and nothing more.
    #[staticmethod]
    fn pure(epsilon: f64) -> Answer<Self> {
        checked(CoreEvent::Pure { epsilon })
    }

    /// Any mechanism known to be (`epsilon`, `delta`)-DP and nothing more.
    #[staticmethod]
    fn approximate(epsilon: f64, delta: f64) -> Answer<Self> {
        checked(CoreEvent::Approximate { epsilon, delta })
    }

    /// `people` reports of an `epsilon`-DP local randomiser, seen only after a shuffle.
    #[staticmethod]
    #[pyo3(signature = (epsilon, people, binary = false))]
    fn shuffled(
        epsilon: f64,
        #[pyo3(from_py_with = integers::people)] people: u64,
        binary: bool,
    ) -> Answer<Self> {
        checked(CoreEvent::Shuffled { epsilon, people, binary })
    }

    fn __add__(&self, other: &Event) -> Self {
        Event(CoreEvent::Composed { events: vec![self.0.clone(), other.0.clone()] })
    }

    fn __mul__(&self, times: &Bound<'_, PyAny>) -> Answer<Self> {
        let times = u64::read("times", times)?;
        checked(CoreEvent::Repeated { event: Box::new(self.0.clone()), times })
    }

    /// The smallest epsilon that holds with `delta`.
    fn epsilon(&self, py: Python<'_>, delta: f64) -> Answer<f64> {
        Ok(py.detach(|| CoreAccountant::price(&self.0)?.epsilon(delta))?)
    }

    /// The smallest delta that holds with `epsilon`.
    fn delta(&self, py: Python<'_>, epsilon: f64) -> Answer<f64> {
        Ok(py.detach(|| CoreAccountant::price(&self.0)?.delta(epsilon))?)
    }

    /// The guarantee under a trust model: "joint", "shuffle" or "local".
    fn guarantee(&self, model: &Bound<'_, PyAny>, delta: f64) -> Answer<Guarantee> {
        Ok(CoreGuarantee::of(&self.0, parameter("model", model)?, delta)?.into())
    }

    /// The event as a dictionary.
    fn to_dict<'py>(&self, py: Python<'py>) -> Answer<Bound<'py, PyAny>> {
        plain(py, &self.0)
    }

    fn __repr__(&self) -> String {
        format!("Event({})", text(&self.0))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Answer<Bound<'py, PyTuple>> {
        let py = slf.py();
        Ok((slf.get_type(), (slf.get().to_dict(py)?,)).into_pyobject(py)?)
    }
}

/// Records every event that one person's data went into, and prices their composition.
///
/// >>> from reticent.privacy import Accountant, Event
/// >>> accountant = Accountant()
/// >>> accountant.spend(Event.gaussian(1.0, sigma=4.0))
/// >>> accountant.spend(Event.gaussian(1.0, sigma=3.0))
/// >>> accountant.epsilon(delta=1e-6) < 2.0
/// True
#[pyclass(module = "reticent.privacy", name = "Accountant")]
pub(crate) struct Accountant(CoreAccountant);

#[pymethods]
impl Accountant {
    #[new]
    fn new() -> Self {
        Accountant(CoreAccountant::new())
    }

    /// Records an event, `times` times.
    #[pyo3(signature = (event, times = 1))]
    fn spend(
        &mut self,
        event: &Event,
        #[pyo3(from_py_with = integers::times)] times: u64,
    ) -> Answer<()> {
        let event = match times {
            1 => event.0.clone(),
            _ => CoreEvent::Repeated { event: Box::new(event.0.clone()), times },
        };
        Ok(self.0.spend(event)?)
    }

    /// Everything recorded so far.
    #[getter]
    fn events(&self) -> Vec<Event> {
        self.0.events().iter().cloned().map(Event).collect()
    }

    /// The smallest epsilon that holds with `delta` for everything recorded.
    fn epsilon(&self, py: Python<'_>, delta: f64) -> Answer<f64> {
        Ok(py.detach(|| self.0.curve()?.epsilon(delta))?)
    }

    /// The smallest delta that holds with `epsilon` for everything recorded.
    fn delta(&self, py: Python<'_>, epsilon: f64) -> Answer<f64> {
        Ok(py.detach(|| self.0.curve()?.delta(epsilon))?)
    }

    /// The guarantee of everything recorded, under "joint", "shuffle" or "local" trust.
    fn guarantee(&self, model: &Bound<'_, PyAny>, delta: f64) -> Answer<Guarantee> {
        let all = CoreEvent::Composed { events: self.0.events().to_vec() };
        Ok(CoreGuarantee::of(&all, parameter("model", model)?, delta)?.into())
    }

    fn __repr__(&self) -> String {
        format!("Accountant({} events)", self.0.events().len())
    }

    #[staticmethod]
    fn _load(state: &[u8]) -> Answer<Self> {
        let (events, []): (Vec<CoreEvent>, _) = unpack(PYTHON_ACCOUNTANT, state)?;
        let mut accountant = CoreAccountant::new();
        events.into_iter().try_for_each(|event| accountant.spend(event))?;
        Ok(Accountant(accountant))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Answer<Bound<'py, PyTuple>> {
        let accountant = slf.try_borrow().map_err(PyErr::from)?;
        let state = pack(PYTHON_ACCOUNTANT, &accountant.0.events(), &[]);
        Ok(restored(slf, "_load", (PyBytes::new(slf.py(), &state),))?)
    }
}

/// The smallest Gaussian noise that makes `compose` releases of `sensitivity` (epsilon, delta)-DP, exactly.
///
/// >>> import reticent
/// >>> round(reticent.privacy.sigma(epsilon=1.0, delta=1e-5), 6)
/// 3.730632
#[pyfunction]
#[pyo3(signature = (epsilon, delta, sensitivity = 1.0, compose = 1))]
pub(crate) fn sigma(
    epsilon: f64,
    delta: f64,
    sensitivity: f64,
    #[pyo3(from_py_with = integers::compose)] compose: u64,
) -> Answer<f64> {
    Ok(gaussian::sigma(epsilon, delta, sensitivity, compose)?)
}

/// The delta that Gaussian noise gives at an epsilon, exactly.
///
/// >>> import reticent
/// >>> round(reticent.privacy.delta(sigma=3.730631634816464, epsilon=1.0) * 1e5, 9)
/// 1.0
#[pyfunction]
#[pyo3(signature = (sigma, epsilon, sensitivity = 1.0, compose = 1))]
pub(crate) fn delta(
    sigma: f64,
    epsilon: f64,
    sensitivity: f64,
    #[pyo3(from_py_with = integers::compose)] compose: u64,
) -> Answer<f64> {
    Ok(gaussian::delta(epsilon, gaussian::mu_of(sensitivity, sigma, compose)?)?)
}

/// The epsilon that Gaussian noise gives at a delta, exactly.
///
/// >>> import reticent
/// >>> round(reticent.privacy.epsilon(sigma=4.0, delta=1e-6, compose=30), 4)
/// 7.0168
#[pyfunction]
#[pyo3(signature = (sigma, delta, sensitivity = 1.0, compose = 1))]
pub(crate) fn epsilon(
    sigma: f64,
    delta: f64,
    sensitivity: f64,
    #[pyo3(from_py_with = integers::compose)] compose: u64,
) -> Answer<f64> {
    Ok(gaussian::epsilon(delta, gaussian::mu_of(sensitivity, sigma, compose)?)?)
}

/// The epsilon of a shuffled batch of `n` reports that are `epsilon_local`-DP each.
#[pyfunction]
#[pyo3(signature = (epsilon_local, n, delta, binary = false))]
pub(crate) fn shuffle_epsilon(
    py: Python<'_>,
    epsilon_local: f64,
    #[pyo3(from_py_with = integers::n)] n: u64,
    delta: f64,
    binary: bool,
) -> Answer<f64> {
    Ok(py.detach(|| shuffle::epsilon(epsilon_local, n, delta, binary))?)
}

fn draws<'py>(
    py: Python<'py>,
    size: Option<usize>,
    mut draw: impl FnMut() -> i64 + Send,
) -> Answer<Bound<'py, PyAny>> {
    match size {
        None => Ok(draw().into_pyobject(py).map_err(PyErr::from)?.into_any()),
        Some(size) => {
            let mut values = Vec::new();
            values.try_reserve_exact(size).map_err(|_| {
                Failure::invalid("size", size, "that many do not fit in memory: draw them in parts")
            })?;
            py.detach(|| values.extend((0..size).map(|_| draw())));
            let array: Bound<'py, PyArray1<i64>> = values.to_pyarray(py);
            Ok(array.into_any())
        }
    }
}

/// Integers with `P(z) ~ exp(-z^2 / 2 sigma^2)`, exactly, from a generator with a new key from the system for every call.
///
/// >>> import reticent
/// >>> noisy_count = 1234 + reticent.privacy.discrete_gaussian(300)
/// >>> reticent.privacy.discrete_gaussian(300, size=5).dtype
/// dtype('int64')
#[pyfunction]
#[pyo3(signature = (sigma, size = None))]
pub(crate) fn discrete_gaussian<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = integers::sigma)] sigma: u64,
    #[pyo3(from_py_with = integers::size)] size: Option<usize>,
) -> Answer<Bound<'py, PyAny>> {
    let law = DiscreteGaussian::new(sigma)?;
    let mut noise = SecureNoise::from_system()?;
    draws(py, size, move || noise.discrete_gaussian(&law))
}

/// Integers with `P(z) ~ exp(-abs(z) / scale)`, exactly, `scale = numerator / denominator`; see `discrete_gaussian`.
///
/// >>> import reticent
/// >>> noisy_count = 1234 + reticent.privacy.discrete_laplace(10)
#[pyfunction]
#[pyo3(signature = (numerator, denominator = 1, size = None))]
pub(crate) fn discrete_laplace<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = integers::numerator)] numerator: u64,
    #[pyo3(from_py_with = integers::denominator)] denominator: u64,
    #[pyo3(from_py_with = integers::size)] size: Option<usize>,
) -> Answer<Bound<'py, PyAny>> {
    let law = DiscreteLaplace::new(numerator, denominator)?;
    let mut noise = SecureNoise::from_system()?;
    draws(py, size, move || noise.discrete_laplace(&law))
}
