//! Exceptions, with the messages of the core and the laboratory: field, value, remedy.

use pyo3::{create_exception, exceptions::PyValueError, prelude::*};

create_exception!(
    reticent,
    ReticentError,
    PyValueError,
    "Something was refused: the message is `field: got value; expected ...; do ...`. Nothing has changed."
);

create_exception!(
    reticent,
    HorizonExceeded,
    ReticentError,
    "The horizon that the noise was calibrated for has been reached: nothing is learnt any more, and decisions use the frozen model."
);

create_exception!(
    reticent,
    StaleState,
    ReticentError,
    "A saved state is older than the last release made from it: restore the newest state, or load it with a charge for the replay."
);

/// The result of a function of this crate.
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
    pub(crate) fn entry(self, index: usize) -> Self {
        let done = "; entries before it are done, it and those after it are not";
        Python::attach(|py| {
            let text = format!("entry {index}, {}{done}", self.0.value(py));
            Failure(PyErr::from_type(self.0.get_type(py), text))
        })
    }

    /// The core's error about one entry of many.
    pub(crate) fn at(index: usize, error: reticent::Error) -> Self {
        Failure::from(error).entry(index)
    }
}

impl From<reticent::Error> for Failure {
    fn from(error: reticent::Error) -> Self {
        let text = error.to_string();
        Failure(match error {
            reticent::Error::HorizonExceeded { .. } => HorizonExceeded::new_err(text),
            reticent::Error::StaleState { .. } => StaleState::new_err(text),
            _ => ReticentError::new_err(text),
        })
    }
}

impl From<reticent_durable::Error> for Failure {
    fn from(error: reticent_durable::Error) -> Self {
        match error {
            reticent_durable::Error::Learner(error) => error.into(),
            other => Failure(ReticentError::new_err(other.to_string())),
        }
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
