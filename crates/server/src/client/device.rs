//! A person's half over HTTP: fetch, choose, report once.
//!
//! A report is counted and its bytes are stored before they are first sent; what could not be sent is sent again as the same bytes. Where they are stored is
//! the caller's business: [`Pending`] holds everything that has to be.

use reticent::{
    bandit::Model,
    device::ProtocolPlan,
    features::{self, FeaturesParams, FeaturesPlan, Value},
    noise::SecureNoise,
    randomize::{Person, ReportPlan, Spent},
    wire,
};
use serde::Deserialize;

use super::{Body, Endpoint};
use crate::{
    Error, Result,
    sealed::{PublicKey, Subject},
};

/// A person's half that takes part in a loop.
pub struct Device {
    server: Endpoint,
    name: String,
    features: FeaturesPlan,
    person: Person<SecureNoise>,
    model: Model,
    sealing: Option<Sealing>,
}

/// Where reports go that a shuffler mixes.
struct Sealing {
    shuffler: Endpoint,
    subject: Subject,
    key: PublicKey,
}

/// A report that is counted and not acknowledged yet.
#[derive(Debug, Clone)]
pub struct Pending {
    /// What the person has spent with it: to be stored before it is sent, and given to the next half.
    pub spent: Vec<u8>,
    /// The bytes, which are sent again as they are.
    pub body: Body,
}

/// What a server says about sealing.
#[derive(Deserialize)]
struct SealingAnswer {
    features: FeaturesParams,
    public_key: Option<String>,
    values: usize,
}

/// What a shuffler says about it.
#[derive(Deserialize)]
struct ShufflerAnswer {
    public_key: String,
}

impl Device {
    /// Takes part in a loop whose reports go to the server. `spent` is what the last half of this installation stored.
    pub async fn join(
        server: Endpoint,
        name: &str,
        level: usize,
        spent: Option<&[u8]>,
    ) -> Result<Self> {
        let protocol = server.get(&format!("/v1/loops/{name}/protocol")).await?;
        let protocol: ProtocolPlan = wire::from_json(protocol)?;
        let person = person(protocol.reports(), level, spent)?;
        Self::new(server, name, protocol.features().clone(), person, None).await
    }

    /// Takes part in a loop with a shuffler.
    pub async fn join_through(
        server: Endpoint,
        shuffler: Endpoint,
        name: &str,
        spent: Option<&[u8]>,
    ) -> Result<Self> {
        let reports = server.get(&format!("/v1/loops/{name}/protocol")).await?;
        let reports: ReportPlan = wire::from_json(reports)?;
        let path = format!("/v1/loops/{name}/sealing");
        let sealing: SealingAnswer = read(&server.get(&path).await?)?;
        // Where the shuffler sums, reports are sealed to it.
        let key = match sealing.public_key {
            Some(key) => key,
            None => read::<ShufflerAnswer>(&shuffler.get(&path).await?)?.public_key,
        };
        let subject = Subject {
            loop_name: name.to_string(),
            protocol: reports.protocol(),
            values: sealing.values,
        };
        let sealing_to = Sealing { shuffler, subject, key: PublicKey::parse(&key)? };
        let person = person(&reports, 0, spent)?;
        Self::new(server, name, sealing.features.check()?, person, Some(sealing_to)).await
    }

    async fn new(
        server: Endpoint,
        name: &str,
        features: FeaturesPlan,
        person: Person<SecureNoise>,
        sealing: Option<Sealing>,
    ) -> Result<Self> {
        let model = model(&server, name).await?;
        Ok(Device { server, name: name.to_string(), features, person, model, sealing })
    }

    /// Fetches the newest model.
    pub async fn refresh(&mut self) -> Result<u64> {
        self.model = model(&self.server, &self.name).await?;
        Ok(self.model.sequence())
    }

    /// Which of the actions to take, and the vector to report it with. Nothing leaves the device.
    pub fn choose(&mut self, context: &Value, actions: &[Value]) -> Result<(usize, Vec<f64>)> {
        if actions.is_empty() {
            return Err(Error::invalid("actions", "none", "give at least one to choose from"));
        }
        let rows = self.features.rows(context, actions, &mut features::Report::default());
        let arms = reticent::bandit::Arms::from_rows(self.features.dimension(), &rows)?;
        let chosen = self.person.choose(&self.model, &arms)?;
        Ok((chosen, arms.arm(chosen).to_vec()))
    }

    /// The report of an action and its reward. It is counted now, whether it will be sent or not.
    pub fn report(&mut self, features: &[f64], reward: f64) -> Result<Pending> {
        let report = self.person.report(&self.model, features, reward)?;
        let body = match &self.sealing {
            None => Body::Json(wire::to_json(&report).into_bytes()),
            Some(Sealing { subject, key, .. }) => {
                Body::Bytes(subject.seal(key, report.model(), report.values())?.bytes())
            }
        };
        Ok(Pending { spent: self.person.spent().save(), body })
    }

    /// Sends a report; it is stored elsewhere when this is done. After an error that may pass the same report may be sent again.
    pub async fn send(&self, report: &Pending) -> Result<()> {
        let to = self.sealing.as_ref().map_or(&self.server, |sealing| &sealing.shuffler);
        let path = format!("/v1/loops/{}/reports", self.name);
        to.post(&path, report.body.clone()).await.map(drop)
    }
}

fn person(plan: &ReportPlan, level: usize, spent: Option<&[u8]>) -> Result<Person<SecureNoise>> {
    let noise = SecureNoise::from_system()?;
    Ok(match spent {
        Some(spent) => plan.person_after(level, &Spent::load(spent)?, noise)?,
        None => plan.person(level, noise)?,
    })
}

async fn model(server: &Endpoint, name: &str) -> Result<Model> {
    Ok(wire::from_json(server.get(&format!("/v1/loops/{name}/model")).await?)?)
}

fn read<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<T> {
    serde_json::from_slice(body)
        .map_err(|_| Error::Unavailable("the answer cannot be read: update the older half".into()))
}
