//! Whole numbers from Python: one that is negative or too large is a `ReticentError`, a `ValueError`, which names field, value and remedy.
//!
//! PyO3 would raise an `OverflowError` that does not say of which argument. `#[pyo3(from_py_with = integers::dimension)] dimension: usize` reads an
//! argument under its name; the names are listed once, below.

use pyo3::{
    exceptions::{PyOverflowError, PyTypeError},
    prelude::*,
};

use crate::error::{Answer, Failure};
use reticent::error::message;

/// A type that a whole number of Python becomes.
pub(crate) trait WholeNumber: Sized {
    fn read(field: &'static str, value: &Bound<'_, PyAny>) -> Answer<Self>;
}

impl WholeNumber for u64 {
    fn read(field: &'static str, value: &Bound<'_, PyAny>) -> Answer<Self> {
        value.extract().map_err(|error: PyErr| {
            if error.is_instance_of::<PyOverflowError>(value.py()) {
                let remedy = format!("expected a whole number from 0 to {}", u64::MAX);
                Failure::invalid(field, value, remedy)
            } else {
                let text = message(field, value, "expected a whole number");
                PyTypeError::new_err(text).into()
            }
        })
    }
}

impl WholeNumber for usize {
    fn read(field: &'static str, value: &Bound<'_, PyAny>) -> Answer<Self> {
        let number = u64::read(field, value)?;
        usize::try_from(number).map_err(|_| {
            Failure::invalid(
                field,
                number,
                format!("expected a whole number from 0 to {}", usize::MAX),
            )
        })
    }
}

impl<T: WholeNumber> WholeNumber for Option<T> {
    fn read(field: &'static str, value: &Bound<'_, PyAny>) -> Answer<Self> {
        if value.is_none() { Ok(None) } else { T::read(field, value).map(Some) }
    }
}

/// Two numbers under one name.
impl<T: WholeNumber> WholeNumber for (T, T) {
    fn read(field: &'static str, value: &Bound<'_, PyAny>) -> Answer<Self> {
        let (first, second): (Bound<'_, PyAny>, Bound<'_, PyAny>) = value
            .extract()
            .map_err(|_| Failure::invalid(field, value, "expected two whole numbers"))?;
        Ok((T::read(field, &first)?, T::read(field, &second)?))
    }
}

/// A function for each name, which reads an argument of that name.
macro_rules! names {
    ($($name:ident)+) => {
        $(pub(crate) fn $name<T: WholeNumber>(value: &Bound<'_, PyAny>) -> PyResult<T> {
            Ok(T::read(stringify!($name), value)?)
        })+
    };
}

names! {
    agent answers_given arm arms base batch batches_made block blocks categories charged_before compose contributions_per_person decisions
    decisions_made denominator dimension exploration honest horizon index late_models level most_reports n now number numerator ones people randomness releases_made reports
    responses restart_every rounds seed sensitivity shard shared shortest_period sigma size ticket time times trial
}
