//! A state knows the process it belongs to.
//!
//! A fork copies memory, and with it every generator: parent and child would draw the same noise for different people, and the
//! difference of what they publish would be the data. So a state is only reached through [`Mine::enter`], which compares the
//! process with the one that used the state last, before anything is drawn. The process number finds forks that Python knows
//! nothing of; the count of forks, which `os.register_at_fork` keeps, finds a child that was given a dead ancestor's number.

use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::prelude::*;
use reticent::Result;

/// Forks that Python made on the way to this process.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// This process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    id: u32,
    forks: u64,
}

impl Process {
    fn here() -> Self {
        Process { id: std::process::id(), forks: FORKS.load(Ordering::Relaxed) }
    }
}

/// What a state does when it finds itself in another process.
pub(crate) trait Forked {
    /// Makes sure that no noise is drawn twice, and that what the copy costs is counted.
    fn forked(&mut self) -> Result<()>;
}

/// A state and the process that used it last.
pub(crate) struct Mine<T> {
    state: T,
    process: Process,
}

impl<T: Forked> Mine<T> {
    pub(crate) fn new(state: T) -> Self {
        Mine { state, process: Process::here() }
    }

    /// The state, to draw from or to learn; after a fork it is made safe first.
    pub(crate) fn enter(&mut self) -> Result<&mut T> {
        let here = Process::here();
        if here != self.process {
            self.state.forked()?;
            self.process = here;
        }
        Ok(&mut self.state)
    }

    /// The state, for numbers that no fork changes.
    pub(crate) fn read(&self) -> &T {
        &self.state
    }
}

/// Called in the child after every fork that Python makes.
#[pyfunction]
fn _forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_forked, module)?)
}
