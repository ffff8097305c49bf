//! Audits: every attack on the promises of an experiment, every known mistake, every confidence set.
//!
//! | file | what it is |
//! | --- | --- |
//! | `findings` | all attacks on an experiment, as a table and as JSON |
//! | [`zoo`] | known mistakes, each beside the right way, and what catches it |
//! | [`safety`] | the safe coordinator against adversarial parameters; coverage of every confidence set |
//! | [`everything`] | all of it, as `reticent audit` without a file runs it |
//!
//! What an attack is, and how each mechanism is attacked, is in [`attack`](crate::attack).

pub mod everything;
mod findings;
pub mod safety;
#[cfg(test)]
mod tests;
pub mod zoo;

pub use self::findings::{Findings, NOTHING_PROMISED, NotAudited, audit};
