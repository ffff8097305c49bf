//! The time in milliseconds since 1970, from the system or set by a test.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use crate::failpoint;

/// Milliseconds since 1970.
pub type Time = u64;

/// A time as people read it.
pub fn date_time(time: Time) -> String {
    let time = UNIX_EPOCH.checked_add(std::time::Duration::from_millis(time));
    // The format ends with year 9999, and panics after it.
    let last = std::time::Duration::from_secs(253_402_300_799);
    match time.filter(|time| time.duration_since(UNIX_EPOCH).is_ok_and(|since| since < last)) {
        Some(time) => humantime::format_rfc3339_seconds(time)
            .to_string()
            .replace('T', " ")
            .replace('Z', " UTC"),
        None => "after the year 9999".into(),
    }
}

/// What tells the time. Nothing in `loops` and `store` asks the system.
pub trait Clock: Send + Sync + 'static {
    /// The time of day, which may jump.
    fn now(&self) -> Time;

    /// Milliseconds since some moment, which never jump.
    fn steady(&self) -> u64;
}

/// The system's clock.
#[derive(Debug)]
pub struct SystemClock {
    started: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        SystemClock { started: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Time {
        // A clock before 1970 counts as 1970.
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |since| since.as_millis() as Time);
        now.saturating_add_signed(failpoint::clock_offset())
    }

    fn steady(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }
}

/// A clock that a test moves.
#[derive(Debug, Default)]
pub struct ManualClock {
    now: AtomicU64,
    steady: AtomicU64,
}

impl ManualClock {
    /// A clock that stands at this time.
    pub fn at(now: Time) -> Self {
        ManualClock { now: AtomicU64::new(now), steady: AtomicU64::new(0) }
    }

    /// Lets this many milliseconds pass.
    pub fn pass(&self, milliseconds: u64) {
        self.now.fetch_add(milliseconds, Ordering::SeqCst);
        self.steady.fetch_add(milliseconds, Ordering::SeqCst);
    }

    /// Sets the time of day without any time passing, as somebody does who corrects a clock.
    pub fn jump(&self, now: Time) {
        self.now.store(now, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        self.now.load(Ordering::SeqCst)
    }

    fn steady(&self) -> u64 {
        self.steady.load(Ordering::SeqCst)
    }
}
