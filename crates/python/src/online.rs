//! Online learners from gradients, and the randomisers that protect gradients.

use numpy::{PyArray1, ToPyArray};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyTuple},
};
use reticent::{
    noise::SecureNoise,
    online::{LinearModel as CoreModel, OnlineLearner as CoreLearner, OnlineParams},
    randomize::{
        Gradient, GradientReport, KNormRandomizer, L1Laplace, LocalLaplace, Randomizer as _,
        StaircaseRandomizer,
    },
};

use crate::{
    convert::restored,
    convert::{Matrix, Vector, entries, parameter, parameter_or},
    error::{Answer, Failure},
    guarantee::Guarantee,
    integers,
};

/// The randomiser on a person's device: clips a gradient and adds exact noise, under a new key from the system for every call.
///
/// >>> import reticent
/// >>> device = reticent.Randomizer.k_norm(dimension=2, epsilon=4.0, bound=1.0)
/// >>> len(device.report([0.6, -0.8]))
/// 2
/// >>> device.guarantee().epsilon <= 4.0 + 1e-6
/// True
#[pyclass(frozen, module = "reticent", name = "Randomizer")]
pub(crate) struct Randomizer(Kind);

enum Kind {
    KNorm(KNormRandomizer),
    Laplace(LocalLaplace),
    L1(L1Laplace),
    Staircase(StaircaseRandomizer),
}

/// Calls the same method of each kind of randomiser.
macro_rules! each {
    ($kind:expr, $one:ident => $call:expr) => {
        match $kind {
            Kind::KNorm($one) => $call,
            Kind::Laplace($one) => $call,
            Kind::L1($one) => $call,
            Kind::Staircase($one) => $call,
        }
    };
}

impl Randomizer {
    fn report_of(
        &self,
        gradient: Gradient<'_>,
        noise: &mut SecureNoise,
    ) -> reticent::Result<GradientReport> {
        each!(&self.0, one => one.report(gradient, noise))
    }
}

#[pymethods]
impl Randomizer {
    /// For gradients clipped to Euclidean norm `bound`; epsilon-DP.
    #[staticmethod]
    fn k_norm(
        #[pyo3(from_py_with = integers::dimension)] dimension: usize,
        epsilon: f64,
        bound: f64,
    ) -> Answer<Self> {
        Ok(Randomizer(Kind::KNorm(KNormRandomizer::new(dimension, epsilon, bound)?)))
    }

    /// Laplace noise with a level for every attribute: 0 sends nothing, infinity sends the attribute without noise.
    #[staticmethod]
    fn laplace(levels: Vector<'_>, bound: f64) -> Answer<Self> {
        Ok(Randomizer(Kind::Laplace(LocalLaplace::new(&entries(&levels), bound)?)))
    }

    /// For gradients clipped to l1 norm `bound`: few large entries.
    #[staticmethod]
    fn l1(
        #[pyo3(from_py_with = integers::dimension)] dimension: usize,
        epsilon: f64,
        bound: f64,
    ) -> Answer<Self> {
        Ok(Randomizer(Kind::L1(L1Laplace::new(dimension, epsilon, bound)?)))
    }

    /// Staircase noise with a level for every attribute, for levels above 2.
    #[staticmethod]
    fn staircase(levels: Vector<'_>, bound: f64) -> Answer<Self> {
        Ok(Randomizer(Kind::Staircase(StaircaseRandomizer::new(&entries(&levels), bound)?)))
    }

    /// The clipped gradient plus noise, to be sent to the server.
    fn report<'py>(
        &self,
        py: Python<'py>,
        gradient: Vector<'_>,
    ) -> Answer<Bound<'py, PyArray1<f64>>> {
        let gradient = entries(&gradient);
        let report =
            self.report_of(Gradient::from(&*gradient), &mut SecureNoise::from_system()?)?;
        let mut dense = vec![0.0; gradient.len()];
        Gradient::from(&report).entries().for_each(|(index, value)| dense[index] = value);
        Ok(dense.to_pyarray(py))
    }

    /// The guarantee of a person who sends at most this many reports.
    #[pyo3(signature = (delta = 1e-9, reports = 1))]
    fn guarantee(
        &self,
        delta: f64,
        #[pyo3(from_py_with = integers::reports)] reports: u64,
    ) -> Answer<Guarantee> {
        Ok(each!(&self.0, one => one.guarantee_of_person(reports, delta))?.into())
    }
}

