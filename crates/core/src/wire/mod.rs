//! Formats of messages and saved states, with versions; bytes of another kind or version are refused.
//!
//! | file | what it is |
//! | --- | --- |
//! | `envelope` | saved states: kind, version, payload, checksum |
//! | `message` | the version of messages |
//! | `hex` | 64-bit numbers in messages: as text where a reader may be JavaScript, whose numbers have 53 bits |
//!
//! Messages ([`Report`](crate::randomize::Report), [`Model`](crate::bandit::Model), [`Batch`](crate::bandit::Batch)) begin with their version,
//! which is read first; a message of another version is refused before the rest is decoded.

mod envelope;
pub(crate) mod hex;
mod message;

pub(crate) use envelope::{load, save};
pub(crate) use message::{MESSAGE_VERSION, current_message};
