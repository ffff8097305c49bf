//! The file: who may read it, who has it open, and copies of it.

use std::{
    cell::Cell,
    fs::{self, Permissions},
    io::ErrorKind,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    rc::Rc,
};

use ::redb::{
    Builder, Database, DatabaseError, ReadTransaction, StorageBackend, StorageError,
    backends::FileBackend,
};

use super::{
    tables,
    writer::{Attempt, Failure},
};
use crate::{
    Error,
    store::disk::{make_folder, private, rename, sync_folder, unusable},
};

/// Memory for pages: the ids and counts of a million events, in which every rank request is looked up.
const CACHE: usize = 160 << 20;

/// Opens a store, or makes it.
pub(super) fn open(path: &Path) -> Attempt<Database> {
    let options = private().create(true).truncate(false).open(path);
    let file = options.map_err(|error| unusable(path, error))?;
    file.set_permissions(Permissions::from_mode(0o600)).map_err(|error| unusable(path, error))?;
    let made = file.metadata().is_ok_and(|metadata| metadata.len() == 0);
    let file = FileBackend::new(file).map_err(|error| explain(path, error))?;
    let database = open_on(file).map_err(|error| explain(path, error))?;
    if made {
        sync_folder(path)?;
    }
    Ok(database)
}

/// Opens a file of these bytes. Every page that is in use is compared with its checksum: redb does that after a crash only, and would read wrong data, such
/// as a count of visits, or panic.
pub(super) fn open_on(bytes: impl StorageBackend) -> Result<Database, DatabaseError> {
    let repaired = Rc::new(Cell::new(false));
    let noted = Rc::clone(&repaired);
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE).set_repair_callback(move |_| noted.set(true));
    let mut database = builder.create_with_backend(bytes)?;
    if !repaired.get() && !database.check_integrity()? {
        tracing::warn!("the store did not know which of its pages are free: it was repaired");
    }
    Ok(database)
}

/// Reason why a file cannot be opened.
fn explain(path: &Path, error: DatabaseError) -> Failure {
    match error {
        DatabaseError::DatabaseAlreadyOpen => Error::store(format_args!(
            "{} is open in another process, and one process at a time serves from a folder: stop that one, or give another folder",
            path.display()
        ))
        .into(),
        DatabaseError::Storage(StorageError::Io(error))
            if error.kind() == ErrorKind::InvalidData =>
        {
            let remedy = "it is no store of this program, or its beginning is damaged; expected the folder of a store; or restore a backup (docs/reference/service.md, Restoring)";
            Error::invalid("store", path.display(), remedy).into()
        }
        error => match Failure::from(error) {
            Failure::Storage(message) => unusable(path, message).into(),
            failure => failure,
        },
    }
}

/// Copies a snapshot to a new file, which has its name only when it is whole.
pub(super) fn copy(transaction: &ReadTransaction, path: &Path) -> Attempt<()> {
    if path.exists() {
        return Err(Error::invalid(
            "backup",
            path.display(),
            "expected the name of a file that does not exist yet",
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
