//! The hash that everything here uses: FNV-1a (Fowler, Noll and Vo), of bytes and of parameters.
//!
//! It detects accidents: damaged bytes, and two parties of a protocol that were started with different parameters. It is not cryptographic
//! and stops no attacker; no privacy guarantee depends on it.
//!
//! Parameters are hashed as the bytes that [postcard](https://postcard.jamesmunns.com/wire-format) writes, after the name of what they
//! are parameters of. These bytes are the same on every platform and in every build, unlike the text of `{:?}`.

use serde::Serialize;

/// The hash of the empty string.
pub const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

const EMPTY_128: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME_128: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

/// The hash of bytes.
///
/// ```
/// use reticent::hash;
/// assert_eq!(hash::of_bytes(b"foobar"), 0x8594_4171_f739_67e8);
/// assert_eq!(hash::extended(hash::of_bytes(b"foo"), b"bar"), hash::of_bytes(b"foobar"));
/// ```
pub fn of_bytes(bytes: &[u8]) -> u64 {
    extended(EMPTY, bytes)
}

/// The hash of `a` followed by `bytes`, from `hash = of_bytes(a)`.
pub fn extended(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME))
}

/// Spreads a number or a hash over all 64 bits: the finaliser of SplitMix64 (Steele, Lea and Flood 2014), a bijection. Every bit depends
/// on every bit, which those of FNV-1a alone do not.
///
/// ```
/// // The first output of SplitMix64 from state 0.
/// assert_eq!(reticent::hash::mixed(0x9e37_79b9_7f4a_7c15), 0xe220_a839_7b1d_cdaf);
/// ```
pub fn mixed(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// A hash of 128 bits, for names that must not collide by accident among very many.
pub fn of_bytes_128(bytes: &[u8]) -> u128 {
    bytes.iter().fold(EMPTY_128, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME_128))
}

/// The hash of parameters. `what` names what they belong to and the version of their meaning, so that equal bytes of different things
/// have different hashes.
pub fn of_params<T: Serialize>(what: &str, params: &T) -> u64 {
    of_bytes(&bytes_of_params(&(what, params)))
}

/// The bytes that parameters are hashed as. Different parameters of one type have different bytes.
pub fn bytes_of_params<T: Serialize>(params: &T) -> Vec<u8> {
    postcard::to_stdvec(params).expect("plain data always serialises to memory")
}

/// A word for each number, by two rounds of the finaliser of SplitMix64 (Steele, Lea and Flood 2014): a bijection in each argument. For
/// randomness that is public: which of equal arms, which member of an ensemble.
pub fn mix(key: u64, number: u64) -> u64 {
    mixed(mixed(key.wrapping_add(0x9e37_79b9_7f4a_7c15)).wrapping_add(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the test suite of the authors (draft-eastlake-fnv, appendix C).
    #[test]
    fn known_answers() {
        assert_eq!(of_bytes(b""), EMPTY);
        assert_eq!(of_bytes(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(of_bytes(b"foobar"), 0x8594_4171_f739_67e8);
        assert_eq!(of_bytes_128(b""), EMPTY_128);
        assert_eq!(of_bytes_128(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
        assert_eq!(of_bytes_128(b"foobar"), 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18);
    }

    #[test]
    fn the_hash_depends_on_every_bit_and_on_the_name_of_the_parameters() {
        let hash = of_params("test 1", &(0.1_f64, 3_u64));
        assert_ne!(hash, of_params("test 1", &(0.1_f64.next_up(), 3_u64)));
        assert_ne!(hash, of_params("test 1", &(0.1_f64, 4_u64)));
        assert_ne!(hash, of_params("test 2", &(0.1_f64, 3_u64)));
        // Six characters with their length, eight bytes, one byte.
        let bytes = [&[6][..], b"test 1", &0.1_f64.to_le_bytes(), &[3]].concat();
        assert_eq!(hash, of_bytes(&bytes));
    }
}
