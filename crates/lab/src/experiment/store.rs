//! Finished trials on disk, so that a run that was interrupted or is extended computes no trial twice.
//!
//! `trials.log` has one line per trial: the hash of everything that determines it, its number, its time, its curve and counters, and a
//! checksum, which detects accidents but not forgery. Lines are only appended. A line that a crash cut short or a disk damaged fails its
//! checksum; it is counted, and its trial is computed again. Numbers are written in the shortest form that reads back as the same bits.

use std::{
    collections::HashMap,
    fmt::Write as _,
    fs::File,
    io::{Read, Seek, Write},
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock},
};

use reticent::hash;

use crate::{
    Error, Result,
    play::trial::{Checkpoint, Measure, Trial},
};

const FILE: &str = "trials.log";

/// The hash of everything that determines a trial, except its number.
pub(super) type Key = u128;

/// The finished trials of a folder.
pub(super) struct Store {
    path: PathBuf,
    file: Mutex<File>,
    found: HashMap<(Key, u64), (Trial, f64)>,
    damaged: usize,
}

impl Store {
    /// Opens the folder's log and locks it against other writers.
    pub(super) fn open(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        let say = |error| Error::unwritable(&path, error);
        std::fs::create_dir_all(folder).map_err(|error| Error::unwritable(folder, error))?;
        let mut options = File::options();
        let mut file = options.read(true).append(true).create(true).open(&path).map_err(say)?;
        if file.try_lock().is_err() {
            let reason = "another run is writing to it: wait until it ends".into();
            return Err(Error::Unwritable { path, reason });
        }
        let (found, damaged, whole) = read(&mut file).map_err(say)?;
        if !whole {
            // The next line must not continue one that was cut short.
            file.write_all(b"\n").map_err(say)?;
        }
        Ok(Store { path, file: Mutex::new(file), found, damaged })
    }

    /// A finished trial and its time in seconds.
    pub(super) fn get(&self, key: Key, trial: u64) -> Option<&(Trial, f64)> {
        self.found.get(&(key, trial))
    }

    /// Writes a finished trial.
    pub(super) fn put(&self, key: Key, number: u64, trial: &Trial, seconds: f64) -> Result<()> {
        let line = line(key, number, trial, seconds);
        let mut file = self.file.lock().expect("no holder of the lock panics");
        file.write_all(line.as_bytes()).map_err(|error| Error::unwritable(&self.path, error))
    }

    /// Copies the finished trials of another folder.
    pub(super) fn absorb(&self, folder: &Path) -> Result<usize> {
        let path = folder.join(FILE);
        let say = |error: std::io::Error| Error::Unreadable {
            path: path.clone(),
            reason: error.to_string(),
        };
        let (found, damaged, _) = read(&mut File::open(&path).map_err(say)?).map_err(say)?;
        for ((key, number), (trial, seconds)) in &found {
            if self.get(*key, *number).is_none() {
                self.put(*key, *number, trial, *seconds)?;
            }
        }
        Ok(damaged)
    }

    /// The number of unreadable lines, whose trials are computed again.
    pub(super) fn damaged(&self) -> usize {
        self.damaged
    }
}

type Found = HashMap<(Key, u64), (Trial, f64)>;

/// All valid lines, the number of invalid ones, and whether the last line is complete.
fn read(file: &mut File) -> std::io::Result<(Found, usize, bool)> {
    let mut bytes = Vec::new();
    file.seek(std::io::SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    let (mut found, mut damaged) = (HashMap::new(), 0);
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        match std::str::from_utf8(line).ok().and_then(parse) {
            Some((key, number, trial, seconds)) => {
                found.insert((key, number), (trial, seconds));
            }
            None => damaged += 1,
        }
    }
    Ok((found, damaged, bytes.last().is_none_or(|byte| *byte == b'\n')))
}

