//! # reticent-lab
//!
//! Everything around the algorithms: simulation noise, demonstrations, benchmarks, figures and reports.
//! Nothing deployed needs it, so nothing deployed can reach its seeded noise.

pub mod attack;
pub mod audit;
pub mod bandits;
pub mod bench;
pub mod certify;
pub mod contest;
mod csv;
pub mod environment;
mod error;
pub mod estimate;
pub mod experiment;
mod fast_noise;
pub mod figure;
#[cfg(test)]
mod fuzz;
pub mod gradients;
mod lines;
pub mod losses;
pub mod offline;
pub mod papers;
mod parallel;
pub mod report;
pub mod safe;
pub mod simulate;
pub mod summary;
pub mod trial;
mod watch;

pub use error::{Error, Result};
pub use experiment::{Experiment, Outcome, Override, RunOptions, Shard};
pub use fast_noise::FastNoise;
pub use lines::parse_lines;
pub use watch::{Standing, Watch};

// What the pages show is compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}

#[cfg(doctest)]
#[doc = include_str!("../../../CONTRIBUTING.md")]
mod contributing {}
