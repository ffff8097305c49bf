//! Clients in Rust: a device that takes part in a loop, and the calls that a shuffler makes.
//!
//! | file | what it is |
//! | --- | --- |
//! | `endpoint` | one HTTP call at a time, with or without TLS |
//! | `device` | a device over HTTP: fetch, choose, report once |

mod device;
mod endpoint;

pub use device::{Device, Pending as PendingReport};
pub use endpoint::{Body, Endpoint};
