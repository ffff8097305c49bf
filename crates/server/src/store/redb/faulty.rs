//! A file that fails when a test says so, as a full disk does: from some write on, until there is room again.

use std::{
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use ::redb::{Builder, StorageBackend, backends::FileBackend};

use super::RedbStore;
use crate::{
    Error, Result,
    store::{Fault, disk},
};

/// Writes that succeed before the disk is full.
#[derive(Debug, Clone)]
pub(crate) struct Disk(Arc<AtomicI64>);

impl Disk {
    /// A disk with room.
    pub(crate) fn new() -> Self {
        Disk(Arc::new(AtomicI64::new(i64::MAX)))
    }

    /// Lets every write after the next `writes` fail.
    pub(crate) fn fail_after(&self, writes: i64) {
        self.0.store(writes, Ordering::SeqCst);
    }

    /// Makes room again.
    pub(crate) fn recover(&self) {
        self.0.store(i64::MAX, Ordering::SeqCst);
    }

    fn write(&self) -> io::Result<()> {
        match self.0.fetch_sub(1, Ordering::SeqCst) {
            ..=0 => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(()),
        }
    }
}

#[derive(Debug)]
struct FaultyBackend {
    file: FileBackend,
    disk: Disk,
}

impl StorageBackend for FaultyBackend {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.disk.write()?;
        self.file.set_len(len)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.disk.write()?;
        self.file.sync_data()
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.disk.write()?;
        self.file.write(offset, data)
    }
}

impl RedbStore {
    /// Opens a store on this disk that keeps a short journal.
    pub(crate) fn open_on(disk: &Disk, path: &Path, journal_entries: usize) -> Result<Self> {
        let (disk, name) = (disk.clone(), path.to_owned());
        let opener = move || {
            let file =
                disk::private().create(true).truncate(false).open(&name).map_err(Error::store)?;
            let file = FileBackend::new(file).map_err(Error::store)?;
            Ok(Builder::new().create_with_backend(FaultyBackend { file, disk: disk.clone() })?)
        };
        Self::open_with(path.to_owned(), Box::new(opener), journal_entries)
    }

    /// Lets the next group fail, or none.
    pub(crate) fn fail_next(&self, fault: Option<Fault>) {
        *self.shared.fault.lock().unwrap() = fault;
    }
}
