//! The half of a loop with a shuffler, with bytes and JSON in place of types.

use reticent::{
    Result,
    device::{Choice, Ledger, Limits, little},
    features::{Value, records_from_json},
    noise::Noise,
};
use reticent_sealed::SealedDevice;

use crate::Status;

/// One person's half of a loop with a shuffler.
#[derive(Debug)]
pub struct SealedHalf<N> {
    device: SealedDevice<N>,
}

impl<N: Noise> SealedHalf<N> {
    /// The half of a person, from the bytes of a plan of reports and of what server and shuffler answer about sealing, which their limits allow.
    pub fn new(plan: &[u8], sealing: [&[u8]; 2], limits: Limits, noise: N) -> Result<Self> {
        Ok(SealedHalf { device: SealedDevice::new(plan, sealing, limits, noise)? })
    }

    /// Choices from now on follow this model, the bytes of a model message.
    pub fn set_model(&mut self, model: &[u8]) -> Result<()> {
        self.device.set_model(little::model(model)?)
    }

    /// The index of the action to take, and the choice as it is kept until its reward comes. `context` is JSON, `actions` a JSON list.
    pub fn choose(&mut self, context: &[u8], actions: &[u8]) -> Result<(usize, Vec<u8>)> {
        let context: Value = Value::from_json("context", context)?;
        let actions = records_from_json("actions", actions)?;
        let choice = self.device.choose(&context, &actions)?;
        Ok((choice.index(), choice.save()))
    }

    /// The ledger to store and the sealed bytes that may leave after it. An empty `ledger` is that of a new installation.
    pub fn report(
        &mut self,
        choice: &[u8],
        ledger: &[u8],
        seconds: u64,
        reward: f64,
    ) -> Result<(Vec<u8>, Vec<u8>)> {
        let (stored, choice) = (stored(ledger)?, Choice::load(choice)?);
        let (sealed, ledger) = self.device.report(stored.as_ref(), seconds, &choice, reward)?;
        Ok((ledger.save(), sealed))
    }

    /// Where the installation with this ledger stands.
    pub fn status(&self, ledger: &[u8], seconds: u64) -> Result<Status> {
        let ledger = self.device.ledger(stored(ledger)?.as_ref(), seconds)?;
        Ok(Status { left: ledger.left(), end: ledger.end() })
    }
}

fn stored(bytes: &[u8]) -> Result<Option<Ledger>> {
    (!bytes.is_empty()).then(|| Ledger::load(bytes)).transpose()
}
