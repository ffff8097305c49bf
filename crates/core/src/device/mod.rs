//! What a person's device runs: one public message, from which a person's half is made and nothing else is needed.
//!
//! | file | what it is |
//! | --- | --- |
//! | `protocol` | the message: the loop's name, the rule for features, what people report, how many reports a period |
//! | `little` | messages read by little code, for halves that are downloaded |
//! | `limits` | what a person accepts, whatever a server publishes |
//! | `shuffled` | what is agreed on where there is a shuffler, and the same limits for it |
//! | `half` | the half of one person: vectors, choices, reports |
//! | `shuffled_half` | the same where there is a shuffler |
//! | `choice` | what was chosen under which model, kept on the device until the reward comes |
//! | `ledger` | how many reports were made in this period, stored before a report leaves |
//!
//! ```text
//! server: protocol, model -> device: (context, actions) -> vectors -> choose -> reward -> report -> server
//! ```
//!
//! Vectors are made by the rule of [`features`](crate::features), choices and reports by the [`Person`](crate::randomize::Person) of
//! [`randomize`](crate::randomize), the same as in simulations. Only reports leave the device.

mod choice;
mod half;
mod ledger;
mod limits;
pub mod little;
mod protocol;
mod shuffled;
mod shuffled_half;
#[cfg(test)]
mod tests;

pub use choice::Choice;
pub use half::Device;
pub use ledger::Ledger;
pub use limits::Limits;
pub use protocol::{Period, ProtocolParams, ProtocolPlan};
pub use shuffled::ShuffledProtocol;
pub use shuffled_half::ShuffledDevice;
