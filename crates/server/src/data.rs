//! Places of a service's data: a folder with its keys and, unless there is a database, the store; the witness stands elsewhere.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    Error, Result,
    clock::{Clock, SystemClock, Time},
    sealed::SealKey,
    secret::{CheckValue, PeopleKeys, Secret, hex, secret_in_file},
    service::{EVENTS_CHECK, PEOPLE_CHECK, is_known_to_lack_keys, needed_keys},
    store::{Portable, PostgresStore, RedbStore, Store, retired_remedy},
};

/// The file of the store in its folder.
pub const STORE: &str = "store.redb";

/// The address of a PostgreSQL database. It may hold a password, so that it is not printed.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    /// The whole address.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for DatabaseUrl {
    fn from(url: String) -> Self {
        DatabaseUrl(url)
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("DatabaseUrl(..)")
    }
}

/// Places of a service's data.
#[derive(Debug, Clone)]
pub struct Data {
    /// The folder of the keys and of the control socket, and of the store unless there is a database.
    pub folder: PathBuf,
    /// A PostgreSQL database.
    pub database: Option<DatabaseUrl>,
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
                let store = PostgresStore::open(url.as_str()).await?;
                let clock = store.clock();
                Ok((Arc::new(store), clock))
            }
            None => {
                let store = open_living_store(&self.folder).await?;
                Ok((store, Arc::new(SystemClock::default())))
            }
        }
    }

    /// True if there is a store; that of a database is made when it is opened.
    pub fn is_store(&self) -> bool {
        self.database.is_some() || self.folder.join(STORE).exists()
    }
}

/// Opens the store in a folder, if its contents have not gone elsewhere.
pub async fn open_living_store(folder: &Path) -> Result<Arc<dyn Store>> {
    let store = open_file(folder)?;
    match store.retired_to().await? {
        Some(place) => Err(Error::invalid("data", folder.display(), retired_remedy(&place))),
        None => Ok(Arc::new(store)),
    }
}

/// Opens the store in a folder, which is made, open to its owner only, if there is none.
#[cfg(test)]
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
/// one in silence: what devices and the shuffler still have for the old one would be lost. All processes of a database have one from the start.
pub(crate) async fn open_seal_key(
    folder: &Path,
    store: &dyn Store,
    sealed: bool,
) -> Result<SealKey> {
    let path = folder.join("seal.key");
    let known = store.setting(SEAL_CHECK.into()).await?;
    if known.is_some() && !path.exists() {
        let remedy = "the file is missing: restore the one that this store was served with, or copy it from the folder of another process of the same database, or reports that are sealed to \
                      it are lost. If it is lost, write 64 other random hexadecimal digits to it (`openssl rand -hex 32`)";
        return Err(Error::invalid("seal.key", path.display(), remedy));
    }
    let check = |secret: &Secret| secret.seal_key().public().id().to_vec();
    let name = (sealed || store.is_shared()).then_some(SEAL_CHECK);
    let secret = open_key(&path, store, name, check).await?;
    if known.is_some_and(|known| known != check(&secret)) {
        tracing::error!(
            "seal.key is not the one that this store was first served with: reports that are sealed to that one are given up; restore it if it is not lost"
        );
    }
    Ok(secret.seal_key())
}

/// Opens the key of events. A store that has one gets no other: repeated rank requests would be second events, and the right file's place would be taken.
pub async fn open_events_key(folder: &Path, store: &dyn Store) -> Result<Secret> {
    let path = folder.join("events.key");
    if !path.exists() && store.setting(EVENTS_CHECK.into()).await?.is_some() {
        let remedy = "the file is missing: restore the one that this store was made with, or copy it from the folder of another process of the same database; under another key a \
                      repeated rank request would be a second event";
        return Err(Error::invalid("events.key", path.display(), remedy));
    }
    let check = |secret: &Secret| secret.check_value().to_vec();
    open_key(&path, store, Some(EVENTS_CHECK), check).await
}

