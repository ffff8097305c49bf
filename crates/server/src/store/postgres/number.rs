//! Numbers and bytes as PostgreSQL keeps them.

use crate::{
    Error, Result,
    store::{GenerationId, refusal},
};

/// A number that is stored.
pub(super) fn signed(field: &str, number: u64) -> Result<i64> {
    i64::try_from(number).map_err(|_| {
        Error::invalid(field, number, "expected a number below 2^63: PostgreSQL has no larger ones")
    })
}

/// A number that bounds a search: everything stored is below 2^63.
pub(super) fn bound(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A limit on rows.
pub(super) fn limit(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

/// A stored number. None is negative.
pub(super) fn unsigned(number: i64) -> u64 {
    number.max(0) as u64
}

/// A stored hash.
pub(super) fn hash<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
    bytes.try_into().map_err(|_| {
        Error::store(format_args!(
            "a stored hash has {} bytes instead of {N}: restore a backup",
            bytes.len()
        ))
    })
}

/// Hashes of 64 bits, written one after the other.
pub(super) fn write_keys(keys: &[u64]) -> Vec<u8> {
    keys.iter().flat_map(|key| key.to_le_bytes()).collect()
}

/// The same read.
pub(super) fn read_keys(bytes: &[u8]) -> Result<Vec<u64>> {
    Ok(eights(bytes)?.map(u64::from_le_bytes).collect())
}

/// Floating-point numbers, written one after the other.
pub(super) fn write_features(features: &[f64]) -> Vec<u8> {
    features.iter().flat_map(|feature| feature.to_le_bytes()).collect()
}

/// The same read.
pub(super) fn read_features(bytes: &[u8]) -> Result<Vec<f64>> {
    Ok(eights(bytes)?.map(f64::from_le_bytes).collect())
}

fn eights(bytes: &[u8]) -> Result<impl Iterator<Item = [u8; 8]>> {
    let (numbers, []) = bytes.as_chunks::<8>() else {
        return Err(Error::store("a stored list of numbers is damaged: restore a backup"));
    };
    Ok(numbers.iter().copied())
}

/// The number of a generation as it is stored. One that cannot be stored does not exist.
pub(super) fn generation_number(generation: GenerationId) -> Result<i32> {
    i32::try_from(generation).map_err(|_| refusal::unknown_generation(generation))
}

/// Random bytes.
pub(super) fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(Error::store)?;
    Ok(bytes)
}
