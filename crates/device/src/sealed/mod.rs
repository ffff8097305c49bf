//! Devices of loops with a shuffler: what the server publishes is priced by the device's own accountant, reports are counted, and each is sealed once
//! (HPKE, RFC 9180) to its reader.
//!
//! | file | contents |
//! | --- | --- |
//! | `protocol` | the hash of the protocol that devices, shuffler and server agree on |
//! | `sealing` | answers of a server and a shuffler about sealing |
//! | `key` | the key of the reader of reports, secret and public |
//! | `envelope` | a sealed report as a device sends it to a shuffler |
//! | `device` | the device: choose, report, seal |
//! | `digest` | hashes and hexadecimal digits |
//!
//! **Contents.** The numbers that the randomiser made and nothing else are sealed, 8 bytes each: one length for all reports of a protocol. Which model the
//! device acted on stands outside, for the shuffler, and is not handed on: a rare one would single its sender out.
//!
//! **Binding.** The associated data are the protocol's hash, the loop, the key and the outer id, which is a hash of random bits and the model's number.
//! A change of one of them on the way makes the report unreadable.
//!
//! **Once.** A device stores the sealed bytes before it first sends them, and sends the same again. Sealing the same report again would make bytes that are not
//! recognised as a repetition, and two batches with one report show what they have in common.

mod device;
mod digest;
mod envelope;
mod key;
mod protocol;
mod sealing;
#[cfg(test)]
mod tests;

pub use device::SealedDevice;
pub use digest::{digest, from_hex, hex};
pub use envelope::{Envelope, Subject};
pub use key::{KeyId, PublicKey, SealKey};
pub use protocol::{ProtocolHash, protocol_hash};
pub use sealing::{Sealing, ShufflerSealing};
