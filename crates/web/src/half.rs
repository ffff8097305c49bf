//! A device's half with bytes and JSON in place of types.

use reticent::{
    Error, Result,
    bandit::Model,
    device::{Choice, Device, Ledger},
    features::Value,
    noise::Noise,
    wire::{from_json, to_json},
};
use serde_json::from_slice;

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
    /// The half of a person who brings this level, from the bytes of a protocol message.
    pub fn new(protocol: &[u8], level: usize, noise: N) -> Result<Self> {
        Ok(Half { device: Device::new(from_json(protocol)?, level, noise)? })
    }

    /// Reports from now on are made at this level.
    pub fn set_level(&mut self, level: usize) -> Result<()> {
        self.device.set_level(level)
    }

    /// Choices from now on follow this model, the bytes of a model message.
    pub fn set_model(&mut self, model: &[u8]) -> Result<()> {
        self.device.set_model(from_json::<Model>(model)?)
    }

    /// The index of the action to take, and the choice as it is kept until its reward comes. `context` is JSON, `actions` a JSON list.
    pub fn choose(&mut self, context: &[u8], actions: &[u8]) -> Result<(usize, Vec<u8>)> {
        // The position tells nothing of what stands there.
        let refuse = |field, error: serde_json::Error| {
            Error::invalid(field, format!("not JSON at byte {}", error.column()), "give JSON")
        };
        let context: Value = from_slice(context).map_err(|error| refuse("context", error))?;
        let actions: Value = from_slice(actions).map_err(|error| refuse("actions", error))?;
        let Value::List(actions) = actions else {
            return Err(Error::invalid("actions", "no list", "give a list of actions"));
        };
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
        Ok((ledger.save(), to_json(&report).into_bytes()))
    }

    /// Where the installation with this ledger stands.
    pub fn status(&self, ledger: &[u8], seconds: u64) -> Result<Status> {
        let ledger = self.ledger(ledger, seconds)?;
        Ok(Status { left: ledger.left(self.device.protocol()), end: ledger.end() })
    }

    fn ledger(&self, bytes: &[u8], seconds: u64) -> Result<Ledger> {
        let protocol = self.device.protocol();
        match bytes {
            [] => Ok(Ledger::new(protocol, seconds)),
            bytes => Ledger::load(bytes)?.at(protocol, seconds),
        }
    }
}
