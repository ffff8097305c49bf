//! Pure decisions about a loop's state. Nothing here reads a clock, a file or a socket.
//!
//! | file | what it decides |
//! | --- | --- |
//! | `messages` | what callers send and get |
//! | `person` | who asks, where the loop says that the context tells it |
//! | `object` | objects of JSON, and nothing else in their place |
//! | `answer` | what is stored of an answer |
//! | `decide` | which action is answered, with which probability, and what it will contribute |
//! | `contribute` | what a closed event contributes to the sums |
//! | `release` | one step of the private sum: the new state, the release, the policy that is served |
//! | `token` | the head of a loop as clients echo it |
//! | `generations` | what generations of a loop cost a person, with one ledger and with several |
//! | `periods` | periods in words, and what several of them cost |
//! | `summary` | mean reward and lift over the baseline, from a release |
//! | `chain` | the chain of releases as it is listed and verified |
//! | `certificate` | what is promised, and what enforces each of its conditions |

mod answer;
mod certificate;
mod chain;
mod contribute;
mod decide;
mod generations;
mod messages;
mod object;
mod periods;
mod person;
mod release;
mod summary;
mod token;

pub use answer::StoredAnswer;
pub(crate) use certificate::sentence;
pub use certificate::{Certificate, Condition, Enforcement, Part, Together, Watch};
pub use chain::{ChainHeader, ChainLine, Rollback, VerifiedChain, VerifiedRollback, verify_chain};
pub use contribute::{Folded, contribute};
pub use decide::{Coins, Decision, decide};
pub use generations::{Earlier, generation, together};
pub use messages::{
    Action, Limits, RankAnswer, RankRequest, RankedAction, RewardRequest, request_digest,
};
pub use object::{Object, objects};
pub use periods::Periods;
pub(crate) use periods::{SHOWN_PERIODS, often, windows_of_a_year};
pub use release::{Served, Stepped, first_chain, learner, served, step, storage};
pub use summary::{Estimate, Summary};
pub use token::{HeadName, Token};
