//! The files of keys for keyed hashes of persons and of event ids.
//!
//! The key stands outside the store, so that an attacker with the store alone cannot try out names; a check value stands inside, so that a store with
//! another key is noticed: counts under another key would begin again at zero.

use std::{fs, io::Write, path::Path};

pub use reticent_loops::secret::{CheckValue, Secret, digest, from_hex, hex, random};

use crate::{Error, Result, store::MOST_EARLIER_KEYS};

/// The key in a file of 64 hexadecimal digits, which is made, readable by its owner only, if there is none.
pub fn secret_in_file(path: &Path) -> Result<Secret> {
    let failed = |error: std::io::Error| unusable(path, &error);
    warn_if_open(path);
    match fs::read_to_string(path) {
        Ok(text) => Secret::parse(text.trim()).ok_or_else(|| malformed(path)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let secret = Secret::new()?;
            write_private(path, &secret.to_hex()).map_err(failed)?;
            sync_folder(path).map_err(failed)?;
            Ok(secret)
        }
        Err(error) => Err(failed(error)),
    }
}

/// The keys of the people's hashes, in one file: the present one, then earlier ones, one a line.
#[derive(Debug, Clone)]
pub struct PeopleKeys {
    /// Key under which people are counted.
    pub current: Secret,
    /// Earlier keys, whose counts add up.
    pub earlier: Vec<Secret>,
}

impl PeopleKeys {
    /// The keys in a file, which is made with one key if there is none.
    pub fn in_file(path: &Path) -> Result<Self> {
        if !path.exists() {
            return Ok(PeopleKeys { current: secret_in_file(path)?, earlier: Vec::new() });
        }
        warn_if_open(path);
        let text = fs::read_to_string(path).map_err(|error| unusable(path, &error))?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let keys: Option<Vec<Secret>> = lines.map(Secret::parse).collect();
        let mut keys = keys.unwrap_or_default().into_iter();
        let Some(current) = keys.next() else { return Err(malformed(path)) };
        let earlier: Vec<Secret> = keys.collect();
        if earlier.len() > MOST_EARLIER_KEYS {
            let remedy = format!(
                "it holds {} keys; expected at most {}; leave out earlier ones that are outlived (`reticent-server key rotate-people --drop-outlived`)",
                earlier.len() + 1,
                MOST_EARLIER_KEYS + 1
            );
            return Err(Error::invalid(PEOPLE, path.display(), remedy));
        }
        Ok(PeopleKeys { current, earlier })
    }

    /// Puts a new key in front of those in the file, without those that are `outlived`, and returns how many keys it then holds. A service takes it
    /// up when it starts.
    pub fn rotate(path: &Path, outlived: impl Fn(&Secret) -> bool) -> Result<usize> {
        if !path.exists() {
            let remedy =
                "there is no such file: start the service once, or name the file of --people-key";
            return Err(Error::invalid(PEOPLE, path.display(), remedy));
        }
        let PeopleKeys { current, earlier } = Self::in_file(path)?;
        let kept = std::iter::once(current).chain(earlier).filter(|key| !outlived(key));
        let keys: Vec<Secret> = std::iter::once(Secret::new()?).chain(kept).collect();
        if keys.len() > MOST_EARLIER_KEYS + 1 {
            let remedy = format!(
                "it holds {MOST_EARLIER_KEYS} earlier keys, which is the most: try --drop-outlived, or wait until one is outlived; counts for ever never are"
            );
            return Err(Error::invalid(PEOPLE, path.display(), remedy));
        }
        let text: String = keys.iter().map(|key| key.to_hex() + "\n").collect();
        let unfinished = path.with_extension("unfinished");
        let _ = fs::remove_file(&unfinished);
        write_private(&unfinished, &text).map_err(|error| unusable(&unfinished, &error))?;
        fs::rename(&unfinished, path).map_err(|error| unusable(path, &error))?;
        sync_folder(path).map_err(|error| unusable(path, &error))?;
        Ok(keys.len())
    }
}

/// Name of the file of the people's keys in an error.
const PEOPLE: &str = "key of the people's hashes";

fn unusable(path: &Path, error: &std::io::Error) -> Error {
    let remedy = format!("{error}; expected a file that this process can read and write");
    Error::invalid("file of keys", path.display(), remedy)
}

/// Says that others than its owner can read a file of keys. It is not refused: some systems hand secrets to a process in this way.
fn warn_if_open(path: &Path) {
    #[cfg(unix)]
    if let Ok(metadata) = fs::metadata(path) {
        let mode = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions());
        if mode & 0o077 != 0 {
            tracing::warn!(path = %path.display(), "others than its owner can read this file of keys: chmod 600");
        }
    }
    #[cfg(not(unix))]
    let _ = path;
}

fn malformed(path: &Path) -> Error {
    let remedy = "it must hold 64 hexadecimal digits a line: restore it from its backup";
    Error::invalid("file of keys", path.display(), remedy)
}

/// Writes a new file that only its owner may read.
fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = private_file(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// The name of a file is durable only when its folder is.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => fs::File::open(folder)?.sync_all(),
        None => fs::File::open(".")?.sync_all(),
    }
}

/// Opens a new file that only its owner may read.
fn private_file(path: &Path) -> std::io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_and_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("people.key");
        let made = secret_in_file(&path).unwrap();
        assert_eq!(secret_in_file(&path).unwrap().person("a"), made.person("a"));
        assert_ne!(made.person("a"), made.person("b"));
        assert_ne!(Secret::new().unwrap().person("a"), made.person("a"));
        assert!(!format!("{made:?}").contains(&made.to_hex()[..8]));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        fs::write(&path, "not a key").unwrap();
        assert!(secret_in_file(&path).unwrap_err().to_string().contains("64 hexadecimal digits"));
    }

    #[test]
    fn rotation_keeps_every_earlier_key_in_the_file_until_it_is_outlived() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("people.key");
        assert!(
            PeopleKeys::rotate(&path, |_| false).unwrap_err().to_string().contains("no such file")
        );
        let first = PeopleKeys::in_file(&path).unwrap().current;
        assert_eq!(PeopleKeys::rotate(&path, |_| false).unwrap(), 2);
        let second = PeopleKeys::in_file(&path).unwrap();
        assert_ne!(second.current.person("a"), first.person("a"));
        assert_eq!(second.earlier[0].person("a"), first.person("a"));
        for _ in 1..MOST_EARLIER_KEYS {
            PeopleKeys::rotate(&path, |_| false).unwrap();
        }
        let before = fs::read(&path).unwrap();
        let full = PeopleKeys::rotate(&path, |_| false).unwrap_err().to_string();
        assert!(full.contains("--drop-outlived") && fs::read(&path).unwrap() == before, "{full}");
        let is_first = |key: &Secret| key.check_value() == first.check_value();
        assert_eq!(PeopleKeys::rotate(&path, is_first).unwrap(), MOST_EARLIER_KEYS + 1);
        assert!(!PeopleKeys::in_file(&path).unwrap().earlier.iter().any(is_first));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        fs::write(&path, "").unwrap();
        assert!(PeopleKeys::in_file(&path).unwrap_err().to_string().contains("restore it"));
    }
}
