//! numpy arrays as slices, and Python values as the core's parameters.

use numpy::{AllowTypeChange, PyArrayLike1, PyArrayLike2, PyArrayLike3};
use pyo3::{
    prelude::*,
    types::{PyBool, PyBytes, PyTuple},
};
use reticent::{
    randomize::Intercept,
    wire::{Message, from_json, to_json},
};
use serde::{Serialize, de::DeserializeOwned};

use crate::error::{Answer, Failure};

/// A vector; an array of doubles is read without a copy.
pub(crate) type Vector<'py> = PyArrayLike1<'py, f64, AllowTypeChange>;
/// Rows; an array of doubles is read without a copy, whatever its strides.
pub(crate) type Matrix<'py> = PyArrayLike2<'py, f64, AllowTypeChange>;
/// Many sets of rows.
pub(crate) type Sets<'py> = PyArrayLike3<'py, f64, AllowTypeChange>;

/// The entries of a vector, copied only if they are not contiguous.
pub(crate) fn entries<'a>(vector: &'a Vector<'_>) -> std::borrow::Cow<'a, [f64]> {
    match vector.as_slice() {
        Ok(slice) => slice.into(),
        Err(_) => vector.as_array().to_vec().into(),
    }
}

/// Rows as vectors, for parameters that are read once.
pub(crate) fn rows(matrix: &Matrix<'_>) -> Vec<Vec<f64>> {
    matrix.as_array().rows().into_iter().map(|row| row.to_vec()).collect()
}

/// A string, a dictionary or a list as one of the core's parameters, in the form of an experiment file.
pub(crate) fn parameter<T: DeserializeOwned>(
    field: &'static str,
    value: &Bound<'_, PyAny>,
) -> Answer<T> {
    let json = value.py().import("json")?;
    let text: String = match json.call_method1("dumps", (value,)) {
        Ok(text) => text.extract()?,
        Err(error) => {
            let remedy = "expected strings, numbers, lists and dictionaries";
            return Err(Failure::invalid(field, error, remedy));
        }
    };
    // From a value and not from its text, whose lines and columns no person wrote.
    let value: serde_json::Value = serde_json::from_str(&text)
        .map_err(|_| Failure::invalid(field, &text, "expected finite numbers"))?;
    T::deserialize(value).map_err(|error| {
        let remedy = match error.to_string() {
            // A table where the choice is a bare word.
            reason if reason.contains("expected unit") => {
                "it has no parameters: give its name alone".into()
            }
            // A bare word where the choice is a table.
            reason => match reason.split_once(" alone; ") {
                Some((_, remedy)) => remedy.to_string(),
                None => reason,
            },
        };
        Failure::invalid(field, text, remedy)
    })
}

/// As [`parameter`], with a default for `None`.
pub(crate) fn parameter_or<T: DeserializeOwned>(
    field: &'static str,
    value: Option<&Bound<'_, PyAny>>,
    default: T,
) -> Answer<T> {
    value.map_or(Ok(default), |value| parameter(field, value))
}

/// The last feature that all arms share, as files write it: a number, or `False` for none.
pub(crate) fn intercept(value: Option<&Bound<'_, PyAny>>) -> Answer<Option<f64>> {
    match value {
        None => Ok(None),
        // Numbers of numpy are no JSON.
        Some(value) if !value.is_instance_of::<PyBool>() && value.extract::<f64>().is_ok() => {
            Ok(Some(value.extract()?))
        }
        Some(value) => Ok(parameter::<Intercept>("intercept", value)?.0),
    }
}

/// Plain data as Python dictionaries and lists.
pub(crate) fn plain<'py>(py: Python<'py>, value: &impl Serialize) -> Answer<Bound<'py, PyAny>> {
    Ok(py.import("json")?.call_method1("loads", (text(value),))?)
}

/// Plain data as JSON.
pub(crate) fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data serialises")
}

/// The result of `__reduce__`: unpickling calls `method` of the object's class with these arguments.
pub(crate) fn restored<'py, T: pyo3::PyClass>(
    object: &Bound<'py, T>,
    method: &str,
    arguments: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = object.py();
    let restore = py.import("reticent._pickle")?.getattr("restore")?;
    (restore, (object.as_any().get_type(), method, arguments)).into_pyobject(py)
}

/// A message as bytes.
pub(crate) fn message<'py>(py: Python<'py>, message: &impl Message) -> Bound<'py, PyBytes> {
    PyBytes::new(py, to_json(message).as_bytes())
}

/// A received message, given as bytes.
pub(crate) fn read_message<M: Message + DeserializeOwned>(value: &Bound<'_, PyAny>) -> Answer<M> {
    match value.cast::<PyBytes>() {
        Ok(bytes) => Ok(from_json(bytes.as_bytes())?),
        Err(_) => {
            let remedy = "expected the message or its bytes";
            Err(Failure::invalid(M::KIND.name(), value.get_type(), remedy))
        }
    }
}
