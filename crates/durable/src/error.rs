//! The errors of files and of the learners in them.

use std::{io, path::Path};

use thiserror::Error;

/// Shorthand for a result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The errors of this crate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The learner refused.
    #[error(transparent)]
    Learner(#[from] reticent::Error),
    /// A file could not be read or written. No release has been used that is not on disk.
    #[error("{}", reticent::error::message(path, source, format_args!(
        "it cannot be {action}; repair the cause and call again; no release is used before it is on disk"
    )))]
    File {
        /// The file.
        path: String,
        /// The operation.
        action: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl Error {
    /// For `map_err`: an error with the operation and the file.
    pub(crate) fn file(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Error::File { path, action, source }
    }

    /// A file that does not belong here.
    pub(crate) fn unfit(field: &'static str, path: &Path, remedy: impl Into<String>) -> Self {
        reticent::Error::invalid(field, path.display(), remedy).into()
    }
}