fn line(key: Key, number: u64, trial: &Trial, seconds: f64) -> String {
    let mut line = format!("{key:032x}\t{number}\t{seconds}\t");
    for point in &trial.curve {
        let _ = write!(line, "{}:{} ", point.round, point.regret);
    }
    for measure in &trial.measures {
        let _ = write!(line, "\t{}={}", measure.what, measure.value);
    }
    let check = hash::of_bytes(line.as_bytes());
    let _ = writeln!(line, "\t{check:016x}");
    line
}

fn parse(line: &str) -> Option<(Key, u64, Trial, f64)> {
    let (rest, check) = line.rsplit_once('\t')?;
    if u64::from_str_radix(check, 16).ok()? != hash::of_bytes(rest.as_bytes()) {
        return None;
    }
    let mut parts = rest.split('\t');
    let key = u128::from_str_radix(parts.next()?, 16).ok()?;
    let number = parts.next()?.parse().ok()?;
    let seconds = parts.next()?.parse().ok()?;
    let point = |text: &str| {
        let (round, regret) = text.split_once(':')?;
        Some(Checkpoint { round: round.parse().ok()?, regret: regret.parse().ok()? })
    };
    let curve = parts.next()?.split_whitespace().map(point).collect::<Option<_>>()?;
    let measure = |text: &str| {
        let (what, value) = text.rsplit_once('=')?;
        Some(Measure { what: interned(what), value: value.parse().ok()? })
    };
    let measures = parts.map(measure).collect::<Option<_>>()?;
    Some((key, number, Trial { curve, measures }, seconds))
}

/// A counter's name with static lifetime; the few different names are leaked once each.
fn interned(name: &str) -> &'static str {
    static NAMES: OnceLock<Mutex<Vec<&'static str>>> = OnceLock::new();
    let mut names = NAMES.get_or_init(Mutex::default).lock().expect("no holder of the lock panics");
    if let Some(known) = names.iter().find(|known| **known == name) {
        return known;
    }
    let name: &'static str = Box::leak(name.to_string().into_boxed_str());
    names.push(name);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(seed: f64) -> Trial {
        let point = |round: u64| Checkpoint { round, regret: seed / round as f64 };
        let measures = vec![
            Measure { what: "oracle calls", value: 0.1 + seed },
            Measure { what: "a = b", value: f64::INFINITY },
        ];
        Trial { curve: (1..6).map(point).collect(), measures }
    }

    #[test]
    fn trials_are_read_back_with_the_same_bits() {
        for seed in [0.0, -1.0 / 3.0, 1e300, 5e-324, f64::NEG_INFINITY] {
            let (key, number, read, seconds) =
                parse(line(7, 3, &trial(seed), 0.25).trim_end()).unwrap();
            assert_eq!((key, number, seconds), (7, 3, 0.25));
            assert_eq!(read.measures, trial(seed).measures);
            assert_eq!(read.curve, trial(seed).curve);
        }
    }

    #[test]
    fn any_damaged_byte_is_noticed() {
        let good = line(7, 3, &trial(0.3), 0.25);
        let good = good.trim_end();
        for at in 0..good.len() {
            let mut bytes = good.as_bytes().to_vec();
            bytes[at] ^= 1;
            let same = std::str::from_utf8(&bytes).ok().and_then(parse);
            assert!(same.is_none(), "byte {at} of {good:?}");
            assert!(parse(&good[..at]).is_none());
        }
    }

    #[test]
    fn a_line_cut_short_loses_only_its_own_trial() {
        let folder = std::env::temp_dir().join(format!("reticent-store-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let store = Store::open(&folder).unwrap();
        assert!(Store::open(&folder).is_err(), "two runs at once");
        (0..3).for_each(|number| store.put(1, number, &trial(1.0), 0.0).unwrap());
        drop(store);
        let path = folder.join(FILE);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
        let store = Store::open(&folder).unwrap();
        assert_eq!((store.damaged(), store.get(1, 2).is_none()), (1, true));
        store.put(1, 2, &trial(1.0), 0.0).unwrap();
        drop(store);
        let store = Store::open(&folder).unwrap();
        assert!((0..3).all(|number| store.get(1, number).is_some()));
        let _ = std::fs::remove_dir_all(&folder);
    }
}
