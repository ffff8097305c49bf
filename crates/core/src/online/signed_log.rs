//! A number kept as its sign and the logarithm of its size.
//!
//! Predictions of the potential grow like `exp(L^2 / 4B)` and may exceed the largest double: gradients of -1 in every round give `e^{0.16
//! t}`. They are kept as `(sign, ln|w|)` and are converted to a double, saturated, only when they are used.

use serde::{Deserialize, Serialize};

/// The size at which a prediction saturates when it becomes a double: larger than any useful prediction, and small enough that sums and
/// products of many such numbers with data do not overflow.
pub const LARGEST_PREDICTION: f64 = 1e200;

/// `sign * exp(ln)`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SignedLog {
    negative: bool,
    ln: f64,
}

impl SignedLog {
    /// Zero.
    pub const ZERO: SignedLog = SignedLog { negative: false, ln: f64::NEG_INFINITY };

    /// The number of this sign whose size has this logarithm.
    pub fn new(negative: bool, ln: f64) -> Self {
        SignedLog { negative, ln }
    }

    /// `ln|w|`; minus infinity for zero.
    pub fn ln(&self) -> f64 {
        self.ln
    }

    /// 1, -1, or 0 for zero.
    pub fn sign(&self) -> f64 {
        match (self.ln == f64::NEG_INFINITY, self.negative) {
            (true, _) => 0.0,
            (false, false) => 1.0,
            (false, true) => -1.0,
        }
    }

    /// The number itself, saturated at [`LARGEST_PREDICTION`].
    pub fn value(&self) -> f64 {
        let size = libm::exp(self.ln).min(LARGEST_PREDICTION);
        if self.negative { -size } else { size }
    }
}
