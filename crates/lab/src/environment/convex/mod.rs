//! Environments of the family convex: losses on a set.
//!
//! | file | holds |
//! | --- | --- |
//! | `world` | the `[environment]` table and the losses |
//! | `sets` | the sets |

pub(crate) mod sets;
pub(crate) mod world;
