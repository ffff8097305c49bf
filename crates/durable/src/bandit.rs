//! A joint bandit in files.

use std::path::Path;

use reticent::{
    bandit::{Arms, Closed, Decision, JointLinUcb, JointParams, Observation, Ticket},
    noise::SecureNoise,
    privacy::Guarantee,
};

use crate::{Error, Journal, Options, Result};

/// A [`JointLinUcb`] in files: its process may be killed at any time, and no release is made twice.
///
/// A release is used only after it is on disk. If the disk fails, the call that made the release still succeeds; the next one reports the
/// failure, changes nothing, and may be repeated. After a kill, rewards since the last release and decisions that were open are lost, and
/// their tickets are unknown; after [`DurableBandit::close`] nothing is lost.
///
/// ```
/// use reticent::{bandit::{Arms, JointParams, RewardWindow}, randomize::Bounds};
/// use reticent_durable::{DurableBandit, Options};
///
/// let folder = std::env::temp_dir().join(format!("reticent-doc-{}", std::process::id()));
/// // A person who does not click counts as 0 after 1000 later decisions: a missing reward reveals nothing.
/// let params = JointParams {
///     window: Some(RewardWindow::Decisions(1000)),
///     ..JointParams::new(Bounds::unit(2), 1.0, 1e-6, Some(100_000))
/// };
/// let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0]])?;
/// let mut bandit = DurableBandit::open(&folder, &params, &Options::default())?;
/// let decision = bandit.decide(&arms)?;
/// bandit.observe(decision.ticket, 0.7)?;
/// bandit.close()?;
/// let bandit = DurableBandit::open(&folder, &params, &Options::default())?; // tomorrow
/// assert_eq!(bandit.learner().open_decisions(), 1);
/// # drop(bandit);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), reticent_durable::Error>(())
/// ```
pub struct DurableBandit {
    learner: JointLinUcb<SecureNoise>,
    journal: Journal,
}

impl DurableBandit {
    /// Opens a folder and continues with the learner in it, or starts one with these parameters. A learner with other parameters is
    /// refused.
    pub fn open(folder: &Path, params: &JointParams, options: &Options) -> Result<Self> {
        let plan = params.check()?;
        let (mut journal, found) = Journal::open(folder, options)?;
        let learner = match found {
            // The plan has the mechanism that was chosen, as the learner does.
            Some(learner) if learner.params() == plan.params() => learner,
            Some(_) => {
                let remedy = "the learner in it has other parameters; expected those, or another folder; a new learner has a new budget";
                return Err(Error::unfit("folder", folder, remedy));
            }
            None => {
                let mut learner = plan.start(SecureNoise::from_system()?);
                journal.begin(&mut learner)?;
                learner
            }
        };
        Ok(DurableBandit { learner, journal })
    }

    /// The learner, read-only; changes go through the methods below.
    pub fn learner(&self) -> &JointLinUcb<SecureNoise> {
        &self.learner
    }

    /// The guarantee of the whole run, restarts included.
    pub fn guarantee(&self) -> Result<Guarantee> {
        Ok(self.learner.guarantee()?)
    }

    /// See [`JointLinUcb::decide`].
    pub fn decide(&mut self, arms: &Arms) -> Result<Decision> {
        self.durably(|learner| learner.decide(arms))
    }

    /// See [`JointLinUcb::decide_at`].
    pub fn decide_at(&mut self, arms: &Arms, now: u64) -> Result<Decision> {
        self.durably(|learner| learner.decide_at(arms, now))
    }

    /// See [`JointLinUcb::observe`].
    pub fn observe(&mut self, ticket: Ticket, reward: f64) -> Result<Observation> {
        self.durably(|learner| learner.observe(ticket, reward))
    }

    /// See [`JointLinUcb::expire`].
    pub fn expire(&mut self, ticket: Ticket) -> Result<Observation> {
        self.durably(|learner| learner.expire(ticket))
    }

    /// See [`JointLinUcb::dismiss`].
    pub fn dismiss(&mut self, ticket: Ticket) -> Result<bool> {
        self.durably(|learner| Ok(learner.dismiss(ticket)))
    }

    /// See [`JointLinUcb::close_before`]. Every release is on disk before the next one is made.
    pub fn close_before(&mut self, time: u64) -> Result<Closed> {
        let mut all = Closed::default();
        loop {
            let Closed { decisions, releases } =
                self.durably(|learner| learner.close_before(time))?;
            all.decisions += decisions;
            all.releases += releases;
            if releases == 0 {
                return Ok(all);
            }
        }
    }

    /// See [`JointLinUcb::tick`]. The release is on disk before it is used.
    pub fn tick(&mut self) -> Result<()> {
        self.durably(JointLinUcb::tick)
    }

    /// Stops the learner: writes the state and the open decisions to disk.
    pub fn close(mut self) -> Result<()> {
        self.journal.close(&mut self.learner)
    }

    fn durably<T>(
        &mut self,
        act: impl FnOnce(&mut JointLinUcb<SecureNoise>) -> reticent::Result<T>,
    ) -> Result<T> {
        self.journal.settle(&mut self.learner)?;
        let done = act(&mut self.learner)?;
        // The call itself has succeeded; a failure to store is retried and reported by the next call.
        let _ = self.journal.settle(&mut self.learner);
        Ok(done)
    }
}

#[cfg(test)]
mod tests;
