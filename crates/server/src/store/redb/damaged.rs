//! Files with bytes that were flipped or are missing: whatever is done with them ends in an answer or an error, and in no time.

use std::{
    fs, io,
    path::Path,
    sync::{Arc, Mutex, PoisonError, mpsc},
    time::Duration,
};

use ::redb::StorageBackend;
use reticent::hash;

use super::{RedbStore, file};
use crate::{
    Result,
    store::{
        Fault, Place, Step, Store,
        contract::{
            sample::{self, CLOSED, charge, event_of, key, person, reward},
            snapshot::Snapshot,
        },
    },
};

/// Time for everything that is done with one file.
const TIME: Duration = Duration::from_secs(60);

/// A file in memory: its bytes outlive the store.
#[derive(Debug, Clone)]
struct Bytes(Arc<Mutex<Vec<u8>>>);

impl Bytes {
    fn new(bytes: Vec<u8>) -> Self {
        Bytes(Arc::new(Mutex::new(bytes)))
    }

    fn within<T>(&self, look: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn open(&self) -> Result<RedbStore> {
        let bytes = self.clone();
        let opener = move || Ok(file::open_on(bytes.clone())?);
        RedbStore::open_with("store.redb".into(), Box::new(opener), 32)
    }
}

impl StorageBackend for Bytes {
    fn len(&self) -> io::Result<u64> {
        Ok(self.within(|bytes| bytes.len() as u64))
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let (from, length) = (usize::try_from(offset).unwrap_or(usize::MAX), out.len());
        self.within(|bytes| {
            let found = from.checked_add(length).and_then(|to| bytes.get(from..to));
            out.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        })
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        // A damaged file may ask for any length, and a disk has an end.
        let most = 1 << 26;
        if len > most {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.within(|bytes| bytes.resize(len as usize, 0));
        Ok(())
    }
    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        self.within(|bytes| {
            let to = from.checked_add(data.len());
            let place = to.and_then(|to| bytes.get_mut(from..to));
            place.ok_or(io::ErrorKind::UnexpectedEof)?.copy_from_slice(data);
            Ok(())
        })
    }
}

/// A store with something in every table, as it is after kill -9 and after a stop, and its contents: without the last commit, and with it.
async fn sound_files() -> ([Vec<u8>; 2], [Snapshot; 2]) {
    let file = Bytes::new(Vec::new());
    let store = file.open().unwrap();
    let generation = store.begin_generation(sample::generation("home", 1)).await.unwrap().id;
    for id in 0..60 {
        store.insert_events(vec![event_of(generation, id, charge(id % 40))]).await.unwrap();
    }
    store.reward((0..30).map(|id| reward(generation, id, 1, None)).collect()).await.unwrap();
    store.add_key(key("key")).await.unwrap();
    store.keep_setting("a".into(), vec![1; 100]).await.unwrap();
    store.close(generation, CLOSED + 1).await.unwrap();
    store.release(Step { folded: CLOSED + 1, ..sample::step(generation, 0, 1) }).await.unwrap();
    let before = Snapshot::of(&store).await.unwrap();
    store.erase(vec![person(1)], 5).await.unwrap();
    let contents = Snapshot::of(&store).await.unwrap();
    let killed = file.within(|bytes| bytes.clone());
    drop(store);
    ([killed, file.within(|bytes| bytes.clone())], [before, contents])
}

/// Outcome of a file.
#[derive(Default)]
struct Tried {
    errors: Vec<String>,
    /// Contents as read when it was opened.
    contents: Option<Snapshot>,
}

/// Does with a file what a service does: opens it, reads everything, writes, copies it and closes it.
async fn use_all(file: Bytes, folder: &Path) -> Tried {
    let mut tried = Tried::default();
    let store = match file.open() {
        Ok(store) => store,
        Err(error) => {
            tried.errors.push(error.to_string());
            return tried;
        }
    };
    let read = Snapshot::of(&store).await;
    let mut note =
        |outcome: Result<()>| tried.errors.extend(outcome.err().map(|error| error.to_string()));
    match read {
        Ok(contents) => tried.contents = Some(contents),
        Err(error) => note(Err(error)),
    }
    note(store.insert_events(vec![event_of(1, 200, charge(2))]).await.map(drop));
    note(store.reward(vec![reward(1, 3, 1, None)]).await.map(drop));
    note(store.close(1, CLOSED + 2).await);
    note(store.closed_events(1, Place::default(), u64::MAX, 100).await.map(drop));
    let step = Step { folded: CLOSED + 2, ..sample::step(1, 0, 2) };
    note(store.release(step).await.map(drop));
    note(store.begin_generation(sample::generation("home", 2)).await.map(drop));
    note(store.collect(1, sample::everything()).await.map(drop));
    note(store.erase(vec![person(2)], 6).await.map(drop));
    note(store.add_key(key("other")).await);
    let copy = folder.join("copy");
    note(store.backup(copy.clone()).await);
    let _ = fs::remove_file(copy);
    tried
}

/// The same in a thread of its own, which must end.
fn try_all(bytes: Vec<u8>, folder: &Path, what: &str) -> Tried {
    let (sender, receiver) = mpsc::channel();
    let folder = folder.to_owned();
    let worker = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let _ = sender.send(runtime.block_on(use_all(Bytes::new(bytes), &folder)));
    });
    let tried = receiver.recv_timeout(TIME);
    let tried = tried.unwrap_or_else(|error| panic!("{what}: a panic or no end: {error}"));
    assert!(worker.join().is_ok(), "{what}: a panic");
    for error in &tried.errors {
        // A task of the runtime that panicked, and a writer that did.
        assert!(!error.contains("panic") && !error.contains("it is closed"), "{what}: {error}");
    }
    tried
}

