//! Sealed reports on the side of who takes them: the keys that open them, and batches of them. How a device seals is in `reticent_device::sealed`.
//!
//! | file | what it is |
//! | --- | --- |
//! | `batch` | sealed reports as a shuffler sends them to a server |

mod batch;

pub use batch::SealedBatch;
pub use reticent_device::sealed::{
    Envelope, KeyId, ProtocolHash, PublicKey, SealKey, Subject, protocol_hash,
};
