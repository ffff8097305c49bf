//! The guarantees of all algorithms of an experiment, computed or stated: the library side of `reticent certify`.
//!
//! A computed guarantee comes from the aggregator or randomiser that the algorithm runs. A guarantee that a user stated for a learner of
//! their own is shown as not certified; [`crate::audit`] can refute it but cannot confirm it.

use std::fmt::Write;

use reticent::privacy::{Guarantee, Provenance};
use serde::Serialize;

use crate::{Experiment, algorithm::Certificate};

/// The guarantees of an experiment.
#[derive(Debug, Clone, Serialize)]
pub struct Certificates {
    /// One entry per algorithm.
    pub algorithms: Vec<Certified>,
}

/// The guarantees of one algorithm.
#[derive(Debug, Clone, Serialize)]
pub struct Certified {
    /// The algorithm.
    pub name: String,
    /// The guarantee, if there is one; the weakest one if people have different levels.
    pub guarantee: Option<Guarantee>,
    /// Guarantees of individual people, if they differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub certificates: Vec<Certificate>,
    /// Warnings for the reader.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// Prices every algorithm of an experiment; nothing is run.
pub fn certify(experiment: &Experiment) -> Certificates {
    let cells = experiment.cells().iter();
    let algorithms = cells.map(|cell| Certified {
        name: cell.name.clone(),
        guarantee: cell.algorithm.guarantee().cloned(),
        certificates: cell.algorithm.card().certificates.clone(),
        remarks: cell.algorithm.remarks(),
    });
    Certificates { algorithms: algorithms.collect() }
}

impl Certified {
    /// Tells whether the accountant computed the guarantee from the mechanism that the algorithm runs.
    pub fn is_certified(&self) -> bool {
        let computed = |g: &Guarantee| g.provenance() == Provenance::Computed;
        self.guarantee.as_ref().is_some_and(computed)
    }
}

impl Certificates {
    /// The guarantees as text.
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
