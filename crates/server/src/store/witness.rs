//! A file on another filesystem that shows whether the store was rolled back.
//!
//! It is written after each release is committed and before it is served, so that a store is at most one release ahead of it, and never behind it unless
//! an older copy was restored. It also holds what has to be applied again after a restore: generations that had begun, replays that were charged, keys
//! that were revoked, and people who were erased.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{
    Digest, Generation, GenerationId, PersonHash, Store, StoreId,
    disk::{make_folder, private, rename, unusable},
    records::{FirstGeneration, WitnessPlace},
    row::{self, Reader, Record},
};
use crate::{Error, Result, clock::Time, failpoint};

/// Head of a generation, as the witness saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WitnessHead {
    /// Epoch of the right to release.
    pub epoch: u64,
    /// The number of the last release.
    pub number: u64,
    /// The hash of the chain up to it.
    pub chain: Digest,
}

/// Record of the witness.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WitnessRecord {
    /// The store.
    pub store: StoreId,
    /// The heads of its generations.
    pub heads: BTreeMap<GenerationId, WitnessHead>,
    /// Replays of each generation after accepted rollbacks.
    pub replays: BTreeMap<GenerationId, u32>,
    /// The public parts of keys that were revoked.
    pub revoked_keys: BTreeSet<String>,
    /// People who were erased.
    pub erased: BTreeSet<PersonHash>,
    /// Everything that has begun, with what it costs one unit.
    pub generations: BTreeMap<GenerationId, Generation>,
    /// Time at which this was written.
    pub time: Time,
}

impl Record for WitnessRecord {
    const NAME: &'static str = "witness";
    const VERSION: u8 = 3;

    fn reader_of(version: u8) -> Option<Reader<Self>> {
        let read: Reader<Self> = |bytes| row::whole::<SecondRecord>(bytes).map(Self::from);
        (version == 2).then_some(read)
    }
}

/// The second version, whose generations had ledgers of their own.
#[derive(Serialize, Deserialize)]
struct SecondRecord {
    store: StoreId,
    heads: BTreeMap<GenerationId, WitnessHead>,
    replays: BTreeMap<GenerationId, u32>,
    revoked_keys: BTreeSet<String>,
    erased: BTreeSet<PersonHash>,
    generations: BTreeMap<GenerationId, FirstGeneration>,
    time: Time,
}

impl From<SecondRecord> for WitnessRecord {
    fn from(second: SecondRecord) -> Self {
        let SecondRecord { store, heads, replays, revoked_keys, erased, generations, time } =
            second;
        let generations =
            generations.into_iter().map(|(id, generation)| (id, generation.into())).collect();
        WitnessRecord { store, heads, replays, revoked_keys, erased, generations, time }
    }
}

/// The first version, which knew no generations.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct FirstRecord {
    store: StoreId,
    heads: BTreeMap<GenerationId, WitnessHead>,
    replays: BTreeMap<GenerationId, u32>,
    revoked_keys: BTreeSet<String>,
    erased: BTreeSet<PersonHash>,
}

impl Record for FirstRecord {
    const NAME: &'static str = "witness";
}

/// The record of these bytes, of whichever version. A file of another kind begins with any byte, so that a version is not claimed for it.
fn read(bytes: &[u8]) -> Result<WitnessRecord> {
    let refused = |what: &str| {
        let remedy = "expected the file that --witness wrote beside this store, or a copy of it; if it is lost, a name that does not exist yet, and the new witness knows nothing of what the old one saw";
        Error::store(format_args!("{what}: {remedy}"))
    };
    let damaged = |_| refused("it is a damaged witness, or a file of another kind");
    match bytes.first() {
        None => Err(refused("it is empty, and no witness")),
        Some(&2 | &WitnessRecord::VERSION) => row::decode(bytes).map_err(damaged),
        Some(&FirstRecord::VERSION) => {
            let FirstRecord { store, heads, replays, revoked_keys, erased } =
                row::decode(bytes).map_err(damaged)?;
            let (generations, time) = (BTreeMap::new(), 0);
            Ok(WitnessRecord { store, heads, replays, revoked_keys, erased, generations, time })
        }
        Some(first) => {
            let newest = WitnessRecord::VERSION;
            Err(refused(&format!(
                "it is no witness that this program reads: those begin with a byte from 1 to {newest}, and this file with {first} (a file of another kind, \
                 or the witness of a later program)"
            )))
        }
    }
}

/// The file.
#[derive(Debug)]
pub struct Witness {
    path: PathBuf,
    place: WitnessPlace,
}

impl Witness {
    /// Opens the file with what it holds, which is nothing the first time.
    pub fn open(path: impl AsRef<Path>) -> Result<(Self, Option<WitnessRecord>)> {
        let path = path.as_ref().to_owned();
        make_folder(&path)?;
        let record = Self::read(&path)?;
        Ok((Witness { path, place: WitnessPlace::Beside }, record))
    }

    /// The record in the file of this name, if there is one.
    pub fn read(path: &Path) -> Result<Option<WitnessRecord>> {
        match fs::read(path) {
            Ok(bytes) => read(&bytes).map(Some).map_err(|error| unusable(path, error)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unusable(path, error)),
        }
    }

