//! Environments: the sources of arms and rewards.
//!
//! | file | contents |
//! | --- | --- |
//! | `bandit` | the `[environment]` table of a bandit, and what every algorithm knows of it |
//! | `round_by_round` | an environment that is played round by round |
//! | `modifiers` | `[environment.modifiers]`: late rewards, a theta* that moves, arms that come and go |
//! | `own` | environments of your own |
//! | `gap` | the instances of Shariff and Sheffet, Appendix D: a fresh decision set every round, or one that is kept |
//! | `slice` | the law of `<x, theta*>` for a suboptimal arm |
//! | `frame` | the reflection that turns theta* into the first axis |
//! | `rewards` | sign, Gaussian and Bernoulli rewards |
//! | `sphere` | section 5 of paper 0: arms and theta* on a sphere, means that are probabilities |
//! | `changing` | any of them with a changing theta* and arms that are not always available |
//! | `table` | `kind = "table"`: a file of people and their classes |
//! | `items` | `kind = "items"`: items with features, and people's ratings of them |
//! | `logged` | `kind = "logged"`: a log of decisions with propensities, for training and judging offline |
//! | `offline` | estimates of a policy's value from such a log |
//! | `reward_model` | expectation of the doubly robust estimate for an action |
//! | `catalogue` | `kind = "catalogue"`: a simulated product with the features of a file of loops |
//! | `columns` | from the cells of a line to features |
//! | `parameters` | parameters that arms touch, and blocks for learners that know of none |
//! | `declared` | declarations of a file about its arms, in place of the environment's knowledge |
//! | `blocks` | whole blocks of rounds at a time, of the same law |
//! | `online`, `convex`, `safe` | environments of the other families |

pub(crate) mod bandit;
pub mod blocks;
pub(crate) mod catalogue;
mod changing;
pub(crate) mod columns;
pub mod convex;
pub(crate) mod declared;
mod frame;
mod gap;
pub(crate) mod items;
pub(crate) mod logged;
pub(crate) mod modifiers;
pub mod offline;
pub mod online;
pub(crate) mod own;
pub(crate) mod parameters;
pub(crate) mod reward_model;
mod rewards;
mod round_by_round;
pub mod safe;
mod slice;
mod sphere;
pub(crate) mod table;

use reticent::Result;

pub use crate::play::environment::Environment;

pub use changing::{Changes, Changing};
pub(crate) use frame::Frame;
pub(crate) use gap::BEST;
pub use gap::{Gap, GapParams, GapPlan};
pub use rewards::Rewards;
pub(crate) use slice::Slice;
pub use sphere::{Sphere, SphereParams};

/// Refuses decision sets that are too large for memory.
fn check_size(dimension: usize, arms: usize) -> Result<()> {
    const MOST_FEATURES: usize = 1024;
    const MOST_ENTRIES: usize = 100_000_000;
    let remedy = format_args!("expected at most {MOST_FEATURES}");
    reticent::refuse_if(dimension > MOST_FEATURES, "dimension", dimension, remedy)?;
    if arms == 0 || arms > MOST_ENTRIES / dimension.max(1) {
        let remedy = format!(
            "expected 1 to {}: {MOST_ENTRIES} features in all",
            MOST_ENTRIES / dimension.max(1)
        );
        return Err(reticent::Error::invalid("arms", arms, remedy));
    }
    Ok(())
}
