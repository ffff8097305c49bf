//! TODO

pub(crate) mod records;
pub(crate) mod scaling;
pub(crate) mod world;
