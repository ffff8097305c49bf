//! `reticent bench`: the figures the documentation quotes, measured in one run beside their references.
//!
//! | file | what it measures |
//! | --- | --- |
//! | `noise` | exact and fast noise, OpenDP beside it where it is installed |
//! | `accounting` | composition and shuffling |
//! | `bandit` | deciding and learning, arms in memory |
//! | `release` | running sums: construction, time per round, and the table of deviations |
//! | `simulate` | a round of a simulated bandit, environment and all |

mod accounting;
mod bandit;
mod noise;
mod open_dp;
mod release;
mod simulate;
mod stopwatch;

use serde::Serialize;

use crate::Result;

/// One measured figure beside what it is compared with.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    /// What was measured.
    pub what: String,
    /// The measurement.
    pub measured: f64,
    /// Its unit.
    pub unit: &'static str,
    /// What it is compared with, in the same unit.
    pub reference: Option<f64>,
    /// Where the reference comes from.
    pub source: String,
}

impl Figure {
    fn new(what: impl Into<String>, measured: f64, unit: &'static str) -> Self {
        Figure { what: what.into(), measured, unit, reference: None, source: String::new() }
    }

    fn beside(mut self, reference: f64, source: impl Into<String>) -> Self {
        self.reference = Some(reference);
        self.source = source.into();
        self
    }

    /// Measured over reference.
    pub fn ratio(&self) -> Option<f64> {
        self.reference.map(|reference| self.measured / reference)
    }
}

/// A group of figures.
#[derive(Debug, Serialize)]
pub struct Section {
    /// What they are about.
    pub title: &'static str,
    /// The figures.
    pub figures: Vec<Figure>,
}

/// Measures everything, telling `progress` what it is at.
pub fn run(progress: impl Fn(&str)) -> Result<Vec<Section>> {
    let mut sections = Vec::new();
    progress("noise");
    sections.push(Section { title: "Noise", figures: noise::figures()? });
    progress("accounting");
    sections.push(Section { title: "Accounting", figures: accounting::figures()? });
    progress("running sums");
    sections.push(Section { title: "Running sums", figures: release::times()? });
    sections.push(Section {
        title: "Deviation of one coordinate of a prefix at equal exact privacy, contributions |x|^2 <= 2",
        figures: release::deviations()?,
    });
    progress("simulated rounds");
    sections.push(Section { title: "Simulated rounds", figures: simulate::figures()? });
    progress("LinUCB");
    sections.push(Section { title: "LinUCB", figures: bandit::figures()? });
    Ok(sections)
}
