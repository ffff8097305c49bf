//! # reticent-device
//!
//! All that runs at a person: one public message makes a device, which chooses, reports, counts its reports and seals them.
//!
//! | module | contents |
//! | --- | --- |
//! | `protocol` | the message: loop, rule for features, reports, period; the limits of a person, whatever a server publishes |
//! | [`little`], `fields` | readers of messages in little code, for devices that are downloaded |
//! | `device` | the device of one installation: vectors, choices, reports |
//! | `choice` | a choice and the model that it followed, kept on the device until the reward comes |
//! | `ledger` | the count of reports in a period, stored before a report leaves |
//! | `shuffled_device` | a device whose reports go to a shuffler |
//! | [`sealed`] | its reports, sealed once to their reader (HPKE, RFC 9180) |
//! | [`web`] | devices with bytes and JSON in place of types, and the functions that JavaScript calls |
//!
//! ```text
//! server: protocol, model -> device: (context, actions) -> vectors -> choose -> reward -> report -> server
//! ```
//!
//! Vectors are made by the rule of [`features`](reticent::features), choices and reports by the [`Person`](reticent::randomize::Person) of
//! [`randomize`](reticent::randomize), the same as in simulations. Only reports leave the device.
//!
//! The crate does no I/O and knows no HTTP. `npm/` is the package for pages, workers and Node: its JavaScript keeps the ledger in storage and counts a report
//! before it leaves.

// Tests compare with references; only what runs has to have the same bits everywhere (clippy.toml).
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod choice;
mod device;
mod fields;
mod ledger;
mod protocol;
pub mod sealed;
mod shuffled_device;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
pub mod web;

pub use choice::Choice;
pub use device::Device;
pub use ledger::Ledger;
pub use protocol::{Limits, Period, ProtocolParams, ProtocolPlan, ShuffledProtocol, little};
pub use shuffled_device::ShuffledDevice;
