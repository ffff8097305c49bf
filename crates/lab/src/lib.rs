//! # reticent-lab
//!
//! Everything around the algorithms: simulation noise, demonstrations, benchmarks, figures and reports.
//! Deployed code does not link this crate, so it cannot use its seeded noise.
//!
//! | room | holds |
//! | --- | --- |
//! | [`environment`] | arms, their expected rewards, and rewards; everything an experiment is played in |
//! | [`algorithm`] | the families (bandit, online, convex, safe): the keys of a file, and core's learners made from them |
//! | [`play`] | one trial: its seeds, checkpoints and results; threads; progress |
//! | [`experiment`] | experiments from TOML files: grids, threads, stored trials |
//! | [`report`] | trials -> means with intervals -> tables, figures, pages and files |
//! | [`audit`] | attacks on guarantees, known mistakes, verdicts; the guarantee of each algorithm |
//! | [`papers`] | the papers' constants (`paper` mode) and experiments, with a verdict on each claim |
//! | [`mod@bench`] | the benchmark figures of the README |
//! | `csv`, `lines` | tables and TOML files, with errors that name the line |
//! | `fuzz` | in tests: every reader of outside bytes, and golden files of everything that is written |
//! | `fast_noise`, `source`, `error` | seeded noise; which code made a result; the error type |

pub mod algorithm;
pub mod audit;
pub mod bench;
mod csv;
pub mod environment;
mod error;
pub mod experiment;
mod fast_noise;
#[cfg(test)]
mod fuzz;
mod lines;
pub mod papers;
pub mod play;
pub mod report;
mod source;

pub use crate::play::watch::{Standing, Watch};
pub use error::{Error, Result};
pub use experiment::{Experiment, Kinds, Outcome, Override, RunOptions, Shard};
pub use fast_noise::FastNoise;
pub use lines::parse_lines;
pub use source::built_from;

// The code in the documentation pages is compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}

#[cfg(doctest)]
#[doc = include_str!("../../../CONTRIBUTING.md")]
mod contributing {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/reference/features.md")]
mod features {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/papers/online_ucb.md")]
mod online_ucb {}
