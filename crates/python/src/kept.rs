//! Where the releases of a joint bandit are kept before they are used: nowhere, or in files.

use reticent::{bandit::JointLinUcb, noise::SecureNoise};
use reticent_durable::Journal;

use crate::{
    error::{Answer, Failure},
    mine::{Forked, Mine},
};

/// The bandit as it is deployed.
pub(crate) type Learner = JointLinUcb<SecureNoise>;

impl Forked for Learner {
    fn forked(&mut self, others: u64) -> reticent::Result<()> {
        (0..others).try_for_each(|_| self.branch())
    }
}

/// A journal, which stays with the process that opened it.
pub(crate) struct Files(pub(crate) Journal);

impl Forked for Files {
    fn forked(&mut self, _: u64) -> reticent::Result<()> {
        let remedy = "its files belong to the process that opened them: close it there and open the folder here";
        Err(reticent::Error::invalid("JointBandit", "a forked copy of one in files", remedy))
    }
}

/// Where releases are kept before they are used.
pub(crate) enum Kept {
    /// Nowhere.
    Memory,
    Files(Mine<Files>),
    /// The files were closed.
    Closed,
}

impl Kept {
    /// Does something with the learner; in files, no release is used that is not on disk.
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
                // What fails here is tried again, and raised, by the next call: this one has been done.
                let _ = journal.settle(learner);
                Ok(done)
            }
            Kept::Closed => Err(Failure::invalid("JointBandit", "closed", "open its folder again")),
        }
    }
}
