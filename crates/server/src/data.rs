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
    let file = folder.join(STORE);
    // A service makes this key when it has a store.
    let empty = fs::metadata(&file).map_or(true, |metadata| metadata.len() == 0);
    if empty && folder.join("events.key").exists() {
        let remedy = "it is missing or empty beside the keys of a store, and a new one would forget all visits, costs and keys: restore a copy, or give a new folder";
        return Err(Error::invalid("store", file.display(), remedy));
    }
    Ok(Arc::new(RedbStore::open(file)?))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_store_beside_the_keys_of_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        drop(open_store(folder).unwrap());
        fs::write(folder.join("events.key"), "key").unwrap();
        drop(open_store(folder).unwrap());
        fs::write(folder.join(STORE), "").unwrap();
        let refused = open_store(folder).err().unwrap().to_string();
        assert!(refused.contains("restore a copy"), "{refused}");
        fs::remove_file(folder.join(STORE)).unwrap();
        assert!(open_store(folder).is_err());
    }
}
