//! Messages and saved states: each begins with its kind and the version of that kind, and is refused by
//! them before it is decoded.
//!
//! | file | contents |
//! | --- | --- |
//! | `kinds` | the list of all kinds, with their versions |
//! | `message` | messages: JSON whose first fields are kind and version |
//! | `envelope` | saved states: kind, payload, checksum |
//! | `package` | saved states of host programs: a learner's bytes with what the host keeps beside them |
//! | `writer` | messages written by little code, for device code that a page downloads |
//! | `count`, `hex` | counts and 64-bit words in text, exact for readers whose numbers are doubles |
//!
//! **Saved states.** `save(&self)` gives bytes. How they are read depends on what an older copy of them could do:
//!
//! | kinds | read by | why |
//! | --- | --- | --- |
//! | private sum, curator, joint, episodes; shuffler; agent; coordinator | `resume(bytes, made)` | what has left cannot be taken back: from an older state another release, batch or answer would be made of the same data. `made` is how many have left in all, from the caller's own log; a state that stands at fewer is refused ([`Error::StaleState`](crate::Error::StaleState)), and one ahead of the log is taken: it was saved before the release was logged |
//! | private bandit, doubling bandit | `resume(bytes, made, decisions, set)` | the same; decisions between two releases are counted too, because their tickets and directions must not come again, and the set is code, which is not saved |
//! | LinUCB, its online form; local server, shuffle server; OnlineUCB, anytime, combiner; online learners, linear model; legacy of a joint bandit; contribution sums | `load(bytes)` | nothing is released from them under noise: they hold data without a promise, or what was randomised before it came. An older copy forgets, and tells nothing new |
//! | what a person has spent; a device's ledger | `load(bytes)` | no other party counts a device's reports: it stores the bytes before each report leaves, and the guarantee has that as a condition |
//! | a device's open choice | `load(bytes)` | it never leaves the device, and a report of it is counted by the ledger |
//! | the learners of the Python package | `package` | the bytes of a learner, read as above, with the number of its copies or its open decisions |
//! | plans, devices and accountants of the Python package | `package` | parameters or events alone, from which they follow |
//! | open decisions | `restore(&mut self, bytes, below)` | they are a part of a learner that has been resumed already, whose next decision is `below` |

pub mod count;
mod envelope;
pub mod hex;
pub(crate) mod kinds;
mod message;
mod package;
mod writer;

pub(crate) use envelope::{expect_newest, load_on, save_on};
pub use envelope::{holds, load, save};
pub use kinds::{
    CHOICE, EPISODES, Kind, LEDGER, MESSAGES, PROTOCOL, PYTHON_ACCOUNTANT, PYTHON_CONVEX,
    PYTHON_FEATURE_REWARD, PYTHON_JOINT, PYTHON_LINUCB, PYTHON_LOCAL_PLAN, PYTHON_ONLINE_LINUCB,
    PYTHON_SHUFFLE_PLAN, STATES,
};
pub use message::{Checked, Message, from_json, to_json};
pub use package::{pack, unpack};
pub(crate) use writer::Writer;

/// The default of whole numbers that are 1 where a file leaves them out.
pub(crate) fn one() -> u64 {
    1
}

/// The same of numbers.
pub(crate) fn unity() -> f64 {
    1.0
}
