//! The file: who may read it, who has it open, and copies of it.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use ::redb::{Builder, Database, DatabaseError, ReadTransaction, StorageError};

use super::{tables, writer::Attempt};
use crate::{
    Error, Result,
    store::disk::{make_folder, private, rename, sync_folder, unusable},
};

/// Memory for pages: the ids and counts of a million events, which every question is looked up in.
const CACHE: usize = 160 << 20;

/// Opens a store, or makes it.
pub(super) fn open(path: &Path) -> Result<Database> {
    let options = private().create(true).truncate(false).open(path);
    let file = options.map_err(|error| unusable(path, error))?;
    file.set_permissions(Permissions::from_mode(0o600)).map_err(|error| unusable(path, error))?;
    let made = file.metadata().is_ok_and(|metadata| metadata.len() == 0);
    let database =
        Builder::new().set_cache_size(CACHE).create_file(file).map_err(|error| match error {
            DatabaseError::DatabaseAlreadyOpen => Error::store(format_args!(
                "{} is open in another process, and one process at a time serves from a folder: stop that one, or give another folder",
                path.display()
            )),
            DatabaseError::Storage(StorageError::Io(error))
                if error.kind() == io::ErrorKind::InvalidData =>
            {
                Error::invalid(
                    "store",
                    path.display(),
                    "give a file that this program made, or the name of a new one",
                )
            }
            error => unusable(path, error),
        })?;
    if made {
        sync_folder(path)?;
    }
    Ok(database)
}

/// Copies a snapshot to a new file, which has its name only when it is whole.
pub(super) fn copy(transaction: &ReadTransaction, path: &Path) -> Attempt<()> {
    if path.exists() {
        return Err(Error::invalid(
            "backup",
            path.display(),
            "give the name of a file that does not exist yet",
        )
        .into());
    }
    make_folder(path)?;
    let unfinished = PathBuf::from(format!("{}.unfinished", path.display()));
    let copied = copy_to(transaction, &unfinished).and_then(|()| Ok(rename(&unfinished, path)?));
    if copied.is_err() {
        // The first error matters more than that of cleaning up.
        let _ = fs::remove_file(&unfinished);
    }
    copied
}

fn copy_to(transaction: &ReadTransaction, path: &Path) -> Attempt<()> {
    let file = private().create_new(true).open(path).map_err(|error| unusable(path, error))?;
    // Everything is written once and in order.
    let database = Builder::new()
        .set_cache_size(CACHE / 16)
        .create_file(file)
        .map_err(|error| unusable(path, error))?;
    let copy = database.begin_write()?;
    tables::copy_all(transaction, &copy)?;
    Ok(copy.commit()?)
}
