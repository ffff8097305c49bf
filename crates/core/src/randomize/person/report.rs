//! The message from a person to a server or a shuffler: plain, and checked when read.

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use crate::{
    error::finite_vector,
    wire::{self, count, hex},
};

/// What a person sends: randomised numbers, and what the server may know anyway.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    #[serde(with = "hex")]
    pub(crate) protocol: u64,
    /// The model the person acted on.
    #[serde(with = "count")]
    pub(crate) model: u64,
    /// 128 random bits, drawn after the report: the same report is counted once.
    #[serde(with = "hex")]
    pub(crate) id: [u64; 2],
    /// Index of the person's level, where levels are public.
    pub(crate) level: Option<u16>,
    /// The arm in the unit ball, where arms are public.
    #[serde(default, deserialize_with = "finite")]
    pub(crate) features: Option<Vec<f64>>,
    /// What the randomiser made.
    #[serde(deserialize_with = "finite")]
    pub(crate) values: Vec<f64>,
}

/// Reads numbers, none or some, and refuses those that are not finite.
fn finite<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Clone + Into<Option<Vec<f64>>>,
{
    let numbers = T::deserialize(deserializer)?;
    let given: Vec<f64> = numbers.clone().into().unwrap_or_default();
    finite_vector("values", &given, given.len()).map_err(D::Error::custom)?;
    Ok(numbers)
}

impl wire::Checked for Report {}
impl wire::Message for Report {
    const KIND: wire::Kind = wire::kinds::REPORT;
}

impl Report {
    pub(crate) fn new(
        (protocol, model, id): (u64, u64, [u64; 2]),
        level: Option<u16>,
        features: Option<Vec<f64>>,
        values: Vec<f64>,
    ) -> Self {
        Report { protocol, model, id, level, features, values }
    }

    /// The number of the model that the person acted on.
    pub fn model(&self) -> u64 {
        self.model
    }

    /// 128 random bits, by which the same report is counted once.
    pub fn id(&self) -> [u64; 2] {
        self.id
    }

    /// What the randomiser made: all of it that depends on the person's data, unless arms are public.
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}
