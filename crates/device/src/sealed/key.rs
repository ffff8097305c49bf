//! The key of the reader of reports: secret, and public as devices know it.

use std::convert::Infallible;

use hpke::{
    Deserializable, Kem as _, OpModeR, OpModeS, Serializable,
    rand_core::{TryCryptoRng, TryRng},
};
use reticent::{Error, Result, noise::Noise};
use zeroize::Zeroizing;

use super::{digest, from_hex, hex};

type Kem = hpke::kem::X25519HkdfSha256;
type Kdf = hpke::kdf::HkdfSha256;
type Aead = hpke::aead::ChaCha20Poly1305;

/// Name of a key.
pub type KeyId = [u8; 32];

/// Bytes of an encapsulated key.
const ENCAPSULATED: usize = 32;
/// Bytes of the code that shows a change.
const TAG: usize = 16;

/// Number of bytes by which sealed bytes are longer than their contents.
pub(crate) const OVERHEAD: usize = ENCAPSULATED + TAG;

/// Purpose of the sealing, so that a ciphertext of another use is not opened here.
const INFO: &[u8] = b"reticent sealed report 2";

/// The key that opens reports. It is not printed.
#[derive(Clone)]
pub struct SealKey {
    private: <Kem as hpke::Kem>::PrivateKey,
    public: PublicKey,
}

impl std::fmt::Debug for SealKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "SealKey({})", hex(&self.public.id()))
    }
}

impl SealKey {
    /// The key that follows from a secret.
    pub fn of_secret(secret: &[u8; 32]) -> Self {
        let (private, public) = Kem::derive_keypair(secret);
        let mut bytes = [0; 32];
        bytes.copy_from_slice(&public.to_bytes());
        SealKey { private, public: PublicKey(bytes) }
    }

    /// The key that devices seal to.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Contents that were sealed to this key under these associated data; none if they were changed, or sealed to another key.
    pub(crate) fn open(&self, sealed: &[u8], associated: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (encapsulated, ciphertext) = sealed.split_at_checked(ENCAPSULATED)?;
        let encapsulated = <Kem as hpke::Kem>::EncappedKey::from_bytes(encapsulated).ok()?;
        hpke::single_shot_open::<Aead, Kdf, Kem>(
            &OpModeR::Base,
            &self.private,
            &encapsulated,
            INFO,
            ciphertext,
            associated,
        )
        .ok()
        .map(Zeroizing::new)
    }
}

/// The public key, to which devices seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// The key of 64 hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self> {
        let bytes = from_hex(text).and_then(|bytes| bytes.try_into().ok());
        bytes.map(PublicKey).ok_or_else(|| {
            let remedy = "expected 64 hexadecimal digits: fetch it again";
            Error::invalid("public_key", "what cannot be read", remedy)
        })
    }

    /// As hexadecimal digits.
    pub fn text(&self) -> String {
        hex(&self.0)
    }

    /// Its name: the whole hash, because a server that finds two keys of one name could give one of them to a single device, whose report would then be
    /// the only one of its batch that opens under it.
    pub fn id(&self) -> KeyId {
        digest(&[b"seal key", &self.0])
    }

    /// Seals bytes under these associated data, by a key that is drawn from `noise`.
    pub(crate) fn seal<N: Noise>(
        &self,
        noise: &mut N,
        plain: &[u8],
        associated: &[u8],
    ) -> Result<Vec<u8>> {
        let unusable = |_| {
            let remedy = "no report can be sealed to it: fetch it again";
            Error::invalid("public_key", format!("{:?}", self.text()), remedy)
        };
        let public = <Kem as hpke::Kem>::PublicKey::from_bytes(&self.0).map_err(unusable)?;
        let (encapsulated, ciphertext) = hpke::single_shot_seal_with_rng::<Aead, Kdf, Kem>(
            &OpModeS::Base,
            &public,
            INFO,
            plain,
            associated,
            &mut Generator(noise),
        )
        .map_err(unusable)?;
        let mut sealed = encapsulated.to_bytes().to_vec();
        sealed.extend_from_slice(&ciphertext);
        Ok(sealed)
    }
}

/// A device's generator as HPKE asks for one.
struct Generator<'a, N>(&'a mut N);

impl<N: Noise> TryRng for Generator<'_, N> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> std::result::Result<u32, Infallible> {
        Ok(self.0.bits() as u32)
    }

    fn try_next_u64(&mut self) -> std::result::Result<u64, Infallible> {
        Ok(self.0.bits())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> std::result::Result<(), Infallible> {
        for part in bytes.chunks_mut(8) {
            part.copy_from_slice(&self.0.bits().to_le_bytes()[..part.len()]);
        }
        Ok(())
    }
}

impl<N: Noise> TryCryptoRng for Generator<'_, N> {}
