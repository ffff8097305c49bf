//! A person's half over HTTP: fetch, choose, report once.
//!
//! A report is counted and its bytes are stored before they are first sent; what could not be sent is sent again as the same bytes. Where they are stored is
//! the caller's business: [`Pending`] holds everything that has to be.

use std::{
    fmt,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use reticent::{
    bandit::{Arms, Model},
    device::{self, Ledger, Limits, ProtocolPlan, ShuffledProtocol},
    features::{self, FeaturesParams, FeaturesPlan, Value},
    noise::SecureNoise,
    randomize::{Person, ReportPlan, Spent},
    wire,
};
use serde::{Deserialize, de::DeserializeOwned};

use super::{Body, Endpoint};
use crate::{
    Error, Result,
    sealed::{PublicKey, Subject, protocol_hash},
};

/// A person's half that takes part in a loop.
pub struct Device {
    server: Endpoint,
    name: String,
    half: Half,
}

enum Half {
    /// Reports go to the server.
    Local { device: Box<device::Device<SecureNoise>>, ledger: Ledger },
    /// Reports go to a shuffler.
    Mixed(Box<Mixed>),
}

/// The half of a loop with a shuffler.
struct Mixed {
    features: FeaturesPlan,
    person: Person<SecureNoise>,
    /// The smallest k that a plan of this installation had.
    most: u64,
    model: Arc<Model>,
    shuffler: Endpoint,
    subject: Subject,
    key: PublicKey,
}

/// What was chosen. It holds the person's raw features, and never leaves the device.
#[derive(Clone)]
pub struct Choice {
    index: usize,
    made: Made,
}

#[derive(Clone)]
enum Made {
    Local(device::Choice),
    /// The vector, and the model that was followed.
    Mixed(Vec<f64>, Arc<Model>),
}

/// Without the features: what is printed may leave the device.
impl fmt::Debug for Choice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Choice").field("index", &self.index).finish_non_exhaustive()
    }
}

/// A report that is counted and not acknowledged yet.
#[derive(Debug, Clone)]
pub struct Pending {
    /// What the installation has reported, this report included: to be stored before it is sent, and given to the next half.
    pub ledger: Vec<u8>,
    /// The bytes, which are sent again as they are.
    pub body: Body,
}

/// What a server says about sealing.
#[derive(Deserialize)]
struct SealingAnswer {
    features: FeaturesParams,
    public_key: Option<String>,
    generation: String,
    values: usize,
    batch: u64,
    honest: u64,
}

/// What a shuffler says about it.
#[derive(Deserialize)]
struct ShufflerAnswer {
    public_key: String,
}

impl Choice {
    /// Which of the actions was chosen, counted from 0.
    pub fn index(&self) -> usize {
        self.index
    }
}

