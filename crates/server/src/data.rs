//! The folder of a service's data: its store, the key of the people's hashes, and the witness elsewhere.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    Error, Result,
    store::{RedbStore, Store},
};

/// The file of the store.
const STORE: &str = "store.redb";

/// Opens the store in a folder, which is made, open to its owner only, if there is none.
pub fn open_store(folder: &Path) -> Result<Arc<dyn Store>> {
    make_folder(folder)?;
    Ok(Arc::new(RedbStore::open(folder.join(STORE))?))
}

/// Whether there is a store in a folder.
pub fn is_store(folder: &Path) -> bool {
    folder.join(STORE).exists()
}

/// The file of the keys of the people's hashes, unless another one is given.
pub fn people_key_in(folder: &Path) -> PathBuf {
    folder.join("people.key")
}

/// Makes the folder if there is none.
fn make_folder(folder: &Path) -> Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|error| {
        let remedy = format!("{error}: give a folder that this process can write");
        Error::invalid("data", folder.display(), remedy)
    })
}
