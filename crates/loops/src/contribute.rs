//! Contribution of a closed event to the sums.
//!
//! Nothing fails here: what cannot be used contributes zeros, which another person could have contributed, and is counted
//! internally. A failure would stop releases, which are public, because of one person's row.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{
    Result,
    config::CentralPlan,
    learner::{CentralLearner, CentralSums},
    records::StoredEvent,
};

/// Counts of folded events. Internal: do not publish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Folded {
    /// Events that contributed.
    pub contributed: u64,
    /// Events that contributed zeros: beyond k, erased, not activated.
    pub zeros: u64,
    /// Rows that could not be used, which is a fault.
    pub unusable: u64,
}

/// Adds the contribution of this event. One from before words were appended has zeros in their coordinates.
pub fn contribute(
    plan: &CentralPlan,
    learner: &CentralLearner,
    event: &StoredEvent,
    sums: &mut CentralSums,
    folded: &mut Folded,
) {
    if !event.learnt || !event.active {
        folded.zeros += 1;
        return;
    }
    let reward = match event.reward {
        Some(units) => units as f64 / (1_i64 << 32) as f64,
        None => learner.default_reward(),
    };
    // A fault of the program at one row would else end every tick.
    let contributed = catch_unwind(AssertUnwindSafe(|| -> Result<()> {
        let places = plan.places(event.features.len())?;
        let padded = places.map(|places| -> Vec<f64> {
            places.iter().map(|place| place.map_or(0.0, |at| event.features[at])).collect()
        });
        learner.contribute(padded.as_ref().unwrap_or(&event.features), reward, sums)
    }));
    match contributed {
        Ok(Ok(())) => folded.contributed += 1,
        _ => folded.unusable += 1,
    }
}
