//! # reticent
//!
//! Good decisions from people's data without learning the people's data.
//!
//! Data flows one way, and each arrow is a type:
//!
//! ```text
//! environment -> decision -> reward -> clip -> randomiser -> aggregator -> release -> learner
//! ```
//!
//! | module | contents |
//! | --- | --- |
//! | [`features`] | records become vectors of norm at most 1, by one public rule |
//! | [`privacy`] | what happened ([`privacy::Event`]), what it costs ([`privacy::Accountant`]), what may be promised ([`privacy::Guarantee`]) |
//! | [`noise`] | exact noise on a grid from a cryptographic generator |
//! | [`release`] | private running sums of vectors and matrices |
//! | [`randomize`] | what a person's own device does to a report before it leaves |
//! | [`bandit`] | linear bandits: LinUCB without privacy, and under joint, shuffle and local privacy |
//! | [`online`] | online convex optimisation from gradients whose noise level is unknown |
//! | [`convex`] | bandit convex optimisation over sets known through a linear oracle |
//! | [`safe`] | decisions for many agents whose mean responses must stay in a polytope |
//! | [`geometry`] | polytopes and linear programs |
//! | [`linalg`] | small dense algebra |
//! | [`hash`] | the hash of bytes and of parameters (FNV-1a) |
//! | [`special`] | special functions that several modules use |
//! | [`error`] | the error type, and checks of numbers that name the field, the value and the remedy |
//! | `named` | choices by name, the same in files, in Python and in messages |
//! | `schema` | JSON Schemas of files that have these parameters; with the feature `schema` |
//! | [`wire`] | messages and saved states, each with its kind and version; foreign and damaged ones are refused |
//!
//! Every algorithm has the same shape: parameters, `check`, a plan, a learner, one step. A plan is calibrated noise with its guarantee, and starts
//! learners. A learner that draws no privacy noise has no plan, and `check` of its parameters returns the learner itself:
//! [`bandit::LinUcb`], the servers of [`bandit::OnlineUcb`], [`bandit::Anytime`] and [`bandit::Combiner`] (whose people's devices have
//! [`randomize::FeatureReward`]), [`bandit::OnlineLinUcb`], and the learners of [`online`].
//!
//! The crate does no I/O, starts no thread, reads no clock and has no global generator.

// Tests compare with references; only what runs has to have the same bits everywhere (clippy.toml).
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod bandit;
pub mod convex;
pub mod error;
pub mod features;
pub mod geometry;
pub mod hash;
pub mod linalg;
pub mod noise;
pub mod online;
pub mod privacy;
pub mod randomize;
pub mod release;
pub mod safe;
#[cfg(feature = "schema")]
pub mod schema;
pub mod special;
pub mod wire;

mod named;

pub use error::{Error, Result, refuse_if};
