//! A device over HTTP: fetch, choose, report once.
//!
//! A report is counted and its bytes are stored before they are first sent; what could not be sent is sent again as the same bytes. Where they are stored is
//! the caller's business: [`Pending`] holds everything that has to be.

use std::time::{SystemTime, UNIX_EPOCH};

use reticent::{bandit::Model, features::Value, noise::SecureNoise, wire};
use reticent_device as device;
use reticent_device::{Choice, Ledger, Limits, ProtocolPlan, sealed::SealedDevice};

use super::{Body, Endpoint};
use crate::{Error, Result};

/// A device that takes part in a loop.
pub struct Device {
    server: Endpoint,
    name: String,
    ledger: Option<Ledger>,
    kind: Kind,
}

enum Kind {
    /// Reports go to the server.
    Local(Box<device::Device<SecureNoise>>),
    /// Reports go to a shuffler.
    Mixed { device: Box<SealedDevice<SecureNoise>>, shuffler: Endpoint },
}

/// A report that is counted and not acknowledged yet.
#[derive(Debug, Clone)]
pub struct Pending {
    /// Ledger of the installation's reports, this report included: to be stored before it is sent, and given to the next device.
    pub ledger: Vec<u8>,
    /// The bytes, which are sent again as they are.
    pub body: Body,
}

impl Device {
    /// Takes part in a loop whose reports go to the server, within the limits that [`Limits::of`] gives. `ledger` is what the last device of this
    /// installation stored for this service and loop.
    pub async fn join(
        server: Endpoint,
        name: &str,
        level: usize,
        ledger: Option<&[u8]>,
    ) -> Result<Self> {
        Device::join_within(server, Limits::of(name), level, ledger).await
    }

    /// The same within the person's own limits, which name the loop.
    pub async fn join_within(
        server: Endpoint,
        limits: Limits,
        level: usize,
        ledger: Option<&[u8]>,
    ) -> Result<Self> {
        let name = limits.name.clone();
        let protocol = server.get(&format!("/v1/loops/{name}/protocol")).await?;
        let protocol: ProtocolPlan = wire::from_json(protocol)?;
        let noise = SecureNoise::from_system()?;
        let device = device::Device::new(protocol, limits, level, noise)?;
        Device::begin(server, name, ledger, Kind::Local(device.into())).await
    }

    /// Takes part in a loop with a shuffler, within the person's own limits, which name the loop. They hold for parties that see batches only, of whose people half are honest: the
    /// noise must be what this device's own accountant asks for, whatever the server claims.
    pub async fn join_through_within(
        server: Endpoint,
        shuffler: Endpoint,
        limits: Limits,
        ledger: Option<&[u8]>,
    ) -> Result<Self> {
        if shuffler.is_at(&server) {
            let remedy = "it is the address of the server, which would see who reports what; expected that of `reticent-server shuffle`";
            return Err(Error::invalid("shuffler", "the server", remedy));
        }
        let name = limits.name.clone();
        let path = format!("/v1/loops/{name}/sealing");
        let plan = server.get(&format!("/v1/loops/{name}/protocol")).await?;
        // Both are asked, so that a server cannot tell its devices anything else than its shuffler.
        let (own, mixed) = (server.get(&path).await?, shuffler.get(&path).await?);
        let noise = SecureNoise::from_system()?;
        let device = SealedDevice::new(&plan, [&own, &mixed], limits, noise)?;
        let kind = Kind::Mixed { device: device.into(), shuffler };
        Device::begin(server, name, ledger, kind).await
    }

    /// Begins with the count that this installation stored last, and the newest model.
    async fn begin(
        server: Endpoint,
        name: String,
        ledger: Option<&[u8]>,
        kind: Kind,
    ) -> Result<Self> {
        let ledger = ledger.map(Ledger::load).transpose()?;
        let mut joined = Device { server, name, ledger, kind };
        joined.left()?;
        joined.refresh().await?;
        Ok(joined)
    }

    /// Fetches the newest model, and says which it is.
    pub async fn refresh(&mut self) -> Result<u64> {
        let model = self.server.get(&format!("/v1/loops/{}/model", self.name)).await?;
        let model: Model = wire::from_json(model)?;
        let number = model.sequence();
        match &mut self.kind {
            Kind::Local(device) => device.set_model(model)?,
            Kind::Mixed { device, .. } => device.set_model(model)?,
        }
        Ok(number)
    }

    /// Chooses one of the actions. Nothing leaves the device.
    pub fn choose(&mut self, context: &Value, actions: &[Value]) -> Result<Choice> {
        Ok(match &mut self.kind {
            Kind::Local(device) => device.choose(context, actions)?,
            Kind::Mixed { device, .. } => device.choose(context, actions)?,
        })
    }

    /// Reports that this installation may still make in this period.
    pub fn left(&self) -> Result<u64> {
        let (stored, seconds) = (self.ledger.as_ref(), now());
        let ledger = match &self.kind {
            Kind::Local(device) => stored_at(stored, device.protocol(), seconds)?,
            Kind::Mixed { device, .. } => device.ledger(stored, seconds)?,
        };
        Ok(ledger.left())
    }

    /// The report of a choice and its reward. It is counted now, whether it will be sent or not.
    pub fn report(&mut self, choice: &Choice, reward: f64) -> Result<Pending> {
        let (stored, seconds) = (self.ledger.as_ref(), now());
        let (body, counted) = match &mut self.kind {
            Kind::Local(device) => {
                let ledger = stored_at(stored, device.protocol(), seconds)?;
                let (report, counted) = device.report(&ledger, seconds, choice, reward)?;
                (Body::Json(wire::to_json(&report).into_bytes()), counted)
            }
            Kind::Mixed { device, .. } => {
                let (sealed, counted) = device.report(stored, seconds, choice, reward)?;
                (Body::Bytes(sealed), counted)
            }
        };
        let ledger = counted.save();
        self.ledger = Some(counted);
        Ok(Pending { ledger, body })
    }

    /// Sends a report; it is stored elsewhere when this is done. After an error that may pass the same report may be sent again.
    pub async fn send(&self, report: &Pending) -> Result<()> {
        let to = match &self.kind {
            Kind::Local(_) => &self.server,
            Kind::Mixed { shuffler, .. } => shuffler,
        };
        let path = format!("/v1/loops/{}/reports", self.name);
        to.post(&path, report.body.clone()).await.map(drop)
    }
}

/// The ledger of an installation that stored this, at a time.
fn stored_at(stored: Option<&Ledger>, protocol: &ProtocolPlan, seconds: u64) -> Result<Ledger> {
    Ok(match stored {
        Some(ledger) => ledger.at(protocol, seconds)?,
        None => Ledger::new(protocol, seconds),
    })
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
