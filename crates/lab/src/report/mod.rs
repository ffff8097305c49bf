//! TODO

pub mod estimate;
pub mod figure;
pub mod html;
pub mod summary;
