//! A choice: kept on the device until its reward, which may come on another page or after a restart.

use std::fmt;

use reticent::{Error, Result, error::finite_vector, wire};

/// A choice that waits for its reward. It holds the person's raw features, and never leaves the device.
#[derive(Clone, PartialEq)]
pub struct Choice {
    pub(crate) protocol: u64,
    /// The number of the model that was followed.
    pub(crate) model: u64,
    pub(crate) index: u64,
    pub(crate) features: Vec<f64>,
}

/// Without the features: printed text may leave the device.
impl fmt::Debug for Choice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Choice");
        shown.field("model", &self.model).field("index", &self.index).finish_non_exhaustive()
    }
}

/// The person's features do not stay in memory that is given back.
impl Drop for Choice {
    fn drop(&mut self) {
        forget(&mut self.features);
    }
}

/// Writes over numbers that are no longer needed.
fn forget(numbers: &mut [f64]) {
    numbers.fill(0.0);
    // Otherwise a compiler may leave out writes that are never read.
    std::hint::black_box(numbers);
}

impl Choice {
    /// Index of the chosen action, counted from 0.
    pub fn index(&self) -> usize {
        self.index as usize
    }

    /// The vector of the context and the chosen action.
    pub fn features(&self) -> &[f64] {
        &self.features
    }

    /// As bytes, with a version and a checksum.
    pub fn save(&self) -> Vec<u8> {
        let parts = (self.protocol, self.model, self.index, &self.features);
        wire::save(wire::CHOICE, &parts)
    }

    /// Reads what [`Choice::save`] wrote, and refuses everything else.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        let (protocol, model, index, features) = wire::load(wire::CHOICE, bytes)?;
        Ok(Choice { protocol, model, index, features })
    }

    /// Refuses a choice of another protocol, whose vector was made by another rule.
    pub(crate) fn expect(&self, protocol: u64, dimension: usize) -> Result<()> {
        if self.protocol != protocol {
            let remedy = "the protocol has changed since: choose again, nothing was counted";
            let value = format!("one of protocol {:016x}", self.protocol);
            return Err(Error::invalid("choice", value, remedy));
        }
        finite_vector("choice", &self.features, dimension)
    }
}
