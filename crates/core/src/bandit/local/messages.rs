//! What travels between person and server: plain, versioned, and checked when read.

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use crate::{
    Error, Result,
    bandit::{Arms, Policy},
    error::finite_vector,
    noise::Noise,
    wire::hex,
};

/// The version of all messages, batches included.
pub(crate) const VERSION: u16 = 2;

/// The version of a message, which comes first: nothing behind another version is looked at.
pub(crate) fn current<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<u16, D::Error> {
    let version = u16::deserialize(deserializer)?;
    if version == VERSION {
        return Ok(version);
    }
    let remedy = format!("this library speaks version {VERSION}: update the older half");
    Err(D::Error::custom(Error::invalid("version", version, remedy)))
}

/// What the server publishes: how to choose. Everything in it was made from randomised reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawModel")]
pub struct Model {
    version: u16,
    #[serde(with = "hex")]
    protocol: u64,
    sequence: u64,
    reports: u64,
    guide: Guide,
}

/// How a person is to choose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Guide {
    /// Any arm, uniformly: an exploration phase.
    Uniform,
    /// The arm with the largest upper confidence bound. Its `<theta, x>` estimates the clipped, centred reward z.
    Follow(Policy),
}

/// A model before it is checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawModel {
    #[serde(deserialize_with = "current")]
    version: u16,
    #[serde(with = "hex")]
    protocol: u64,
    sequence: u64,
    reports: u64,
    guide: Guide,
}

impl TryFrom<RawModel> for Model {
    type Error = Error;

    fn try_from(raw: RawModel) -> Result<Self> {
        if let Guide::Follow(policy) = &raw.guide {
            // A policy read as it stands could have parts of unequal size.
            policy.check_parts(policy.dimension())?;
        }
        let RawModel { version, protocol, sequence, reports, guide } = raw;
        Ok(Model { version, protocol, sequence, reports, guide })
    }
}

impl Model {
    pub(crate) fn new(protocol: u64, sequence: u64, reports: u64, guide: Guide) -> Self {
        Model { version: VERSION, protocol, sequence, reports, guide }
    }

    /// Which of the server's models this is, from 0.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// How many reports it was made from.
    pub fn reports(&self) -> u64 {
        self.reports
    }

    /// How to choose.
    pub fn guide(&self) -> &Guide {
        &self.guide
    }

    /// Refuses a model of another protocol.
    pub(crate) fn expect(&self, protocol: u64) -> Result<()> {
        if self.protocol == protocol {
            return Ok(());
        }
        let remedy = "it belongs to a protocol with other parameters: fetch them anew";
        Err(Error::invalid("model", format!("{:x}", self.protocol), remedy))
    }

    /// The arm to play.
    pub(crate) fn choose<N: Noise>(
        &self,
        arms: &Arms,
        dimension: usize,
        noise: &mut N,
    ) -> Result<usize> {
        match &self.guide {
            Guide::Follow(policy) => policy.choose(arms, noise.bits()),
            Guide::Uniform if arms.dimension() != dimension => {
                let found = arms.dimension();
                Err(Error::Dimension { field: "every arm", expected: dimension, found })
            }
            Guide::Uniform => Ok(noise.below(arms.count() as u64) as usize),
        }
    }
}

/// What a person sends: randomised numbers, and what the server may know anyway.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawReport")]
pub struct Report {
    version: u16,
    #[serde(with = "hex")]
    pub(super) protocol: u64,
    /// The model the person acted on.
    pub(super) model: u64,
    /// 128 random bits, drawn after the report: the same report is counted once.
    #[serde(with = "hex")]
    pub(super) id: [u64; 2],
    /// Index of the person's level, where levels are public.
    pub(super) level: Option<u16>,
    /// The arm in the unit ball, where arms are public.
    pub(super) features: Option<Vec<f64>>,
    /// What the randomiser made.
    pub(super) values: Vec<f64>,
}

/// A report before it is checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawReport {
    #[serde(deserialize_with = "current")]
    version: u16,
    #[serde(with = "hex")]
    protocol: u64,
    model: u64,
    #[serde(with = "hex")]
    id: [u64; 2],
    level: Option<u16>,
    features: Option<Vec<f64>>,
    values: Vec<f64>,
}

impl TryFrom<RawReport> for Report {
    type Error = Error;

    fn try_from(raw: RawReport) -> Result<Self> {
        finite_vector("values", &raw.values, raw.values.len())?;
        if let Some(features) = &raw.features {
            finite_vector("features", features, features.len())?;
        }
        let RawReport { version, protocol, model, id, level, features, values } = raw;
        Ok(Report { version, protocol, model, id, level, features, values })
    }
}

impl Report {
    pub(crate) fn new(
        (protocol, model, id): (u64, u64, [u64; 2]),
        level: Option<u16>,
        features: Option<Vec<f64>>,
        values: Vec<f64>,
    ) -> Self {
        Report { version: VERSION, protocol, model, id, level, features, values }
    }

    /// What the randomiser made: all of it that depends on the person's data, unless arms are public.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Which protocol the report belongs to.
    pub(crate) fn protocol(&self) -> u64 {
        self.protocol
    }

    /// The model the person acted on.
    pub(crate) fn model(&self) -> u64 {
        self.model
    }

    /// The random name it is counted once by.
    pub(crate) fn id(&self) -> [u64; 2] {
        self.id
    }

    pub(crate) fn features(&self) -> Option<&[f64]> {
        self.features.as_deref()
    }

    pub(crate) fn level(&self) -> Option<u16> {
        self.level
    }
}
