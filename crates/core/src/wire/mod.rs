//! Formats of messages and saved states, with versions; bytes of another kind or version are refused.
//!
//! | file | what it is |
//! | --- | --- |
//! | `envelope` | saved states: kind, version, payload, checksum |
//! | `hex` | 64-bit numbers in messages: as text where a reader may be JavaScript, whose numbers have 53 bits |
//!
//! Messages ([`Report`](crate::randomize::Report), [`Model`](crate::bandit::Model), [`Batch`](crate::bandit::Batch)) begin with their version,
//! which is read first; a message of another version is refused before the rest is decoded.

mod envelope;
pub(crate) mod hex;

pub(crate) use envelope::{load, save};

use serde::{Deserialize, Deserializer, de::Error as _};

use crate::Error;

/// The version of all messages: reports, models, batches.
pub(crate) const MESSAGE_VERSION: u16 = 2;

/// Reads a message's version, and refuses another one: it comes first, and nothing behind it is looked at.
pub(crate) fn current_message<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u16, D::Error> {
    let version = u16::deserialize(deserializer)?;
    if version == MESSAGE_VERSION {
        return Ok(version);
    }
    let remedy = format!("this library speaks version {MESSAGE_VERSION}: update the older half");
    Err(D::Error::custom(Error::invalid("version", version, remedy)))
}

/// The default of fields that are 1 where a file leaves them out.
pub(crate) fn one<T: From<u8>>() -> T {
    T::from(1)
}
