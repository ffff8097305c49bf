//! # reticent-server
//!
//! Private decisions over HTTP, from one program with an embedded store: `reticent-server`, whose commands are in [`commands`].
//!
//! The folders are the way of a request:
//!
//! ```text
//! http (parse, call, answer) -> loops (rank, reward, close, release) -> store (named transactions)
//! ```
//!
//! | module | contents |
//! | --- | --- |
//! | [`http`] | routes, keys and roles, limits, problems, Personalizer's facade, pages |
//! | [`pages`] | the dashboard, certificates for people, the page of the API |
//! | [`demo`] | a loop with simulated visitors |
//! | [`sealed`] | reports that only one party can read |
//! | [`shuffle`] | the shuffler, a process of its own |
//! | [`client`] | a device, and the calls of a shuffler |
//! | [`service`] | all loops of one process with their store: what HTTP calls |
//! | [`loops`], [`config`] | the crate `reticent-loops`: the file of loops, and pure decisions about a loop's state |
//! | [`store`] | named transactions on the stored data: in memory, in redb and in PostgreSQL |
//! | [`commands`] | the program `reticent-server` |
//! | [`run`], [`data`] | one process with its folder of data |
//! | [`control`] | commands to a process that runs |
//! | [`clock`] | the time, from the system or set by a test |
//! | `failpoint` | steps at which a torture lets the process die |
//! | [`tasks`] | work that goes on when its caller goes away |
//! | [`secret`] | files of the keys with which persons and events are hashed |
//!
//! **One round.**
//!
//! ```text
//! rank:    features -> policy of the last committed release -> (action, probability) -> event committed -> answer
//! reward:  event, value -> committed -> answer
//! close:   after the reward window an event contributes once: its reward, or the default one
//! tick:    closed slots -> sums of clipped contributions -> one step of the private sum -> committed -> only then served
//! ```
//!
//! **Releases are made by the clock.** There is one step a tick, empty ones included, so that neither visits nor rewards decide when anything is
//! released; the lemma is in `release/schedule.rs` of the core.

pub mod client;
pub mod clock;
pub mod commands;
pub mod control;
pub mod data;
pub mod demo;
#[cfg(feature = "failpoints")]
pub mod failpoint;
#[cfg(not(feature = "failpoints"))]
mod failpoint;
pub mod http;
pub mod pages;
pub mod run;
pub mod sealed;
pub mod secret;
pub mod service;
pub mod shuffle;
pub mod store;
pub mod tasks;

pub use reticent_loops::{self as loops, Error, Result, config, error};
