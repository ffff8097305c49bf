//! Not written yet.
/// x
pub struct RedbStore;
