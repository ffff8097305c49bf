//! Saved state of a learner in episodes, and its replays.

use serde::{Serialize, de::DeserializeOwned};

use super::{Episodes, EpisodesParams, learner::State};
use crate::{
    Result, hash,
    noise::Noise,
    privacy::{Event, TrustModel},
    wire,
};

/// Everything that is saved. The hash is that of the event: noise is calibrated anew when a state is read, and must cost what was promised.
type Saved<N> = (EpisodesParams, u64, State, N);

fn event_hash(event: &Event) -> u64 {
    hash::of_params("episodes", event)
}

impl<N: Noise> Episodes<N> {
    /// Marks this learner as one of several that continue from the same releases, as after a fork of the process: one more replay is charged. With a
    /// shuffler the half-finished batch is dropped with its open decisions: another line may show its bits, and no bit is shown in two batches.
    pub fn branch(&mut self) -> Result<()> {
        self.noise.refresh()?;
        let state = &mut self.state;
        state.replays = state.replays.saturating_add(1);
        if self.plan.params.trust == TrustModel::Shuffle {
            (state.observed, state.sum, state.first) = (0, 0, state.decisions);
            state.open.clear();
        }
        Ok(())
    }
}

impl<N: Noise + Serialize + DeserializeOwned> Episodes<N> {
    /// The whole state, people's data included: protect these bytes like the data. They contain no key of noise that protects people.
    pub fn save(&self) -> Vec<u8> {
        let saved = (&self.plan.params, event_hash(&self.plan.event()), &self.state, &self.noise);
        wire::save_on(wire::kinds::EPISODES, N::NAME, &saved)
    }

    /// Continues from saved bytes, if no release has been made since they were saved.
    pub fn resume(bytes: &[u8], releases_made: u64) -> Result<Self> {
        let learner = Episodes::load(bytes)?;
        wire::expect_newest("releases", learner.state.released, releases_made)?;
        Ok(learner)
    }

    /// Continues from a state that is older than `releases_made`, and charges the replay to the guarantee, as [`Episodes::branch`] does; `charged_before` is the number of replays that
    /// had been charged before this call, from the caller's log.
    pub fn resume_charged(bytes: &[u8], releases_made: u64, charged_before: u64) -> Result<Self> {
        let mut learner: Self = Episodes::load(bytes)?;
        learner.state.replays = learner.state.replays.max(charged_before);
        if learner.state.released < releases_made {
            learner.branch()?;
            learner.state.released = releases_made;
        }
        Ok(learner)
    }

    /// Reads a state and checks that its parts fit each other, which a checksum cannot.
    fn load(bytes: &[u8]) -> Result<Self> {
        let (params, event, state, noise): Saved<N> =
            wire::load_on(wire::kinds::EPISODES, N::NAME, bytes)?;
        let plan = params.check()?;
        let arms = plan.params.arms.len();
        let numbers = state.estimates.iter().all(|estimate| {
            estimate.weight >= 0.0 && estimate.weight.is_finite() && estimate.pull.is_finite()
        });
        let length = match &state.clock {
            None => {
                let sound = (state.length as usize) < plan.noise.sizes();
                let people = plan.noise.size(state.length as usize).people;
                sound && state.observed < people && state.sum <= state.observed << 20
            }
            Some(clock) => clock.elapsed < state.length.max(1) && clock.pending.fits(arms),
        };
        let open = state.open.first().is_none_or(|first| *first >= state.first)
            && state.open.last().is_none_or(|last| *last < state.decisions)
            && state.first <= state.decisions;
        let sound = numbers
            && length
            && open
            && state.people >= 0.0
            && state.people.is_finite()
            && state.estimates.len() == arms
            && state.arm < arms
            && state.clock.is_some() == plan.params.clock
            && event == event_hash(&plan.event());
        if !sound {
            return Err(Episodes::<N>::damaged("its parts are inconsistent"));
        }
        Ok(Episodes::of(plan, state, noise))
    }
}
