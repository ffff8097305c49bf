//! Saved state: an envelope that refuses damaged, truncated and foreign bytes before it decodes them.
//!
//! ```text
//! "RETICENT" | format version u16 | kind length u8 | kind | payload length u64 | payload | checksum u64
//! ```
//!
//! A kind is a name and the version of that kind, "linucb 1". A change of what is saved under a kind raises its version;
//! `vectors/wire` holds the bytes of every kind, which a test compares.
//!
//! The checksum ([`hash`] of everything before it) detects accidents, not attackers. Anybody who can read a state can read the noise in it,
//! so the file needs the same protection as the raw data.

use serde::{Serialize, de::DeserializeOwned};

use crate::{Error, Result, hash};

const MAGIC: &[u8; 8] = b"RETICENT";
const VERSION: u16 = 3;

/// Serialises `value` under the name `kind`.
pub(crate) fn save<T: Serialize>(kind: &str, value: &T) -> Vec<u8> {
    let payload = postcard::to_stdvec(value).expect("plain data always serialises to memory");
    let mut bytes = Vec::with_capacity(payload.len() + kind.len() + 27);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.push(kind.len() as u8);
    bytes.extend_from_slice(kind.as_bytes());
    bytes.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&payload);
    let sum = hash::of_bytes(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

/// Reads back what [`save`] wrote under the same `kind`.
pub(crate) fn load<T: DeserializeOwned>(kind: &str, bytes: &[u8]) -> Result<T> {
    let refuse = |reason: String, remedy: &str| Error::CorruptState {
        size: bytes.len(),
        reason,
        remedy: remedy.into(),
    };
    let damaged = |reason: &str| {
        refuse(reason.into(), "restore another copy, or start a new stream with a new budget")
    };
    let header = MAGIC.len() + 3;
    if bytes.len() < header || &bytes[..8] != MAGIC {
        return Err(refuse(
            "it does not begin with RETICENT".into(),
            "give bytes that `save` returned",
        ));
    }
    let version = u16::from_le_bytes([bytes[8], bytes[9]]);
    if version != VERSION {
        return Err(refuse(
            format!("format version {version}, this library reads {VERSION}"),
            "use the release of reticent that wrote it",
        ));
    }
    let (body, sum) = bytes.split_at(bytes.len() - 8);
    if body.len() < header || hash::of_bytes(body).to_le_bytes() != sum {
        return Err(damaged("checksum mismatch"));
    }
    let kind_end = header + usize::from(bytes[10]);
    let payload_start = kind_end + 8;
    if body.len() < payload_start {
        return Err(damaged("truncated"));
    }
    let found = String::from_utf8_lossy(&body[header..kind_end]);
    if found != kind {
        let same = |kind: &str| kind.rsplit_once(' ').map(|(name, _)| name.to_string());
        let remedy = match same(&found) == same(kind) {
            true => "use the release of reticent that wrote it",
            false => "load it with the type that saved it",
        };
        return Err(refuse(format!("it holds a {found:?}, not a {kind:?}"), remedy));
    }
    let length = u64::from_le_bytes(body[kind_end..payload_start].try_into().expect("8 bytes"));
    let payload = &body[payload_start..];
    if payload.len() as u64 != length {
        return Err(damaged("payload length mismatch"));
    }
    let (value, rest) =
        postcard::take_from_bytes(payload).map_err(|error| damaged(&error.to_string()))?;
    if rest.is_empty() { Ok(value) } else { Err(damaged("bytes after the end")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_keeps_every_bit() {
        let value = vec![0.1_f64, f64::MIN_POSITIVE, -0.0, 1e300];
        let back: Vec<f64> = load("numbers", &save("numbers", &value)).unwrap();
        let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&value), bits(&back));
    }

    #[test]
    fn every_truncation_and_every_flipped_bit_is_refused() {
        let bytes = save("numbers", &vec![1_u64, 2, 3]);
        for length in 0..bytes.len() {
            assert!(load::<Vec<u64>>("numbers", &bytes[..length]).is_err());
        }
        for index in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[index / 8] ^= 1 << (index % 8);
            assert!(load::<Vec<u64>>("numbers", &flipped).is_err(), "bit {index}");
        }
        assert!(load::<Vec<u64>>("letters", &bytes).is_err());
        // Another version of the same kind, and another kind, are told apart.
        let bytes = save("numbers 2", &vec![1_u64]);
        let remedy = |kind| load::<Vec<u64>>(kind, &bytes).unwrap_err().to_string();
        assert!(remedy("numbers 1").contains("release of reticent"), "{}", remedy("numbers 1"));
        assert!(remedy("letters 2").contains("type that saved it"), "{}", remedy("letters 2"));
    }
}
