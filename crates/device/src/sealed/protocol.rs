//! The hash of a protocol that devices, shuffler and server agree on.
//!
//! A device prices the protocol that the server sends, and the shuffler shuffles by its own file. Reports carry the hash of the priced protocol, so that the shuffler
//! refuses those of another protocol. The hash has to hold against a server that looks for two protocols of equal hash: SHA-256.

use crate::ShuffledProtocol;
use sha2::{Digest as _, Sha256};

/// SHA-256 of a protocol.
pub type ProtocolHash = [u8; 32];

/// The hash that sealed reports of this protocol carry.
pub fn protocol_hash(protocol: &ShuffledProtocol<'_>) -> ProtocolHash {
    Sha256::digest(protocol.bytes()).into()
}
