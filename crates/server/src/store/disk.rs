//! Files that only their owner reads, and names that last.

use std::{
    fmt::Display,
    fs::{self, DirBuilder, File, OpenOptions},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
};

use crate::{Error, Result};

/// Options for a file that its owner alone reads and writes.
pub(super) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options
}

/// Makes the folder of a file, for its owner alone, if there is none. One that exists stays as it is.
pub(super) fn make_folder(path: &Path) -> Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder(path))
        .map_err(|error| unusable(path, error))
}

/// Gives a file that is whole and durable its name.
pub(super) fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(|error| unusable(to, error))?;
    sync_folder(to)
}

/// Makes the names in the folder of a file durable.
pub(super) fn sync_folder(path: &Path) -> Result<()> {
    File::open(folder(path))
        .and_then(|folder| folder.sync_all())
        .map_err(|error| unusable(path, error))
}

/// A file that cannot be used.
pub(super) fn unusable(path: &Path, error: impl Display) -> Error {
    Error::store(format_args!("{}: {error}", path.display()))
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
