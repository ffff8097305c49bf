//! # reticent-lab
//!
//! Everything around the algorithms: simulation noise, demonstrations, benchmarks, figures and reports.

mod error;
pub mod figure;

pub use error::{Error, Result};
