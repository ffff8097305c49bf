//! # reticent-loops
//!
//! A loop without I/O: its file becomes a plan, and pure functions decide, contribute, step and certify. Callers hand in times and stored records; nothing here
//! reads a clock or a socket. The server serves these loops; the command line checks and certifies their files.
//!
//! ```text
//! config (file -> plan) -> decide (rank request -> ranking) -> contribute (closed event -> sums) -> release (sums -> step) -> certificate, chain, page
//! ```
//!
//! | module | contents |
//! | --- | --- |
//! | [`config`] | the file of loops, checked |
//! | `messages` | requests and their answers |
//! | `person` | the person in the context, where the loop's file names a place for it |
//! | `object` | objects of JSON, and nothing else in their place |
//! | `decide` | the chosen action, its probability, and what it will contribute |
//! | `answer` | stored form of an answer |
//! | `learner` | the learner of a central loop, by what its actions are |
//! | `contribute` | contribution of a closed event to the sums |
//! | `release` | one step of the private sum: the new state, the release, the policy that is served |
//! | `token` | the head of a loop as clients echo it |
//! | `generations` | cost of a loop's generations for a person, with one ledger and with several |
//! | `periods` | periods in words, and the cost of several of them |
//! | `progress` | events that a release counts beside those that each part needs |
//! | `summary` | mean reward and lift over the baseline, from a release |
//! | `chain` | the chain of releases as it is listed and verified |
//! | `certificate` | the promise, and what enforces each of its conditions |
//! | [`page`] | guarantees as a printable page |
//! | [`records`] | records that a store keeps |
//! | [`secret`] | keyed hashes of persons and events |
//! | [`time`] | times in milliseconds |

mod answer;
mod certificate;
mod chain;
pub mod config;
mod contribute;
mod decide;
pub mod error;
mod generations;
mod learner;
mod messages;
mod object;
pub mod page;
mod periods;
mod person;
mod progress;
pub mod records;
mod release;
pub mod secret;
mod summary;
pub mod time;
mod token;

pub use answer::StoredAnswer;
pub use certificate::{
    Certificate, Condition, Enforcement, Part, Subject, Together, Watch, sentence,
};
pub use chain::{ChainHeader, ChainLine, Rollback, VerifiedChain, VerifiedRollback, verify_chain};
pub use contribute::{Folded, contribute};
pub use decide::{Coins, Decision, decide};
pub use error::{Error, Result};
pub use generations::{Earlier, generation_cost, together};
pub use learner::{CentralLearner, CentralSums, LearnerPlan};
pub use messages::{
    Action, Limits, RankAnswer, RankRequest, RankedAction, RewardRequest, request_digest,
};
pub use object::{Object, objects};
pub use periods::{Periods, SHOWN_PERIODS, often, windows_of_a_year};
pub use progress::{Learning, PartProgress, Progress, percent_of};
pub use release::{
    Served, Stepped, first_chain, release_record, served, step, storage, stored_learner,
};
pub use summary::{Estimate, Summary};
pub use token::{HeadName, Token};
