//! Which code made a result.

/// A hash of the code, part of the key of stored results: those of another version are computed again.
pub(crate) const SOURCE: &str = env!("RETICENT_SOURCE");

/// The version of the program and the first digits of the hash of its code, for captions.
pub(crate) fn code() -> String {
    let (version, hash) = SOURCE.split_once('-').unwrap_or((SOURCE, ""));
    format!("{version}, code {}", hash.get(..8).unwrap_or(hash))
}
