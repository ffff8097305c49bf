//! TODO

pub(crate) mod feeder;
pub(crate) mod polytope;
pub(crate) mod setting;
