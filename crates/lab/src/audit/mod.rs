//! Audits: attacks on the guarantees of an experiment, known mistakes, and confidence sets.
//!
//! | file | what it is |
//! | --- | --- |
//! | `findings` | all attacks on an experiment, as a table and as JSON |
//! | [`zoo`] | known mistakes, each beside its correct variant and the attack that detects it |
//! | [`samplers`] | the deployed samplers against their laws |
//! | [`safety`] | the safe coordinator against adversarial parameters; coverage of every confidence set |
//! | [`everything`] | all of the above, as run by `reticent audit` without a file |
//!
//! What an attack is, and how each mechanism is attacked, is in [`attack`](crate::attack).

pub mod certify;
pub mod everything;
mod findings;
pub mod safety;
pub mod samplers;
#[cfg(test)]
mod tests;
pub mod zoo;

pub use self::findings::{Findings, NOTHING_PROMISED, NotAudited, audit};
