//! Keyed hashes of persons and of event ids.

use hmac::{Hmac, KeyInit, Mac};
use reticent_device::sealed::SealKey;
pub use reticent_device::sealed::{digest, from_hex, hex};
use sha2::Sha256;

use crate::{
    Error, Result,
    records::{Digest, EventHash, PersonHash},
};

/// A value that reveals whether a key is the one that was used, and nothing else.
pub type CheckValue = [u8; 16];

/// A secret key, which is not printed.
#[derive(Clone)]
pub struct Secret([u8; 32]);

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secret(..)")
    }
}

impl Secret {
    /// A new key of the system's generator.
    pub fn new() -> Result<Self> {
        Ok(Secret(random()?))
    }

    /// The key of these bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Secret(bytes)
    }

    /// The key of 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        from_hex(text)?.try_into().ok().map(Secret)
    }

    /// The key as [`Secret::parse`] reads it: for the file that it is kept in.
    pub fn to_hex(&self) -> String {
        hex(&self.0)
    }

    /// The hash of parts, each with its length, under this key.
    pub fn hash(&self, parts: &[&[u8]]) -> Digest {
        let mut mac = self.mac();
        for part in parts {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }

    /// True if a code is that of these parts, in constant time.
    pub fn verify(&self, parts: &[&[u8]], code: &[u8]) -> bool {
        use subtle::ConstantTimeEq;
        let expected = self.hash(parts);
        expected[..16].ct_eq(code).into()
    }

    /// A person, the same in all loops.
    pub fn person(&self, person: &str) -> PersonHash {
        half(self.hash(&[b"person", person.as_bytes()]))
    }

    /// An event of a loop.
    pub fn event(&self, loop_name: &str, event: &str) -> EventHash {
        half(self.hash(&[b"event", loop_name.as_bytes(), event.as_bytes()]))
    }

    /// A request of a caller, who is named by the id of their key: the same request has another hash for every caller.
    pub fn request(&self, caller: &str, request: &Digest) -> Digest {
        self.hash(&[b"request", caller.as_bytes(), request])
    }

    /// A value that reveals whether this is the key, and nothing else.
    pub fn check_value(&self) -> CheckValue {
        half(self.hash(&[b"check"]))
    }

    /// The key that opens reports which are sealed to the owner of this secret.
    pub fn seal_key(&self) -> SealKey {
        SealKey::of_secret(&self.hash(&[b"sealed reports"]))
    }

    fn mac(&self) -> Hmac<Sha256> {
        Hmac::new_from_slice(&self.0).expect("HMAC takes keys of every length")
    }
}

/// The first 128 bits of a hash.
fn half(hash: Digest) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&hash[..16]);
    half
}

/// Random bytes of the system.
pub fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::Unavailable(format!("the system has no randomness: {error}")))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_into_each_other() {
        let secret = Secret::from_bytes([7; 32]);
        assert_ne!(secret.event("a", "bc"), secret.event("ab", "c"));
        let code = secret.hash(&[b"x"]);
        assert!(secret.verify(&[b"x"], &code[..16]) && !secret.verify(&[b"y"], &code[..16]));
        assert!(!secret.verify(&[b"x"], &code[..8]));
    }
}
