//! Errors, by the remedy that the caller has.

use std::fmt::Display;

/// The result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error, which HTTP turns into a problem with a status.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A field of a request or of a file cannot be used.
    #[error("{}", reticent::error::message(field, value, remedy))]
    Invalid {
        /// Path of the field.
        field: String,
        /// Value that was given, or a description of it where it may be data of a person.
        value: String,
        /// Remedy.
        remedy: String,
    },
    /// There is no such loop or event.
    #[error("{}", reticent::error::message(field, value, remedy))]
    Unknown {
        /// The thing that was looked for.
        field: String,
        /// Its name.
        value: String,
        /// Remedy.
        remedy: String,
    },
    /// The name is in use: that of an event with another body or under another key, that of a key.
    #[error("{0}")]
    Conflict(String),
    /// The event has closed.
    #[error("{0}")]
    Late(String),
    /// More than a limit allows; try again after `retry_after` seconds.
    #[error("{message}")]
    TooMany {
        /// The limit that was exceeded.
        message: String,
        /// Seconds to wait.
        retry_after: u64,
    },
    /// The service is not able to do this at present.
    #[error("{0}")]
    Unavailable(String),
    /// The store failed.
    #[error("store: {0}")]
    Store(String),
    /// The learner refused.
    #[error(transparent)]
    Core(#[from] reticent::Error),
}

impl Error {
    /// A field that cannot be used.
    pub fn invalid(field: impl Display, value: impl Display, remedy: impl Display) -> Self {
        Error::Invalid {
            field: field.to_string(),
            value: value.to_string(),
            remedy: remedy.to_string(),
        }
    }

    /// Something that does not exist.
    pub fn unknown(field: impl Display, value: impl Display, remedy: impl Display) -> Self {
        Error::Unknown {
            field: field.to_string(),
            value: value.to_string(),
            remedy: remedy.to_string(),
        }
    }

    /// A failure of the store.
    pub fn store(error: impl Display) -> Self {
        Error::Store(error.to_string())
    }
}
