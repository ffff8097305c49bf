//! # reticent-lab
//!
//! Everything around the algorithms: simulation noise, demonstrations, benchmarks, figures and reports.
//! Nothing deployed needs it, so nothing deployed can reach its seeded noise.

pub mod audit;
pub mod bench;
pub mod contest;
mod csv;
pub mod demo;
pub mod environment;
mod error;
pub mod experiment;
mod fast_noise;
pub mod figure;
#[cfg(test)]
mod fuzz;
pub mod gradients;
pub mod linear;
pub mod losses;
pub mod papers;
mod parallel;
pub mod report;
pub mod safe;
pub mod simulate;
pub mod sphere;
pub mod summary;
pub mod sweep;

pub use error::{Error, Result};
pub use experiment::{Experiment, Outcome, Override, RunOptions, Shard};
pub use fast_noise::FastNoise;