/// A learner without tuning parameters from gradients of unknown noise: each person may protect theirs at their own level.
///
/// >>> import numpy, reticent
/// >>> learner = reticent.OnlineLearner(dimension=2, gradient_bound=1.0)
/// >>> for _ in range(200):
/// ...     w = learner.weights
/// ...     learner.absorb([numpy.sign(w[0] - 3.0), 0.0])       # a subgradient of |w_0 - 3|
/// >>> bool(abs(learner.weights[0] - 3.0) < 1.0)
/// True
#[pyclass(module = "reticent", name = "OnlineLearner")]
pub(crate) struct OnlineLearner(CoreLearner);

fn params(
    dimension: usize,
    gradient_bound: f64,
    method: Option<&Bound<'_, PyAny>>,
) -> Answer<OnlineParams> {
    let defaults = OnlineParams::new(dimension, gradient_bound);
    Ok(OnlineParams { method: parameter_or("method", method, defaults.method)?, ..defaults })
}

#[pymethods]
impl OnlineLearner {
    #[new]
    #[pyo3(signature = (dimension, gradient_bound, method = None))]
    fn new(
        #[pyo3(from_py_with = integers::dimension)] dimension: usize,
        gradient_bound: f64,
        method: Option<&Bound<'_, PyAny>>,
    ) -> Answer<Self> {
        Ok(OnlineLearner(params(dimension, gradient_bound, method)?.check()?.start()))
    }

