//! The time that is believed.
//!
//! Slots that are closed never open again, so that a clock that is wrong for a moment would end the windows of everybody for good. The clock is
//! therefore compared with what is known: at a start with the latest time in the store and in the witness, later with the time that has passed. A clock
//! that is ahead by more than a bound is not believed, and neither is one that has gone back: visits would be counted in a period that has ended, whose
//! budget nobody has used. The service's time then goes on from what is known, nothing is closed, and /readyz says so. The clock is believed again when it
//! has been set right, or when an operator has accepted it.
//!
//! A store without any life has no time to compare with: the clock of the very first start is believed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Service, tick::grace};
use crate::{
    Error, Result,
    clock::{Clock, Time, date_time},
    config::{LoopParams, Trust},
    store::Store,
};

/// A clock that is so far from the time that should have passed, in milliseconds, is not believed.
pub(super) const JUMP: u64 = 3_600_000;

/// A service that seems to have been away for longer than this, in milliseconds, is not believed without an operator.
const AWAY: u64 = 86_400_000;

/// A clock that does not believe another one without limits.
pub(super) struct BelievedClock {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

struct State {
    time: Time,
    steady: u64,
    /// What the clock says, where it is not believed.
    doubted: Option<Time>,
}

impl BelievedClock {
    /// A clock that is compared with the latest time that is known.
    pub(super) fn new(clock: Arc<dyn Clock>, latest: Option<Time>) -> Self {
        let (wall, steady) = (clock.now(), clock.steady());
        let wrong = latest.filter(|latest| {
            wall > latest.saturating_add(AWAY) || wall.saturating_add(JUMP) < *latest
        });
        let (time, doubted) = (wrong.unwrap_or(wall), wrong.map(|_| wall));
        BelievedClock { clock, state: Mutex::new(State { time, steady, doubted }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state of this moment.
    fn look(&self) -> MutexGuard<'_, State> {
        let mut state = self.state();
        let (wall, steady) = (self.clock.now(), self.clock.steady());
        let passed = steady.saturating_sub(state.steady);
        let expected = state.time.saturating_add(passed);
        let wrong = wall.abs_diff(expected) > JUMP;
        let time = if wrong { expected } else { wall };
        *state = State { time, steady, doubted: wrong.then_some(wall) };
        state
    }

    /// Why nothing is closed, if the clock is not believed.
    pub(super) fn doubt(&self) -> Option<String> {
        let state = self.look();
        let wall = date_time(state.doubted?);
        Some(format!(
            "the clock says {wall}, and the latest time that is known is {}: nothing is closed or released. Set the clock right; if it is, \
             `reticent store accept-time --data DIR --date {}` goes on with it",
            date_time(state.time),
            wall.get(..10).unwrap_or(&wall)
        ))
    }

    /// Believes the clock, if it is doubted and its date is this one.
    fn accept(&self, date: &str) -> Result<Time> {
        let mut state = self.look();
        let Some(wall) = state.doubted else {
            let remedy = "the clock is believed: nothing has to be accepted";
            return Err(Error::invalid("date", date, remedy));
        };
        let said = date_time(wall);
        if said.get(..10) != Some(date.trim()) {
            let remedy = format!("the clock says {said}: give its date if it is right");
            return Err(Error::invalid("date", date, remedy));
        }
        *state = State { time: wall, steady: state.steady, doubted: None };
        Ok(wall)
    }
}

impl Clock for BelievedClock {
    fn now(&self) -> Time {
        self.look().time
    }

    fn steady(&self) -> u64 {
        self.clock.steady()
    }
}

/// The latest time that a store knows; none before its first life.
pub(super) async fn latest(store: &dyn Store) -> Result<Option<Time>> {
    let mut latest = None;
    for life in store.lives().await? {
        let params: LoopParams = serde_json::from_slice(&life.params).map_err(Error::store)?;
        let head = store.head(life.id).await?;
        let closed = match params.trust {
            // A slot is closed when it has ended.
            Trust::Curator => {
                head.closed.saturating_add(1).saturating_mul(params.tick_milliseconds())
            }
            // Slots are numbers of models.
            Trust::Device | Trust::Shuffler => {
                let last = store.releases(life.id, head.number.max(1), 1).await?;
                last.first().map_or(0, |model| model.time)
            }
        };
        latest = latest.max(Some(closed.max(life.began))).max(life.ended);
    }
    Ok(latest)
}

impl Service {
    /// Goes on with a clock that was not believed. `date` is the day that it shows, so that nobody accepts another time than they looked at.
    /// Slots that have passed meanwhile stay open for the grace of a restart.
    pub async fn accept_time(&self, date: &str) -> Result<Time> {
        let mut waiting = Vec::new();
        for each in self.loops() {
            waiting.push((each, each.ticking.lock().await));
        }
        let time = self.clock.accept(date)?;
        for (each, mut progress) in waiting {
            progress.wait(self.clock.steady().saturating_add(grace(&each.plan)));
        }
        tracing::warn!("an operator accepted the time {}", date_time(time));
        Ok(time)
    }
}
