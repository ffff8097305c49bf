//! Storage that grows with releases, computed before anything runs.
//!
//! ```text
//! for ever:    number, time and two hashes of every release        grows with time
//! `keep_models`: the whole models of the newest releases           bounded
//! ```

use std::fmt;

use serde::Serialize;

use super::{LoopParams, Trust};
use crate::{Error, Result};

/// Whole models that a curator's loop keeps where its file does not say: charts and verifiers look back over as many.
const KEPT: u64 = 1000;

/// The same where people's devices add the noise: reports under much older models are not taken.
const KEPT_OF_DEVICES: u64 = 64;

/// Bytes that a store takes for a release whose model is compacted, about.
pub const HASH_BYTES: u64 = 200;

/// Bytes of a number as text, at most.
const NUMBER: u64 = 24;

impl LoopParams {
    /// Releases of which the whole model is kept.
    pub fn kept_models(&self) -> u64 {
        self.keep_models.unwrap_or(match self.trust {
            Trust::Curator => KEPT,
            Trust::Device | Trust::Shuffler => KEPT_OF_DEVICES,
        })
    }

    /// Refuses to compact the model that is served.
    pub(super) fn check_kept_models(&self, name: &str) -> Result<()> {
        match self.keep_models {
            Some(0) => {
                let remedy = "the newest model is needed; expected at least 1";
                Err(Error::invalid(format!("loop.{name}.keep_models"), 0, remedy))
            }
            _ => Ok(()),
        }
    }
}

/// Bytes that the list of releases of a loop takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StorageOutlook {
    /// Releases in a day.
    pub releases_a_day: f64,
    /// Growth for ever in a day: numbers, times and hashes.
    pub hash_bytes_a_day: u64,
    /// The same in a year of 365 days.
    pub hash_bytes_a_year: u64,
    /// Whole models that are kept.
    pub kept_models: u64,
    /// Bytes of one model, at most.
    pub model_bytes: u64,
    /// Bytes of all models that are kept, at most.
    pub models_bytes: u64,
}

impl StorageOutlook {
    /// Estimate for a loop with a release every `tick` milliseconds, whose models are like this one.
    pub fn new(params: &LoopParams, tick: u64, model: &[u8]) -> Self {
        let releases_a_day = 86_400_000.0 / tick as f64;
        let (kept_models, model_bytes) = (params.kept_models(), longest(model));
        StorageOutlook {
            releases_a_day,
            hash_bytes_a_day: (releases_a_day * HASH_BYTES as f64) as u64,
            hash_bytes_a_year: (365.0 * releases_a_day * HASH_BYTES as f64) as u64,
            kept_models,
            model_bytes,
            models_bytes: model_bytes.saturating_mul(kept_models),
        }
    }
}

/// Bytes of a message with the same fields whose numbers are as long as numbers can be.
fn longest(message: &[u8]) -> u64 {
    let (mut bytes, mut number) = (0, 0);
    let mut before = b' ';
    for byte in message {
        let begins = byte.is_ascii_digit() || *byte == b'-';
        let goes_on = number > 0 && b"0123456789.eE+-".contains(byte);
        if goes_on || (begins && !before.is_ascii_alphanumeric()) {
            number += 1;
        } else {
            bytes += if number > 0 { NUMBER.max(number) } else { 0 } + 1;
            number = 0;
        }
        before = *byte;
    }
    bytes + number
}

/// Bytes as people read them.
fn in_units(bytes: u64) -> String {
    let (mut value, mut unit) = (bytes as f64, "bytes");
    for larger in ["KB", "MB", "GB", "TB", "PB"] {
        if value < 1000.0 {
            break;
        }
        (value, unit) = (value / 1000.0, larger);
    }
    format!("{:.*} {unit}", usize::from(value < 10.0 && unit != "bytes"), value)
}

impl fmt::Display for StorageOutlook {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (day, year) = (in_units(self.hash_bytes_a_day), in_units(self.hash_bytes_a_year));
        let (model, models) = (in_units(self.model_bytes), in_units(self.models_bytes));
        write!(
            formatter,
            "hashes of releases grow by {day} a day, {year} a year; the newest {} models (`keep_models`) take at most {models}, {model} each",
            self.kept_models
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ServiceFile;

    #[test]
    fn a_loop_keeps_as_many_models_as_its_file_says() {
        let params = |more: &str| {
            let text = format!(
                "[loop.home]\nprivacy = {{ epsilon = 1.0, delta = 1e-6 }}\n{more}\naction.x.range = [0, 1]"
            );
            ServiceFile::parse(&text).unwrap()
        };
        let (plain, few) = (params(""), params("keep_models = 3"));
        assert_eq!((plain.loops["home"].kept_models(), few.loops["home"].kept_models()), (1000, 3));
        let params_hash = |file: &ServiceFile| file.check().unwrap()[0].params_hash();
        assert_eq!(params_hash(&plain), params_hash(&few), "it begins no generation");
        let refused = params("keep_models = 0").check().err().unwrap().to_string();
        assert!(refused.contains("loop.home.keep_models: got 0"), "{refused}");
        let device = params("trust = \"device\"");
        assert_eq!(device.loops["home"].kept_models(), 64);
        let refused = params("trust = \"device\"\nkeep_models = 0").check();
        assert!(refused.err().unwrap().to_string().contains("loop.home.keep_models: got 0"));
    }

    #[test]
    fn the_bound_of_a_message_holds_for_all_its_numbers() {
        let short = br#"{"kind":"a1","n":[0.0,-1,2e-9],"s":"x"}"#;
        let number = "-1.2345678901234567e-308";
        assert_eq!(number.len() as u64, NUMBER);
        let long = format!(r#"{{"kind":"a1","n":[{number},{number},{number}],"s":"x"}}"#);
        assert_eq!(
            (longest(short), longest(long.as_bytes())),
            (long.len() as u64, long.len() as u64)
        );
        let params = ServiceFile::parse(
            "[loop.a]\nprivacy = { epsilon = 1.0, delta = 1e-6 }\nkeep_models = 10",
        )
        .unwrap();
        let outlook = StorageOutlook::new(&params.loops["a"], 600_000, long.as_bytes());
        assert_eq!((outlook.hash_bytes_a_day, outlook.hash_bytes_a_year), (28_800, 10_512_000));
        assert_eq!(outlook.models_bytes, 10 * long.len() as u64);
        assert!(outlook.to_string().contains("grow by 29 KB a day, 11 MB a year"), "{outlook}");
    }
}
