//! The family as a whole.