    /// The same beside the folder of the data: whether it is on another filesystem. A copy of that alone does not bring it back; a snapshot of the machine does.
    pub fn beside(self, data: &Path) -> Self {
        let own = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let place = match (device(own.unwrap_or(Path::new("."))), device(data)) {
            (Some(own), Some(data)) if own != data => WitnessPlace::Apart,
            _ => WitnessPlace::Beside,
        };
        Witness { place, ..self }
    }

    /// The same beside a database. The folder of the data says nothing of where that is.
    pub fn beside_database(self) -> Self {
        Witness { place: WitnessPlace::Unknown, ..self }
    }

    /// Place of the file.
    pub fn place(&self) -> WitnessPlace {
        self.place
    }

    /// Replaces what it holds. After a crash it holds the old record or the new one.
    pub fn write(&self, record: &WitnessRecord) -> Result<()> {
        let unfinished = PathBuf::from(format!("{}.unfinished", self.path.display()));
        let bytes = row::encode(record)?;
        // What a crash left behind may be another user's, so it is not written into.
        match fs::remove_file(&unfinished) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(unusable(&unfinished, error));
            }
            _ => {}
        }
        private()
            .create_new(true)
            .open(&unfinished)
            .and_then(|mut file| {
                file.write_all(&bytes)?;
                file.sync_all()
            })
            .map_err(|error| unusable(&unfinished, error))?;
        failpoint::pass("witness: written");
        rename(&unfinished, &self.path)
    }
}

/// The number of the filesystem that a folder is on, where the system tells it.
fn device(folder: &Path) -> Option<u64> {
    #[cfg(unix)]
    return fs::metadata(folder)
        .map(|metadata| std::os::unix::fs::MetadataExt::dev(&metadata))
        .ok();
    #[cfg(not(unix))]
    return None;
}

/// Agreement of a store with its witness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Agreement {
    /// It has everything that the witness saw.
    Agrees,
    /// It misses releases or changes of the right to release: an older copy was restored.
    Behind {
        /// The generation.
        generation: GenerationId,
        /// Release that the witness saw.
        witness: WitnessHead,
        /// Release that the store has; none if the generation is missing.
        store: Option<WitnessHead>,
    },
    /// It has another release under a number that the witness saw.
    Forked {
        /// The generation.
        generation: GenerationId,
        /// The number.
        number: u64,
        /// The hash of the chain that the witness saw.
        witness: Digest,
        /// The one that the store has.
        store: Digest,
    },
    /// The witness belongs to another store.
    OtherStore {
        /// The one that it saw.
        witness: StoreId,
    },
}

/// Compares heads with the witness: a fork first, since it is worse. A store that is ahead agrees, as far as heads can tell.
pub fn compare(record: &WitnessRecord, heads: &BTreeMap<GenerationId, WitnessHead>) -> Agreement {
    let mut agreement = Agreement::Agrees;
    for (&generation, &witness) in &record.heads {
        let store = heads.get(&generation).copied();
        match store {
            // Before the first release nothing was released that could differ, and the store names no chain yet.
            Some(store)
                if witness.number > 0
                    && store.number == witness.number
                    && store.chain != witness.chain =>
            {
                return Agreement::Forked {
                    generation,
                    number: witness.number,
                    witness: witness.chain,
                    store: store.chain,
                };
            }
            Some(store) if store.number >= witness.number && store.epoch >= witness.epoch => {}
            _ if agreement == Agreement::Agrees => {
                agreement = Agreement::Behind { generation, witness, store }
            }
            _ => {}
        }
    }
    agreement
}

impl WitnessRecord {
    /// The record of one generation alone.
    pub(crate) fn alone(&self, generation: GenerationId, seen: &WitnessHead) -> Self {
        WitnessRecord { store: self.store, heads: [(generation, *seen)].into(), ..Self::default() }
    }

