//! LinUCB under joint differential privacy: a trusted curator, and people who see only what later people may see.
//!
//! ```text
//! decide:  arms -> curator -> (ticket, arm)
//! observe: (ticket, reward) -> features of the decision -> curator
//! ```
//!
//! **Guarantee.** Person t sees an arm that depends on their own decision set and on releases made before. Everything
//! that others see is post-processing of the releases (Claim 7 of Shariff and Sheffet 2018, the billboard lemma), so the
//! learner is jointly differentially private with the curve of its running sum. Without a [`RewardWindow`] which rewards arrive, and
//! when, is taken to be public; with one it need not be (`joint/window.rs` has the proof).
//!
//! **Two phases.** A learner that [holds releases](JointLinUcb::hold_releases) makes a release without using it: decisions go by the policy before
//! until [`JointLinUcb::commit`]. In between the caller stores the state and notes the release in a log, so that no release is ever used
//! that a restart would not know of. The package `reticent-durable` does that with files.
//!
//! | file | contents |
//! | --- | --- |
//! | this one | a curator with tickets beside it |
//! | `curator` | the learner: private sums x rule x bounds |
//! | `contribute` | what people contribute to its sums |
//! | `params` | parameters and plan |
//! | `reports` | contributions that are randomised one by one, and when that is better |
//! | `window` | when a decision closes, and why that tells nothing |
//! | `legacy` | warm starts |
//! | `change` | a test for changes, on releases |
//! | `state` | what is saved, and how a learner goes on from it |

mod change;
mod contribute;
mod curator;
mod legacy;
mod params;
mod reports;
mod state;
mod window;

pub use curator::Curator;
pub use legacy::Legacy;
pub use params::{JointParams, JointPlan};
pub use window::RewardWindow;

use serde::{Deserialize, Serialize};

use super::{Answer, Arms, Choice, OpenDecisions, Ticket};
use crate::{Error, Result, error::finite_vector, noise::Noise, refuse_if, wire};
use state::State;

/// A choice made for one person.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// Hand this back with the reward.
    pub ticket: Ticket,
    /// Index of the chosen arm.
    #[serde(with = "wire::count")]
    pub arm: usize,
    /// With which probability it was chosen: an exact count under the `thompson` rule, 1 under rules that draw nothing.
    pub probability: f64,
    /// Input of [`Policy::choose`](super::Policy::choose): with it the decision can be repeated from the policy and the arms.
    #[serde(with = "wire::hex")]
    pub randomness: u64,
    /// Number of the arms that were longer than the feature bound and were scaled to it. A property of this person's own data.
    #[serde(with = "wire::count")]
    pub clipped_arms: usize,
    /// The last release has been made: no reward changes the model any more.
    pub frozen: bool,
}

impl wire::Checked for Decision {
    fn check_message(&self) -> Result<()> {
        let refused = !(self.probability > 0.0 && self.probability <= 1.0);
        refuse_if(refused, "probability", self.probability, "expected a number above 0, at most 1")
    }
}

impl wire::Message for Decision {
    const KIND: wire::Kind = wire::kinds::DECISION;
}

/// Outcome of a reward. Whether it was clipped is a bit of the person's own data: not to be published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation {
    /// The reward lay outside its bounds and was clipped to them.
    pub clipped: bool,
    /// The sums were released, and the policy has learnt. With a window that happens when decisions close.
    pub released: bool,
    /// The decision had closed before, or was made by a frozen model: nothing has changed.
    pub late: bool,
}

/// Outcome of closing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Closed {
    /// Decisions that were closed.
    pub decisions: u64,
    /// Releases that were made.
    pub releases: u64,
}

/// A contextual linear bandit that is jointly differentially private.
pub struct JointLinUcb<N> {
    curator: Curator<N>,
    state: State,
    /// Features in grid units: what will be contributed, in half the memory of doubles.
    open: OpenDecisions<i32>,
}

