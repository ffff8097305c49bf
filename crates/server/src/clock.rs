//! The time in milliseconds since 1970, from the system or set by a test.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

pub use reticent_loops::time::{Time, date_time};

use crate::failpoint;

/// Source of the time. Nothing in `loops` and `store` asks the system.
pub trait Clock: Send + Sync + 'static {
    /// The time of day, which may jump.
    fn now(&self) -> Time;

    /// Milliseconds since some moment, which never jump; the time for which the machine was suspended is among them where the system counts it.
    fn steady(&self) -> u64;
}

/// The system's clock.
#[derive(Debug)]
pub struct SystemClock {
    started: Duration,
}

impl Default for SystemClock {
    fn default() -> Self {
        SystemClock { started: since_boot() }
    }
}

/// The time since the machine was started, suspensions included.
#[cfg(target_os = "linux")]
fn since_boot() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let (seconds, nanoseconds) = (time.tv_sec.try_into(), time.tv_nsec.try_into());
    Duration::new(seconds.unwrap_or(0), nanoseconds.unwrap_or(0))
}

/// The time since the first call.
#[cfg(not(target_os = "linux"))]
fn since_boot() -> Duration {
    static FIRST: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    FIRST.get_or_init(std::time::Instant::now).elapsed()
}

impl Clock for SystemClock {
    fn now(&self) -> Time {
        // A clock before 1970 counts as 1970.
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |since| since.as_millis() as Time);
        now.saturating_add_signed(failpoint::clock_offset())
    }

    fn steady(&self) -> u64 {
        since_boot().saturating_sub(self.started).as_millis() as u64
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

    /// Sets the time of day without any time passing, as an operator does who corrects a clock.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steady_clock_of_the_system_counts_what_passes() {
        let clock = SystemClock::default();
        let (wall, steady) = (clock.now(), clock.steady());
        std::thread::sleep(Duration::from_millis(30));
        let (later, passed) = (clock.now(), clock.steady() - steady);
        // Both clocks agree but for the time between two calls, however busy the machine is.
        assert!((30..60_000).contains(&passed), "{passed} ms");
        assert!((later - wall).abs_diff(passed) < 5_000, "{} {passed}", later - wall);
    }
}
