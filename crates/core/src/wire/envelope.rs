//! Saved state: an envelope that refuses damaged, truncated and foreign bytes before it decodes them.
//!
//! ```text
//! "RETICENT" | format version u16 | kind length u8 | kind | payload length u64 | payload | checksum u64
//! ```
//!
//! A kind is a name and the version of that kind, "linucb 1" ([`STATES`](super::STATES)). A state with a source of noise in it names that too,
//! "shuffler 1 on ChaCha20", so that simulation noise is never resumed as secure noise.
//!
//! The checksum ([`hash`] of everything before it) detects accidents, not attackers. Any party who can read a state can read the noise in it,
//! so the file needs the same protection as the raw data.

use serde::{Serialize, de::DeserializeOwned};

use super::Kind;
use crate::{Error, Result, hash};

const MAGIC: &[u8; 8] = b"RETICENT";
const VERSION: u16 = 3;

/// Serialises a state.
pub fn save<T: Serialize>(kind: Kind, value: &T) -> Vec<u8> {
    seal(&kind.to_string(), value)
}

/// Reads back what [`save`] wrote under the same kind.
pub fn load<T: DeserializeOwned>(kind: Kind, bytes: &[u8]) -> Result<T> {
    open(&kind.to_string(), bytes)
}

/// Returns whether bytes that were saved name this kind, whatever its version: for stores that hold several.
pub fn holds(kind: Kind, bytes: &[u8]) -> bool {
    let name = bytes.get(MAGIC.len() + 3..).unwrap_or_default();
    name.starts_with(kind.name().as_bytes()) && name.get(kind.name().len()) == Some(&b' ')
}

/// Serialises a state that holds a source of noise of this name.
pub(crate) fn save_on<T: Serialize>(kind: Kind, noise: &str, value: &T) -> Vec<u8> {
    seal(&format!("{kind} on {noise}"), value)
}

/// Reads back what [`save_on`] wrote under the same kind, on the same source of noise.
pub(crate) fn load_on<T: DeserializeOwned>(kind: Kind, noise: &str, bytes: &[u8]) -> Result<T> {
    open(&format!("{kind} on {noise}"), bytes)
}

/// Refuses a state that is older than what has left since: every kind with `resume` does it in this way. `what` are the things that were counted.
pub(crate) fn expect_newest(what: &'static str, saved: u64, released: u64) -> Result<()> {
    if saved >= released { Ok(()) } else { Err(Error::StaleState { what, saved, released }) }
}

fn seal<T: Serialize>(kind: &str, value: &T) -> Vec<u8> {
    enclose(kind, &postcard::to_stdvec(value).expect("plain data always serialises to memory"))
}

/// The envelope of a payload: compiled once, and not for every type.
fn enclose(kind: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(payload.len() + kind.len() + 27);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.push(kind.len() as u8);
    bytes.extend_from_slice(kind.as_bytes());
    bytes.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    bytes.extend_from_slice(payload);
    let sum = hash::of_bytes(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

fn open<T: DeserializeOwned>(kind: &str, bytes: &[u8]) -> Result<T> {
    match postcard::take_from_bytes(payload(kind, bytes)?) {
        Ok((value, [])) => Ok(value),
        Ok(_) => Err(damaged(bytes.len(), "bytes after the end".into())),
        Err(error) => Err(damaged(bytes.len(), error.to_string())),
    }
}

fn damaged(size: usize, reason: String) -> Error {
    let remedy = "restore another copy, or start a new stream with a new budget".into();
    Error::CorruptState { size, reason, remedy }
}

/// Content of an envelope of this kind.
fn payload<'a>(kind: &str, bytes: &'a [u8]) -> Result<&'a [u8]> {
    let refuse = |reason: String, remedy: &str| Error::CorruptState {
        size: bytes.len(),
        reason,
        remedy: remedy.into(),
    };
    let damaged = |reason: &str| damaged(bytes.len(), reason.into());
    let header = MAGIC.len() + 3;
    if bytes.len() < header || &bytes[..8] != MAGIC {
        return Err(refuse(
            "it does not begin with RETICENT".into(),
            "expected bytes that `save` returned",
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
        let words = |kind: &str, most| kind.splitn(3, ' ').take(most).collect::<String>();
        let same = |most| words(&found, most) == words(kind, most);
        let remedy = match (same(1), same(2)) {
            (false, _) => "load it with the type that saved it",
            (true, false) => "use the release of reticent that wrote it",
            (true, true) => "resume it on the source of noise that it was saved with",
        };
        return Err(refuse(format!("it holds a {found:?}, not a {kind:?}"), remedy));
    }
    let length = u64::from_le_bytes(body[kind_end..payload_start].try_into().expect("8 bytes"));
    let payload = &body[payload_start..];
    if payload.len() as u64 != length {
        return Err(damaged("payload length mismatch"));
    }
    Ok(payload)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::kinds::{AGENT, SHUFFLER, SPENT};

    #[test]
    fn round_trip_keeps_every_bit() {
        let value = vec![0.1_f64, f64::MIN_POSITIVE, -0.0, 1e300];
        let back: Vec<f64> = load(SPENT, &save(SPENT, &value)).unwrap();
        let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&value), bits(&back));
    }

    #[test]
    fn every_truncation_and_every_flipped_bit_is_refused() {
        let bytes = save(SPENT, &vec![1_u64, 2, 3]);
        for length in 0..bytes.len() {
            assert!(load::<Vec<u64>>(SPENT, &bytes[..length]).is_err());
        }
        for index in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[index / 8] ^= 1 << (index % 8);
            assert!(load::<Vec<u64>>(SPENT, &flipped).is_err(), "bit {index}");
        }
    }

    #[test]
    fn another_kind_another_version_and_other_noise_are_distinguished() {
        let bytes = save_on(SHUFFLER, "dice", &vec![1_u64]);
        let remedy =
            |kind, noise| load_on::<Vec<u64>>(kind, noise, &bytes).unwrap_err().to_string();
        assert!(load_on::<Vec<u64>>(SHUFFLER, "dice", &bytes).is_ok());
        for (error, words) in [
            (remedy(SHUFFLER.of_version(2), "dice"), "release of reticent"),
            (remedy(AGENT, "dice"), "type that saved it"),
            (remedy(SHUFFLER, "coins"), "source of noise"),
            (load::<Vec<u64>>(SHUFFLER, &bytes).unwrap_err().to_string(), "source of noise"),
        ] {
            assert!(error.contains(words) && error.contains("shuffler 1 on dice"), "{error}");
        }
    }
}
