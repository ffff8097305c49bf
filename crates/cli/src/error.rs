//! The errors of a command, and their exit codes.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use reticent::error::message;

/// The exit code of a process that Ctrl-C ended: 128 plus the number of SIGINT.
pub const INTERRUPTED: u8 = 130;

/// The reason why a command did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The core refused the input.
    #[error(transparent)]
    Core(#[from] reticent::Error),
    /// The laboratory could not do its work.
    #[error(transparent)]
    Lab(#[from] reticent_lab::Error),
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
    /// A command of the service, which is another program.
    #[error("{}", message(.0, "a command of the service", format_args!("expected one of this program; do `reticent-server {} ...` with the same arguments", .0)))]
    OfService(&'static str),
    /// Failed trials; the others were completed.
    #[error("some trials failed:\n{0}")]
    Partly(String),
    /// A certificate was refuted.
    #[error("violated: {0}")]
    Violated(String),
    /// Ctrl-C; the message says which results are kept, and how to continue.
    #[error("{0}")]
    Interrupted(String),
    /// Standard output cannot be written.
    #[error("{}", message("standard output", .0, "expected a place that can be written"))]
    Output(#[from] std::io::Error),
}

impl Error {
    /// An error of the laboratory, with the file's name if the file is at fault.
    pub fn in_file(path: &Path, error: reticent_lab::Error) -> Self {
        match error.is_bad_input() {
            true => Error::Malformed { path: path.to_path_buf(), reason: error.to_string() },
            false => error.into(),
        }
    }

    /// 2 for bad input, 130 after Ctrl-C (the convention of shells), 1 for everything else.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Error::Interrupted(_) => ExitCode::from(INTERRUPTED),
            Error::Core(reticent::Error::Entropy { .. })
            | Error::Output(_)
            | Error::Partly(_)
            | Error::Violated(_) => ExitCode::from(1),
            Error::Lab(error) if !error.is_bad_input() => ExitCode::from(1),
            _ => ExitCode::from(2),
        }
    }
}
