//! The papers: the constants they print, their experiments, and a verdict on every claim that can be measured (`reticent reproduce`).
//!
//! | sub-room | holds |
//! | --- | --- |
//! | [`constants`] | the published constants, as parameters of core's learners: `paper` mode |
//! | [`experiments`] | one file per paper, and one for our defaults |
//! | `verdict` | the rule from estimates to verdicts |
//! | `page` | a page of verdicts for each paper |
//!
//! Algorithms use `constants`; `experiments` use algorithms. Dependencies between rooms are therefore counted by sub-room.

pub mod constants;
pub mod experiments;
mod page;
mod verdict;

pub use experiments::{
    EXPERIMENTS, Extent, PaperExperiment, Reproduction, STUDIES, Stage, matching,
};
pub use page::pages;
pub use verdict::{Claim, Judgement, Verdict};
