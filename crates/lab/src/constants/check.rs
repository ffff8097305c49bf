//! Numbers that the formulas of publications have a meaning for.

use reticent::{Error, Result};

/// `value` if it is finite and above zero.
pub(crate) fn positive(field: &'static str, value: f64) -> Result<f64> {
    if value.is_finite() && value > 0.0 {
        return Ok(value);
    }
    Err(Error::invalid(field, value, "give a finite number above 0"))
}

/// `value` if it is finite and not below zero.
pub(crate) fn not_negative(field: &'static str, value: f64) -> Result<f64> {
    if value.is_finite() && value >= 0.0 {
        return Ok(value);
    }
    Err(Error::invalid(field, value, "give a finite number, 0 or above"))
}

/// `value` if it lies strictly between 0 and 1.
pub(crate) fn probability(field: &'static str, value: f64) -> Result<f64> {
    if value > 0.0 && value < 1.0 {
        return Ok(value);
    }
    Err(Error::invalid(field, value, "give a number strictly between 0 and 1"))
}
