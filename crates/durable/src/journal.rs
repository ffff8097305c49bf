//! A learner's state file beside its log of releases: see the head of the crate for the order and why it is right.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
};

use reticent::{
    bandit::JointLinUcb,
    noise::{Noise, SecureNoise},
};

use crate::{
    Error, Record, ReleaseLog, Result,
    log::{lock, make_folder, sync_folder},
};

const STATE: &str = "state.reticent";
const LOG: &str = "releases.log";
const LOCK: &str = "lock";
/// The name of the file's form, and its version.
const MAGIC: &[u8; 8] = b"RETDUR 1";
/// Bytes of the name alone.
const NAME: usize = 7;

type Learner = JointLinUcb<SecureNoise>;

/// Treatment of a state that is older than the last release made from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rollback {
    /// Return an error.
    #[default]
    Refuse,
    /// Continue with fresh noise, and charge the guarantee for one more replay.
    Charge,
}

/// Options with which a journal is opened.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Path of the log; by default in the folder. On another file system it also detects that the whole folder is an older copy.
    pub log: Option<PathBuf>,
    /// Treatment of an older state.
    pub rollback: Rollback,
}

/// A folder with a learner's state, and its log of releases.
pub struct Journal {
    log: ReleaseLog,
    state: PathBuf,
    /// Locks the folder as well, because a log elsewhere may have been copied.
    _lock: File,
}

impl Journal {
    /// Opens a folder, creating it if necessary, and the learner in it, if there is one.
    pub fn open(folder: &Path, options: &Options) -> Result<(Self, Option<Learner>)> {
        make_folder(folder)?;
        let (state, path) = (folder.join(STATE), folder.join(LOCK));
        let lock_file = File::create(&path).map_err(Error::file(&path, "opened"))?;
        lock(&lock_file, "folder", folder)?;
        let path = options.log.clone().unwrap_or_else(|| folder.join(LOG));
        if state.exists() && !path.exists() {
            let remedy = format!(
                "{STATE} exists but the log does not, so the number of releases made is unknown. Restore the log"
            );
            return Err(Error::unfit("log of releases", &path, remedy));
        }
        let log = ReleaseLog::open(&path, || {
            let mut source = SecureNoise::from_system()?;
            Ok(u128::from(source.bits()) << 64 | u128::from(source.bits()))
        })?;
        let mut journal = Journal { log, state, _lock: lock_file };
        let learner = journal.read(options.rollback)?;
        Ok((journal, learner))
    }

    fn read(&mut self, rollback: Rollback) -> Result<Option<Learner>> {
        let last = self.log.last();
        if !self.state.exists() {
            if last == Record::default() {
                return Ok(None);
            }
            let remedy = format!(
                "the log has {} releases but the state is gone: restore it, or start in another folder with a new budget",
                last.releases
            );
            return Err(Error::unfit("state", &self.state, remedy));
        }
        let bytes = fs::read(&self.state).map_err(Error::file(&self.state, "read"))?;
        let Some((stream, learner)) = parts(&bytes) else {
            let remedy = match bytes.get(..MAGIC.len()) {
                Some(other) if other != MAGIC && other.starts_with(&MAGIC[..NAME]) => format!(
                    "it begins with {:?}, not with {:?}: use the release of reticent that wrote it",
                    String::from_utf8_lossy(other),
                    String::from_utf8_lossy(MAGIC),
                ),
                _ => "it is damaged: restore another copy".into(),
            };
            return Err(Error::unfit("state", &self.state, remedy));
        };
        if stream != self.log.stream() {
            let remedy =
                "the log belongs to another learner; expected the log that this one started with";
            return Err(Error::unfit("state", &self.state, remedy));
        }
        let mut learner = match rollback {
            Rollback::Charge => Learner::resume_charged(learner, last.releases, last.replays)?,
            Rollback::Refuse => {
                // A stale state is refused; otherwise it is charged for the replays in the log and no more.
                drop(Learner::resume(learner, last.releases)?);
                Learner::resume_charged(learner, last.releases, last.replays)?
            }
        };
        learner.hold_releases();
        // The state may be ahead of the log or newly charged; both are written to disk before the state is used.
        if (learner.releases(), learner.replays()) != (last.releases, last.replays) {
            self.store(&mut learner, true)?;
        }
        Ok(Some(learner))
    }

    /// Starts a new learner, in a folder that has none.
    pub fn begin(&mut self, learner: &mut Learner) -> Result<()> {
        learner.hold_releases();
        self.store(learner, true)
    }

    /// Stores a release that the learner holds back, and then lets the learner use it. After an error it may be called again.
    pub fn settle(&mut self, learner: &mut Learner) -> Result<()> {
        if learner.holds_release() {
            self.store(learner, false)?;
            learner.commit();
        }
        Ok(())
    }

    /// Stores the state with its open decisions, for a regular stop.
    pub fn close(&mut self, learner: &mut Learner) -> Result<()> {
        self.store(learner, true)?;
        learner.commit();
        Ok(())
    }

    fn store(&mut self, learner: &mut Learner, with_open: bool) -> Result<()> {
        let state = if with_open { learner.save_with_open() } else { learner.save() };
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.log.stream().to_le_bytes());
        bytes.extend(state);
        let new = self.state.with_extension("new");
        let write = |path: &Path| {
            let mut file = File::create(path)?;
            protect(&file)?;
            file.write_all(&bytes)?;
            file.sync_all()
        };
        write(&new).map_err(Error::file(&new, "written"))?;
        fs::rename(&new, &self.state).map_err(Error::file(&self.state, "replaced"))?;
        sync_folder(&self.state)?;
        self.log.append(record(learner))
    }
}

/// Makes a file readable by its owner only.
pub(crate) fn protect(file: &File) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    let _ = file;
    Ok(())
}

fn record(learner: &Learner) -> Record {
    Record { releases: learner.releases(), rounds: learner.rounds(), replays: learner.replays() }
}

/// The stream's name and the learner's state, which has a checksum of its own.
fn parts(bytes: &[u8]) -> Option<(u128, &[u8])> {
    let (stream, learner) = bytes.strip_prefix(MAGIC)?.split_first_chunk()?;
    Some((u128::from_le_bytes(*stream), learner))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::PathBuf;

    /// A folder for one test, removed at its end.
    pub(crate) struct Folder(pub(crate) PathBuf);

    impl Folder {
        pub(crate) fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("reticent-{name}-{}", std::process::id()));
            let _ = std::fs::remove_dir_all(&path);
            std::fs::create_dir_all(&path).unwrap();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}
