//! What a person's device runs: one public message, from which a person's half is made and nothing else is needed.
//!
//! | file | what it is |
//! | --- | --- |
//! | `protocol` | the message: the loop's name, the rule for features, what people report, how many reports a period |
//!
//! ```text
//! server: protocol, model -> device: (context, actions) -> vectors -> choose -> reward -> report -> server
//! ```
//!
//! Vectors are made by the rule of [`features`](crate::features), choices and reports by the [`Person`](crate::randomize::Person) of
//! [`randomize`](crate::randomize), the same as in simulations. Only reports leave the device.

mod protocol;

pub use protocol::{Period, ProtocolParams, ProtocolPlan};
