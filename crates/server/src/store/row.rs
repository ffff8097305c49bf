//! Records as bytes: one byte for the version, then postcard.
//!
//! A record of an unknown version is refused and never guessed at. `vectors/store` has the bytes of every version of every record; a change of a record
//! raises its version and keeps the old file.

use serde::{Serialize, de::DeserializeOwned};

use crate::{Error, Result, loops::StoredAnswer};

/// Reads what follows the version of a record.
pub(crate) type Reader<R> = fn(&[u8]) -> Option<R>;

/// A record that is written with a version.
pub(crate) trait Record: Serialize + DeserializeOwned {
    /// Name in errors and in `vectors/store`.
    const NAME: &'static str;
    /// The version that is written.
    const VERSION: u8 = 1;

    /// Reader of a version that is not written any more.
    fn reader_of(_version: u8) -> Option<Reader<Self>> {
        None
    }
}

impl Record for StoredAnswer {
    const NAME: &'static str = "answer";
}

/// The bytes of a record.
pub(crate) fn encode<R: Record>(record: &R) -> Result<Vec<u8>> {
    postcard::to_extend(record, vec![R::VERSION]).map_err(|error| {
        Error::store(format_args!("a record of kind {} cannot be written: {error}", R::NAME))
    })
}

/// The record of these bytes.
pub(crate) fn decode<R: Record>(bytes: &[u8]) -> Result<R> {
    let earlier = bytes.split_first().and_then(|(version, rest)| {
        let reader = R::reader_of(*version).filter(|_| *version != R::VERSION)?;
        Some(reader(rest))
    });
    let record = match earlier {
        Some(record) => record,
        None => whole(check_version::<R>(bytes)?),
    };
    record.ok_or_else(damaged::<R>)
}

/// A value that takes all of these bytes.
pub(crate) fn whole<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Some(value),
        _ => None,
    }
}

/// The bytes after the version.
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

/// The bytes of records in `vectors/store`. `RETICENT_WRITE_VECTORS=1` writes those of the present versions; older files stay.
#[cfg(test)]
pub(crate) mod golden {
    use std::{fs, path::PathBuf};

    use super::{Record, decode, encode};

    fn path(name: &str, version: u8) -> PathBuf {
        let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../vectors/store"].iter().collect();
        path.join(format!("{name}.{version}.bin"))
    }

    /// The record in the file of a version that is not written any more.
    pub(crate) fn earlier<R: Record>(version: u8) -> R {
        assert!(version < R::VERSION);
        let golden = fs::read(path(R::NAME, version)).unwrap();
        for length in 0..golden.len() {
            assert!(decode::<R>(&golden[..length]).is_err(), "{} without its end is read", R::NAME);
        }
        decode(&golden).unwrap()
    }

    /// The bytes of a kind of state in its file, which must be those that are written now.
    pub(crate) fn file(name: &str, version: u8, written: &[u8]) -> Vec<u8> {
        let path = path(name, version);
        if std::env::var_os("RETICENT_WRITE_VECTORS").is_some() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, written).unwrap();
        }
        let golden = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(written, golden, "{name} is written in another way: raise its version");
        golden
    }

    /// The record is read from its file, and written as the same bytes.
    pub(crate) fn check<R: Record + PartialEq>(record: &R) {
        let golden = file(R::NAME, R::VERSION, &encode(record).unwrap());
        assert!(decode::<R>(&golden).unwrap() == *record, "{} is read as something else", R::NAME);
        for length in 0..golden.len() {
            assert!(decode::<R>(&golden[..length]).is_err(), "{} without its end is read", R::NAME);
        }
        let longer = [&golden[..], &[0]].concat();
        assert!(decode::<R>(&longer).is_err(), "{} with something after it is read", R::NAME);
        let mut newer = golden;
        newer[0] += 1;
        let refused = decode::<R>(&newer).err().unwrap().to_string();
        let version = format!("version {}", R::VERSION + 1);
        assert!(refused.contains(R::NAME) && refused.contains(&version), "{refused}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_answers_have_golden_bytes() {
        let stored = StoredAnswer {
            action: 2,
            probabilities: vec![(0, 0.25), (2, 0.5), (3, 0.25)],
            head: "7.head".into(),
        };
        golden::check(&stored);
        assert!(decode::<StoredAnswer>(br#"{"event_id":""}"#).is_err());
        assert!(decode::<StoredAnswer>(&[]).is_err());
    }
}
