//! The time that is believed.
//!
//! Slots that are closed never open again, so that a clock that is wrong for a moment would end all windows for good. The clock is
//! therefore compared with known times: at a start with the latest time in the store and in the witness, later with the time that has passed by the steady
//! clock. A clock that has jumped, forward or back, by more than a bound is not believed: visits would be counted in another period than theirs. The service's
//! time then goes on from the known one, nothing is closed, and the log, /readyz and the dashboard say so. The clock is believed again when it has been set
//! right, or when an operator has accepted it.
//!
//! ```text
//! offset(t) = wall(t) - steady(t)              constant for a clock that is not set
//! believed:   |offset(t) - anchor(t)| <= STEP  the anchor follows the offset by 1 ms a second at most
//! ```
//!
//! Steps of a clock that is corrected now and then are so believed up to `STEP` in all, and a minute more takes the anchor 17 hours: repeated steps do not add up.
//!
//! A store without any generation has no time to compare with: the clock of the very first start is believed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering};

use super::{Central, Service};
use crate::{
    Error, Result,
    clock::{Clock, Time, date_time},
    config::{CentralPlan, LoopParams, Trust},
    store::Store,
};

/// Steps of a running clock that are believed, in all, in milliseconds.
pub(super) const STEP: u64 = 60_000;

/// A step of a running clock that is logged though it is believed, in milliseconds.
const LOGGED: u64 = 5_000;

/// Milliseconds in which the anchor follows the clock by one.
const FOLLOWS: u64 = 1_000;

/// A clock that is further behind the latest time that is known at a start, in milliseconds, is not believed.
pub(super) const BEHIND: u64 = 3_600_000;

/// A service that seems to have been away for longer than this, in milliseconds, is not believed without an operator.
const AWAY: u64 = 86_400_000;

/// A clock that does not believe another one without limits.
pub(super) struct BelievedClock {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Clone, Copy)]
struct State {
    /// The time that is believed.
    time: Time,
    steady: u64,
    /// The time by the steady clock and the offset that is taken for right.
    anchor: Time,
    /// Moment of the steady clock until which the anchor has followed.
    followed: u64,
    /// Time by the clock, where it is not believed.
    doubted: Option<Time>,
    /// True if no clock has been believed since the start: how long the service was away is not known then.
    away: bool,
}

impl State {
    fn believed(time: Time, steady: u64) -> Self {
        State { time, steady, anchor: time, followed: steady, doubted: None, away: false }
    }

    /// The state when the clocks show this.
    fn after(self, wall: Time, steady: u64) -> Self {
        let passed = steady.saturating_sub(self.steady);
        let anchor = self.anchor.saturating_add(passed);
        let (behind, ahead) = if self.away { (BEHIND, AWAY) } else { (STEP, STEP) };
        if wall > anchor.saturating_add(ahead) || wall.saturating_add(behind) < anchor {
            let time = self.time.saturating_add(passed);
            return State { time, steady, anchor, doubted: Some(wall), ..self };
        }
        if self.away {
            return State::believed(wall, steady);
        }
        let most = steady.saturating_sub(self.followed) / FOLLOWS;
        let followed = self.followed.saturating_add(most * FOLLOWS);
        let anchor = wall.clamp(anchor.saturating_sub(most), anchor.saturating_add(most));
        State { time: wall, steady, anchor, followed, doubted: None, away: false }
    }
}

