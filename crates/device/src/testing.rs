//! Noise for the tests of this crate.

use reticent::{Result, noise::Noise};

/// Seeded bits (SplitMix64); draws are repeatable and copyable, hence protect no person.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Seeded(pub(crate) u64);

impl Noise for Seeded {
    const PROTECTS_PEOPLE: bool = false;
    const NAME: &'static str = "test 2";

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    fn refresh(&mut self) -> Result<()> {
        self.0 ^= 0x5555_5555_5555_5555;
        Ok(())
    }

    fn split(&mut self) -> Result<Self> {
        Ok(Seeded(self.bits()))
    }
}
