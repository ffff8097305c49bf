//! A bandit as bytes: what is saved, and what is checked before it goes on.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{PrivateBandit, State, corners};
use crate::{
    Error, Result,
    convex::{
        DecisionSet, LinearOracle, PrivateBanditPlan,
        bandit_params::Engine,
        protection::{Aggregate, CentralSum, Estimates, PlainSum, agree},
    },
    noise::Noise,
    release::PrivateSum,
    wire,
};

/// A running sum as it is saved; `P` is a plain sum, or on the way out a reference to one.
#[derive(Serialize, Deserialize)]
enum SavedSum<P> {
    Plain(P),
    Private { estimates: Estimates, sum: Vec<u8>, public: Vec<f64> },
}

impl<O: LinearOracle, N: Noise + Serialize + DeserializeOwned> PrivateBandit<O, N> {
    /// The whole state but the set: protect these bytes as the data itself. No key of the noise is in it.
    pub fn save(&self) -> Vec<u8> {
        let sum = match &self.aggregate {
            Aggregate::Plain(sum) => SavedSum::Plain(sum),
            Aggregate::Private(sum) => SavedSum::Private {
                estimates: self.state.estimates,
                sum: sum.sum().save(),
                public: sum.public().to_vec(),
            },
        };
        wire::save_on(wire::kinds::PRIVATE_BANDIT, N::NAME, &(&self.state, sum, &self.public))
    }

    /// Continues on the same set, if no release has left since: see [`PrivateSum::resume`]. On simulation noise bit for bit, if no
    /// decision has left either; else without the decisions in between, whose tickets are unknown from then on.
    pub fn resume(
        bytes: &[u8],
        releases_made: u64,
        decisions_made: u64,
        set: DecisionSet<O>,
    ) -> Result<Self> {
        type Saved<N> = (State, SavedSum<PlainSum<N>>, N);
        let (mut state, sum, mut public): Saved<N> =
            wire::load_on(wire::kinds::PRIVATE_BANDIT, N::NAME, bytes)?;
        let damaged = |reason: &str, remedy: &str| Error::CorruptState {
            size: bytes.len(),
            reason: reason.into(),
            remedy: remedy.into(),
        };
        if &state.shape != set.shape() {
            return Err(damaged("it is about another set", "expected the set it was saved with"));
        }
        // What follows from the parameters is computed again: a range that is none would break clipping.
        let PrivateBanditPlan { set, estimates, tuning, engine, .. } = state.params.check(set)?;
        state.local = if let Engine::Local(value) = &engine { Some(*value) } else { None };
        let follows = state.estimates.agree(&estimates)
            && state.tuning.batch == tuning.batch
            && agree(state.tuning.smoothing, tuning.smoothing)
            && agree(state.tuning.step, tuning.step)
            && agree(state.tuning.shrink, tuning.shrink);
        if !follows {
            return Err(damaged(
                "its numbers do not follow from its parameters",
                "restore another copy",
            ));
        }
        let n = state.shape.dimension();
        let lengths = [&state.point, &state.base, &state.previous, &state.direction];
        let fits = lengths.iter().all(|vector| vector.len() == n)
            && state.open.values().all(|direction| direction.len() == n)
            && state.map.fits(n);
        if !fits {
            return Err(damaged("its parts do not fit each other", "restore another copy"));
        }
        let aggregate = match sum {
            SavedSum::Plain(sum) => Aggregate::Plain(sum),
            SavedSum::Private { estimates, sum, public } => {
                if !estimates.agree(&state.estimates) {
                    return Err(damaged("its parts do not fit each other", "restore another copy"));
                }
                let sum = PrivateSum::resume(&sum, releases_made)?;
                Aggregate::Private(Box::new(CentralSum::resumed(estimates, sum, public)))
            }
        };
        if aggregate.rounds() != state.rounds {
            return Err(damaged("its parts do not fit each other", "restore another copy"));
        }
        if state.local.is_some() {
            wire::expect_newest("releases", state.rounds, releases_made)?;
        }
        let corners = corners(&set, &state.params)?;
        if state.corner.0 >= corners.len().max(1) || state.corner.1 > 1 {
            return Err(damaged("its parts do not fit each other", "restore another copy"));
        }
        if decisions_made > state.next {
            public.refresh()?;
            // What was played in between is unknown; its mean square is taken to be the known one.
            state.squared_distances *= decisions_made as f64 / state.next.max(1) as f64;
            state.next = decisions_made;
        }
        Ok(PrivateBandit { set, aggregate, public, corners, state })
    }
}