/// Opens the keys of the people's hashes. A further process of a database does not begin with others, unless an operator says that those of the database are `lost`: then no
/// process would charge any person.
pub async fn open_people_keys(
    path: &Path,
    store: &dyn Store,
    now: Time,
    lost: bool,
) -> Result<PeopleKeys> {
    if lost || !store.is_shared() {
        return PeopleKeys::in_file(path);
    }
    if path.exists() {
        let keys = PeopleKeys::in_file(path)?;
        // Of several first starts with different files, the first one decides.
        let check = keys.current.check_value();
        store.keep_setting(PEOPLE_CHECK.into(), check.to_vec()).await?;
        if !is_known_to_lack_keys(store, check).await? {
            check_needed(path, &keys, &needed_keys(store, now).await?)?;
        }
        return Ok(keys);
    }
    if store.setting(PEOPLE_CHECK.into()).await?.is_some() {
        let remedy = format!("the file is missing: {COPY_PEOPLE_KEYS}");
        return Err(Error::invalid("people.key", path.display(), remedy));
    }
    let check = |secret: &Secret| secret.check_value().to_vec();
    let current = open_key(path, store, Some(PEOPLE_CHECK), check).await?;
    Ok(PeopleKeys { current, earlier: Vec::new() })
}

/// Remedy for missing keys of the people's hashes of a database.
const COPY_PEOPLE_KEYS: &str = "copy it from the folder of another process of the same database, or from its backup. If it is lost, start with --people-key-lost: then people are \
     answered, and loops that count visits learn nothing, on any machine, until nothing counts under the lost keys";

/// Refuses keys that lack one under which the people of a database are counted.
fn check_needed(path: &Path, keys: &PeopleKeys, needed: &[CheckValue]) -> Result<()> {
    let given = || std::iter::once(&keys.current).chain(&keys.earlier);
    let lacks = |check: &&CheckValue| given().all(|key| key.check_value() != **check);
    let missing: Vec<String> = needed.iter().filter(lacks).map(|check| hex(&check[..4])).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let remedy = format!(
        "it lacks keys that this database is served with (check values {}), without which no process could charge any person: {COPY_PEOPLE_KEYS}",
        missing.join(", ")
    );
    Err(Error::invalid("people.key", path.display(), remedy))
}

/// Opens a key, and makes it if there is none. What tells which key it is stands in the store under this name: of several processes that make one at the same time, the first one
/// has made the key of the store, and what another one has made is removed again.
async fn open_key(
    path: &Path,
    store: &dyn Store,
    name: Option<&str>,
    check: impl Fn(&Secret) -> Vec<u8>,
) -> Result<Secret> {
    let made = !path.exists();
    let secret = secret_in_file(path)?;
    let Some(name) = name else { return Ok(secret) };
    let own = check(&secret);
    if store.keep_setting(name.into(), own.clone()).await? != own && made {
        let _ = fs::remove_file(path);
        let remedy = "another process has made the keys of this database at the same time: copy people.key, events.key and seal.key from its folder into this one, and start again";
        return Err(Error::invalid("data", path.display(), remedy));
    }
    Ok(secret)
}