    /// The point the next gradient is to be taken at.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.weights().to_pyarray(py)
    }

    /// `<weights, features>`.
    fn score(&self, features: Vector<'_>) -> Answer<f64> {
        Ok(self.0.score(&*entries(&features))?)
    }

    /// Absorbs a gradient, with or without noise.
    fn absorb(&mut self, gradient: Vector<'_>) -> Answer<()> {
        let _ = self.0.absorb(&*entries(&gradient))?;
        Ok(())
    }

    /// Absorbs one gradient per row, all computed at earlier weights. Other threads run meanwhile.
    fn absorb_many(&mut self, py: Python<'_>, gradients: Matrix<'_>) -> Answer<()> {
        let (learner, view) = (&mut self.0, gradients.as_array());
        py.detach(|| {
            for (index, row) in view.rows().into_iter().enumerate() {
                let _ = learner.absorb(&row.to_vec()).map_err(|error| (index, error))?;
            }
            Ok(())
        })
        .map_err(|(index, error)| Failure::at(index, error))
    }

    /// A round in which a person sends nothing: it is counted, and nothing is learnt.
    fn skip(&mut self) {
        let _ = self.0.skip();
    }

    /// Rounds so far.
    #[getter]
    fn rounds(&self) -> u64 {
        self.0.rounds()
    }

    /// The round in which the gradients were found to contradict their bound, or `None`.
    #[getter]
    fn bound_broken(&self) -> Option<u64> {
        self.0.bound_broken().map(|broken| broken.round)
    }

    /// The numeric regret bound against `competitor` at the gradients seen so far; `None` for the baselines.
    fn regret_bound(&self, competitor: Vector<'_>) -> Answer<Option<f64>> {
        Ok(self.0.regret_bound(&entries(&competitor))?)
    }

    /// The whole state. It contains no generator of noise: people draw their own.
    fn save<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.save())
    }

    /// Goes on bit for bit from saved bytes.
    #[staticmethod]
    fn load(state: &[u8]) -> Answer<Self> {
        Ok(OnlineLearner(CoreLearner::load(state)?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let state = slf.try_borrow().map_err(PyErr::from)?.save(py);
        restored(slf, "load", (state,))
    }
}

/// A linear model that learns in one pass, in the manner of scikit-learn; people may protect their gradients.
///
/// >>> import numpy, reticent
/// >>> X = numpy.random.default_rng(0).standard_normal((500, 3)) / 3
/// >>> y = numpy.sign(X[:, 0])
/// >>> model = reticent.LinearModel(dimension=3, gradient_bound=1.0, loss="logistic")
/// >>> model.partial_fit(X, y)
/// >>> bool((numpy.sign(model.decision_function(X)) == y).mean() > 0.9)
/// True
/// >>> model.partial_fit(X, y, reticent.Randomizer.k_norm(3, epsilon=2.0, bound=1.0))   # every person protected
#[pyclass(module = "reticent", name = "LinearModel")]
pub(crate) struct LinearModel(CoreModel);

#[pymethods]
impl LinearModel {
    #[new]
    #[pyo3(signature = (dimension, gradient_bound, loss, method = None))]
    fn new(
        #[pyo3(from_py_with = integers::dimension)] dimension: usize,
        gradient_bound: f64,
        loss: &Bound<'_, PyAny>,
        method: Option<&Bound<'_, PyAny>>,
    ) -> Answer<Self> {
        let learner = params(dimension, gradient_bound, method)?.check()?.start();
        Ok(LinearModel(CoreModel::new(learner, parameter("loss", loss)?)))
    }

    /// `X @ weights`. Other threads run meanwhile.
    #[pyo3(signature = (X))]
    #[allow(non_snake_case, reason = "as in scikit-learn")]
    fn decision_function<'py>(
        &self,
        py: Python<'py>,
        X: Matrix<'_>,
    ) -> Answer<Bound<'py, PyArray1<f64>>> {
        let (model, view) = (&self.0, X.as_array());
        let scores: reticent::Result<Vec<f64>> =
            py.detach(|| view.rows().into_iter().map(|row| model.score(&row.to_vec())).collect());
        Ok(scores?.to_pyarray(py))
    }

    /// One pass over examples, in their order; with a randomiser every gradient is protected before it is learnt from. Other
    /// threads run meanwhile.
    #[pyo3(signature = (X, y, randomizer = None))]
    #[allow(non_snake_case, reason = "as in scikit-learn")]
    fn partial_fit(
        &mut self,
        py: Python<'_>,
        X: Matrix<'_>,
        y: Vector<'_>,
        randomizer: Option<&Bound<'_, Randomizer>>,
    ) -> Answer<()> {
        let (features, labels) = (X.as_array(), entries(&y));
        if features.nrows() != labels.len() {
            let (expected, found) = (features.nrows(), labels.len());
            return Err(reticent::Error::Dimension { field: "y", expected, found }.into());
        }
        let (model, randomizer) = (&mut self.0, randomizer.map(Bound::get));
        let mut noise = SecureNoise::from_system()?;
        py.detach(|| {
            for (index, (row, label)) in features.rows().into_iter().zip(labels.iter()).enumerate()
            {
                let row = row.to_vec();
                let learnt = match randomizer {
                    None => model.observe(&row, *label).map(drop),
                    Some(randomizer) => model.gradient(&row, *label).and_then(|(gradient, _)| {
                        let report = randomizer.report_of(Gradient::from(&gradient), &mut noise)?;
                        model.absorb(&report).map(drop)
                    }),
                };
                learnt.map_err(|error| (index, error))?;
            }
            Ok(())
        })
        .map_err(|(index, error)| Failure::at(index, error))
    }

    /// The computation on a person's device: the gradient of their loss at the public model, clipped.
    fn gradient<'py>(
        &self,
        py: Python<'py>,
        features: Vector<'_>,
        label: f64,
    ) -> Answer<Bound<'py, PyArray1<f64>>> {
        let features = entries(&features);
        let (gradient, _) = self.0.gradient(&*features, label)?;
        let mut dense = vec![0.0; features.len()];
        gradient.iter().for_each(|(index, value)| dense[*index] = *value);
        Ok(dense.to_pyarray(py))
    }

    /// The server's part: absorbs a gradient that a device has protected.
    fn absorb(&mut self, report: Vector<'_>) -> Answer<()> {
        self.0.absorb(&GradientReport::Dense(entries(&report).into_owned()))?;
        Ok(())
    }

    /// The coefficients.
    #[getter]
    fn coef_<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.learner().weights().to_pyarray(py)
    }

    /// The whole state.
    fn save<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.save())
    }

    /// Goes on bit for bit from saved bytes.
    #[staticmethod]
    fn load(state: &[u8]) -> Answer<Self> {
        Ok(LinearModel(CoreModel::load(state)?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let state = slf.try_borrow().map_err(PyErr::from)?.save(py);
        restored(slf, "load", (state,))
    }
}
