//! Learners without privacy behind tickets: the features of decisions wait for their rewards.

use pyo3::prelude::*;
use reticent::{
    Result,
    bandit::{Arms, Choice, OpenDecisions, Ticket},
    randomize::Bounds,
    wire::{Kind, pack, unpack},
};

use crate::{
    convert::{Vector, entries},
    decision::{Chosen, Decision, Many, Observation, observe_many, ticket, tickets},
    error::{Answer, Failure},
};

/// A learner that sees features and rewards as they are.
pub(crate) trait Plain: Sized {
    /// The kind of its saved state with open decisions.
    const KIND: Kind;

    /// Bounds that features and rewards are clipped to.
    fn bounds(&self) -> &Bounds;

    /// The choice of the decision of this number, and its probability.
    fn choose(&mut self, arms: &Arms, number: u64) -> Result<(Choice, f64)>;

    /// Learns; says whether features or reward were clipped.
    fn observe(&mut self, block: usize, features: &[f64], reward: f64) -> Result<bool>;

    /// Its own state.
    fn save(&self) -> Vec<u8>;

    /// Goes on from it.
    fn load(bytes: &[u8]) -> Result<Self>;
}

/// State saved beside the core's state.
#[derive(serde::Serialize, serde::Deserialize)]
struct Head {
    /// The number of the next decision.
    next: u64,
}

/// A learner, and the features of decisions that wait for their reward.
pub(crate) struct Ticketed<L> {
    pub(crate) learner: L,
    next: u64,
    open: OpenDecisions<f64>,
}

impl<L: Plain + Send> Ticketed<L> {
    pub(crate) fn new(learner: L) -> Self {
        Ticketed::after(learner, 0)
    }

    fn after(learner: L, next: u64) -> Self {
        // The block of the arm, where there are several, stands after its features.
        let Bounds { dimension, structure, .. } = *learner.bounds();
        let open = OpenDecisions::new(dimension + usize::from(!structure.is_dense()));
        Ticketed { learner, next, open }
    }

    pub(crate) fn decide(&mut self, arms: &Arms) -> Result<Decision> {
        let (Choice { arm, clipped_arms }, probability) = self.learner.choose(arms, self.next)?;
        let mut features = arms.arm(arm);
        if !self.learner.bounds().structure.is_dense() {
            features.push(arms.block(arm) as f64);
        }
        let ticket = self.open.insert(self.next, 0, &features)?;
        self.next += 1;
        Ok(Decision { ticket, arm, probability, clipped_arms, frozen: false })
    }

    pub(crate) fn decide_many<'py>(
        &mut self,
        arms: &Bound<'py, PyAny>,
        people: Option<usize>,
    ) -> Answer<Chosen<'py>> {
        let decide = |open: &mut Self, arms: &Arms| {
            let decision = open.decide(arms)?;
            Ok((decision.ticket, decision.arm))
        };
        let dismiss = |open: &mut Self, ticket| {
            open.open.remove(ticket);
        };
        Many::new(arms, people)?.decide(arms.py(), self, decide, dismiss)
    }

    pub(crate) fn observe(&mut self, text: &str, reward: f64) -> Answer<Observation> {
        Ok(self.learn(ticket(text)?, reward)?)
    }

    pub(crate) fn observe_many(
        &mut self,
        given: &Bound<'_, PyAny>,
        rewards: &Vector<'_>,
    ) -> Answer<()> {
        let (tickets, rewards) = (tickets(given)?, entries(rewards));
        observe_many(given.py(), &tickets, &rewards, |ticket, reward| {
            Ok(self.learn(ticket, reward).map(drop)?)
        })
    }

    fn learn(&mut self, ticket: Ticket, reward: f64) -> Result<Observation> {
        let dimension = self.learner.bounds().dimension;
        let (features, block) = self.open.features(ticket)?.split_at(dimension);
        let block = block.first().map_or(0, |block| *block as usize);
        let clipped = self.learner.observe(block, features, reward)?;
        self.open.remove(ticket);
        Ok(Observation { clipped, released: true, late: false })
    }

    pub(crate) fn dismiss(&mut self, text: &str) -> Answer<bool> {
        Ok(self.open.remove(ticket(text)?))
    }

    pub(crate) fn open_decisions(&self) -> usize {
        self.open.len()
    }

    pub(crate) fn tickets(&self) -> Vec<String> {
        self.open.tickets().map(|(ticket, _)| ticket.to_string()).collect()
    }

    pub(crate) fn save(&self) -> Vec<u8> {
        let parts = [self.learner.save(), self.open.save()];
        pack(L::KIND, &Head { next: self.next }, &[&parts[0], &parts[1]])
    }

    /// Goes on bit for bit; tickets of open decisions stay valid, and new tickets never repeat old ones.
    pub(crate) fn load(state: &[u8]) -> Answer<Self> {
        let (Head { next }, [learner, open]) = unpack(L::KIND, state)?;
        if next >= 1 << 62 {
            let remedy = "no learner has made this many: restore another copy";
            return Err(Failure::invalid("saved decisions", next, remedy));
        }
        let mut learner = Ticketed::after(L::load(&learner)?, next);
        learner.open.restore(&open, next)?;
        Ok(learner)
    }
}
