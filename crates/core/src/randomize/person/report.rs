//! The message from a person to a server or a shuffler: plain, and checked when read.

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use crate::{
    error::finite_vector,
    wire::{self, count, hex},
};

/// Report of a person: randomised numbers, and facts that the server may know anyway.
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
    /// Values that the randomiser made.
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

    /// The message of [`to_json`](wire::to_json), by code that is small: for device code that a page downloads, whose size counts. It has the same bytes, but for
    /// numbers midway between two shortest forms, of which either may be written.
    pub fn to_json_in_little_code(&self) -> String {
        let mut writer = wire::Writer::message(<Report as wire::Message>::KIND);
        writer.field("protocol", format_args!("\"{:016x}\"", self.protocol));
        // A number of 2^53 or more is written as text.
        match self.model >> 53 {
            0 => writer.field("model", format_args!("{}", self.model)),
            _ => writer.field("model", format_args!("\"{}\"", self.model)),
        }
        let [first, second] = self.id;
        writer.field("id", format_args!("\"{first:016x}{second:016x}\""));
        match self.level {
            Some(level) => writer.field("level", format_args!("{level}")),
            None => writer.field("level", format_args!("null")),
        }
        writer.numbers("features", self.features.as_deref());
        writer.numbers("values", Some(&self.values));
        writer.finish()
    }

    /// The number of the model that the person acted on.
    pub fn model(&self) -> u64 {
        self.model
    }

    /// 128 random bits, by which the same report is counted once.
    pub fn id(&self) -> [u64; 2] {
        self.id
    }

    /// The index of the person's level, where levels are public.
    pub fn level(&self) -> Option<usize> {
        self.level.map(usize::from)
    }

    /// Values that the randomiser made: all that depends on the person's data, unless arms are public.
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_code_writes_the_same_bytes() {
        let large = 1 << 53;
        for (model, level, features) in [
            (0, Some(2), None),
            (large - 1, None, Some(vec![])),
            (large, None, Some(vec![0.5, -0.0])),
        ] {
            let values = vec![1e-5, 1.0, -2.5e-7, 1e16];
            let report = Report::new((7, model, [u64::MAX, 1]), level, features, values);
            assert_eq!(report.to_json_in_little_code(), wire::to_json(&report));
        }
    }
}
