//! Environments of the family safe: agents within a polytope.
//!
//! | file | holds |
//! | --- | --- |
//! | `agents` | `kind = "agents"`: safe set, objective, true parameters; the setups of paper 3, Appendix E |
//! | `polytope` | safe sets as they are written: rows, a file, the paper's simplex |
//! | `feeder` | a low-voltage feeder with households that respond to incentives |

pub(crate) mod agents;
pub(crate) mod feeder;
pub(crate) mod polytope;
