//! # reticent-python
//!
//! The compiled part of the Python package `reticent`: it converts types and contains no algorithm.
//!
//! | file | what it is |
//! | --- | --- |
//! | `error` | exceptions, with the core's messages |
//! | `convert` | numpy arrays as slices; dictionaries as the core's parameters |
//! | `mine` | detection of forks, so that a forked child never draws its parent's noise |
//! | `arms` | decision sets, built once or filled from an array |
//! | `guarantee`, `privacy` | guarantees; events, accountant, calculator, noise |
//! | `decision` | decisions, rewards and tickets, one by one and in batches |
//! | `linucb`, `joint`, `kept`, `simulated` | the bandit without privacy, and with a trusted curator: in memory, in files, on simulation noise |
//! | `local`, `shuffle` | the two halves with messages between them, and the shuffler |
//! | `safe`, `online`, `convex` | safe coordinators, online learners, bandits over sets |
//! | `lab`, `play`, `audit` | experiments, and Python environments and policies in the same runner and the same audit |

mod arms;
mod audit;
mod convert;
mod convex;
mod decision;
mod error;
mod guarantee;
mod joint;
mod kept;
mod lab;
mod linucb;
mod local;
mod mine;
mod online;
mod play;
mod privacy;
mod safe;
mod shuffle;
mod simulated;

use pyo3::prelude::*;

/// The compiled part of `reticent`; import `reticent` instead.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("ReticentError", module.py().get_type::<error::ReticentError>())?;
    module.add("HorizonExceeded", module.py().get_type::<error::HorizonExceeded>())?;
    module.add("StaleState", module.py().get_type::<error::StaleState>())?;
    mine::register(module)?;
    arms::register(module)?;
    guarantee::register(module)?;
    privacy::register(module)?;
    decision::register(module)?;
    linucb::register(module)?;
    joint::register(module)?;
    simulated::register(module)?;
    local::register(module)?;
    shuffle::register(module)?;
    safe::register(module)?;
    online::register(module)?;
    convex::register(module)?;
    lab::register(module)?;
    audit::register(module)?;
    play::register(module)
}
