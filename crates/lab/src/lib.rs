//! # reticent-lab
//!
//! Everything around the algorithms: simulation noise, demonstrations, benchmarks, figures and reports.
//! Nothing deployed needs it, so nothing deployed can reach its seeded noise.

pub mod algorithm;
pub mod bench;
pub mod demo;
pub mod environment;
mod error;
pub mod experiment;
mod fast_noise;
pub mod figure;
pub mod report;
pub mod simulate;
mod trial;

pub use error::{Error, Result};
pub use experiment::Experiment;
pub use fast_noise::FastNoise;
