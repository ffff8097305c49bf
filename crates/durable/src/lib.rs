//! # reticent-durable
//!
//! The core does no I/O. This package keeps a [`JointLinUcb`](reticent::bandit::JointLinUcb) in files, so that a process may be killed at
//! any moment and no release is made twice without a charge to the guarantee; and a device's [`Ledger`](reticent_device::Ledger), so that no report
//! leaves that is not counted.
//!
//! ```text
//! release made (held) -> state written, synced, renamed -> log appended, synced -> release used
//! ```
//!
//! | file | contents |
//! | --- | --- |
//! | `log` | the log of releases made: one line each, with a checksum |
//! | `journal` | the state file beside the log, in the order above |
//! | `bandit` | a learner with its journal |
//! | `ledger` | a device's count of reports |
//! | `error` | errors of the learner and of the disk |
//!
//! **Why this order is right.** A release is used only after both files are on disk. (1) Killed before the state is renamed: the old state
//! and the old log agree, and no caller has seen the release; the next process draws fresh noise. (2) Killed between state and log: the state
//! is one release ahead of the log. It is not stale: the next process continues from it, logs the release and then uses it. (3) Killed
//! after the log: both agree. In none of these cases is a release made from a state that is behind the log. (4) An older copy of the state
//! file restored: the log is ahead of it. This is refused, or charged as a replay.
//!
//! An older copy of both files cannot be detected; keep the log on another file system that is not backed up and restored with the state
//! ([`Options::log`]).

mod bandit;
mod error;
mod journal;
mod ledger;
mod log;

pub use bandit::DurableBandit;
pub use error::{Error, Result};
pub use journal::{Journal, Options, Rollback};
pub use ledger::LedgerFile;
pub use log::{Record, ReleaseLog};
