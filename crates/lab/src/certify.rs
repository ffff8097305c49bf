//! What each algorithm of an experiment may promise, and where the promise comes from: `reticent certify`, for programs too.
//!
//! A guarantee that was computed comes from the aggregator or randomiser that the algorithm runs. One that somebody stated for a player of
//! their own is shown as not certified; [`crate::audit`] can refute it, and nothing here can confirm it.

use std::fmt::Write;

use reticent::privacy::{Guarantee, Provenance};
use serde::Serialize;

use crate::{Experiment, contest::Certificate};

/// The promises of an experiment.
#[derive(Debug, Clone, Serialize)]
pub struct Certificates {
    /// One algorithm after the other.
    pub algorithms: Vec<Certified>,
}

/// The promises of one algorithm.
#[derive(Debug, Clone, Serialize)]
pub struct Certified {
    /// The algorithm.
    pub name: String,
    /// What may be promised, if anything; the weakest promise where people differ.
    pub guarantee: Option<Guarantee>,
    /// Promises to single people, where they differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub certificates: Vec<Certificate>,
    /// What a careful reader must know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// Prices every algorithm of an experiment; nothing is run.
pub fn certify(experiment: &Experiment) -> Certificates {
    let cells = experiment.cells().iter();
    let algorithms = cells.map(|cell| Certified {
        name: cell.name.clone(),
        guarantee: cell.contestant.guarantee().cloned(),
        certificates: cell.contestant.certificates().to_vec(),
        remarks: cell.contestant.remarks(),
    });
    Certificates { algorithms: algorithms.collect() }
}

impl Certified {
    /// Whether the accountant computed the promise from what the algorithm runs.
    pub fn is_certified(&self) -> bool {
        let computed = |g: &Guarantee| g.provenance() == Provenance::Computed;
        self.guarantee.as_ref().is_some_and(computed)
    }
}

impl Certificates {
    /// For a person to read.
    pub fn table(&self) -> String {
        let mut text = String::new();
        for algorithm in &self.algorithms {
            let _ = writeln!(text, "{}", algorithm.name);
            match &algorithm.guarantee {
                Some(guarantee) => {
                    if !algorithm.is_certified() {
                        text.push_str("  NOT CERTIFIED: what follows is stated, not checked\n");
                    }
                    for line in guarantee.table().lines() {
                        let _ = writeln!(text, "  {line}");
                    }
                }
                None => text.push_str("  no guarantee is stated\n"),
            }
            for certificate in &algorithm.certificates {
                let _ = writeln!(text, "  {}: {}", certificate.whom, certificate.guarantee);
            }
            for remark in &algorithm.remarks {
                let _ = writeln!(text, "  note: {remark}");
            }
            text.push('\n');
        }
        text
    }
}
