//! Audits: attacks on the guarantees of an experiment, known mistakes, confidence sets, and certificates.
//!
//! | sub-room | holds |
//! | --- | --- |
//! | [`attack`] | an attack, its verdict, and the attacks on each mechanism |
//! | [`certify`] | the guarantee of each algorithm of an experiment |
//! | `findings` | all attacks on an experiment, as a table and as JSON |
//! | [`zoo`] | known mistakes, each beside its correct variant and the attack that detects it |
//! | [`samplers`] | the deployed samplers against their laws |
//! | [`safety`] | the safe coordinator against adversarial parameters; coverage of every confidence set |
//! | [`everything`] | all of the above, as run by `reticent audit` without a file |
//!
//! Algorithms name the attacks on their mechanisms; audits run them on experiments. Dependencies between rooms are therefore counted by sub-room.

pub mod attack;
pub mod certify;
pub mod everything;
mod findings;
pub mod safety;
pub mod samplers;
#[cfg(test)]
mod tests;
pub mod zoo;

pub use self::findings::{Findings, NOTHING_PROMISED, NotAudited, audit};
