//! Storage of a joint bandit: saved bytes, and its releases before they are used, in no files or in some.

use std::path::Path;

use reticent::{
    bandit::JointLinUcb,
    noise::SecureNoise,
    wire::{PYTHON_JOINT, pack, unpack},
};
use reticent_durable::{Journal, Options, Rollback};

use crate::{
    error::{Answer, Failure},
    fork_guard::{ForkGuarded, Forked},
};

/// The deployed bandit.
pub(crate) type Learner = JointLinUcb<SecureNoise>;

impl Forked for Learner {
    fn forked(&mut self, others: u64) -> reticent::Result<()> {
        (0..others).try_for_each(|_| self.branch())
    }
}

/// A journal, which only the process that opened it may use.
pub(crate) struct Files(pub(crate) Journal);

impl Forked for Files {
    fn forked(&mut self, _: u64) -> reticent::Result<()> {
        let remedy = "its files belong to the process that opened them: close it there and open the folder here";
        Err(reticent::Error::invalid("JointBandit", "a forked copy of one in files", remedy))
    }
}

/// The storage of releases before they are used.
pub(crate) enum Kept {
    /// No storage.
    Memory,
    Files(ForkGuarded<Files>),
    /// The files were closed.
    Closed,
}

impl Kept {
    /// Applies a function to the learner; with files, a release is used only after it is on disk.
    pub(crate) fn durably<T>(
        &mut self,
        learner: &mut ForkGuarded<Learner>,
        act: impl FnOnce(&mut Learner) -> Answer<T>,
    ) -> Answer<T> {
        match self {
            Kept::Memory => act(learner.enter()?),
            Kept::Files(files) => {
                let (Files(journal), learner) = (files.enter()?, learner.enter()?);
                journal.settle(learner)?;
                let done = act(learner)?;
                // The call itself has succeeded; a failure to store is retried and raised by the next call.
                let _ = journal.settle(learner);
                Ok(done)
            }
            Kept::Closed => {
                Err(Failure::invalid("JointBandit", "a closed one", "open its folder again"))
            }
        }
    }
}

/// State saved beside the core's state.
#[derive(serde::Serialize, serde::Deserialize)]
struct Head {
    /// Copies that were made of this state.
    copies: u64,
}

/// The learner with its open decisions or without them, and how many copies were made of it.
pub(crate) fn saved(learner: &ForkGuarded<Learner>, open_decisions: bool) -> Vec<u8> {
    let head = Head { copies: learner.copies() };
    let learner = learner.read();
    let state = if open_decisions { learner.save_with_open() } else { learner.save() };
    pack(PYTHON_JOINT, &head, &[&state])
}

/// A learner from saved bytes, by `resume`, and the copies that were made of it.
pub(crate) fn resumed(
    state: &[u8],
    resume: impl FnOnce(&[u8]) -> reticent::Result<Learner>,
) -> Answer<(Learner, u64)> {
    let (Head { copies }, [state]) = unpack(PYTHON_JOINT, state)?;
    Ok((resume(&state)?, copies))
}

/// Treatment of a folder that is older than its log, by its word.
pub(crate) fn rollback_of(word: &str) -> Answer<Rollback> {
    match word {
        "refuse" => Ok(Rollback::Refuse),
        "charge" => Ok(Rollback::Charge),
        other => {
            let remedy = "expected \"refuse\" or \"charge\"";
            Err(Failure::invalid("rollback", format!("{other:?}"), remedy))
        }
    }
}

/// The journal of a folder, and the learner in it if there is one with the parameters of `learner`, which begins it otherwise.
pub(crate) fn opened(
    folder: &Path,
    options: &Options,
    learner: &mut Learner,
) -> Answer<(Journal, Option<Learner>)> {
    let (mut journal, found) = Journal::open(folder, options)?;
    match &found {
        None => journal.begin(learner)?,
        Some(found) if found.params() == learner.params() => {}
        Some(_) => {
            let remedy = "the bandit in it has other parameters; expected those, or another folder; a new bandit has a new budget";
            return Err(Failure::invalid("folder", folder.display(), remedy));
        }
    }
    Ok((journal, found))
}
