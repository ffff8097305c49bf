//! Linear bandits: one LinUCB, many privacies.
//!
//! ```text
//! arms -> policy -> choice -> reward -> contribution -> release -> policy
//! ```
//!
//! | file | what it is |
//! | --- | --- |
//! | `arms` | a decision set, stored by coordinate |
//! | `policy` | the upper confidence bound and the choice; all it knows came out of a release |

mod arms;
mod policy;

pub use arms::Arms;
pub use policy::Policy;
