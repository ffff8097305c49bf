//! Environments of the family safe: agents within a polytope.
//!
//! | file | holds |
//! | --- | --- |
//! | `setting` | the `[environment]` table |
//! | `polytope` | the feasible set of a file |
//! | `feeder` | the benign loads of a feeder of electricity |

pub(crate) mod feeder;
pub(crate) mod polytope;
pub(crate) mod setting;
