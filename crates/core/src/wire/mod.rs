//! What travels and what is stored: versions, and refusal of everything foreign.
//!
//! | file | what it is |
//! | --- | --- |
//! | `envelope` | saved states: kind, version, payload, checksum |
//! | `message` | the version of messages |
//! | `hex` | 64-bit numbers in messages: as text where a reader may be JavaScript, whose numbers have 53 bits |
//!
//! Messages ([`Report`](crate::randomize::Report), [`Model`](crate::bandit::Model), [`Batch`](crate::bandit::Batch)) begin with their version, which is
//! read first: nothing behind another one is looked at.

mod envelope;
pub(crate) mod hex;
mod message;

pub(crate) use envelope::{load, save};
pub(crate) use message::{MESSAGE_VERSION, current_message};
