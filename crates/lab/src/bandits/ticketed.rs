//! `window`: core's bandit with tickets, as it is deployed, on simulation noise.
//!
//! A decision closes when so many later ones have been made, and contributes its reward or the default one. Rewards that come later than
//! that, by the environment's circumstances, change nothing.

use std::collections::BTreeMap;

use reticent::bandit::{Arms, JointLinUcb, Ticket};

use crate::{
    FastNoise, Result,
    simulate::{Knowledge, Player},
};

/// The deployed bandit of one trial.
pub(super) struct Ticketed {
    learner: JointLinUcb<FastNoise>,
    /// Tickets of rounds whose reward has not come.
    tickets: BTreeMap<u64, Ticket>,
}

impl Ticketed {
    pub(super) fn new(learner: JointLinUcb<FastNoise>) -> Self {
        Ticketed { learner, tickets: BTreeMap::new() }
    }
}

impl Player for Ticketed {
    fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize> {
        let decision = self.learner.decide(arms)?;
        self.tickets.insert(round, decision.ticket);
        Ok(decision.arm)
    }

    fn probabilities(&self, arms: &Arms) -> Result<Option<Vec<f64>>> {
        let drawn = self.learner.policy().ensemble().map(|_| self.learner.probabilities(arms));
        Ok(drawn.transpose()?)
    }

    fn observe(&mut self, round: u64, _: &[f64], reward: f64) -> Result<()> {
        if let Some(ticket) = self.tickets.remove(&round) {
            self.learner.observe(ticket, reward)?;
        }
        Ok(())
    }

    /// The decision stays open and contributes the default reward when it closes.
    fn dismiss(&mut self, round: u64) {
        self.tickets.remove(&round);
    }

    /// The decision contributes zeros when it closes.
    fn pass(&mut self, round: u64) -> Result<()> {
        if let Some(ticket) = self.tickets.remove(&round) {
            self.learner.dismiss(ticket);
        }
        Ok(())
    }

    fn knowledge(&self) -> Option<Knowledge> {
        self.learner.legacy().ok().map(|legacy| Knowledge::Releases(legacy.save()))
    }
}
