//! The error type of the laboratory.

use std::path::{Path, PathBuf};

use reticent::error::message;

/// Shorthand for a result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The errors of an experiment.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The core refused a parameter.
    #[error(transparent)]
    Core(#[from] reticent::Error),
    /// An experiment file is not valid.
    #[error("{reason}")]
    Experiment {
        /// Field, line and remedy as the parser gives them.
        reason: String,
    },
    /// An error with its place in the experiment.
    #[error("{place}, {source}")]
    At {
        /// Line and table, or algorithm and trial.
        place: String,
        /// The error.
        source: Box<Error>,
    },
    /// A file could not be read.
    #[error("{}", message(path.display(), reason, "expected a readable file; check the path, which is relative to the file that names it, and that what writes the file has run"))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// A result could not be written.
    #[error("{}", message(path.display(), reason, "expected a file that can be written; choose another folder with --out"))]
    Unwritable {
        /// The file or folder.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// A run was stopped from outside.
    #[error(
        "stopped: {} of {} trials are finished and kept in {folder} ({}); the same run continues where it stopped",
        .finished.iter().map(|(_, done, _)| done).sum::<usize>(),
        .finished.iter().map(|(.., all)| all).sum::<usize>(),
        .finished.iter().map(|(name, done, all)| format!("{name}: {done} of {all}")).collect::<Vec<_>>().join("; "),
        folder = .folder.display()
    )]
    Stopped {
        /// For each algorithm: its name, finished trials, all trials.
        finished: Vec<(String, usize, usize)>,
        /// Folder in which they are kept.
        folder: PathBuf,
    },
    /// A trial was stopped before its last round.
    #[error("the trial was stopped before its last round")]
    Interrupted,
    /// A figure could not be drawn.
    #[error("{}", message(format_args!("figure {title:?}"), reason, "this is a fault of reticent: please report it"))]
    Figure {
        /// The figure.
        title: String,
        /// The message of the drawing library.
        reason: String,
    },
}

impl Error {
    /// Tells whether the caller's input is at fault, rather than the machine or this program.
    pub fn is_bad_input(&self) -> bool {
        match self {
            Error::Core(_) | Error::Experiment { .. } | Error::Unreadable { .. } => true,
            Error::At { source, .. } => source.is_bad_input(),
            _ => false,
        }
    }

    pub(crate) fn experiment(reason: impl Into<String>) -> Self {
        Error::Experiment { reason: reason.into() }
    }

    /// The same error with the place where it happened, unless it names one already.
    pub(crate) fn at(self, line: Option<usize>, place: &str) -> Self {
        if let Error::At { .. } = self {
            return self;
        }
        let parts = line.map(|line| format!("line {line}")).into_iter();
        let parts: Vec<String> =
            parts.chain((!place.is_empty()).then(|| place.to_string())).collect();
        if parts.is_empty() {
            return self;
        }
        Error::At { place: parts.join(", "), source: Box::new(self) }
    }

    pub(crate) fn unwritable(path: &Path, error: std::io::Error) -> Self {
        Error::Unwritable { path: path.to_path_buf(), reason: error.to_string() }
    }
}
