//! The log of releases, which are logged on disk before they are used.
//!
//! ```text
//! reticent release log 1 <32 hexadecimal digits that name the stream>
//! release=1 rounds=64 replays=0 check=<`reticent::hash` of the text before, in hexadecimal>
//! ```
//!
//! Lines are appended and synced one by one, so only the last one can be incomplete, without its end of line. An incomplete line was never
//! synced and its release was never used, so it is cut off. Any other damage is refused.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use reticent::hash;

use crate::{Error, Result};

/// First bytes of every log, whatever its version.
const NAME: &str = "reticent release log ";
/// First bytes of a log of this version.
const HEAD: &str = "reticent release log 1 ";

/// One line of the log: the counts at the time of writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Record {
    /// Releases made.
    pub releases: u64,
    /// Contributions that are in the last of them.
    pub rounds: u64,
    /// Replays that are charged for.
    pub replays: u64,
}

impl Record {
    fn line(&self) -> String {
        let Record { releases, rounds, replays } = self;
        let text = format!("release={releases} rounds={rounds} replays={replays}");
        format!("{text} check={:016x}\n", hash::of_bytes(text.as_bytes()))
    }

    fn read(line: &str) -> Option<Self> {
        let (text, check) = line.split_once(" check=")?;
        let mut numbers = text.split(' ').zip(["release=", "rounds=", "replays="]);
        let mut next = || -> Option<u64> {
            let (word, name) = numbers.next()?;
            word.strip_prefix(name)?.parse().ok()
        };
        let record = Record { releases: next()?, rounds: next()?, replays: next()? };
        (u64::from_str_radix(check, 16).ok()? == hash::of_bytes(text.as_bytes())
            && format!("{line}\n") == record.line())
        .then_some(record)
    }

    /// Returns whether `next` may follow this record: no count may decrease.
    fn allows(&self, next: &Record) -> bool {
        next.releases >= self.releases && next.replays >= self.replays
    }
}

/// Locks an open file against other processes; an error if another process has it open.
pub(crate) fn lock(file: &File, what: &'static str, path: &Path) -> Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let remedy = "another process has it open: only one at a time may continue from the same releases";
            Err(Error::unfit(what, path, remedy))
        }
        Err(TryLockError::Error(error)) => Err(Error::file(path, "locked")(error)),
    }
}

/// A log that is open, and locked against other processes for as long.
pub struct ReleaseLog {
    file: File,
    path: PathBuf,
    /// The name of the stream, so that a log is never used with another stream.
    stream: u128,
    last: Record,
    /// Number of valid, synced bytes.
    length: u64,
}

impl ReleaseLog {
    /// Opens a log, or starts one for a stream with the name that `name` returns.
    pub fn open(path: &Path, name: impl FnOnce() -> Result<u128>) -> Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).map_err(Error::file(path, "opened"))?;
        lock(&file, "log of releases", path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(Error::file(path, "read"))?;
        let path = path.to_path_buf();
        let mut log = ReleaseLog { file, path, stream: 0, last: Record::default(), length: 0 };
        // An incomplete head was never synced, so there was no release.
        if !bytes.contains(&b'\n')
            && HEAD.as_bytes().starts_with(&bytes[..bytes.len().min(HEAD.len())])
        {
            log.stream = name()?;
            let head = format!("{HEAD}{:032x}\n", log.stream);
            log.append_bytes(head.as_bytes())?;
            sync_folder(&log.path)?;
            return Ok(log);
        }
        log.read_lines(&bytes)?;
        Ok(log)
    }

    fn read_lines(&mut self, bytes: &[u8]) -> Result<()> {
        let refuse = |what: &str| {
            let remedy =
                format!("{what}: restore it, or start in another folder with a new budget");
            Err(Error::unfit("log of releases", &self.path, remedy))
        };
        let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let head = lines.next().and_then(|line| std::str::from_utf8(line).ok());
        let name = head.and_then(|head| head.strip_prefix(HEAD)).map(str::trim_end);
        let Some(stream) = name
            .filter(|name| name.len() == 32)
            .and_then(|name| u128::from_str_radix(name, 16).ok())
        else {
            let shown: String = head.unwrap_or_default().chars().take(40).collect();
            if head.is_some_and(|head| head.starts_with(NAME) && !head.starts_with(HEAD)) {
                let remedy = format!(
                    "it begins with {shown:?}, not with {HEAD:?}: use the release of reticent that wrote it"
                );
                return Err(Error::unfit("log of releases", &self.path, remedy));
            }
            return refuse("its first line is not that of a log of releases");
        };
        let (mut length, mut last) = (head.map_or(0, str::len), Record::default());
        for line in lines {
            let whole = line.strip_suffix(b"\n");
            let record = whole.and_then(|line| Record::read(std::str::from_utf8(line).ok()?));
            match record {
                Some(record) if last.allows(&record) => last = record,
                Some(_) => return refuse("its counts decrease"),
                None if whole.is_none() => break,
                None => return refuse("a line is damaged"),
            }
            length += line.len();
        }
        (self.stream, self.last, self.length) = (stream, last, length as u64);
        Ok(())
    }

    /// The last record, or zeros.
    pub fn last(&self) -> Record {
        self.last
    }

    /// The name of the stream.
    pub fn stream(&self) -> u128 {
        self.stream
    }

    /// Appends a record and syncs it, if it differs from the last one. After an error it may be called again.
    pub fn append(&mut self, record: Record) -> Result<()> {
        if !self.last.allows(&record) {
            let remedy = "it is behind the log: do not use this state";
            return Err(Error::unfit("record of a release", &self.path, remedy));
        }
        if (record.releases, record.replays) == (self.last.releases, self.last.replays) {
            return Ok(());
        }
        self.append_bytes(record.line().as_bytes())?;
        self.last = record;
        Ok(())
    }

    fn append_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        // Remove what an earlier attempt wrote incompletely.
        let written = self
            .file
            .set_len(self.length)
            .and_then(|()| self.file.seek(SeekFrom::Start(self.length)))
            .and_then(|_| self.file.write_all(bytes))
            .and_then(|()| self.file.sync_all());
        written.map_err(Error::file(&self.path, "appended to"))?;
        self.length += bytes.len() as u64;
        Ok(())
    }
}

