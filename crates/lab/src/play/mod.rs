//! TODO

pub(crate) mod feedback;
pub(crate) mod parallel;
pub(crate) mod plain;
pub mod trial;
pub(crate) mod watch;
