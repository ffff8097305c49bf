//! A device with bytes and JSON in place of types.

use reticent::{
    Error, Result,
    features::{Value, records_from_json},
    noise::Noise,
};

use crate::{Choice, Device, Ledger, Limits, little, sealed::SealedDevice};

/// The device of one installation.
#[derive(Debug)]
pub struct WebDevice<N>(Reporting<N>);

/// Receivers of reports.
#[derive(Debug)]
enum Reporting<N> {
    /// The server, which adds them up.
    ToServer(Device<N>),
    /// A shuffler: reports are sealed.
    ToShuffler(SealedDevice<N>),
}

/// State of an installation in its present period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Status {
    /// Reports that may still be made in this period.
    pub left: u64,
    /// End of the period, in seconds after the beginning of 1970.
    pub end: u64,
}

impl<N: Noise> WebDevice<N> {
    /// The device of a person who brings this level, from the bytes of a protocol message that their limits allow.
    pub fn new(protocol: &[u8], limits: Limits, level: usize, noise: N) -> Result<Self> {
        let device = Device::new(little::protocol(protocol)?, limits, level, noise)?;
        Ok(WebDevice(Reporting::ToServer(device)))
    }

    /// The device of a loop with a shuffler, from the bytes of a plan of reports and of what server and shuffler answer about sealing, which the person's limits
    /// allow.
    pub fn sealed(plan: &[u8], sealing: [&[u8]; 2], limits: Limits, noise: N) -> Result<Self> {
        let device = SealedDevice::new(plan, sealing, limits, noise)?;
        Ok(WebDevice(Reporting::ToShuffler(device)))
    }

    /// Reports from now on are made at this level, if the person's limits allow it.
    pub fn set_level(&mut self, level: usize) -> Result<()> {
        match &mut self.0 {
            Reporting::ToServer(device) => device.set_level(level),
            Reporting::ToShuffler(_) => {
                let remedy = "a batch has one level of noise: leave it out";
                Err(Error::invalid("level", level, remedy))
            }
        }
    }

    /// Choices from now on follow this model, the bytes of a model message.
    pub fn set_model(&mut self, model: &[u8]) -> Result<()> {
        let model = little::model(model)?;
        match &mut self.0 {
            Reporting::ToServer(device) => device.set_model(model),
            Reporting::ToShuffler(device) => device.set_model(model),
        }
    }

    /// The index of the action to take, and the choice as it is kept until its reward comes. `context` is JSON, `actions` a JSON list.
    pub fn choose(&mut self, context: &[u8], actions: &[u8]) -> Result<(usize, Vec<u8>)> {
        let context = Value::from_json("context", context)?;
        let actions = records_from_json("actions", actions)?;
        let choice = match &mut self.0 {
            Reporting::ToServer(device) => device.choose(&context, &actions),
            Reporting::ToShuffler(device) => device.choose(&context, &actions),
        }?;
        Ok((choice.index(), choice.save()))
    }

    /// The ledger to store and the report that may leave after it: JSON to a server, sealed bytes to a shuffler. An empty `ledger` is that of a new installation.
    pub fn report(
        &mut self,
        choice: &[u8],
        ledger: &[u8],
        seconds: u64,
        reward: f64,
    ) -> Result<(Vec<u8>, Vec<u8>)> {
        let (stored, choice) = (stored(ledger)?, Choice::load(choice)?);
        let (report, ledger) = match &mut self.0 {
            Reporting::ToServer(device) => {
                let ledger = device.ledger(stored.as_ref(), seconds)?;
                let (report, ledger) = device.report(&ledger, seconds, &choice, reward)?;
                (report.to_json_in_little_code().into_bytes(), ledger)
            }
            Reporting::ToShuffler(device) => {
                device.report(stored.as_ref(), seconds, &choice, reward)?
            }
        };
        Ok((ledger.save(), report))
    }

    /// State of the installation with this ledger.
    pub fn status(&self, ledger: &[u8], seconds: u64) -> Result<Status> {
        let stored = stored(ledger)?;
        let ledger = match &self.0 {
            Reporting::ToServer(device) => device.ledger(stored.as_ref(), seconds),
            Reporting::ToShuffler(device) => device.ledger(stored.as_ref(), seconds),
        }?;
        Ok(Status { left: ledger.left(), end: ledger.end() })
    }
}

fn stored(bytes: &[u8]) -> Result<Option<Ledger>> {
    (!bytes.is_empty()).then(|| Ledger::load(bytes)).transpose()
}
