//! A sealed report as a device sends it to a shuffler.
//!
//! ```text
//! version u8 | protocol 32 | model u64 | key id 32 | salt 16 | encapsulated key 32 | ciphertext
//! ```
//!
//! The protocol is named by its SHA-256. Numbers are little-endian. All reports of a protocol have one length. The outer id is a hash of the model's number and the
//! random salt. It is bound to what is sealed, and the number with it: a report that is sent again as one on a newer model is under another id, and cannot be opened.

use reticent::{Error, Result, noise::Noise};
use zeroize::Zeroizing;

use super::{KeyId, ProtocolHash, PublicKey, SealKey, digest, hex, key::OVERHEAD};

const VERSION: u8 = 2;
/// Bytes before the sealed part.
const HEADER: usize = 1 + 32 + 8 + 32 + 16;

/// Properties that all sealed reports of a loop share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The loop.
    pub loop_name: String,
    /// The hash of the protocol that devices, shuffler and server agree on.
    pub protocol: ProtocolHash,
    /// Number of values of a report.
    pub values: usize,
}

/// A sealed report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// The hash of the protocol.
    pub protocol: ProtocolHash,
    /// The number of the model that the device acted on.
    pub model: u64,
    /// Name of the key that opens it.
    pub key_id: KeyId,
    /// Random bits that the outer id is made from.
    pub salt: [u8; 16],
    /// Outer id, by which repetitions are recognised.
    pub id: [u8; 16],
    /// The encapsulated key and the ciphertext.
    pub sealed: Vec<u8>,
}

fn outer_id(model: u64, salt: &[u8; 16]) -> [u8; 16] {
    let mut id = [0; 16];
    id.copy_from_slice(&digest(&[b"outer id", &model.to_le_bytes(), salt])[..16]);
    id
}

impl Subject {
    /// Bytes of the sealed part, for every report.
    pub fn sealed_length(&self) -> usize {
        8 * self.values + OVERHEAD
    }

    /// Bytes of an envelope.
    pub fn length(&self) -> usize {
        HEADER + self.sealed_length()
    }

    fn associated(&self, key_id: KeyId, id: [u8; 16]) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&self.protocol);
        bytes.extend_from_slice(&(self.loop_name.len() as u64).to_le_bytes());
        bytes.extend_from_slice(self.loop_name.as_bytes());
        bytes.extend_from_slice(&key_id);
        bytes.extend_from_slice(&id);
        bytes
    }

    /// Seals a randomiser's values to a key, once: store the bytes before they are sent, and send them again as they are. The salt and the sender's own key
    /// are drawn from `noise`, under a new key, and not from the generator that made the report.
    pub fn seal<N: Noise>(
        &self,
        noise: &mut N,
        key: &PublicKey,
        model: u64,
        values: &[f64],
    ) -> Result<Envelope> {
        if values.len() != self.values {
            let remedy = format!("a report of this protocol has {} numbers", self.values);
            return Err(Error::invalid("values", values.len(), remedy));
        }
        noise.rekey()?;
        let mut salt = [0; 16];
        for part in salt.as_chunks_mut::<8>().0 {
            *part = noise.bits().to_le_bytes();
        }
        let plain = values.iter().flat_map(|value| value.to_le_bytes());
        let plain: Zeroizing<Vec<u8>> = Zeroizing::new(plain.collect());
        let (key_id, id) = (key.id(), outer_id(model, &salt));
        let sealed = key.seal(noise, &plain, &self.associated(key_id, id))?;
        Ok(Envelope { protocol: self.protocol, model, key_id, salt, id, sealed })
    }

    /// The values that the device made; none if the report was sealed to another key or changed on its way.
    pub fn open(&self, key: &SealKey, id: [u8; 16], sealed: &[u8]) -> Option<Zeroizing<Vec<f64>>> {
        let plain = key.open(sealed, &self.associated(key.public().id(), id))?;
        let (numbers, rest) = plain.as_chunks::<8>();
        if !rest.is_empty() || numbers.len() != self.values {
            return None;
        }
        Some(Zeroizing::new(numbers.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect()))
    }

    /// The envelope of these bytes, if it is one of this loop. The caller checks the name of its key.
    pub fn read(&self, bytes: &[u8]) -> Result<Envelope> {
        let size = || format!("{} bytes", bytes.len());
        if bytes.first() != Some(&VERSION) || bytes.len() != self.length() {
            let remedy = format!(
                "a report of this loop begins with version {VERSION} and has {} bytes: update the older program",
                self.length()
            );
            return Err(Error::invalid("report", size(), remedy));
        }
        let envelope = Envelope::split(bytes)
            .ok_or_else(|| Error::invalid("report", size(), "it ends too early: send it again"))?;
        if envelope.protocol != self.protocol {
            let remedy = "it was made for a protocol with other parameters: fetch them anew";
            // In quotes: digits alone would be shown as a number.
            let value = format!("{:?}", hex(&envelope.protocol));
            return Err(Error::invalid("protocol", value, remedy));
        }
        Ok(envelope)
    }
}

impl Envelope {
    /// As it travels.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&self.protocol);
        bytes.extend_from_slice(&self.model.to_le_bytes());
        bytes.extend_from_slice(&self.key_id);
        bytes.extend_from_slice(&self.salt);
        bytes.extend_from_slice(&self.sealed);
        bytes
    }

    fn split(bytes: &[u8]) -> Option<Self> {
        let (protocol, rest) = bytes.get(1..)?.split_first_chunk()?;
        let (model, rest) = rest.split_first_chunk()?;
        let (key_id, rest) = rest.split_first_chunk()?;
        let (salt, sealed) = rest.split_first_chunk()?;
        let model = u64::from_le_bytes(*model);
        Some(Envelope {
            protocol: *protocol,
            model,
            key_id: *key_id,
            salt: *salt,
            id: outer_id(model, salt),
            sealed: sealed.to_vec(),
        })
    }
}