/// Makes a folder and those that it lies in, with durable names.
pub(crate) fn make_folder(folder: &Path) -> Result<()> {
    make_folder_by(folder, sync_folder)
}

fn make_folder_by(folder: &Path, sync: impl FnMut(&Path) -> Result<()>) -> Result<()> {
    let absent = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
    let absent: Vec<&Path> = folder.ancestors().take_while(absent).collect();
    fs::create_dir_all(folder).map_err(Error::file(folder, "made"))?;
    absent.into_iter().rev().try_for_each(sync)
}

/// Makes the names in a file's folder durable.
pub(crate) fn sync_folder(path: &Path) -> Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // Only Unix opens folders as files.
    if cfg!(unix) {
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(Error::file(folder, "synced"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::tests::Folder;

    #[test]
    fn every_folder_that_was_made_has_its_name_synced_the_outermost_first() {
        let base = Folder::new("log-folders");
        let synced = |folder: &Path| {
            let mut synced = Vec::new();
            let sync = |made: &Path| {
                assert!(made.is_dir());
                synced.push(made.strip_prefix(&base.0).unwrap().to_path_buf());
                Ok(())
            };
            make_folder_by(folder, sync).unwrap();
            synced
        };
        let deep = base.0.join("a/b/c");
        assert_eq!(synced(&deep), ["a", "a/b", "a/b/c"].map(Into::<std::path::PathBuf>::into));
        assert!(synced(&deep).is_empty());
        make_folder(&base.0.join("d/e")).unwrap();
        assert!(base.0.join("d/e").is_dir());
    }

    fn open(path: &Path) -> Result<ReleaseLog> {
        ReleaseLog::open(path, || Ok(7))
    }

    fn record(releases: u64) -> Record {
        Record { releases, rounds: 10 * releases, replays: 0 }
    }

    #[test]
    fn a_torn_last_line_is_cut_off_and_every_earlier_one_is_kept() {
        let folder = Folder::new("torn");
        let path = folder.0.join("log");
        let mut log = open(&path).unwrap();
        (1..=3).for_each(|number| log.append(record(number)).unwrap());
        drop(log);
        let whole = std::fs::read(&path).unwrap();
        let starts: Vec<usize> = whole
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'\n')
            .map(|(i, _)| i + 1)
            .collect();
        for length in 0..=whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let mut log = open(&path).unwrap();
            let lines = starts.iter().filter(|end| **end <= length).count() as u64;
            assert_eq!(log.last().releases, lines.saturating_sub(1), "{length} bytes");
            log.append(record(9)).unwrap();
            drop(log);
            assert_eq!(open(&path).unwrap().last(), record(9));
        }
    }

    #[test]
    fn damage_is_refused() {
        let folder = Folder::new("damage");
        let path = folder.0.join("log");
        let mut log = open(&path).unwrap();
        (1..=3).for_each(|number| log.append(record(number)).unwrap());
        assert!(log.append(record(2)).is_err(), "back");
        assert!(open(&path).is_err(), "locked");
        drop(log);
        let whole = std::fs::read(&path).unwrap();
        let last = whole.len() - record(3).line().len();
        for index in 0..last {
            let mut bytes = whole.clone();
            bytes[index] ^= 1;
            std::fs::write(&path, bytes).unwrap();
            let read = open(&path);
            // Another name means another stream; the state file is compared with it.
            assert!(read.is_err() || read.unwrap().stream() != 7, "byte {index}");
        }
    }
}
