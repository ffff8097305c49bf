//! The messages between people, shuffler and server: models, reports, batches.

use numpy::{PyArray1, ToPyArray};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyTuple},
};
use reticent::{
    bandit::{Absorbed, Batch as CoreBatch, Model as CoreModel},
    randomize::Report as CoreReport,
    wire::from_json,
};

use crate::{
    arms::with_arms,
    convert::{message, read_message},
    error::Answer,
};

/// Model that a server publishes: the way to choose. `bytes(model)` travels, `Model(bytes)` reads it.
#[pyclass(frozen, eq, module = "reticent", name = "Model")]
#[derive(PartialEq)]
pub(crate) struct Model(pub(crate) CoreModel);

#[pymethods]
impl Model {
    #[new]
    fn new(message: &[u8]) -> Answer<Self> {
        Ok(Model(from_json(message)?))
    }

    /// Number of the model in the server's sequence, from 0.
    #[getter]
    fn sequence(&self) -> u64 {
        self.0.sequence()
    }

    /// Number of reports it was made from.
    #[getter]
    fn reports(&self) -> u64 {
        self.0.reports()
    }

    /// The probability with which a person with these arms plays each of them: exact under `rule="thompson"`. For the person's own use, because
    /// it follows from their arms.
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        arms: &Bound<'py, PyAny>,
    ) -> Answer<Bound<'py, PyArray1<f64>>> {
        let probabilities = with_arms(arms, &mut None, |arms| self.0.probabilities(arms))?;
        Ok(probabilities.to_pyarray(py))
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        message(py, &self.0)
    }

    fn __repr__(&self) -> String {
        format!("Model(sequence={}, reports={})", self.0.sequence(), self.0.reports())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        (slf.get_type(), (slf.get().__bytes__(py),)).into_pyobject(py)
    }
}

/// Report of a person: randomised numbers. `bytes(report)` travels, `Report(bytes)` reads it.
#[pyclass(frozen, eq, module = "reticent", name = "Report")]
#[derive(PartialEq)]
pub(crate) struct Report(pub(crate) CoreReport);

#[pymethods]
impl Report {
    #[new]
    fn new(message: &[u8]) -> Answer<Self> {
        Ok(Report(from_json(message)?))
    }

    /// Values that the randomiser made.
    #[getter]
    fn values(&self) -> Vec<f64> {
        self.0.values().to_vec()
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        message(py, &self.0)
    }

    fn __repr__(&self) -> String {
        format!("Report({} randomised numbers)", self.0.values().len())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        (slf.get_type(), (slf.get().__bytes__(py),)).into_pyobject(py)
    }
}

/// A batch from the shuffler. Send `bytes(batch)`; `Batch(bytes)` decodes it.
#[pyclass(frozen, eq, module = "reticent", name = "Batch")]
#[derive(PartialEq)]
pub(crate) struct Batch(pub(crate) CoreBatch);

#[pymethods]
impl Batch {
    #[new]
    fn new(message: &[u8]) -> Answer<Self> {
        Ok(Batch(from_json(message)?))
    }

    /// The number of reports in it.
    #[getter]
    fn people(&self) -> u64 {
        self.0.people()
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        message(py, &self.0)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        (slf.get_type(), (slf.get().__bytes__(py),)).into_pyobject(py)
    }
}

/// A model or its bytes.
pub(crate) fn model<'a>(
    value: &'a Bound<'_, PyAny>,
    read: &'a mut Option<CoreModel>,
) -> Answer<&'a CoreModel> {
    match value.cast::<Model>() {
        Ok(model) => Ok(&model.get().0),
        Err(_) => Ok(read.insert(read_message(value)?)),
    }
}

/// Calls `with` on a report or its bytes.
pub(crate) fn with_report<T>(
    value: &Bound<'_, PyAny>,
    with: impl FnOnce(&CoreReport) -> Answer<T>,
) -> Answer<T> {
    match value.cast::<Report>() {
        Ok(report) => with(&report.get().0),
        Err(_) => with(&read_message(value)?),
    }
}

/// Outcome of a report or a batch, in a word.
pub(crate) fn word(absorbed: Absorbed) -> String {
    match absorbed {
        Absorbed::Counted => "counted",
        Absorbed::Duplicate => "duplicate",
        Absorbed::TooLate => "late",
        Absorbed::Unneeded => "unneeded",
    }
    .into()
}
