//! `window`: core's bandit with tickets, as it is deployed, on simulation noise.
//!
//! A decision closes when a number of later ones have been made, and contributes its reward or the default one. Rewards that come later than
//! that, by the environment's modifiers, change nothing.

use std::collections::BTreeMap;

use reticent::bandit::{Arms, JointLinUcb, Ticket};

use crate::{
    FastNoise, Result,
    play::{Knowledge, Learner},
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

impl Learner for Ticketed {
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

    /// As [`Learner::pass`]: with its features and the default reward the decision would be a contribution too many.
    fn turn_away(&mut self, round: u64) -> Result<()> {
        self.pass(round)
    }

    /// The decision contributes zeros when it closes.
    fn pass(&mut self, round: u64) -> Result<()> {
        if let Some(ticket) = self.tickets.remove(&round) {
            self.learner.dismiss(ticket);
        }
        Ok(())
    }

    fn cold_releases(&self) -> Option<u64> {
        Some(self.learner.cold_releases())
    }

    fn knowledge(&self) -> Option<Knowledge> {
        self.learner.legacy().ok().map(|legacy| Knowledge::Releases(legacy.save()))
    }
}

#[cfg(test)]
mod tests {
    use reticent::{
        bandit::{JointParams, RewardWindow},
        randomize::Bounds,
    };

    use super::*;

    /// Sums after forty rounds, in the second of which a person came too often.
    fn knowledge(features: [f64; 2], turned_away: bool) -> Vec<u8> {
        let params = JointParams {
            window: Some(RewardWindow::Decisions(2)),
            ..JointParams::new(Bounds::unit(2), 1.0, 1e-6, Some(64))
        };
        let mut learner = Ticketed::new(params.check().unwrap().start(FastNoise::seeded(1)));
        for round in 1..=40 {
            let row = if round == 2 { features } else { [0.6, 0.8] };
            learner.choose(&Arms::from_rows(2, &[row]).unwrap(), round).unwrap();
            match round {
                2 if turned_away => learner.turn_away(round).unwrap(),
                2 => learner.dismiss(round),
                _ => learner.observe(round, &row, 0.5).unwrap(),
            }
        }
        match learner.knowledge() {
            Some(Knowledge::Releases(bytes)) => bytes,
            _ => panic!("there were releases"),
        }
    }

    #[test]
    fn whoever_is_turned_away_contributes_nothing() {
        assert_eq!(knowledge([1.0, 0.0], true), knowledge([0.0, 1.0], true));
        // Planted: as if their reward had only not come.
        assert_ne!(knowledge([1.0, 0.0], false), knowledge([0.0, 1.0], false));
    }
}