/// Prints no person's features: a log line must not undo the noise.
impl<N> std::fmt::Debug for JointLinUcb<N> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("JointLinUcb")
            .field("curator", &self.curator)
            .field("decisions", &self.state.decisions)
            .finish_non_exhaustive()
    }
}

impl<N: Noise> JointLinUcb<N> {
    fn new(curator: Curator<N>) -> Self {
        JointLinUcb::of(curator, State { decisions: 0, clock: 0 })
    }

    fn of(curator: Curator<N>, state: State) -> Self {
        let dimension = curator.open_dimension();
        let open = if N::PROTECTS_PEOPLE {
            OpenDecisions::new(dimension)
        } else {
            OpenDecisions::simulated(dimension)
        };
        JointLinUcb { curator, state, open }
    }

    /// Chooses an arm for the next person, at the time of the last call that gave one. An error changes nothing.
    ///
    /// Arms above the feature bound are scaled to it before they are compared, so what is chosen is what is learnt from.
    pub fn decide(&mut self, arms: &Arms) -> Result<Decision> {
        self.decide_at(arms, self.state.clock)
    }

    /// Chooses an arm for the next person at a time of the caller's public clock, in any unit. A time before the last one counts as
    /// the last one.
    pub fn decide_at(&mut self, arms: &Arms, now: u64) -> Result<Decision> {
        self.curator.nothing_held()?;
        let number = self.state.decisions;
        let randomness = self.curator.randomness(number)?;
        let Choice { arm, clipped_arms } = self.curator.choose(arms, randomness)?;
        let probability = match self.policy().ensemble() {
            Some(_) => self.curator.probabilities(arms)?[arm],
            None => 1.0,
        };
        // Before anything is counted: a release may fail where the system has no randomness.
        if let Some(RewardWindow::Decisions(window)) = self.params().window {
            while !self.holds_release() && self.open.len() as u64 >= window {
                self.close_oldest()?;
            }
        }
        let ticket = if self.curator.is_over() {
            self.open.pass(number)?
        } else {
            let features = self.curator.units_of(arms.block(arm), &arms.arm(arm))?;
            self.open.insert(number, now.max(self.state.clock), &features)?
        };
        self.state.clock = self.state.clock.max(now);
        self.state.decisions += 1;
        let frozen = self.is_frozen();
        Ok(Decision { ticket, arm, probability, randomness, clipped_arms, frozen })
    }

    /// Takes the reward of an earlier decision, once. An error changes nothing.
    ///
    /// Without a window it is learnt now. With one it is kept until the decision closes; after that it is late, and changes nothing.
    pub fn observe(&mut self, ticket: Ticket, reward: f64) -> Result<Observation> {
        finite_vector("reward", &[reward], 1)?;
        let (_, clipped) = self.params().centred(reward);
        self.answer(ticket, Answer::Reward(reward), clipped)
    }

    /// Books the default reward for a decision whose reward has not come: for callers who keep the time themselves, by a clock
    /// that depends on no person's data. With a window it only says that no reward will come.
    pub fn expire(&mut self, ticket: Ticket) -> Result<Observation> {
        self.answer(ticket, Answer::Reward(self.params().default_reward), false)
    }

    fn answer(&mut self, ticket: Ticket, answer: Answer, clipped: bool) -> Result<Observation> {
        self.curator.nothing_held()?;
        if self.params().window.is_none() {
            if self.curator.is_over() {
                let round = self.rounds().saturating_add(1);
                return Err(Error::HorizonExceeded { round, horizon: self.rounds() });
            }
            let released = self.learn(ticket, answer)?;
            return Ok(Observation { clipped, released, late: false });
        }
        match self.open.answer(ticket) {
            Some(Answer::Waiting) => {
                self.open.set_answer(ticket, answer);
                Ok(Observation { clipped, released: false, late: false })
            }
            None if self.open.was_given_out(ticket) => {
                Ok(Observation { clipped, released: false, late: true })
            }
            _ => Err(self.open.unknown(ticket)),
        }
    }

