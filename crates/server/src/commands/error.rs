//! Errors of a command, with their exit codes.

use std::{path::PathBuf, process::ExitCode};

use reticent::error::message;

/// The reason why a command did not succeed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The service could not do its work.
    #[error(transparent)]
    Service(#[from] crate::Error),
    /// A file could not be read.
    #[error("{}", message(path.display(), reason, "expected a readable file; check the path and its permissions"))]
    Unreadable {
        /// The path given.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// A file could not be written.
    #[error("{}", message(path.display(), reason, "expected a file that can be written; check the path and its permissions"))]
    Unwritable {
        /// The path given.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// The contents of a file are not valid.
    #[error("{path}, {reason}")]
    Malformed {
        /// The path given.
        path: PathBuf,
        /// Field, line and remedy as the parser gives them.
        reason: String,
    },
    /// The runtime, a signal handler or standard output cannot be used.
    #[error("the system refused: {0}")]
    System(#[from] std::io::Error),
}

impl Error {
    /// 2 for bad input, 1 for everything else.
    pub(super) fn exit_code(&self) -> ExitCode {
        let is_failure = matches!(
            self,
            Error::System(_)
                | Error::Service(
                    crate::Error::Store(_)
                        | crate::Error::Unavailable(_)
                        | crate::Error::Core(reticent::Error::Entropy { .. })
                )
        );
        ExitCode::from(if is_failure { 1 } else { 2 })
    }
}
