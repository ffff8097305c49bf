//! randomize
