//! # reticent-trials
//!
//! The service on trial: how fast it is, and whether it keeps what it acknowledged. It is run by `cargo xtask bench`, `torture` and `simulate`, and needed by nothing deployed.
//!
//! | module | contents |
//! | --- | --- |
//! | [`mod@bench`] | figures of the stores and of the service over HTTP |
//! | [`history`] | a checker that compares what clients were answered with a store, after accidents |
//! | `tests/torture` | processes that are killed, stopped and rolled back under load |
//! | `tests/devices` | a server and a shuffler that are killed while devices report |
//! | `tests/simulation` | the same promises in simulated time |
//!
//! The program of this crate is that of the service with one command more, `bench`: tests and figures start it as a process, and it is always compiled from the sources at hand.

pub mod bench;
pub mod history;
