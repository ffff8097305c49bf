//! Saved state of a joint bandit, and its restoration.
//!
//! [`JointLinUcb::save`] keeps the running sum and the policy, and no open decision: those of a process that ended are unknown to the next
//! one, and their rewards are refused. A caller who stops in order may carry them over with [`JointLinUcb::save_with_open`]; their tickets
//! stay valid, because tags are kept with them, and no other ticket equals theirs.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{Curator, JointLinUcb};
use crate::{Error, Result, bandit::Answer, noise::Noise, refuse_if, wire};

/// All but the curator and the open decisions.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct State {
    /// Number of them; the number of the next one, which also breaks ties.
    pub(super) decisions: u64,
    /// The latest time of the caller.
    pub(super) clock: u64,
}

/// The curator's bytes, the rest, and open decisions.
type Saved = (Vec<u8>, State, Option<Vec<u8>>);

impl<N: Noise + Serialize + DeserializeOwned> JointLinUcb<N> {
    /// The state without open decisions, people's data included: protect these bytes as the data itself. A release that
    /// is held is in it, and is in use in whatever learner is resumed from it.
    pub fn save(&self) -> Vec<u8> {
        wire::save(wire::kinds::JOINT, &(self.curator.save(), &self.state, None::<Vec<u8>>))
    }

    /// The state with its open decisions, for a stop in order: their tickets are valid in the learner that is resumed from it.
    ///
    /// Both are one piece, so that open decisions cannot be restored beside a later state, which has counted some of them already.
    pub fn save_with_open(&self) -> Vec<u8> {
        wire::save(wire::kinds::JOINT, &(self.curator.save(), &self.state, Some(self.open.save())))
    }

    /// Continues from saved bytes, if no release has left since the bytes were saved: see [`Curator::resume`].
    pub fn resume(bytes: &[u8], releases_made: u64) -> Result<Self> {
        let (curator, state, open): Saved = wire::load(wire::kinds::JOINT, bytes)?;
        JointLinUcb::checked(Curator::resume(&curator, releases_made)?, state)?
            .with_open(open.as_deref())
    }

    /// Continues from an older state and pays for the replay: see [`Curator::resume_charged`].
    pub fn resume_charged(bytes: &[u8], releases_made: u64, charged_before: u64) -> Result<Self> {
        let (curator, state, open): Saved = wire::load(wire::kinds::JOINT, bytes)?;
        let curator = Curator::resume_charged(&curator, releases_made, charged_before)?;
        JointLinUcb::checked(curator, state)?.with_open(open.as_deref())
    }

    fn checked(curator: Curator<N>, state: State) -> Result<Self> {
        // Numbers of decisions must have room to grow.
        if state.decisions < 1 << 62 {
            return Ok(JointLinUcb::of(curator, state));
        }
        let remedy = "a learner makes fewer; restore another copy";
        Err(Error::invalid("saved decisions", state.decisions, remedy))
    }

    /// Opens the decisions that were saved with this state, if its sums still take contributions.
    fn with_open(mut self, bytes: Option<&[u8]>) -> Result<Self> {
        let Some(bytes) = bytes else { return Ok(self) };
        let mut open = super::OpenDecisions::new(self.curator.open_dimension());
        open.restore(bytes, self.state.decisions)?;
        for (ticket, time) in open.tickets() {
            let reward = match open.answer(ticket) {
                Some(Answer::Reward(reward)) => reward,
                _ => 0.0,
            };
            self.curator.contribution_of_units(open.features(ticket)?, Some(reward))?;
            let remedy = "it is after the state's clock: restore another copy";
            refuse_if(time > self.state.clock, "time of an open decision", time, remedy)?;
        }
        if !self.curator.is_over() {
            self.open.restore(bytes, self.state.decisions)?;
        }
        Ok(self)
    }
}