/// Nothing that is wrong is read: where a file is opened, it has the contents of the sound one. One byte of the file has no checksum, and says which of two commits is
/// the last one: the store may be one commit older then, as a copy would be.
#[tokio::test]
async fn flipped_bytes_are_found_or_are_not_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let (sound, [before, contents]) = sound_files().await;
    for bytes in &sound {
        let tried = try_all(bytes.clone(), folder.path(), "a sound file");
        assert_eq!(tried.errors, Vec::<String>::new());
        assert!(tried.contents.unwrap() == contents);
    }
    let [mut opened, mut refused] = [0; 2];
    for number in 0..600_u64 {
        let mut bytes = sound[number as usize % 2].clone();
        // Most of the file is empty, and nothing is read there.
        let used: Vec<usize> = (0..bytes.len()).filter(|place| bytes[*place] != 0).collect();
        let mut flipped = Vec::new();
        for flip in 0..=number % 3 {
            let draw = |salt: u64| hash::mix(number, 2 * flip + salt);
            let place = match number % 4 {
                0 => draw(0) as usize % 512,
                _ => used[draw(0) as usize % used.len()],
            };
            let bits = draw(1) as u8 | 1;
            bytes[place] ^= bits;
            flipped.push((place, bits));
        }
        let what = format!("case {number}: {flipped:?}");
        let tried = try_all(bytes, folder.path(), &what);
        match tried.contents {
            Some(found) => {
                let differences = found.differences(&contents);
                let older = found == before && flipped.iter().any(|(place, _)| *place == 9);
                assert!(differences.is_empty() || older, "{what}: {differences:?}");
                opened += 1;
            }
            None => refused += 1,
        }
    }
    assert!(opened > 60 && refused > 60, "{opened} opened, {refused} refused");
}

#[tokio::test]
async fn a_file_with_bytes_missing_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (sound, _) = sound_files().await;
    for number in 0..200_u64 {
        let mut bytes = sound[number as usize % 2].clone();
        let most = if number < 50 { 8192 } else { bytes.len() - 1 };
        let length = 1 + hash::mix(7, number) as usize % most;
        bytes.truncate(length);
        let tried = try_all(bytes, folder.path(), &format!("{length} bytes"));
        assert!(tried.contents.is_none() && !tried.errors.is_empty(), "{length} bytes");
    }
}

/// A group that ends in a panic is not acknowledged, and neither is anything after it.
#[tokio::test]
async fn after_a_panic_nothing_is_read_written_or_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    let store = RedbStore::open(&path).unwrap();
    let generation = store.begin_generation(sample::generation("home", 1)).await.unwrap().id;
    store.insert_events(vec![event_of(generation, 1, charge(1))]).await.unwrap();
    let before = store.commits();
    store.fail_next(Some(Fault::Panic));
    let mut tried = Vec::new();
    for id in 2..5 {
        tried.push(
            store.insert_events(vec![event_of(generation, id, charge(1))]).await.err().unwrap(),
        );
    }
    tried.push(store.head(generation).await.err().unwrap());
    tried.push(store.backup(folder.path().join("copy")).await.err().unwrap());
    for error in tried {
        let message = error.to_string();
        assert!(message.contains("store.redb is damaged"), "{message}");
        assert!(message.contains("restore a backup"), "{message}");
    }
    assert_eq!(store.commits(), before);
    let bytes = fs::read(&path).unwrap();
    drop(store);
    assert_eq!(fs::read(&path).unwrap(), bytes, "nothing is written when it is closed");
}
