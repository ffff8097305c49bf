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
//! | room | what lives there |
//! | --- | --- |
//! | [`features`] | records become vectors of norm at most 1, by one public rule |
//! | [`privacy`] | what happened ([`privacy::Event`]), what it costs ([`privacy::Accountant`]), what may be promised ([`privacy::Guarantee`]) |
//! | [`noise`] | exact noise on a grid from a cryptographic generator |
//! | [`release`] | private running sums of vectors and matrices |
//! | [`randomize`] | what a person's own device does to a report before it leaves |
//! | [`bandit`] | linear bandits: one LinUCB, many privacies |
//! | [`online`] | online convex optimisation: predict, see a gradient of unknown noise, predict better |
//! | [`convex`] | bandit convex optimisation over sets known through a linear oracle |
//! | [`safe`] | decisions for many agents whose mean responses must stay in a polytope |
//! | [`geometry`] | polytopes and linear programs |
//! | [`linalg`] | small dense algebra |
//! | [`hash`] | the one hash, of bytes and of parameters |
//! | [`special`] | the special functions the rooms above share |
//! | `wire`, `error` | what travels and what is stored: an envelope with a version that refuses damaged and foreign bytes; the error type |
//!
//! The crate does no I/O, starts no thread, reads no clock and has no global generator.

pub mod bandit;
pub mod convex;
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
pub mod special;

mod error;
mod wire;

pub use error::{Error, Result};
