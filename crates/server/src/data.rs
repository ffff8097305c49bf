//! Where a service's data are: a folder with its keys and, unless there is a database, the store; the witness stands elsewhere.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    Error, Result,
    clock::{Clock, SystemClock},
    sealed::SealKey,
    secret::Secret,
    store::{Portable, PostgresStore, RedbStore, Store},
};

/// The file of the store in its folder.
pub const STORE: &str = "store.redb";

/// Where the data of a service are.
#[derive(Debug, Clone)]
pub struct Data {
    /// The folder of the keys and of the control socket, and of the store unless there is a database.
    pub folder: PathBuf,
    /// The address of a PostgreSQL database.
    pub database: Option<String>,
}

impl Data {
    /// Everything in one folder.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Data { folder: folder.into(), database: None }
    }

    /// Opens the store, with the clock that decides for it. The folder is made, open to its owner only, if there is none.
    pub async fn open(&self) -> Result<(Arc<dyn Store>, Arc<dyn Clock>)> {
        match &self.database {
            Some(url) => {
                make_folder(&self.folder)?;
                let store = PostgresStore::open(url).await?;
                let clock = store.clock();
                Ok((Arc::new(store), clock))
            }
            None => {
                let store = open_file(&self.folder)?;
                if let Some(place) = store.retired_to().await? {
                    let remedy = format!("its store was moved to {place}: serve from there");
                    return Err(Error::invalid("data", self.folder.display(), remedy));
                }
                Ok((Arc::new(store), Arc::new(SystemClock::default())))
            }
        }
    }

    /// Whether there is a store; that of a database is made when it is opened.
    pub fn is_store(&self) -> bool {
        self.database.is_some() || self.folder.join(STORE).exists()
    }
}

/// Opens the store in a folder, which is made, open to its owner only, if there is none.
pub fn open_store(folder: &Path) -> Result<Arc<dyn Store>> {
    Ok(Arc::new(open_file(folder)?))
}

fn open_file(folder: &Path) -> Result<RedbStore> {
    make_folder(folder)?;
    let file = folder.join(STORE);
    // A service makes this key when it has a store.
    let empty = fs::metadata(&file).map_or(true, |metadata| metadata.len() == 0);
    if empty && folder.join("events.key").exists() {
        let remedy = "it is missing or empty beside the keys of a store, and a new one would forget all visits, costs and keys: restore a copy, or give a new folder";
        return Err(Error::invalid("store", file.display(), remedy));
    }
    RedbStore::open(file)
}

/// The file of the keys of the people's hashes, unless another one is given.
pub fn people_key_in(folder: &Path) -> PathBuf {
    folder.join("people.key")
}

/// The name of the value in the store that tells whether a key of sealed reports is the one that it was served with.
const SEAL_CHECK: &str = "seal check";

/// Opens the key of sealed reports in a folder, which is made if there is none. A store that has served sealed reports (`sealed`, now or before) does not get a new
/// one in silence: what devices and the shuffler still have for the old one would be lost.
pub(crate) async fn open_seal_key(
    folder: &Path,
    store: &dyn Store,
    sealed: bool,
) -> Result<SealKey> {
    let path = folder.join("seal.key");
    let known = store.setting(SEAL_CHECK.into()).await?;
    if known.is_some() && !path.exists() {
        let remedy = "the file is missing: restore the one that this store was served with, or reports that are sealed to it are lost. If it is lost, write 64 other random hexadecimal digits to it (`openssl rand -hex 32`)";
        return Err(Error::invalid("seal.key", path.display(), remedy));
    }
    let key = Secret::in_file(&path)?.seal_key();
    let id = key.public().id();
    if sealed && known.is_none() {
        store.keep_setting(SEAL_CHECK.into(), id.to_vec()).await?;
    }
    if known.is_some_and(|known| known != id) {
        tracing::error!(
            "seal.key is not the one that this store was first served with: reports that are sealed to that one are given up; restore it if it is not lost"
        );
    }
    Ok(key)
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

    #[tokio::test]
    async fn a_missing_key_of_sealed_reports_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let (store, file) = (open_store(folder).unwrap(), folder.join("seal.key"));
        let open = async |sealed| open_seal_key(folder, store.as_ref(), sealed).await;
        open(false).await.unwrap();
        fs::remove_file(&file).unwrap();
        // Nothing was sealed to the one that is gone.
        let key = open(true).await.unwrap();
        assert_eq!(open(true).await.unwrap().public(), key.public());
        let kept = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        for sealed in [true, false] {
            let refused = open(sealed).await.err().unwrap().to_string();
            assert!(refused.contains("seal.key") && refused.contains("restore the one"));
            assert!(!file.exists());
        }
        fs::write(&file, kept).unwrap();
        assert_eq!(open(true).await.unwrap().public(), key.public());
        // One that an operator has put there is taken.
        fs::write(&file, "07".repeat(32)).unwrap();
        assert_ne!(open(true).await.unwrap().public(), key.public());
    }

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
