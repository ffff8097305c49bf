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
    postcard::to_extend(record, vec![R::VERSION]).map_err(|error| {
        Error::store(format_args!("a record of kind {} cannot be written: {error}", R::NAME))
    })
}

/// The record of these bytes.
pub(crate) fn decode<R: Record>(bytes: &[u8]) -> Result<R> {
    match postcard::take_from_bytes(check_version::<R>(bytes)?) {
        Ok((record, [])) => Ok(record),
        _ => Err(damaged::<R>()),
    }
}

/// What follows the version.
fn check_version<R: Record>(bytes: &[u8]) -> Result<&[u8]> {
    match bytes.split_first() {
        Some((version, rest)) if *version == R::VERSION => Ok(rest),
        Some((version, _)) => Err(Error::store(format_args!(
            "a record of kind {} has version {version}, and this program reads version {}: use the program that wrote it",
            R::NAME,
            R::VERSION
        ))),
        None => Err(damaged::<R>()),
    }
}

fn damaged<R: Record>() -> Error {
    Error::store(format_args!("a record of kind {} is damaged: restore a backup", R::NAME))
}

/// The first fields of a record, for a reader who looks at many and needs few. `P` has the types of those fields in their order.
pub(crate) fn decode_start<R: Record, P: DeserializeOwned>(bytes: &[u8]) -> Result<P> {
    let rest = check_version::<R>(bytes)?;
    postcard::take_from_bytes(rest).map(|(start, _)| start).map_err(|_| damaged::<R>())
}
