//! Tests that hold for every store.
pub(crate) mod sample;
