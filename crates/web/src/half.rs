//! A device's half with bytes and JSON in place of types.

use reticent::{
    Result,
    device::{Choice, Device, Ledger, Limits, little},
    features::{Value, records_from_json},
    noise::Noise,
};

/// One person's half.
#[derive(Debug)]
pub struct Half<N> {
    device: Device<N>,
}

/// Where an installation stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Status {
    /// Reports that may still be made in this period.
    pub left: u64,
    /// When the period ends, in seconds after the beginning of 1970.
    pub end: u64,
}

impl<N: Noise> Half<N> {
    /// The half of a person who brings this level, from the bytes of a protocol message that their limits allow.
    pub fn new(protocol: &[u8], limits: Limits, level: usize, noise: N) -> Result<Self> {
        Ok(Half { device: Device::new(little::protocol(protocol)?, limits, level, noise)? })
    }

    /// Reports from now on are made at this level, if the person's limits allow it.
    pub fn set_level(&mut self, level: usize) -> Result<()> {
        self.device.set_level(level)
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

    /// The ledger to store and the report that may leave after it. An empty `ledger` is that of a new installation.
    pub fn report(
        &mut self,
        choice: &[u8],
        ledger: &[u8],
        seconds: u64,
        reward: f64,
    ) -> Result<(Vec<u8>, Vec<u8>)> {
        let ledger = self.ledger(ledger, seconds)?;
        let choice = Choice::load(choice)?;
        let (report, ledger) = self.device.report(&ledger, seconds, &choice, reward)?;
        Ok((ledger.save(), report.to_json_in_little_code().into_bytes()))
    }

    /// Where the installation with this ledger stands.
    pub fn status(&self, ledger: &[u8], seconds: u64) -> Result<Status> {
        let ledger = self.ledger(ledger, seconds)?;
        Ok(Status { left: ledger.left(), end: ledger.end() })
    }

    fn ledger(&self, bytes: &[u8], seconds: u64) -> Result<Ledger> {
        let protocol = self.device.protocol();
        match bytes {
            [] => Ok(Ledger::new(protocol, seconds)),
            bytes => Ledger::load(bytes)?.at(protocol, seconds),
        }
    }
}