/// Makes the folder if there is none.
fn make_folder(folder: &Path) -> Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|error| {
        let remedy = format!("{error}; expected a folder that this process can write");
        Error::invalid("data", folder.display(), remedy)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_database_is_not_printed() {
        let url = DatabaseUrl::from("postgres://user:swordfish@host/database".to_string());
        let data = Data { database: Some(url), ..Data::in_folder("data") };
        let printed = format!("{data:?} {data:#?}");
        assert!(printed.contains("data") && printed.contains("DatabaseUrl(..)"), "{printed}");
        assert!(!printed.contains("swordfish"), "{printed}");
    }

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

    #[tokio::test]
    async fn a_missing_key_of_events_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let store = open_store(&folder.path().join("data")).unwrap();
        let key = folder.path().join("events.key");
        let open = async || open_events_key(folder.path(), store.as_ref()).await;
        let made = open().await.unwrap();
        assert_eq!(open().await.unwrap().check_value(), made.check_value());
        fs::remove_file(&key).unwrap();
        let refused = open().await.err().unwrap().to_string();
        assert!(refused.contains("restore the one") && !key.exists(), "{refused}");
    }

    /// Another process has made its key after this one has looked and before it has written to the store.
    #[tokio::test]
    async fn a_key_that_another_process_has_made_first_is_not_made_twice() {
        let folder = tempfile::tempdir().unwrap();
        let store = open_store(&folder.path().join("data")).unwrap();
        let path = folder.path().join("some.key");
        let check = |secret: &Secret| secret.check_value().to_vec();
        let open = async || open_key(&path, store.as_ref(), Some("check"), check).await;
        let other = Secret::new().unwrap();
        store.keep_setting("check".into(), check(&other)).await.unwrap();
        let refused = open().await.err().unwrap().to_string();
        assert!(refused.contains("copy people.key") && !path.exists(), "{refused}");
        // A file that was there is an operator's, and stays.
        let there = secret_in_file(&path).unwrap();
        assert_eq!(open().await.unwrap().check_value(), there.check_value());
    }

    /// Processes that start at the same time on a new database, each with an empty folder.
    #[tokio::test]
    async fn of_several_first_starts_one_makes_the_keys_and_the_others_ask_for_them() {
        let Some(cluster) = crate::store::postgres::testing::cluster() else { return };
        let (folder, url) = (tempfile::tempdir().unwrap(), cluster.empty());
        let names = ["people.key", "events.key", "seal.key"];
        let meet = Arc::new(tokio::sync::Barrier::new(6));
        let start = |number: usize, meet: Option<Arc<tokio::sync::Barrier>>| {
            let (folder, url) = (folder.path().join(number.to_string()), url.clone());
            async move {
                fs::create_dir_all(&folder).unwrap();
                let store = PostgresStore::open(&url).await?;
                if let Some(meet) = meet {
                    meet.wait().await;
                }
                open_events_key(&folder, &store).await?;
                open_people_keys(&folder.join("people.key"), &store, 0, false).await?;
                open_seal_key(&folder, &store, true).await
            }
        };
        let tasks = (0..6).map(|number| tokio::spawn(start(number, Some(Arc::clone(&meet)))));
        let tasks: Vec<_> = tasks.collect();
        let mut first = Vec::new();
        for (number, task) in tasks.into_iter().enumerate() {
            let folder = folder.path().join(number.to_string());
            match task.await.unwrap() {
                Ok(key) => first.push((number, key)),
                Err(refused) => {
                    assert!(refused.to_string().contains("copy"), "{refused}");
                    assert!(names.iter().all(|name| !folder.join(name).exists()), "{refused}");
                }
            }
        }
        assert_eq!(first.len(), 1, "one of them");
        let (first, key) = first.remove(0);
        for other in (0..6).filter(|number| *number != first) {
            for name in names {
                let from = folder.path().join(first.to_string()).join(name);
                fs::copy(from, folder.path().join(other.to_string()).join(name)).unwrap();
            }
            assert_eq!(start(other, None).await.unwrap().public(), key.public());
        }
    }

    /// A machine that was set up with a key of its own must not stop the others from learning.
    #[tokio::test]
    async fn a_process_with_other_people_keys_is_refused_before_others_hear_of_it() {
        let Some(cluster) = crate::store::postgres::testing::cluster() else { return };
        let (folder, store) =
            (tempfile::tempdir().unwrap(), PostgresStore::open(&cluster.empty()).await.unwrap());
        let (own, foreign) = (folder.path().join("own.key"), folder.path().join("foreign.key"));
        let open = async |path: &Path, lost| open_people_keys(path, &store, 7, lost).await;
        open(&own, false).await.unwrap();
        fs::write(&foreign, "07".repeat(32)).unwrap();
        let refused = open(&foreign, false).await.err().unwrap().to_string();
        let words = ["people.key", "check values", "copy it from", "--people-key-lost"];
        assert!(words.iter().all(|word| refused.contains(word)), "{refused}");
        open(&foreign, true).await.unwrap();
        // What an operator does who rotates keys.
        let both = format!("{}\n{}", "07".repeat(32), fs::read_to_string(&own).unwrap());
        fs::write(&foreign, both).unwrap();
        assert_eq!(open(&foreign, false).await.unwrap().earlier.len(), 1);
        let missing = folder.path().join("missing.key");
        let refused = open(&missing, false).await.err().unwrap().to_string();
        assert!(refused.contains("--people-key-lost") && !missing.exists(), "{refused}");
        fs::write(&foreign, "07".repeat(32)).unwrap();
        // An operator has said that keys are lost: the next start with these needs no word, and one with others does.
        let row = |key: u8, charges: &[u8]| {
            let check = Secret::from_bytes([key; 32]).check_value();
            [&check[..], &7_u64.to_le_bytes(), charges].concat()
        };
        store.keep_setting("people key 2".into(), row(7, &[0])).await.unwrap();
        open(&foreign, false).await.unwrap();
        let other = folder.path().join("other.key");
        fs::write(&other, "09".repeat(32)).unwrap();
        assert!(open(&other, false).await.is_err());
        store.keep_setting("people key 3".into(), row(9, &[])).await.unwrap();
        assert!(open(&foreign, false).await.is_err(), "others charge people now");
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
