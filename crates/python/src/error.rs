//! One exception, with the words of the core and the laboratory: field, value, remedy.

use pyo3::{create_exception, exceptions::PyValueError, prelude::*};

create_exception!(
    reticent,
    ReticentError,
    PyValueError,
    "Something was refused: the message names the field, its value and what to give instead. Nothing has changed."
);

/// What a function of this crate may fail with.
pub(crate) type Answer<T> = Result<T, Failure>;

/// An error on its way to Python.
#[derive(Debug)]
pub(crate) struct Failure(PyErr);

impl Failure {
    /// The core's error about a field.
    pub(crate) fn invalid(
        field: &'static str,
        value: impl std::fmt::Display,
        remedy: impl Into<String>,
    ) -> Self {
        reticent::Error::invalid(field, value, remedy).into()
    }

    /// The same error about one entry of many.
    pub(crate) fn at(index: usize, error: reticent::Error) -> Self {
        let done = "; entries before it are done, it and those after it are not";
        Failure(ReticentError::new_err(format!("entry {index}: {error}{done}")))
    }
}

impl From<reticent::Error> for Failure {
    fn from(error: reticent::Error) -> Self {
        Failure(ReticentError::new_err(error.to_string()))
    }
}

impl From<reticent_lab::Error> for Failure {
    fn from(error: reticent_lab::Error) -> Self {
        Failure(ReticentError::new_err(error.to_string()))
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Failure(error)
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        failure.0
    }
}
