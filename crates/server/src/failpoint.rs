//! Named steps at which a torture lets this process die or stop, and a clock that it moves. Only a build with the feature `failpoints` has them; in all others a step is nothing.
//!
//! ```text
//! RETICENT_FAILPOINT=tick: stepped@3=kill      dies when it comes to this step for the third time; `stop` stops it, as SIGSTOP does
//! RETICENT_CLOCK_FILE=PATH                     the file holds what the clock is ahead of the system's, in milliseconds
//! ```

#[cfg(feature = "failpoints")]
pub use on::STEPS;
#[cfg(feature = "failpoints")]
pub(crate) use on::{clock_offset, pass};

/// Comes to a step.
#[cfg(not(feature = "failpoints"))]
pub(crate) fn pass(_: &'static str) {}

/// Offset of the clock, in milliseconds.
#[cfg(not(feature = "failpoints"))]
pub(crate) fn clock_offset() -> i64 {
    0
}

#[cfg(feature = "failpoints")]
mod on {
    use std::{
        process::Command,
        sync::{
            OnceLock,
            atomic::{AtomicU64, Ordering},
        },
    };

    /// Every step.
    pub const STEPS: &[&str] = &[
        "store: before the commit",
        "store: committed",
        "rank: committed",
        "reward: committed",
        "tick: leased",
        "tick: closed",
        "tick: summed",
        "tick: stepped",
        "tick: committed",
        "tick: witnessed",
        "tick: served",
        "tick: collected",
        "report: committed",
        "witness: written",
        "start: read",
    ];

    /// A step and its fault.
    struct Point {
        step: String,
        /// Number of times that it is still passed.
        left: AtomicU64,
        stops: bool,
    }

    fn point() -> Option<&'static Point> {
        static POINT: OnceLock<Option<Point>> = OnceLock::new();
        let read = || {
            let text = std::env::var("RETICENT_FAILPOINT").ok()?;
            let (place, action) = text.rsplit_once('=')?;
            let (step, count) = place.rsplit_once('@')?;
            let left = AtomicU64::new(count.parse().ok()?);
            Some(Point { step: step.into(), left, stops: action == "stop" })
        };
        POINT.get_or_init(read).as_ref()
    }

    /// Comes to a step.
    pub(crate) fn pass(step: &'static str) {
        debug_assert!(STEPS.contains(&step), "{step} is not in the list");
        let Some(point) = point().filter(|point| point.step == step) else { return };
        if point.left.fetch_sub(1, Ordering::SeqCst) != 1 {
            return;
        }
        match point.stops {
            // Nothing is written or closed in order.
            false => std::process::abort(),
            true => {
                let id = std::process::id().to_string();
                let _ = Command::new("kill").args(["-STOP", &id]).status();
            }
        }
    }

    /// Offset of the clock, in milliseconds.
    pub(crate) fn clock_offset() -> i64 {
        static FILE: OnceLock<Option<String>> = OnceLock::new();
        let file = FILE.get_or_init(|| std::env::var("RETICENT_CLOCK_FILE").ok());
        let text = file.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
        text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }
}
