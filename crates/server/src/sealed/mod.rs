//! Reports that only one party can read: sealed once on the device (HPKE, RFC 9180), and batches of them.
//!
//! | file | what it is |
//! | --- | --- |
//! | `protocol` | the hash of what devices, shuffler and server agree on |
//! | `key` | the key of who opens reports, and what devices know of it |
//! | `envelope` | a sealed report as a device sends it to a shuffler |
//! | `batch` | sealed reports as a shuffler sends them to a server |
//!
//! **What is sealed** are the numbers that the randomiser made and nothing else, 8 bytes each: one length for all reports of a protocol. Which model the
//! device acted on stands outside, for the shuffler, and is not handed on: a rare one would single its sender out.
//!
//! **What is bound.** The associated data are the protocol's hash, the loop, the key and the outer id, which is a hash of random bits and the model's number.
//! Whoever changes one of them on the way makes the report unreadable.
//!
//! **Once.** A device stores the sealed bytes before it first sends them, and sends the same again. Sealing the same report again would make bytes that nobody
//! recognises, and a report in two batches is what they have in common.

mod batch;
mod envelope;
mod key;
mod protocol;
#[cfg(test)]
mod tests;

pub use batch::SealedBatch;
pub use envelope::{Envelope, Subject};
pub use key::{PublicKey, SealKey};
pub use protocol::{ProtocolHash, protocol_hash};
