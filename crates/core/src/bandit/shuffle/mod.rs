//! The linear bandit in the shuffle model: weakly randomised reports, and a shuffler between people and server.
//!
//! ```text
//! person -> Report -> Shuffler: strip names, wait for a batch, permute (or sum) -> Batch -> server -> Model -> person
//! ```
//!
//! | file | contents |
//! | --- | --- |
//! | `params` | calibration through the shuffler, and the guarantee with the trust it needs |
//! | `confirm` | what reports by another party's plan tell, for the accountant of the person who makes them |
//! | `shuffler` | the component that breaks the link: batches, a uniform permutation, no names, no slots |
//! | `repeats` | which reports have come before, by their contents |
//! | `server` | the report server: every batch once |
//!
//! SDP-LinUCB of Chowdhury and Zhou, "Shuffle Private Linear Contextual Bandits" (2022), in both its forms, around the same
//! protocol as [`super::local`] and the same policy. *Amplified*: pure local reports, permuted; the accountant's numeric
//! amplification bound says what they cost after shuffling. *Vector sum*: Gaussian reports of which only a batch's sum is
//! seen, which is exact.

mod confirm;
mod params;
mod repeats;
mod server;
mod shuffler;
#[cfg(test)]
mod tests;

pub use confirm::shuffled_event;
pub use params::{ShuffleParams, ShufflePlan};
pub use server::ShuffleServer;
pub use shuffler::{Aggregation, Batch, Shuffled, Shuffler, permute};
