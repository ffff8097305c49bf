//! Environments of the family convex: losses on a set.
//!
//! | file | holds |
//! | --- | --- |
//! | `losses` | `kind = "losses"`: the source of losses |
//! | `sets` | the sets by the names experiments use |

pub(crate) mod losses;
pub(crate) mod sets;
