//! What is saved of a joint bandit, and how one goes on from it.
//!
//! [`JointLinUcb::save`] keeps the running sum and the policy, and no open decision: those of a life that ended are unknown to the next
//! one, and their rewards are refused. Whoever stops in order may carry them over with [`JointLinUcb::save_with_open`]; their tickets
//! stay valid, because tags are kept with them, and no other ticket equals theirs.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{JointLinUcb, JointParams, Legacy};
use crate::{
    Error, Result,
    bandit::{Answer, ConfidenceRule, Policy},
    noise::Noise,
    release::{Domain, PrivateSum, Release},
    saved,
};

pub(super) const KIND: &str = "joint LinUCB";

/// All but the running sum and the open decisions.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) params: JointParams,
    pub(super) rule: ConfidenceRule,
    pub(super) policy: Policy,
    /// How many there were; the number of the next one, which also breaks ties.
    pub(super) decisions: u64,
    /// The latest time the caller told.
    pub(super) clock: u64,
    /// The last release.
    pub(super) release: Option<Release>,
    /// What the learner began with.
    pub(super) legacy: Option<Legacy>,
}

impl<N: Noise + Serialize + DeserializeOwned> JointLinUcb<N> {
    /// The state without open decisions, people's data and generator included: protect these bytes as the data itself. A release that
    /// is held is in it, and is in use in whatever learner is resumed from it.
    pub fn save(&self) -> Vec<u8> {
        self.saved(None)
    }

    /// The state with its open decisions, for a stop in order: their tickets are valid in the learner that is resumed from it.
    ///
    /// Both are one piece, so that open decisions cannot be restored beside a later state, which has counted some of them already.
    pub fn save_with_open(&self) -> Vec<u8> {
        self.saved(Some(self.open.save()))
    }

    fn saved(&self, open: Option<Vec<u8>>) -> Vec<u8> {
        let Some((policy, release)) = &self.held else {
            return saved::save(KIND, &(self.sum.save(), &self.state, open));
        };
        let (policy, release) = (policy.clone(), Some(release.clone()));
        let state = State { policy, release, ..self.state.clone() };
        saved::save(KIND, &(self.sum.save(), &state, open))
    }

    /// Opens the decisions that were saved with this state, if its sums still take contributions.
    fn with_open(mut self, bytes: Option<&[u8]>) -> Result<Self> {
        let Some(bytes) = bytes else { return Ok(self) };
        let mut open = super::OpenDecisions::new(self.state.params.problem.dimension);
        open.restore(bytes, self.state.decisions)?;
        for (ticket, time) in open.tickets() {
            let reward = match open.answer(ticket) {
                Some(Answer::Reward(reward)) => reward,
                _ => 0.0,
            };
            self.sum.clipper().contribution_of(open.features(ticket)?, reward)?;
            if time > self.state.clock {
                let remedy = "it is after the state's clock: restore another copy";
                return Err(Error::invalid("time of an open decision", time, remedy));
            }
        }
        if !self.sum.is_over() {
            self.open.restore(bytes, self.state.decisions)?;
        }
        Ok(self)
    }

    /// Continues bit for bit, if no release has left since the bytes were saved: see [`PrivateSum::resume`].
    pub fn resume(bytes: &[u8], releases_made: u64) -> Result<Self> {
        let (sum, state, open): (Vec<u8>, State, Option<Vec<u8>>) = saved::load(KIND, bytes)?;
        JointLinUcb::checked(PrivateSum::resume(&sum, releases_made)?, state)?
            .with_open(open.as_deref())
    }

    /// Continues from an older state and pays for the replay: see [`PrivateSum::resume_charged`].
    pub fn resume_charged(bytes: &[u8], releases_made: u64, charged_before: u64) -> Result<Self> {
        let (sum, state, open): (Vec<u8>, State, Option<Vec<u8>>) = saved::load(KIND, bytes)?;
        let sum = PrivateSum::resume_charged(&sum, releases_made, charged_before)?;
        JointLinUcb::checked(sum, state)?.with_open(open.as_deref())
    }

    /// Whether the parts of a state that was read fit each other, which a checksum cannot tell.
    fn checked(sum: PrivateSum<N>, state: State) -> Result<Self> {
        let State { params, rule, policy, decisions, release, legacy, .. } = &state;
        params.problem.check()?;
        params.check_window()?;
        let d = params.problem.dimension;
        rule.check(d)?;
        policy.check_parts(d)?;
        let domain = sum.clipper().domain();
        if let Some(release) = release {
            release.check()?;
        }
        if let Some(legacy) = legacy {
            legacy.check(params)?;
        }
        let fits = release.as_ref().is_none_or(|release| release.domain() == domain)
            && matches!(domain, Domain::Regression { dimension, .. } if *dimension == d)
            // Numbers of decisions must have room to grow.
            && *decisions < 1 << 62;
        if fits {
            return Ok(JointLinUcb::of(sum, state));
        }
        let remedy = "its parts belong to different learners; restore another copy";
        Err(Error::invalid("saved sums", format!("{domain:?}"), remedy))
    }
}
