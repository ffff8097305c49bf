//! The one error type of the core, and the one form of the messages of all crates: `field: got value; expected ...; do ...`.
//!
//! [`message`] writes the form. The remedy has an `expected ...`, an instruction or both, and may begin with the reason. A thing that is not
//! there reads `field: missing; remedy`, and a place, such as a file and a line, stands before the field with commas: `a.toml, line 3,
//! rounds: got 0; expected a whole number above 0`.

use std::fmt::Display;

use thiserror::Error;

use crate::special::decimal;

/// Shorthand for a result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that can go wrong in the core. No variant leaves changed state behind.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter or an input has a value that no guarantee can be built on.
    #[error("{}", message(field, value, remedy))]
    Invalid {
        /// The parameter or input, as the caller names it.
        field: &'static str,
        /// The offending value, printed.
        value: String,
        /// Values that would be accepted instead.
        remedy: String,
    },
    /// A vector has another length than the one agreed on.
    #[error("{}", message(field, format_args!("{found} entries"), format_args!("expected {expected}")))]
    Dimension {
        /// The input, as the caller names it.
        field: &'static str,
        /// The length agreed on when the object was built.
        expected: usize,
        /// The length of the vector given.
        found: usize,
    },
    /// A stream was asked to continue past the horizon its noise was calibrated for.
    #[error("{}", message("round", round, format_args!(
        "expected at most the horizon of {horizon} rounds; build the stream with a larger horizon, or with an unknown one"
    )))]
    HorizonExceeded {
        /// The round that was asked for, counted from 1.
        round: u64,
        /// The horizon fixed at construction.
        horizon: u64,
    },
    /// The accountant does not know this event or combination, and does not guess.
    #[error("{}", message("event", event, format_args!("the accountant cannot bound it; {remedy}")))]
    Unsupported {
        /// The event, described.
        event: String,
        /// Event that can be accounted for instead.
        remedy: String,
    },
    /// Saved bytes are damaged, truncated, or not ours.
    #[error("{}", message("saved state", format_args!("{size} bytes ({reason})"), remedy))]
    CorruptState {
        /// Number of bytes that were given.
        size: usize,
        /// Description of the fault.
        reason: String,
        /// Remedy.
        remedy: String,
    },
    /// A saved state is older than what has already been released from it.
    #[error("{}", message("saved state", format_args!("{saved} {what}"), format_args!(
        "expected {released}, which have been made already; restore the newest state, start anew with a new budget, or go on from this one with a charge for the replay, where the learner offers that"
    )))]
    StaleState {
        /// Unit of the count: releases, batches, answers or decisions.
        what: &'static str,
        /// Number that had been made when the state was saved.
        saved: u64,
        /// Number made in all.
        released: u64,
    },
    /// The operating system gave no entropy.
    #[error("{}", message("entropy of the operating system", "missing", format_args!(
        "without it no noise is drawn ({reason}); repair the system's random source"
    )))]
    Entropy {
        /// The error message of the operating system.
        reason: String,
    },
}

/// Text of an error in the one form of all crates: `field: got value; remedy`, and `field: missing; remedy` where the value is `missing`.
///
/// ```
/// use reticent::error::message;
/// assert_eq!(message("batch", 1, "expected at least 2"), "batch: got 1; expected at least 2");
/// assert_eq!(message("shuffler", "missing", "add its address"), "shuffler: missing; add its address");
/// ```
pub fn message(field: impl Display, value: impl Display, remedy: impl Display) -> String {
    written(&field, &value, &remedy)
}

/// The part that is compiled once, and not for every type of field, value and remedy.
fn written(field: &dyn Display, value: &dyn Display, remedy: &dyn Display) -> String {
    let value = value.to_string();
    match value.as_str() {
        "missing" => format!("{field}: missing; {remedy}"),
        _ => format!("{field}: got {value}; {remedy}"),
    }
}

impl Error {
    /// An [`Error::Invalid`] with its value printed.
    pub fn invalid(field: &'static str, value: impl Display, remedy: impl Into<String>) -> Self {
        Error::shown(field, &value, remedy.into())
    }

    /// The part that is compiled once, and not for every type of value.
    fn shown(field: &'static str, value: &dyn Display, remedy: String) -> Self {
        let mut text = value.to_string();
        // `{}` prints a tiny or huge float with up to three hundred zeros, so those are printed in scientific notation.
        if text.len() > 25
            && let Some(number) = decimal::number(&text)
        {
            text = format!("{number:e}");
        }
        Error::Invalid { field, value: text, remedy }
    }
}

/// An [`Error::Invalid`] where `refused` holds; value and remedy are printed only then.
pub fn refuse_if(
    refused: bool,
    field: &'static str,
    value: impl Display,
    remedy: impl Display,
) -> Result<()> {
    if refused { Err(refusal(field, &value, &remedy)) } else { Ok(()) }
}

