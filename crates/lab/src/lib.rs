//! # reticent-lab
//!
//! Everything around the algorithms: simulation noise, demonstrations, benchmarks, figures and reports.
//! Deployed code does not link this crate, so it cannot use its seeded noise.
//!
//! | module | contents |
//! | --- | --- |
//! | [`constants`] | the constants that publications print, as parameters of core's learners: `paper` mode |
//! | [`environment`] | arms, their expected values, and rewards |
//! | [`simulate`] | a policy played against an environment, round by round or in blocks |
//! | [`trial`] | one trial: its seeds, its checkpoints, its results |
//! | [`attack`] | attacks on privacy guarantees, and the bounds they prove |
//! | [`contest`] | the common interface of everything an experiment compares; families of problems |
//! | [`bandits`], [`gradients`], [`safe`], [`losses`] | the families: linear bandits, online learning from gradients, safe coordinators, bandits over convex sets |
//! | [`offline`] | the value of a policy estimated from a log |
//! | [`experiment`] | experiments from TOML files: grids, threads, stored trials |
//! | [`estimate`], [`summary`] | trials -> means with intervals -> tables, figures and files |
//! | [`figure`], [`report`] | drawings; pages |
//! | [`certify`], [`audit`] | the guarantee of each algorithm; audits that attack it |
//! | [`papers`] | the experiments of the papers, with a verdict on each claim |
//! | [`mod@bench`] | the benchmark figures of the README |
//! | `csv`, `lines` | tables and TOML files, with errors that name the line |
//! | `fuzz` | in tests: every reader of outside bytes, and golden files of everything that is written |
//! | `fast_noise`, `parallel`, `watch`, `source`, `error` | seeded noise; threads; progress and interruption; which code made a result; the error type |

pub mod algorithm;
pub mod attack;
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
pub mod reproduce;
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