impl Device {
    /// Takes part in a loop whose reports go to the server, within the limits that [`Limits::of`] gives. `ledger` is what the last half of this
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
        let device = device::Device::new(protocol.clone(), limits, level, noise)?;
        let ledger = match ledger {
            Some(bytes) => Ledger::load(bytes)?.at(&protocol, now())?,
            None => Ledger::new(&protocol, now()),
        };
        let half = Half::Local { device: device.into(), ledger };
        let mut joined = Device { server, name, half };
        joined.refresh().await?;
        Ok(joined)
    }

    /// Takes part in a loop with a shuffler, within the limits that [`Limits::of`] gives.
    pub async fn join_through(
        server: Endpoint,
        shuffler: Endpoint,
        name: &str,
        ledger: Option<&[u8]>,
    ) -> Result<Self> {
        Device::join_through_within(server, shuffler, Limits::of(name), ledger).await
    }

    /// The same within the person's own limits, which name the loop. They hold for those who see batches only, of whose people half are honest: the
    /// noise must be what this device's own accountant asks for, whatever the server claims.
    pub async fn join_through_within(
        server: Endpoint,
        shuffler: Endpoint,
        limits: Limits,
        ledger: Option<&[u8]>,
    ) -> Result<Self> {
        let name = limits.name.as_str();
        let reports = server.get(&format!("/v1/loops/{name}/protocol")).await?;
        let reports: ReportPlan = wire::from_json(reports)?;
        let path = format!("/v1/loops/{name}/sealing");
        let sealing: SealingAnswer = read(&server.get(&path).await?)?;
        let summed = sealing.public_key.is_none();
        let protocol = ShuffledProtocol {
            name,
            features: &sealing.features,
            reports: &reports,
            generation: generation(&sealing.generation)?,
            batch: sealing.batch,
            honest: sealing.honest,
            summed,
        };
        limits.check_shuffled(&protocol)?;
        // Where the shuffler sums, reports are sealed to it.
        let key = match sealing.public_key {
            Some(key) => key,
            None => read::<ShufflerAnswer>(&shuffler.get(&path).await?)?.public_key,
        };
        let features = sealing.features.check()?;
        let protocol = protocol_hash(&protocol);
        let subject = Subject { loop_name: name.to_string(), protocol, values: sealing.values };
        let noise = SecureNoise::from_system()?;
        let visits = reports.params().contributions_per_person;
        let (person, most) = match ledger {
            Some(bytes) => {
                let (spent, most) = read_mixed(bytes)?;
                (reports.person_after(0, &spent, noise)?, most.min(visits))
            }
            None => (reports.person(0, noise)?, visits),
        };
        let (key, model) = (PublicKey::parse(&key)?, fetch_model(&server, name).await?.into());
        let mixed = Mixed { features, person, most, model, shuffler, subject, key };
        Ok(Device { server, name: name.to_string(), half: Half::Mixed(mixed.into()) })
    }

    /// Fetches the newest model, and says which it is.
    pub async fn refresh(&mut self) -> Result<u64> {
        let model = fetch_model(&self.server, &self.name).await?;
        let number = model.sequence();
        match &mut self.half {
            Half::Local { device, .. } => device.set_model(model)?,
            Half::Mixed(mixed) => mixed.model = model.into(),
        }
        Ok(number)
    }

    /// Which of the actions to take. Nothing leaves the device.
    pub fn choose(&mut self, context: &Value, actions: &[Value]) -> Result<Choice> {
        match &mut self.half {
            Half::Local { device, .. } => {
                let choice = device.choose(context, actions)?;
                Ok(Choice { index: choice.index(), made: Made::Local(choice) })
            }
            Half::Mixed(mixed) => mixed.choose(context, actions),
        }
    }

    /// The report of a choice and its reward. It is counted now, whether it will be sent or not.
    pub fn report(&mut self, choice: &Choice, reward: f64) -> Result<Pending> {
        match (&mut self.half, &choice.made) {
            (Half::Local { device, ledger }, Made::Local(choice)) => {
                let (report, counted) = device.report(ledger, now(), choice, reward)?;
                *ledger = counted;
                let body = Body::Json(wire::to_json(&report).into_bytes());
                Ok(Pending { ledger: ledger.save(), body })
            }
            (Half::Mixed(mixed), Made::Mixed(features, model)) => {
                mixed.report(features, model, reward)
            }
            _ => {
                let remedy = "it was made by a half of another loop: choose again";
                Err(Error::invalid("choice", "of another loop", remedy))
            }
        }
    }

    /// Sends a report; it is stored elsewhere when this is done. After an error that may pass the same report may be sent again.
    pub async fn send(&self, report: &Pending) -> Result<()> {
        let to = match &self.half {
            Half::Local { .. } => &self.server,
            Half::Mixed(mixed) => &mixed.shuffler,
        };
        let path = format!("/v1/loops/{}/reports", self.name);
        to.post(&path, report.body.clone()).await.map(drop)
    }
}

impl Mixed {
    fn choose(&mut self, context: &Value, actions: &[Value]) -> Result<Choice> {
        if actions.is_empty() {
            return Err(Error::invalid("actions", "none", "give at least one to choose from"));
        }
        let rows = self.features.rows(context, actions, &mut features::Report::default());
        let arms = Arms::from_rows(self.features.dimension(), &rows)?;
        let index = self.person.choose(&self.model, &arms)?;
        let made = Made::Mixed(arms.arm(index).to_vec(), Arc::clone(&self.model));
        Ok(Choice { index, made })
    }

    /// The report says which model the choice followed, also after a newer one was fetched.
    fn report(&mut self, features: &[f64], model: &Model, reward: f64) -> Result<Pending> {
        let made = self.person.spent().reports();
        if made >= self.most {
            let most = self.most;
            let remedy = format!("at most {most} reports leave this installation: no more do");
            return Err(Error::invalid("reports left", 0, remedy));
        }
        let report = self.person.report(model, features, reward)?;
        let sealed = self.subject.seal(&self.key, report.model(), report.values())?;
        let ledger = [&self.most.to_le_bytes()[..], &self.person.spent().save()].concat();
        Ok(Pending { ledger, body: Body::Bytes(sealed.bytes()) })
    }
}

/// The generation of a loop, of 16 hexadecimal digits.
fn generation(text: &str) -> Result<u64> {
    u64::from_str_radix(text, 16)
        .map_err(|_| Error::Unavailable("the answer cannot be read: update the older half".into()))
}

/// What an installation has sent through a shuffler, and the smallest k of its plans: hashes of plans are no proof that none has changed.
fn read_mixed(bytes: &[u8]) -> Result<(Spent, u64)> {
    let Some((most, spent)) = bytes.split_first_chunk() else {
        let remedy = "give the bytes that this installation stored last";
        return Err(Error::invalid("ledger", format!("{} bytes", bytes.len()), remedy));
    };
    Ok((Spent::load(spent)?, u64::from_le_bytes(*most)))
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

async fn fetch_model(server: &Endpoint, name: &str) -> Result<Model> {
    Ok(wire::from_json(server.get(&format!("/v1/loops/{name}/model")).await?)?)
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    serde_json::from_slice(body)
        .map_err(|_| Error::Unavailable("the answer cannot be read: update the older half".into()))
}
