//! Not written yet.
use super::{Head, LifeId, StoreId};
use crate::Result;
/// x
pub struct Witness;
/// x
pub struct WitnessRecord;
impl Witness {
    /// Why nothing may be released from this head, if the witness knows a later or another one.
    pub fn objection(&self, _store: StoreId, _life: LifeId, _head: &Head) -> Option<String> {
        None
    }
    /// Notes a head that is committed, durably.
    pub async fn note(&mut self, _store: StoreId, _life: LifeId, _head: &Head) -> Result<()> {
        Ok(())
    }
}
