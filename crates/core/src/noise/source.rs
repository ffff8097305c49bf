//! Where the random bits come from.

/// A source of randomness for mechanisms.
///
/// [`SecureNoise`](super::SecureNoise) is the only implementation in this crate. Fast seeded noise for
/// simulation lives in `reticent-lab`; what was run on it says so in its guarantee, because
/// [`Noise::PROTECTS_PEOPLE`] is false there.
pub trait Noise {
    /// Whether draws are unpredictable to an adversary. Guarantees are only given when this is true.
    const PROTECTS_PEOPLE: bool;

    /// 64 independent uniform bits.
    fn bits(&mut self) -> u64;

    /// Forgets everything that could repeat earlier draws: called when a stream is resumed from a state
    /// that has already been used.
    fn refresh(&mut self) -> crate::Result<()>;
}
