//! Files of a part of a release, and the outcome of their test.

use std::path::PathBuf;

/// A part of a release.
pub struct Made {
    /// The files that are published.
    pub files: Vec<PathBuf>,
    pub smoke: Smoke,
}

/// Outcome of the test of an installed part.
pub enum Smoke {
    /// The steps that succeeded.
    Passed(&'static str),
    /// The reason for which this machine cannot try it.
    Skipped(String),
}
