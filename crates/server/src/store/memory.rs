//! Not written yet.
/// x
pub struct MemoryStore;
