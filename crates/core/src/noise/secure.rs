//! The generator that protects people: ChaCha20 (RFC 8439) keyed by the operating system.
//!
//! There is no constructor from a seed: whoever knows the seed can subtract the noise. Deserialising is for going on where a
//! saved generator stopped; the saved form holds the key, so whoever can read or write it can undo the noise, and it needs
//! the protection the raw data would need.

use chacha20::{
    ChaCha20Rng,
    rand_core::{Rng, SeedableRng},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Noise;
use crate::{Error, Result};

/// Cryptographic noise, and the only source whose draws a guarantee may rest on.
///
/// It is deliberately not `Clone`: two copies would add the same noise twice, and the difference of the two
/// releases would show the data. A deserialised generator continues bit for bit; if the original may have
/// gone on drawing, call [`Noise::refresh`] first.
///
/// ```
/// use reticent::noise::{Noise, SecureNoise};
/// let mut noise = SecureNoise::from_system()?;
/// assert_ne!(noise.bits(), noise.bits());
/// # Ok::<(), reticent::Error>(())
/// ```
pub struct SecureNoise {
    /// Buffers four ChaCha blocks; its word position counts consumed words, so saving it is exact.
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
}

/// Prints no key: a log line must not undo the noise.
impl std::fmt::Debug for SecureNoise {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SecureNoise").finish_non_exhaustive()
    }
}

/// The key, and how many 64-bit words have been drawn under it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedSecureNoise {
    key: [u8; 32],
    position: u64,
}

impl Serialize for SecureNoise {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        // Words are 32 bits and only ever drawn in pairs.
        let position = (self.generator.get_word_pos() / 2) as u64;
        SavedSecureNoise { key: self.generator.get_seed(), position }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SecureNoise {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let saved = SavedSecureNoise::deserialize(deserializer)?;
        let mut generator = ChaCha20Rng::from_seed(saved.key);
        generator.set_word_pos(2 * u128::from(saved.position));
        Ok(SecureNoise { generator })
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
    fn a_restored_generator_continues_bit_for_bit_from_every_position() {
        let mut noise = SecureNoise::seeded(3);
        for position in 0..100 {
            let text = serde_json::to_string(&noise).unwrap();
            let mut from_text: SecureNoise = serde_json::from_str(&text).unwrap();
            let bytes = crate::wire::save("noise", &noise);
            let mut from_bytes: SecureNoise = crate::wire::load("noise", &bytes).unwrap();
            let next = noise.bits();
            let ahead =
                |other: &mut SecureNoise| (0..200).map(|_| other.bits()).collect::<Vec<_>>();
            let (text_ahead, bytes_ahead) = (ahead(&mut from_text), ahead(&mut from_bytes));
            assert_eq!(text_ahead, bytes_ahead, "position {position}");
            assert_eq!(text_ahead[0], next, "position {position}");
        }
    }

    #[test]
    fn refresh_leaves_the_old_stream_and_debug_hides_the_key() {
        let (mut refreshed, mut old) = (SecureNoise::seeded(4), SecureNoise::seeded(4));
        refreshed.refresh().unwrap();
        assert_ne!(refreshed.bits(), old.bits());
        assert_eq!(format!("{old:?}"), "SecureNoise { .. }");
    }
}