#[cold]
fn refusal(field: &'static str, value: &dyn Display, remedy: &dyn Display) -> Error {
    Error::shown(field, value, remedy.to_string())
}

/// `value` if it is finite and above zero.
pub fn positive(field: &'static str, value: f64) -> Result<f64> {
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err(Error::invalid(field, value, "expected a finite number above 0"))
    }
}

/// `value` if it is finite and not below zero.
pub fn not_negative(field: &'static str, value: f64) -> Result<f64> {
    if value.is_finite() && value >= 0.0 {
        Ok(value)
    } else {
        Err(Error::invalid(field, value, "expected a finite number, 0 or above"))
    }
}

/// `value` if it lies strictly between 0 and 1.
pub fn probability(field: &'static str, value: f64) -> Result<f64> {
    if value > 0.0 && value < 1.0 {
        Ok(value)
    } else {
        Err(Error::invalid(field, value, "expected a number strictly between 0 and 1"))
    }
}

/// `value` if noise can be calibrated to it. Above 1e6 the noise is so small that bounds and noise no longer share a grid of 64-bit
/// integers, and below 1e-12 the reverse; beyond either, a calibration would fail later and name another field.
pub(crate) fn requested_epsilon(value: f64) -> Result<f64> {
    positive("epsilon", value)?;
    if value > 1e6 {
        let remedy = "expected a number up to 1e6, and better one of 10 or less: a larger one does not protect people; for a learner without privacy use one that is not private, such as LinUCB";
        return Err(Error::invalid("epsilon", value, remedy));
    }
    let remedy = "expected a number of 1e-12 or more: less than that leaves nothing to learn from";
    refuse_if(value < 1e-12, "epsilon", value, remedy)?;
    Ok(value)
}

/// `value` if it is accepted as a requested delta. Above 0.1 a mechanism may publish the data of one person in ten, which is no privacy;
/// below 1e-290 shares of delta are no longer normal doubles. The constants of a publication are not checked here: they are priced at the
/// delta that the publication claims.
pub(crate) fn requested_delta(value: f64) -> Result<f64> {
    if value > 0.0 && value < 1e-290 {
        let remedy = "expected 1e-290 or more, such as 1e-9: less than that is rounded to nothing";
        Err(Error::invalid("delta", value, remedy))
    } else if value > 0.0 && value <= 0.1 {
        Ok(value)
    } else {
        let remedy = "expected a number above 0, at most 0.1 and better below 1e-3: a mechanism with this delta may publish that share of people outright";
        Err(Error::invalid("delta", value, remedy))
    }
}

/// Checks that a slice has `expected` finite entries.
pub fn finite_vector(field: &'static str, vector: &[f64], expected: usize) -> Result<()> {
    if vector.len() != expected {
        return Err(Error::Dimension { field, expected, found: vector.len() });
    }
    match vector.iter().position(|entry| !entry.is_finite()) {
        None => Ok(()),
        Some(index) => Err(Error::invalid(
            field,
            format!("{} at index {index}", vector[index]),
            "expected finite numbers only",
        )),
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        bandit::{Aggregation, JointParams, LocalParams, ShuffleParams},
        randomize::{Bounds, FeatureRewardParams},
    };

    /// The error names the epsilon or delta that is out of range, not a bound that is valid.
    #[test]
    fn an_epsilon_or_delta_that_no_noise_fits_is_named() {
        let refusals = |epsilon: f64, delta: f64| {
            let joint = JointParams::new(Bounds::unit(3), epsilon, delta, Some(100));
            let shuffle = ShuffleParams::new(Bounds::unit(3), epsilon, delta, 20, Aggregation::Sum);
            [
                joint.check().map(drop),
                LocalParams::new(Bounds::unit(3), epsilon, delta).check().map(drop),
                shuffle.check().map(drop),
                FeatureRewardParams::new(Bounds::unit(3), epsilon, delta).check().map(drop),
            ]
        };
        for epsilon in [1e300, 1e30, 2e6, 1e-13, 1e-320, f64::NAN, f64::INFINITY, 0.0] {
            for refusal in refusals(epsilon, 1e-6) {
                let words = refusal.unwrap_err().to_string();
                assert!(words.starts_with("epsilon: got "), "{words}");
            }
        }
        for delta in [1e-320, 1e-291, 0.5] {
            for refusal in refusals(1.0, delta) {
                let words = refusal.unwrap_err().to_string();
                assert!(words.starts_with("delta: got "), "{words}");
            }
        }
        // Noise can be calibrated to the smallest and the largest value accepted.
        for (epsilon, delta) in [(1e6, 1e-6), (1e-12, 1e-6), (1.0, 1e-290)] {
            let joint = JointParams::new(Bounds::unit(3), epsilon, delta, Some(100)).check();
            assert!(joint.is_ok(), "({epsilon}, {delta}): {:?}", joint.err());
        }
    }
}
