//! Sealed reports as a shuffler sends them to a server.
//!
//! ```text
//! version u8 | protocol 32 | key id 32 | number u64 | reports u32 | (outer id 16 | encapsulated key 32 | ciphertext) ...
//! ```
//!
//! It does not show who sent a report, when, and on which model.

use super::{KeyId, ProtocolHash, Subject};
use crate::{Error, Result, secret::hex};

const VERSION: u8 = 2;

/// Version, protocol, key id, number, count, and the reports.
type Parts<'a> = (u8, ProtocolHash, KeyId, u64, u32, &'a [u8]);

/// A batch of sealed reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedBatch {
    /// Its number, from 0.
    pub number: u64,
    /// Id of the key that opens the reports.
    pub key_id: KeyId,
    /// Outer ids and sealed bytes, in a random order.
    pub reports: Vec<([u8; 16], Vec<u8>)>,
}

impl SealedBatch {
    /// Bytes as sent.
    pub fn bytes(&self, subject: &Subject) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&subject.protocol);
        bytes.extend_from_slice(&self.key_id);
        bytes.extend_from_slice(&self.number.to_le_bytes());
        bytes.extend_from_slice(&(self.reports.len() as u32).to_le_bytes());
        for (id, sealed) in &self.reports {
            bytes.extend_from_slice(id);
            bytes.extend_from_slice(sealed);
        }
        bytes
    }

    /// The batch of these bytes, if it has exactly `size` reports of this loop.
    pub fn read(subject: &Subject, size: u64, bytes: &[u8]) -> Result<Self> {
        let malformed =
            |remedy: &str| Error::invalid("batch", format_args!("{} bytes", bytes.len()), remedy);
        let split = || -> Option<Parts<'_>> {
            let (version, rest) = bytes.split_first()?;
            let (protocol, rest) = rest.split_first_chunk()?;
            let (key_id, rest) = rest.split_first_chunk()?;
            let (number, rest) = rest.split_first_chunk()?;
            let (count, rest) = rest.split_first_chunk()?;
            let (number, count) = (u64::from_le_bytes(*number), u32::from_le_bytes(*count));
            Some((*version, *protocol, *key_id, number, count, rest))
        };
        let Some((version, protocol, key_id, number, count, rest)) = split() else {
            return Err(malformed("it ends too early: send it again"));
        };
        if version != VERSION {
            let remedy = format!("this program reads version {VERSION}: update the older program");
            return Err(Error::invalid("version", version, remedy));
        }
        if protocol != subject.protocol {
            let remedy = "it is of a protocol with other parameters: give shuffler and server the same file of loops";
            return Err(Error::invalid("protocol", hex(&protocol), remedy));
        }
        if u64::from(count) != size {
            let remedy = format!("a batch of this loop is of {size} reports");
            return Err(Error::invalid("reports", count, remedy));
        }
        let each = 16 + subject.sealed_length();
        if rest.len() as u64 != size.saturating_mul(each as u64) {
            return Err(malformed("its reports are not of the length of this protocol"));
        }
        let reports = rest.chunks_exact(each).filter_map(|report| {
            let (id, sealed) = report.split_first_chunk()?;
            Some((*id, sealed.to_vec()))
        });
        Ok(SealedBatch { number, key_id, reports: reports.collect() })
    }
}

#[cfg(test)]
mod tests {
    use reticent::noise::SecureNoise;

    use super::*;
    use crate::secret::Secret;

    #[test]
    fn a_batch_of_another_size_or_protocol_is_refused() {
        let subject = Subject { loop_name: "news".into(), protocol: [7; 32], values: 3 };
        let key = Secret::from_bytes([1; 32]).seal_key();
        let mut noise = SecureNoise::from_system().unwrap();
        let mut sealed = |values: [f64; 3]| {
            let envelope = subject.seal(&mut noise, key.public(), 1, &values).unwrap();
            (envelope.id, envelope.sealed)
        };
        let reports = vec![sealed([1.0; 3]), sealed([2.0; 3])];
        let batch = SealedBatch { number: 4, key_id: key.public().id(), reports };
        let bytes = batch.bytes(&subject);
        assert_eq!(SealedBatch::read(&subject, 2, &bytes).unwrap(), batch);
        let error = SealedBatch::read(&subject, 3, &bytes).unwrap_err().to_string();
        assert!(error.contains("reports"), "{error}");
        for length in 0..bytes.len() {
            assert!(SealedBatch::read(&subject, 2, &bytes[..length]).is_err(), "{length}");
        }
        let other = Subject { protocol: [1; 32], ..subject.clone() };
        assert!(SealedBatch::read(&other, 2, &bytes).is_err());
    }
}