    /// Compares a store with the witness. Where it is ahead, the release of the number that the witness saw must have the same chain.
    pub async fn check(&self, store: &dyn Store) -> Result<Agreement> {
        if store.id() != self.store {
            return Ok(Agreement::OtherStore { witness: self.store });
        }
        let mut heads = BTreeMap::new();
        for generation in store.generations().await? {
            let head = store.head(generation.id).await?;
            heads.insert(
                generation.id,
                WitnessHead { epoch: head.epoch, number: head.number, chain: head.chain },
            );
        }
        for (&generation, witness) in &self.heads {
            if heads.get(&generation).is_none_or(|head| head.number <= witness.number) {
                continue;
            }
            // The first release that is kept from there on; a replaced head may have skipped numbers.
            let kept = store.releases(generation, witness.number, 1).await?;
            if let Some(release) = kept.first().filter(|release| {
                release.number == witness.number && release.chain != witness.chain
            }) {
                let number = witness.number;
                return Ok(Agreement::Forked {
                    generation,
                    number,
                    witness: witness.chain,
                    store: release.chain,
                });
            }
        }
        Ok(compare(self, &heads))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{MemoryStore, contract::sample};

    fn head(epoch: u64, number: u64, chain: u8) -> WitnessHead {
        WitnessHead { epoch, number, chain: [chain; 32] }
    }

    fn record(heads: &[(GenerationId, WitnessHead)]) -> WitnessRecord {
        WitnessRecord { heads: heads.iter().copied().collect(), ..WitnessRecord::default() }
    }

    #[test]
    fn heads_are_compared() {
        let witness = record(&[(1, head(2, 5, 7)), (2, head(1, 3, 9))]);
        let with = |first, second: Option<WitnessHead>| {
            compare(
                &witness,
                &[Some((1, first)), second.map(|second| (2, second))]
                    .into_iter()
                    .flatten()
                    .collect(),
            )
        };
        let second = Some(head(1, 3, 9));
        assert_eq!(with(head(2, 5, 7), second), Agreement::Agrees);
        assert_eq!(with(head(2, 6, 8), second), Agreement::Agrees);
        let behind =
            |store| Agreement::Behind { generation: 1, witness: head(2, 5, 7), store: Some(store) };
        assert_eq!(with(head(2, 4, 6), second), behind(head(2, 4, 6)));
        assert_eq!(with(head(1, 5, 7), second), behind(head(1, 5, 7)));
        assert_eq!(
            with(head(2, 5, 7), None),
            Agreement::Behind { generation: 2, witness: head(1, 3, 9), store: None }
        );
        let forked =
            Agreement::Forked { generation: 2, number: 3, witness: [9; 32], store: [8; 32] };
        assert_eq!(with(head(2, 4, 6), Some(head(1, 3, 8))), forked);
        // A start before the first release: nothing was released that could differ.
        let (began, stored) = (record(&[(1, head(0, 0, 7))]), [(1, head(0, 0, 0))].into());
        assert_eq!(compare(&began, &stored), Agreement::Agrees);
    }

    #[tokio::test]
    async fn a_fork_below_the_head_is_found() {
        let store = MemoryStore::new([1; 16]);
        let generation = store.begin_generation(sample::generation("home", 1)).await.unwrap().id;
        for number in 1..=3 {
            store.release(sample::step(generation, 0, number)).await.unwrap();
        }
        let releases = store.releases(generation, 1, 9).await.unwrap();
        let mut witness = WitnessRecord { store: [1; 16], ..WitnessRecord::default() };
        witness
            .heads
            .insert(generation, WitnessHead { epoch: 0, number: 2, chain: releases[1].chain });
        assert_eq!(witness.check(&store).await.unwrap(), Agreement::Agrees);
        witness.heads.insert(generation, head(0, 2, 99));
        let forked = Agreement::Forked {
            generation,
            number: 2,
            witness: [99; 32],
            store: releases[1].chain,
        };
        assert_eq!(witness.check(&store).await.unwrap(), forked);
        witness.store = [2; 16];
        assert_eq!(
            witness.check(&store).await.unwrap(),
            Agreement::OtherStore { witness: [2; 16] }
        );
    }

    #[test]
    fn the_file_holds_the_last_record_and_is_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("elsewhere/witness");
        let (witness, nothing) = Witness::open(&path).unwrap();
        assert!(nothing.is_none());
        let mut last = record(&[(1, head(2, 5, 7))]);
        witness.write(&WitnessRecord::default()).unwrap();
        last.replays.insert(1, 2);
        last.revoked_keys.insert("key".into());
        last.erased.insert([3; 16]);
        // A crash while the next record was written leaves this behind.
        fs::write(folder.path().join("elsewhere/witness.unfinished"), b"half").unwrap();
        witness.write(&last).unwrap();
        assert!(Witness::open(&path).unwrap().1.unwrap() == last);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_file_that_is_no_witness_is_named_as_such() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        let refused = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            let refused = Witness::open(&path).err().unwrap().to_string();
            assert!(refused.contains("notes.txt") && refused.contains("--witness"), "{refused}");
            assert_eq!(fs::read(&path).unwrap(), bytes, "it is left as it is");
            refused
        };
        for bytes in [&b"garbage"[..], &[0], &[4, 1, 2], &[255; 40]] {
            let message = refused(bytes);
            assert!(message.contains("no witness that this program reads"), "{message}");
            assert!(message.contains(&format!("this file with {} ", bytes[0])), "{message}");
            assert!(!message.contains("version"), "{message}");
        }
        for bytes in [&[1][..], &[2, 9, 9], &[2; 64], &[3, 9, 9]] {
            assert!(refused(bytes).contains("damaged witness, or a file of another kind"));
        }
        assert!(refused(b"").contains("it is empty"));
    }

    #[test]
    fn a_file_of_the_first_version_is_read() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/store/witness.1.bin");
        let bytes = fs::read(path).unwrap();
        let record = read(&bytes).unwrap();
        assert_eq!((record.store, record.heads[&2]), ([6; 16], head(2, 5, 4)));
        assert!(record.replays[&2] == 1 && record.erased.contains(&[2; 16]));
        assert!(record.revoked_keys.contains("key") && record.generations.is_empty());
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length]).is_err());
        }
    }
}
