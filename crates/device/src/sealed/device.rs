//! A device of a loop with a shuffler, from the messages of its server: it chooses, and its reports are priced, counted and sealed.
//!
//! ```text
//! plan of reports, sealing by server and shuffler -> limits -> model -> choose -> reward -> (ledger to store, sealed bytes)
//! ```
//!
//! It stores nothing. The caller stores the ledger and the bytes in one transaction, and sends the bytes only then.

use crate::{Choice, Ledger, Limits, ShuffledDevice, ShuffledProtocol, little};
use reticent::{
    Error, Result,
    bandit::Model,
    features::{FeaturesPlan, Value},
    noise::Noise,
};

use super::{ProtocolHash, PublicKey, Sealing, ShufflerSealing, Subject, hex, protocol_hash};

/// The device of one installation.
///
/// ```no_run
/// use reticent::{features::Value, noise::SecureNoise};
/// use reticent_device::{Limits, little, sealed::SealedDevice};
/// # let fetch = |_: &str| -> Vec<u8> { Vec::new() };
/// # let (store, actions, now) = (|_: &[u8], _: &[u8]| {}, [Value::Missing], 0);
///
/// let limits = Limits { epsilon: 2.0, ..Limits::of("news") };
/// let (plan, server, shuffler) = (fetch("protocol"), fetch("sealing"), fetch("shuffler's sealing"));
/// let noise = SecureNoise::from_system()?;
/// let mut device = SealedDevice::new(&plan, [&server, &shuffler], limits, noise)?;
/// device.set_model(little::model(&fetch("model"))?)?;
/// let choice = device.choose(&Value::Missing, &actions)?;
/// let (sealed, ledger) = device.report(None, now, &choice, 1.0)?;
/// store(&ledger.save(), &sealed);
/// // Then the bytes may leave for the shuffler.
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug)]
pub struct SealedDevice<N> {
    device: ShuffledDevice<N>,
    /// Generator of bytes that are visible on the way: not that of the reports' noise.
    sealing_noise: N,
    subject: Subject,
    /// The server's, or that of a shuffler that sums.
    key: PublicKey,
}

impl<N: Noise> SealedDevice<N> {
    /// The device of a person who asked for the loop that `limits` names, from the message of the plan of reports and the answers of server and shuffler about
    /// sealing. A protocol beyond the limits is refused, and so are a server and a shuffler that name another hash than that of the published protocol, and a server whose key is not the one that the shuffler knows: it could give every device a key of its own.
    pub fn new(
        plan: &[u8],
        [server, shuffler]: [&[u8]; 2],
        limits: Limits,
        mut noise: N,
    ) -> Result<Self> {
        let (reports, sealing) = (little::report_plan(plan)?, Sealing::read(server)?);
        let shuffler = ShufflerSealing::read(shuffler)?;
        let name = limits.name.clone();
        let protocol = ShuffledProtocol {
            name: &name,
            features: &sealing.features,
            reports: &reports,
            params_hash: sealing.params_hash,
            batch: sealing.batch,
            honest: sealing.honest,
            summed: sealing.summed(),
        };
        let subject = Subject {
            loop_name: name.clone(),
            protocol: protocol_hash(&protocol),
            values: reports.report_length(),
        };
        let sealing_noise = noise.split()?;
        let device = ShuffledDevice::new(&protocol, limits, noise)?;
        for named in [sealing.protocol, shuffler.protocol] {
            expect(&subject, named)?;
        }
        let key = agreed_key(sealing.key, shuffler.key)?;
        Ok(SealedDevice { device, sealing_noise, subject, key })
    }

    /// The rule from records to vectors.
    pub fn features(&self) -> &FeaturesPlan {
        self.device.features()
    }

    /// Properties that all sealed reports share.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// Choices from now on follow this model.
    pub fn set_model(&mut self, model: Model) -> Result<()> {
        self.device.set_model(model)
    }

    /// The model that choices follow.
    pub fn model(&self) -> Option<&Model> {
        self.device.model()
    }

    /// The action to take, by the model. Nothing leaves the device.
    pub fn choose(&mut self, context: &Value, actions: &[Value]) -> Result<Choice> {
        self.device.choose(context, actions)
    }

    /// The sealed report of a choice and its reward, and the ledger with it; `stored` is the ledger of this installation, if there is one. Nothing may leave
    /// before both are stored. An error makes no report and leaves the ledger as it was.
    pub fn report(
        &mut self,
        stored: Option<&Ledger>,
        seconds: u64,
        choice: &Choice,
        reward: f64,
    ) -> Result<(Vec<u8>, Ledger)> {
        let (report, ledger) = self.device.report(stored, seconds, choice, reward)?;
        let (noise, model) = (&mut self.sealing_noise, report.model());
        let sealed = self.subject.seal(noise, &self.key, model, report.values())?;
        Ok((sealed.bytes(), ledger))
    }

    /// The ledger at this time: how many reports may still be made.
    pub fn ledger(&self, stored: Option<&Ledger>, seconds: u64) -> Result<Ledger> {
        self.device.ledger(stored, seconds)
    }
}

/// Refuses a hash of others.
fn expect(subject: &Subject, protocol: ProtocolHash) -> Result<()> {
    if protocol == subject.protocol {
        return Ok(());
    }
    let remedy = format!(
        "the published protocol has {}: give the shuffler and the server the same file of loops, or update the older program",
        hex(&subject.protocol)
    );
    Err(Error::invalid("protocol", format!("{:?}", hex(&protocol)), remedy))
}

/// The key that reports are sealed to, if the shuffler and the server agree on it; a server that names none leaves it to the shuffler, which sums.
fn agreed_key(server: Option<PublicKey>, shuffler: PublicKey) -> Result<PublicKey> {
    match server {
        Some(key) if key != shuffler => {
            let remedy = format!(
                "the shuffler knows {} as the server's key: try again in some seconds, and do not report if they go on to differ, because a key of your own would name you",
                shuffler.text()
            );
            Err(Error::invalid("public_key", format!("{:?}", key.text()), remedy))
        }
        _ => Ok(shuffler),
    }
}
