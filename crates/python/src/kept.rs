//! Storage of the releases of a joint bandit before they are used: none, or files.

use reticent::{bandit::JointLinUcb, noise::SecureNoise};
use reticent_durable::Journal;

use crate::{
    error::{Answer, Failure},
    mine::{Forked, Mine},
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
    Files(Mine<Files>),
    /// The files were closed.
    Closed,
}

impl Kept {
    /// Applies a function to the learner; with files, a release is used only after it is on disk.
    pub(crate) fn durably<T>(
        &mut self,
        learner: &mut Mine<Learner>,
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
            Kept::Closed => Err(Failure::invalid("JointBandit", "closed", "open its folder again")),
        }
    }
}
