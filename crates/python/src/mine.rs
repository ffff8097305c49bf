//! A state knows the process it belongs to, and how many copies were made of it.
//!
//! A fork copies memory, and with it every generator: parent and child would draw the same noise for different people, and the
//! difference of what they publish would be the data. So a state is only reached through [`Mine::enter`], which looks for a fork
//! before anything is drawn. `os.register_at_fork` counts forks on both sides; the process number finds those that Python
//! knows nothing of, in the child at least. What cannot be known: the parent hears nothing of those, two of them in a row with no
//! call in between look like one, a pickle or a file may be loaded twice, and nobody knows of copies that are made elsewhere later.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use pyo3::prelude::*;
use reticent::Result;

/// The process that ran here last.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// Forks on the way to this process.
static DEPTH: AtomicU64 = AtomicU64::new(0);
/// Forks on the way to this process, and those it made.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// Notices a fork that Python knows nothing of.
fn notice() {
    let id = std::process::id();
    if ![0, id].contains(&PROCESS.swap(id, Relaxed)) {
        DEPTH.fetch_add(1, Relaxed);
        FORKS.fetch_add(1, Relaxed);
    }
}

/// What a state does when it finds itself in another process.
pub(crate) trait Forked {
    /// Makes sure that no noise is drawn twice, and that what the copy costs is counted: `others` may go on beside it.
    fn forked(&mut self, others: u64) -> Result<()>;
}

/// A state, the process that used it last, and the copies made there.
pub(crate) struct Mine<T> {
    state: T,
    depth: u64,
    forks: u64,
    pickled: u64,
}

impl<T: Forked> Mine<T> {
    pub(crate) fn new(state: T) -> Self {
        Mine::copied(state, 0)
    }

    /// A state of which so many copies were made before it came here.
    pub(crate) fn copied(state: T, copies: u64) -> Self {
        notice();
        Mine { state, depth: DEPTH.load(Relaxed), forks: FORKS.load(Relaxed), pickled: copies }
    }

    /// The state, to draw from or to learn; after a fork it is made safe first.
    pub(crate) fn enter(&mut self) -> Result<&mut T> {
        notice();
        let depth = DEPTH.load(Relaxed);
        if depth != self.depth {
            // As many as there are copies: in place of this one the original, and those that were made before.
            self.state.forked(self.copies())?;
            (self.depth, self.forks, self.pickled) = (depth, FORKS.load(Relaxed), 0);
        }
        Ok(&mut self.state)
    }

    /// The state, for numbers that no fork changes.
    pub(crate) fn read(&self) -> &T {
        &self.state
    }

    /// Copies that are known to have been made of this state, by pickles and forks.
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
fn _forking() {
    notice();
    FORKS.fetch_add(1, Relaxed);
}

/// Called in the child after every fork that Python makes.
#[pyfunction]
fn _forked() {
    PROCESS.store(std::process::id(), Relaxed);
    DEPTH.fetch_add(1, Relaxed);
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    notice();
    module.add_function(wrap_pyfunction!(_forking, module)?)?;
    module.add_function(wrap_pyfunction!(_forked, module)?)
}
