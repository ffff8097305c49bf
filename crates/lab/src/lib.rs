//! # reticent-lab
//!
//! Everything around the algorithms: simulation noise, demonstrations, benchmarks, figures and reports.
//! Nothing deployed needs it, so nothing deployed can reach its seeded noise.
//!
//! | room | what lives there |
//! | --- | --- |
//! | [`environment`] | which arms there are, what they are worth, and the rewards |
//! | [`simulate`] | a policy played against an environment, round by round or in blocks |
//! | [`trial`] | one trial: its seeds, the rounds at which it is looked at, what comes of it |
//! | [`attack`] | how a promise of privacy is attacked, and what the attack proves |
//! | [`contest`] | what an experiment compares: a name, a promise, trials; families of problems |
//! | [`bandits`], [`gradients`], [`safe`], [`losses`] | the families: linear bandits, online learning from gradients, safe coordinators, bandits over convex sets |
//! | [`offline`] | the value of a policy estimated from a log |
//! | [`experiment`] | a file with an environment and algorithms, run: grids, threads, stored trials |
//! | [`estimate`], [`summary`] | trials -> means with intervals -> tables, figures and files |
//! | [`figure`], [`report`] | drawings; pages |
//! | [`certify`], [`audit`] | what each algorithm may promise; every promise attacked |
//! | [`papers`] | the experiments of the papers, with a verdict on each claim |
//! | [`mod@bench`] | the figures that the README quotes |
//! | `csv`, `lines` | tables and TOML files, with the line of what is wrong in them |
//! | `fast_noise`, `parallel`, `watch`, `error` | seeded noise; threads; progress and interruption; the error type |

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

#[cfg(doctest)]
#[doc = include_str!("../../../docs/features.md")]
mod features {}
