//! Where a service's data are: a folder with the keys of hashes and, unless there is a database, the store.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    Error, Result,
    clock::{Clock, SystemClock},
    store::{Portable, PostgresStore, RedbStore, Store},
};

/// The file of the store in the folder of the data.
pub const STORE: &str = "store.redb";

/// Where the data of a service are.
#[derive(Clone)]
pub struct Data {
    /// The folder of the keys and of the control socket, and of the store unless there is a database.
    pub folder: PathBuf,
    /// The address of a PostgreSQL database.
    pub database: Option<String>,
}

impl Data {
    /// Opens the store, with the clock that decides for it. The folder is made, open to its owner only, if there is none.
    pub async fn open(&self) -> Result<(Arc<dyn Store>, Arc<dyn Clock>)> {
        make_folder(&self.folder)?;
        match &self.database {
            Some(url) => {
                let store = PostgresStore::open(url).await?;
                let clock = store.clock();
                Ok((Arc::new(store), clock))
            }
            None => {
                let store = RedbStore::open(self.folder.join(STORE))?;
                if let Some(place) = store.retired_to().await? {
                    let remedy = format!("its store was moved to {place}: serve from there");
                    return Err(Error::invalid("data", self.folder.display(), remedy));
                }
                Ok((Arc::new(store), Arc::new(SystemClock::default())))
            }
        }
    }
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
