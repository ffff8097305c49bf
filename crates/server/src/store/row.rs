//! Records as bytes: one byte for the version, then postcard.
//!
//! A record of another version is refused and never guessed at. `vectors/store` has the bytes of every version of every record; a change of a record
//! raises its version and keeps the old file.

use serde::{Serialize, de::DeserializeOwned};

use crate::{Error, Result};

/// Something that is written with a version.
pub(crate) trait Record: Serialize + DeserializeOwned {
    /// What it is called in an error and in `vectors/store`.
    const NAME: &'static str;
    /// The version that is written.
    const VERSION: u8 = 1;
}

/// The bytes of a record.
pub(crate) fn encode<R: Record>(record: &R) -> Result<Vec<u8>> {
    postcard::to_extend(record, vec![R::VERSION])
        .map_err(|error| Error::store(format_args!("a record of kind {} cannot be written: {error}", R::NAME)))
}

/// The record of these bytes.
pub(crate) fn decode<R: Record>(bytes: &[u8]) -> Result<R> {
    let (version, rest) = bytes
        .split_first()
        .ok_or_else(|| Error::store(format_args!("a record of kind {} is empty: restore a backup", R::NAME)))?;
    if *version != R::VERSION {
        return Err(Error::store(format_args!(
            "a record of kind {} has version {version}, and this program reads version {}: use the program that wrote it",
            R::NAME,
            R::VERSION
        )));
    }
    match postcard::take_from_bytes(rest) {
        Ok((record, [])) => Ok(record),
        _ => Err(Error::store(format_args!("a record of kind {} is damaged: restore a backup", R::NAME))),
    }
}