impl BelievedClock {
    /// A clock that is compared with the latest time that is known.
    pub(super) fn new(clock: Arc<dyn Clock>, latest: Option<Time>) -> Self {
        let (wall, steady) = (clock.now(), clock.steady());
        let before = State { away: true, ..State::believed(latest.unwrap_or(wall), steady) };
        BelievedClock { clock, state: Mutex::new(before.after(wall, steady)) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state of this moment. A change of the belief in the clock is logged.
    fn look(&self) -> MutexGuard<'_, State> {
        let mut state = self.state();
        let (wall, steady) = (self.clock.now(), self.clock.steady());
        let before = *state;
        *state = before.after(wall, steady);
        let expected = before.time.saturating_add(steady.saturating_sub(before.steady));
        match (before.doubted, state.doubted) {
            (None, Some(wall)) => tracing::error!("{}", doubt(&state, wall)),
            (Some(_), None) => {
                tracing::warn!("the clock is right again, and says {}", date_time(wall));
            }
            (None, None) if wall.abs_diff(expected) >= LOGGED => {
                let direction = if wall > expected { "forward" } else { "back" };
                let seconds = wall.abs_diff(expected) / 1000;
                tracing::warn!("the clock was set {direction} by {seconds} s, which is followed");
            }
            _ => {}
        }
        state
    }

    /// Reason why nothing is closed, if the clock is not believed.
    pub(super) fn doubt(&self) -> Option<String> {
        let state = self.look();
        Some(doubt(&state, state.doubted?))
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
        *state = State::believed(wall, state.steady);
        Ok(wall)
    }
}

/// Reason why a clock that says this is not believed.
fn doubt(state: &State, wall: Time) -> String {
    let wall = date_time(wall);
    format!(
        "the clock says {wall}, and by the latest time that is known and what has passed since it is {}: nothing is closed or released. Set the clock right; \
         if it is, `reticent-server store accept-time --data DIR --date {}` goes on with it",
        date_time(state.time),
        wall.get(..10).unwrap_or(&wall)
    )
}

impl Clock for BelievedClock {
    fn now(&self) -> Time {
        self.look().time
    }

    fn steady(&self) -> u64 {
        self.clock.steady()
    }
}

/// The latest time that a store knows; none before its first generation.
pub(super) async fn latest(store: &dyn Store) -> Result<Option<Time>> {
    let mut latest = None;
    for generation in store.generations().await? {
        let params: LoopParams =
            serde_json::from_slice(&generation.params).map_err(Error::store)?;
        let head = store.head(generation.id).await?;
        let closed = match params.trust {
            // A slot is closed when it has ended.
            Trust::Curator => {
                head.closed.saturating_add(1).saturating_mul(params.tick_milliseconds())
            }
            // Slots are numbers of models.
            Trust::Device | Trust::Shuffler => {
                let last = store.releases(generation.id, head.number.max(1), 1).await?;
                last.first().map_or(0, |model| model.time)
            }
        };
        latest = latest.max(Some(closed.max(generation.began))).max(generation.ended);
    }
    Ok(latest)
}

/// Time at which a slot of this number ends.
pub(super) fn end_of_slot(plan: &CentralPlan, slot: u64) -> Time {
    slot.saturating_add(1).saturating_mul(plan.tick)
}

/// Reason for which nothing is released now, where slots are closed until a moment in the future.
pub(super) fn closed_ahead(until: Time, now: Time) -> Option<String> {
    (until > now.saturating_add(STEP)).then(|| {
        format!(
            "slots up to {} are closed, which lies in the future: the clock was ahead when they were. Nothing is released before then; to go on earlier, begin a \
             new generation of the loop, with another tick for instance",
            date_time(until)
        )
    })
}

impl Central {
    /// Notes the last closed slot, and logs it once if it lies in the future.
    pub(super) fn see_closed(&self, slot: u64, logged: &mut bool) {
        self.closed_until.store(end_of_slot(&self.plan, slot), Ordering::SeqCst);
        let ahead = self.closed_ahead();
        let known = std::mem::replace(logged, ahead.is_some());
        if let Some(why) = ahead.filter(|_| !known) {
            tracing::error!(r#loop = %self.name, "releases stop: {why}");
        }
    }
}

impl Service {
    /// Goes on with a clock that was not believed. `date` is the day that it shows, so that no operator accepts another time than they looked at.
    /// Slots that have passed since stay open for the grace of a restart.
    pub async fn accept_time(&self, date: &str) -> Result<Time> {
        let mut waiting = Vec::new();
        for loop_ in self.loops() {
            waiting.push((loop_, loop_.ticking.lock().await));
        }
        let time = self.clock.accept(date)?;
        for (loop_, mut progress) in waiting {
            progress.wait(self.clock.steady().saturating_add(loop_.grace()));
        }
        tracing::warn!("an operator accepted the time {}", date_time(time));
        Ok(time)
    }
}
