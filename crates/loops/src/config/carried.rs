//! A new generation that begins with the last release of the one before it.
//!
//! A changed range, privacy, reward, rule or tick begins a new generation. What the one before has released is public, and beginning with it is
//! post-processing: it costs nothing that is not paid already, and the store shows the release (`warm` says how that is counted). Coordinates that mean
//! the same in both files go on (`features/carried.rs` in the core); rewards move to the new centre by the constant, where there is one.
//!
//! A file with a warm start of its own begins with that.

use reticent::{
    bandit::{Curator, Legacy, Rule},
    features::FeaturesPlan,
    noise::SecureNoise,
};

use super::{CentralPlan, Ledger, LoopParams, Origin, Trust};
use crate::{
    Error, Result,
    records::{Generation, Head, StoreId},
    secret::hex,
};

/// The generation that a new one follows.
#[derive(Clone, Copy)]
pub struct Predecessor<'a> {
    /// Its store.
    pub store: StoreId,
    /// Its record.
    pub generation: &'a Generation,
    /// Its head.
    pub head: &'a Head,
    /// Replays that it is charged for.
    pub charged: u64,
}

impl CentralPlan {
    /// True if this plan knows something of what a generation with these stored parameters has learnt.
    pub fn knows_from(&self, stored: &LoopParams) -> bool {
        // The bounds of that rule are on the noise of one stream.
        let regularized = matches!(self.params.learner.rule, Rule::Regularized { .. });
        self.params.warm_start.is_none()
            && !regularized
            && !self.params.has_fixed_actions()
            && !stored.has_fixed_actions()
            && stored.trust == Trust::Curator
            && stored.newest_features().is_ok_and(|before| {
                self.features.knows_from(&before)
                    && (self.ones(&before).is_some()
                        || self.params.reward.range == stored.reward.range)
            })
    }

    /// The plan that begins with the last release of the generation before it; this plan where that has released nothing or knows nothing of its features.
    pub fn following(&self, before: Predecessor<'_>) -> Result<Self> {
        let stored: LoopParams =
            serde_json::from_slice(&before.generation.params).map_err(Error::store)?;
        if before.head.number == 0 || !self.knows_from(&stored) {
            return Ok(self.clone());
        }
        let head = before.head;
        let curator =
            Curator::<SecureNoise>::resume_charged(&head.state, head.number, before.charged)?;
        let dimension = curator.params().bounds.dimension;
        let features = stored.features_of(dimension)?;
        // A learner that may not be begun from, and one with too many before it, leave this plan as it is.
        let legacy =
            curator.legacy().ok().and_then(|legacy| self.carry(&legacy, &features, &stored));
        let Some(legacy) = legacy else { return Ok(self.clone()) };
        let units = stored.warm_start_origin.as_ref().map_or(&[][..], |origin| &origin.units);
        let ledger: Ledger = stored.ledger(&self.name)?;
        let origin = Origin {
            store: hex(&before.store),
            generation: before.generation.id,
            params_hash: format!("{:016x}", before.generation.params_hash),
            release: head.number,
            chain: hex(&head.chain),
            units: units.iter().copied().chain([ledger]).collect(),
        };
        let mut plan = self.clone();
        plan.params.warm_start_origin = Some(origin);
        plan.carried = Some(legacy);
        let begins = plan.begin().is_ok();
        Ok(if begins { plan } else { self.clone() })
    }

    /// A sum of earlier coordinates of the features that is 1 for everybody, by its factor: the constant.
    fn ones(&self, before: &FeaturesPlan) -> Option<f64> {
        before.constant().map(|constant| 1.0 / constant)
    }

    fn carry(&self, legacy: &Legacy, before: &FeaturesPlan, stored: &LoopParams) -> Option<Legacy> {
        let known = self.features.carried_from(before);
        let mut rows: Vec<Vec<(usize, f64)>> =
            known.into_iter().map(|known| known.into_iter().collect()).collect();
        let mut ones: Vec<(usize, f64)> = Vec::new();
        let last = before.dimension() - 1;
        if let Some(factor) = self.ones(before) {
            ones.push((last, factor));
            ones.extend(stored.compares().then_some((last + 1, factor)));
        }
        if let Some(constant) = self.features.constant().filter(|_| before.constant().is_some()) {
            let at = self.features.dimension() - 1;
            let scale = |place| vec![(place, constant * ones[0].1)];
            match (stored.compares(), self.params.compares()) {
                (false, false) => {}
                // All decisions were those of the policy, whose constant is the last.
                (false, true) => {
                    rows[at] = Vec::new();
                    rows.push(scale(last));
                }
                (true, true) => rows.push(scale(last + 1)),
                (true, false) => rows[at] = [scale(last), scale(last + 1)].concat(),
            }
        } else if self.params.compares() {
            rows.push(Vec::new());
        }
        legacy.carried(&self.learner_params, &rows, &ones).ok()
    }
}
