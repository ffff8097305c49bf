//! Learners on disk: `save = "folder"` writes one file a trial, `warm_start` begins with one.
//!
//! A file holds what was released, or what a local server has, never a person's data as they are; LinUCB without privacy has no such distinction,
//! and its file says so. The certificate of the run that made it travels with it: **a learner that begins with it promises nothing to the people
//! in it beyond that certificate**.

use std::path::{Path, PathBuf};

use reticent::{error::message, privacy::Guarantee};
use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    play::{
        Knowledge,
        trial::{mix, name_hash},
    },
};

const FORMAT: &str = "reticent learner 3";

/// A learner as it is saved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SavedLearner {
    format: String,
    /// Its name in the report.
    pub(super) name: String,
    /// Everybody whose data are in it: those whom it began with, then its own.
    people: Vec<People>,
    /// Its knowledge.
    pub(super) knowledge: Knowledge,
}

/// The people of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct People {
    /// Algorithm that learnt from them.
    learner: String,
    /// Their seed.
    seed: u64,
    /// The trial they took part in.
    trial: u64,
    /// Their guarantee with its conditions, if they had one.
    certificate: Option<String>,
}

/// Path of a trial's learner in a folder.
pub(super) fn file(folder: &Path, trial: u64) -> PathBuf {
    folder.join(format!("trial-{trial}.json"))
}

impl SavedLearner {
    pub(super) fn new(
        name: &str,
        (seed, trial): (u64, u64),
        guarantee: Option<&Guarantee>,
        began_with: Option<SavedLearner>,
        knowledge: Knowledge,
    ) -> Self {
        let certificate = guarantee.map(|guarantee| {
            format!("{guarantee} It rests on: {}.", guarantee.conditions().join("; "))
        });
        let mut people = began_with.map_or(Vec::new(), |saved| saved.people);
        people.push(People { learner: name.into(), seed, trial, certificate });
        SavedLearner { format: FORMAT.into(), name: name.into(), people, knowledge }
    }

    /// Writes the file, whole or not at all.
    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let say = |error| Error::unwritable(path, error);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(say)?;
        }
        let text = serde_json::to_string(self).expect("a learner is plain data");
        let draft = path.with_extension("json.part");
        std::fs::write(&draft, text).map_err(say)?;
        std::fs::rename(&draft, path).map_err(say)
    }

    /// Refuses to take the place of another learner.
    pub(super) fn has_room(name: &str, path: &Path) -> Result<()> {
        match Self::read(path) {
            Ok((other, _)) if other.name != name => {
                let remedy = format!(
                    "it holds the learner {:?}: give each algorithm, and each point of a grid, a folder of its own",
                    other.name
                );
                let path = path.display().to_string();
                Err(reticent::Error::invalid("save", path, remedy).into())
            }
            _ => Ok(()),
        }
    }

    fn read(path: &Path) -> Result<(Self, u64)> {
        let refuse = |reason: String| Error::Experiment {
            reason: message(
                "warm_start",
                path.display(),
                format!("{reason}; expected a file that `save` wrote, or its folder"),
            ),
        };
        let text = std::fs::read_to_string(path).map_err(|error| refuse(error.to_string()))?;
        let saved: SavedLearner =
            serde_json::from_str(&text).map_err(|error| refuse(error.to_string()))?;
        if saved.format != FORMAT {
            return Err(refuse(format!("its format is {:?}, not {FORMAT:?}", saved.format)));
        }
        Ok((saved, name_hash(&text)))
    }
}

/// Learners to begin with: one for all trials, or a folder with one for each.
#[derive(Debug, Clone)]
pub(super) struct WarmStart {
    path: PathBuf,
    first: SavedLearner,
    hash: u64,
}

impl WarmStart {
    /// Reads the file, or the folder's first.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let of_folder = path.is_dir();
        let at = if of_folder { file(path, 0) } else { path.to_path_buf() };
        let (first, mut hash) = SavedLearner::read(&at)?;
        let mut trial = 1;
        while of_folder && file(path, trial).exists() {
            hash = mix(hash, SavedLearner::read(&file(path, trial))?.1);
            trial += 1;
        }
        Ok(WarmStart { path: path.to_path_buf(), first, hash })
    }

    /// The first, or the only one.
    pub(super) fn first(&self) -> &SavedLearner {
        &self.first
    }

    /// The one for a trial.
    pub(super) fn of(&self, trial: u64) -> Result<SavedLearner> {
        if self.path.is_dir() {
            Ok(SavedLearner::read(&file(&self.path, trial))?.0)
        } else {
            Ok(self.first.clone())
        }
    }

    /// A hash of the files.
    pub(super) fn hash(&self) -> u64 {
        self.hash
    }

    /// Refuses to show a learner the very people it has learnt from as if they were new.
    pub(super) fn other_people(&self, seed: u64, trial: u64) -> Result<()> {
        let saved = self.of(trial)?;
        if !saved.people.iter().any(|people| (people.seed, people.trial) == (seed, trial)) {
            return Ok(());
        }
        let remedy = "the saved learner has met the people of this seed: give another, and environment.modifiers.population in both runs to keep theta*";
        Err(reticent::Error::invalid("seed", seed, remedy).into())
    }

    /// Remark on its origin.
    pub(super) fn remark(&self) -> String {
        let name = &self.first.name;
        format!(
            "it begins with what {name:?} had learnt, whose people its own certificate covers, or nothing: see what the guarantee rests on"
        )
    }

    /// Condition that says which guarantee protects whom.
    pub(super) fn condition(&self) -> String {
        let promised = |people: &People| people.certificate.is_some();
        let names = |promise: bool| {
            let chosen = self.first.people.iter().filter(|people| promised(people) == promise);
            chosen.map(|people| format!("{:?}", people.learner)).collect::<Vec<_>>().join(", ")
        };
        if !self.first.people.iter().all(promised) {
            return format!(
                "it covers the people of this run ONLY: it begins with what was learnt by {}, which promised nothing to its people",
                names(false)
            );
        }
        let certificates: Vec<&str> =
            self.first.people.iter().filter_map(|people| people.certificate.as_deref()).collect();
        format!(
            "it covers the people of this run; those whom {} learnt from before are covered by the certificates they were saved with, and people in several by all together: {}",
            names(true),
            certificates.join(" ")
        )
    }
}
