//! States that detect forks of their process and count their copies.
//!
//! A fork copies memory, and with it every generator: parent and child would draw the same noise for different people, and the difference
//! of their releases would reveal the data. So a state is accessed only through [`ForkGuarded::enter`], which checks for a fork before anything is
//! drawn. `os.register_at_fork` counts forks on both sides; the process id detects forks outside Python, but only in the child. Not
//! detected: the parent does not see such forks, two of them in a row with no call in between look like one, a pickle or a file may be
//! loaded twice, and copies may be made later elsewhere.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use pyo3::prelude::*;
use reticent::Result;

/// The id of the process at the last check.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// Forks on the way to this process.
static DEPTH: AtomicU64 = AtomicU64::new(0);
/// Forks on the way to this process, and those it made.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// Detects a fork that was not made through Python.
pub(crate) fn notice() {
    let id = std::process::id();
    if ![0, id].contains(&PROCESS.swap(id, Relaxed)) {
        DEPTH.fetch_add(1, Relaxed);
        FORKS.fetch_add(1, Relaxed);
    }
}

/// The reaction of a state to a fork.
pub(crate) trait Forked {
    /// Makes sure that no noise is drawn twice and that the copy is charged: `others` copies may continue beside it.
    fn forked(&mut self, others: u64) -> Result<()>;
}

/// A state, the process that used it last, and the copies made there.
pub(crate) struct ForkGuarded<T> {
    state: T,
    depth: u64,
    forks: u64,
    pickled: u64,
}

impl<T: Forked> ForkGuarded<T> {
    pub(crate) fn new(state: T) -> Self {
        ForkGuarded::copied(state, 0)
    }

    /// A state of which this many copies were made before.
    pub(crate) fn copied(state: T, copies: u64) -> Self {
        notice();
        ForkGuarded {
            state,
            depth: DEPTH.load(Relaxed),
            forks: FORKS.load(Relaxed),
            pickled: copies,
        }
    }

    /// The state for drawing or learning; after a fork it is made safe first.
    pub(crate) fn enter(&mut self) -> Result<&mut T> {
        notice();
        let depth = DEPTH.load(Relaxed);
        if depth != self.depth {
            // As many others as copies were made: the original, and the copies made before this one.
            self.state.forked(self.copies())?;
            (self.depth, self.forks, self.pickled) = (depth, FORKS.load(Relaxed), 0);
        }
        Ok(&mut self.state)
    }

    /// The state, to read values that a fork does not change.
    pub(crate) fn read(&self) -> &T {
        &self.state
    }

    /// The number of known copies of this state, by pickles and forks.
    pub(crate) fn copies(&self) -> u64 {
        let forks = FORKS.load(Relaxed).saturating_sub(self.forks);
        self.pickled.saturating_add(forks)
    }

    /// Counts a copy that is about to be pickled.
    pub(crate) fn count_copy(&mut self) {
        self.pickled = self.pickled.saturating_add(1);
    }
}

/// Called before every fork that Python makes: the parent counts it, and the child inherits the count.
#[pyfunction]
pub(crate) fn _forking() {
    notice();
    FORKS.fetch_add(1, Relaxed);
}

/// Called in the child after every fork that Python makes.
#[pyfunction]
pub(crate) fn _forked() {
    PROCESS.store(std::process::id(), Relaxed);
    DEPTH.fetch_add(1, Relaxed);
}
