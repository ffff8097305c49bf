//! Price of the generations of a loop for one person, where they share a ledger and where they do not.
//!
//! A loop that goes on over the same periods counts a person's visits over all of its generations, so that together they cost what the dearest of them
//! does (`release/generations.rs` of the core, with the proof). Generations of stores from before that counted by themselves: they compose, and are in the total of all loops only.

use reticent::{
    privacy::{Event, Guarantee, TrustModel, Unit},
    release::{GenerationCost, one_ledger},
};

use crate::{Result, learner::CentralLearner, records::GenerationId};

/// Generations of a loop before the present one.
#[derive(Debug, Clone, Default)]
pub struct Earlier {
    /// Those whose visits are counted together with the present one's.
    pub shared: Vec<GenerationCost>,
    /// Their numbers.
    pub generations: Vec<GenerationId>,
    /// Number of those with ledgers of their own.
    pub separate: usize,
}

/// A learner as a generation of its loop.
pub fn generation_cost(learner: &CentralLearner) -> Result<GenerationCost> {
    let at_most = match learner.guarantee()?.unit() {
        Unit::Person { at_most } => at_most,
        Unit::Interaction => 1,
    };
    Ok(GenerationCost { event: learner.event(), at_most, replays: learner.replays() })
}

/// Price for a person of generations with one ledger, and the visits of a person in a period that all of them learn from at most.
pub fn together(generations: &[GenerationCost]) -> (Event, u64) {
    let most = generations.iter().map(|one| one.at_most).max().unwrap_or(0);
    (one_ledger(generations), most)
}

impl Earlier {
    /// Price for a person of this learner and the generations that share its ledger, and the visits that all of them learn from at most.
    pub fn event(&self, learner: &CentralLearner) -> Result<(Event, u64)> {
        let all = self.shared.iter().cloned().chain([generation_cost(learner)?]);
        Ok(together(&all.collect::<Vec<_>>()))
    }

    /// Guarantee of all of them.
    pub fn guarantee(&self, learner: &CentralLearner) -> Result<Guarantee> {
        let own = learner.guarantee()?;
        if self.shared.is_empty() {
            return Ok(own);
        }
        let (event, most) = self.event(learner)?;
        let all = Guarantee::of_releases(vec![(event, most)], TrustModel::Joint, own.delta())?;
        Ok(own.conditions().iter().cloned().fold(all, Guarantee::with_condition))
    }
}
