//! The linear bandit under local differential privacy: device and report server with a message between them, as it is deployed.
//!
//! ```text
//! server: publish -> Model -> person: choose an arm, clip, randomise -> Report -> server: absorb -> publish ...
//! ```
//!
//! | file | contents |
//! | --- | --- |
//! | `params` | what device and report server agree on |
//! | `model` | what the server publishes |
//! | `person` | how a device ([`Person`](crate::randomize::Person)) chooses by a model and reports under it |
//! | `inbox` | every report is counted once |
//! | `server`, `sums` | the report server: sums reports and publishes models |
//!
//! **Guarantee.** Everything the server and everyone else ever sees of a person is their reports, each randomised before it
//! leaves; the arm itself stays on the device. A report is private whatever model the person saw, however old, and whatever
//! becomes of the report: late, lost or read twice. The guarantee is per person, for the
//! levels the person's reports were made at.

mod inbox;
mod model;
mod params;
mod person;
mod server;
mod sums;
#[cfg(test)]
mod tests;

pub use inbox::Absorbed;
pub use model::{Guide, Model};
pub use params::{LocalParams, LocalPlan};
pub(crate) use server::Estimate;
pub use server::Server;
