//! The cryptographic generator for noise that protects people: ChaCha20 (RFC 8439) keyed by the operating system.
//!
//! There is no constructor from a seed, because any party who knows the seed can subtract the noise. **The key is never stored.** The saved
//! form of a generator is empty, and a restored generator draws under a new key from the operating system. A stored key would repeat the
//! same noise on other data after a restored backup, a cloned machine or a promoted standby, and the difference of two releases would show
//! the data; with new keys even an unnoticed copy costs at most `sqrt 2 mu` (`release/stream.rs` has the proof).

use chacha20::{
    ChaCha20Rng,
    rand_core::{Rng, SeedableRng},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::Noise;
use crate::{Error, Result};

/// Cryptographic noise, and the only source whose draws a guarantee may rest on.
///
/// It is deliberately not `Clone`: two copies would add the same noise twice, and the difference of the two
/// releases would show the data. A deserialised generator has a new key.
///
/// ```
/// use reticent::noise::{Noise, SecureNoise};
/// let mut noise = SecureNoise::from_system()?;
/// assert_ne!(noise.bits(), noise.bits());
/// # Ok::<(), reticent::Error>(())
/// ```
pub struct SecureNoise {
    generator: ChaCha20Rng,
}

impl SecureNoise {
    /// A generator keyed with 256 bits from the operating system.
    pub fn from_system() -> Result<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| Error::Entropy { reason: error.to_string() })?;
        Ok(SecureNoise { generator: ChaCha20Rng::from_seed(key) })
    }

    /// A repeatable generator, for this crate's own tests only.
    #[cfg(test)]
    pub(crate) fn seeded(seed: u64) -> Self {
        SecureNoise { generator: ChaCha20Rng::seed_from_u64(seed) }
    }
}

impl Noise for SecureNoise {
    const PROTECTS_PEOPLE: bool = true;
    const NAME: &'static str = "ChaCha20";

    #[inline]
    fn bits(&mut self) -> u64 {
        self.generator.next_u64()
    }

    fn refresh(&mut self) -> Result<()> {
        *self = SecureNoise::from_system()?;
        Ok(())
    }

    fn split(&mut self) -> Result<Self> {
        SecureNoise::from_system()
    }
}

/// Prints no key, because the key in a log would let its readers subtract the noise.
impl std::fmt::Debug for SecureNoise {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SecureNoise").finish_non_exhaustive()
    }
}

/// Writes nothing: see the head of this file.
impl Serialize for SecureNoise {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

/// Takes a new key from the operating system.
impl<'de> Deserialize<'de> for SecureNoise {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        <()>::deserialize(deserializer)?;
        SecureNoise::from_system().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_keys_every_generator_anew() {
        // A constant key would repeat all 256 bits; by chance that happens once in 2^256.
        let draw = || {
            let mut noise = SecureNoise::from_system().unwrap();
            [noise.bits(), noise.bits(), noise.bits(), noise.bits()]
        };
        let first = draw();
        assert_ne!(first, draw());
        let mut noise = SecureNoise::seeded(1);
        let before = noise.bits();
        noise.refresh().unwrap();
        assert_ne!(noise.bits(), before);
    }

    #[test]
    fn the_stream_is_chacha20() {
        // RFC 8439, appendix A.1, test vector 1: zero key, zero nonce, block 0.
        let mut noise = SecureNoise { generator: ChaCha20Rng::from_seed([0; 32]) };
        assert_eq!(noise.bits().to_le_bytes(), [0x76, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90]);
    }

    #[test]
    fn a_saved_generator_holds_no_key_and_a_restored_one_has_a_new_key() {
        let (mut one, mut other) = (SecureNoise::seeded(3), SecureNoise::seeded(4));
        assert_eq!(serde_json::to_string(&one).unwrap(), "null");
        let bytes = crate::wire::save(crate::wire::kinds::SPENT, &one);
        // The same bytes whatever the key and the position.
        other.bits();
        assert_eq!(crate::wire::save(crate::wire::kinds::SPENT, &other), bytes);
        let mut restored: SecureNoise =
            crate::wire::load(crate::wire::kinds::SPENT, &bytes).unwrap();
        let mut again: SecureNoise = crate::wire::load(crate::wire::kinds::SPENT, &bytes).unwrap();
        let (original, restored, again) = (one.bits(), restored.bits(), again.bits());
        assert!(original != restored && restored != again);
    }

    #[test]
    fn refresh_leaves_the_old_stream_and_debug_hides_the_key() {
        let (mut refreshed, mut old) = (SecureNoise::seeded(4), SecureNoise::seeded(4));
        refreshed.refresh().unwrap();
        assert_ne!(refreshed.bits(), old.bits());
        assert_eq!(format!("{old:?}"), "SecureNoise { .. }");
    }
}
