//! The message from a person to a server or a shuffler: plain, versioned, and checked when read.

use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    error::finite_vector,
    wire::{MESSAGE_VERSION, current_message, hex},
};

/// What a person sends: randomised numbers, and what the server may know anyway.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawReport")]
pub struct Report {
    version: u16,
    #[serde(with = "hex")]
    pub(crate) protocol: u64,
    /// The model the person acted on.
    pub(crate) model: u64,
    /// 128 random bits, drawn after the report: the same report is counted once.
    #[serde(with = "hex")]
    pub(crate) id: [u64; 2],
    /// Index of the person's level, where levels are public.
    pub(crate) level: Option<u16>,
    /// The arm in the unit ball, where arms are public.
    pub(crate) features: Option<Vec<f64>>,
    /// What the randomiser made.
    pub(crate) values: Vec<f64>,
}

/// A report before it is checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawReport {
    #[serde(deserialize_with = "current_message")]
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
        Report { version: MESSAGE_VERSION, protocol, model, id, level, features, values }
    }

    /// What the randomiser made: all of it that depends on the person's data, unless arms are public.
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}
