//! The linear bandit under local differential privacy: two halves with a message between them, as it is deployed.
//!
//! ```text
//! server: publish -> Model -> person: choose an arm, clip, randomise -> Report -> server: absorb -> publish ...
//! ```
//!
//! | file | what it is |
//! | --- | --- |
//! | `params` | what both halves agree on, and how levels of epsilon are brought |
//! | `promise` | what people may be promised |
//! | `method`, `choice` | which randomiser, and the sentence that says why |
//! | `messages` | [`Report`] and [`Model`]: versioned, plain, checked when read |
//! | `person`, `spent` | the half on the device: its own generator, its own record of what it has sent at which level |
//! | `inbox` | every report is counted once |
//! | `server`, `sums` | the half that sums reports and publishes models |
//!
//! **Guarantee.** Everything the server and everybody else ever sees of a person is their reports, each randomised before it
//! leaves; the arm itself stays on the device. A report is private whatever model the person saw, however old, and whatever
//! becomes of the report: late, lost or read twice. The guarantee is per person, for the
//! levels the person's reports were made at.

mod choice;
mod inbox;
mod messages;
mod method;
mod params;
mod person;
mod promise;
mod server;
mod spent;
mod sums;
#[cfg(test)]
mod tests;

pub use inbox::Absorbed;
pub use messages::{Guide, Model, Report};
pub(crate) use messages::{VERSION, current};
pub use method::Method;
pub(crate) use method::Randomizer;
pub use params::{Levels, LocalParams, LocalPlan};
pub use person::Person;
pub(crate) use promise::CONDITIONS;
pub(crate) use server::Estimate;
pub use server::Server;
pub use spent::Spent;
