//! Reports and batches as the store keeps them until they are counted: one byte for the version, then postcard.

use reticent::{bandit::Batch, randomize::Report};
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

const VERSION: u8 = 1;

/// A message of one call, which is counted at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Row {
    /// A report of a device.
    Report(Report),
    /// The reports of a shuffler's batch that were sealed to this server, opened.
    Opened {
        /// The number of the batch.
        number: u64,
        /// The randomised values that the devices made.
        reports: Vec<Vec<f64>>,
    },
    /// A shuffler's batch of which only the sum was seen here.
    Sum(Batch),
}

impl Row {
    pub(super) fn encode(&self) -> Result<Vec<u8>> {
        postcard::to_extend(self, vec![VERSION])
            .map_err(|_| Error::store("a report cannot be written"))
    }

    /// Reads a stored row of any version.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        match bytes.split_first() {
            Some((&VERSION, rest)) => match postcard::take_from_bytes(rest) {
                Ok((row, [])) => Ok(row),
                _ => Err(Error::store("a stored report is damaged")),
            },
            _ => Err(Error::store(
                "a stored report has another version: use the program that wrote it",
            )),
        }
    }
}

/// The number of the batch in a row, if it holds one.
pub(super) fn batch_number(bytes: &[u8]) -> Option<u64> {
    match Row::decode(bytes).ok()? {
        Row::Report(_) => None,
        Row::Opened { number, .. } => Some(number),
        Row::Sum(batch) => Some(batch.number()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::row::golden;

    #[test]
    fn stored_reports_and_batches_have_golden_bytes() {
        let report = include_str!("../../../../../vectors/wire/report.3.json");
        let batch = include_str!("../../../../../vectors/wire/batch.3.json");
        let opened = Row::Opened { number: 7, reports: vec![vec![0.5, -0.25], vec![1.0, 2.0]] };
        for (name, row) in [
            ("device_report", Row::Report(reticent::wire::from_json(report).unwrap())),
            ("device_batch", opened),
            ("device_sum", Row::Sum(reticent::wire::from_json(batch).unwrap())),
        ] {
            let golden = golden::file(name, VERSION, &row.encode().unwrap());
            assert!(Row::decode(&golden).unwrap() == row, "{name} is read as something else");
        }
    }
}