    /// Closes, in order, all decisions made before a time of the caller's public clock: each contributes its reward or the default one.
    pub fn close_before(&mut self, time: u64) -> Result<Closed> {
        self.curator.nothing_held()?;
        let remedy = "without one rewards are learnt as they come: give the parameters a window, or call `expire`";
        refuse_if(self.params().window.is_none(), "window", "missing", remedy)?;
        self.state.clock = self.state.clock.max(time);
        let mut closed = Closed::default();
        while !self.holds_release() && self.open.oldest().is_some_and(|(_, made, _)| made < time) {
            closed.releases += u64::from(self.close_oldest()?);
            closed.decisions += 1;
        }
        Ok(closed)
    }

    /// A tick of the caller's clock, for `Schedule::Clock`: releases what has been learnt since the last one. An error changes nothing.
    pub fn tick(&mut self) -> Result<()> {
        let mut nothing_more = self.curator.no_sums();
        self.curator.tick(&mut nothing_more)?;
        if self.curator.is_over() {
            self.open.clear();
        }
        Ok(())
    }

    fn close_oldest(&mut self) -> Result<bool> {
        match self.open.oldest() {
            Some((ticket, _, answer)) => self.learn(ticket, answer),
            None => Ok(false),
        }
    }

    /// Absorbs what an open decision contributes, and closes it; says whether sums were released.
    fn learn(&mut self, ticket: Ticket, answer: Answer) -> Result<bool> {
        let reward = match answer {
            Answer::Reward(reward) => Some(reward),
            Answer::Waiting => Some(self.params().default_reward),
            Answer::Dismissed => None,
        };
        let contribution =
            self.curator.contribution_of_units(self.open.features(ticket)?, reward)?;
        // Nothing after this line fails: a release that has been made becomes a policy, and the decision is closed.
        let released = self.curator.absorb(&contribution)?;
        self.open.remove(ticket);
        if self.curator.is_over() {
            self.open.clear();
        }
        Ok(released)
    }

    /// Gives up a decision that no caller saw; says whether it was waited for. Without a window it contributes nothing; with one it
    /// contributes zeros when it closes, so that nothing else moves.
    pub fn dismiss(&mut self, ticket: Ticket) -> bool {
        match self.params().window {
            None => self.open.remove(ticket),
            Some(_) => {
                self.open.answer(ticket) == Some(Answer::Waiting)
                    && self.open.set_answer(ticket, Answer::Dismissed)
            }
        }
    }

    /// From here on a release that has been made is used only after [`JointLinUcb::commit`]; until then other calls are refused.
    pub fn hold_releases(&mut self) {
        self.curator.hold_releases();
    }

    /// Uses the release that is held, if there is one.
    pub fn commit(&mut self) {
        self.curator.commit();
    }

    /// Number of decisions open.
    pub fn open_decisions(&self) -> usize {
        self.open.len()
    }

    /// Tickets of all open decisions, oldest first, each with the time it was made at.
    pub fn open_tickets(&self) -> impl Iterator<Item = (Ticket, u64)> + '_ {
        self.open.tickets()
    }

    /// Decisions made so far.
    pub fn decisions(&self) -> u64 {
        self.state.decisions
    }

    /// From here on this learner is a copy beside another, and is charged for it: see [`Curator::branch`]. Its tickets are tagged
    /// under a new key; those that are open stay valid in every copy.
    pub fn branch(&mut self) -> Result<()> {
        self.open.renew();
        self.curator.branch()
    }
}

/// Read access to the learner without its tickets.
impl<N> std::ops::Deref for JointLinUcb<N> {
    type Target = Curator<N>;

    fn deref(&self) -> &Curator<N> {
        &self.curator
    }
}

#[cfg(test)]
mod tests;
