//! TODO

pub(crate) mod sets;
pub(crate) mod world;
