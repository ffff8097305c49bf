//! Small dense algebra, as much as the bandits need.
