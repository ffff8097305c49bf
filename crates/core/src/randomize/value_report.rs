//! A single number that has left a person's device.

use serde::{Deserialize, Serialize};

/// A number as a person's device sent it: what [`ValueGaussian`](super::ValueGaussian) and [`ValueLaplace`](super::ValueLaplace) make, in the
/// units of the data. Raw data cannot be handed to a learner as a report by mistake: only a randomiser or a message read back makes one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ValueReport(f64);

impl ValueReport {
    pub(crate) fn new(value: f64) -> Self {
        ValueReport(value)
    }

    /// The number: an unbiased estimate of the clipped value, up to the grid's rounding.
    pub fn value(self) -> f64 {
        self.0
    }
}
