//! `reticent bench`: the figures the documentation quotes, measured in one run beside their references.
//!
//! | file | measured |
//! | --- | --- |
//! | `stopwatch` | nothing: the median of several batches |
//! | `noise` | exact and fast noise |
//! | `open_dp` | OpenDP's Python package beside it, where it is installed |
//! | `accounting` | composition and shuffling |
//! | `bandit` | deciding and learning, arms in memory |
//! | `blocks` | the same learners with a block of parameters an arm |
//! | `local` | device and report server of the local protocol |
//! | `online_ucb` | a round of OnlineUCB, and Maler by itself |
//! | `convex` | a round of the private bandit, and the oracles |
//! | `online` | an evaluation of the potential, a round of the online learners |
//! | `paper1` | whole trials of paper 1 |
//! | `safe` | a round of a safe coordinator |
//! | `enumeration` | the enumeration of paper 3 beside it, with the feature `clarabel` |
//! | `release` | running sums: construction and time per round |
//! | `deviations` | no time: the worst deviation of every mechanism at equal privacy |
//! | `simulate` | a round of a simulated bandit, environment and all |

mod accounting;
mod bandit;
mod blocks;
mod convex;
mod deviations;
#[cfg(feature = "clarabel")]
mod enumeration;
mod local;
mod noise;
mod online;
mod online_ucb;
mod open_dp;
mod paper1;
mod release;
mod safe;
mod simulate;
mod stopwatch;

use serde::Serialize;

use crate::Result;

/// One measured figure beside what it is compared with.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    /// Name of the figure.
    pub what: String,
    /// The measurement.
    pub measured: f64,
    /// Its unit.
    pub unit: &'static str,
    /// Reference value, in the same unit.
    pub reference: Option<f64>,
    /// Source of the reference.
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
    /// The name by which it is selected.
    pub name: &'static str,
    /// The title.
    pub title: &'static str,
    /// The figures.
    pub figures: Vec<Figure>,
}

type Measure = fn() -> Result<Vec<Figure>>;

/// All sections: name, title, and function.
const SECTIONS: &[(&str, &str, Measure)] = &[
    ("noise", "Noise", noise::figures),
    ("accounting", "Accounting", accounting::figures),
    ("sums", "Running sums", release::times),
    (
        "deviations",
        "Deviation of one coordinate of a prefix at equal exact privacy, contributions |x|^2 <= 2",
        release::deviations,
    ),
    ("rounds", "Simulated rounds", || Ok(simulate::figures()?)),
    ("linucb", "LinUCB", bandit::figures),
    ("blocks", "Blocks of parameters, K = 26 of 17", blocks::figures),
    ("local", "The local protocol on exact noise, d = 5, K = 100", local::figures),
    ("online_ucb", "OnlineUCB on fast noise", online_ucb::figures),
    ("paper1", "Whole trials of paper 1", paper1::figures),
    ("online", "Private online learning", online::figures),
    ("convex", "Private bandit convex optimisation", convex::figures),
    ("safe", "Safe coordinators", safe::figures),
];

/// Measures the sections of these names, or all if none is given; `progress` is called with each.
pub fn run(names: &[String], progress: impl Fn(&str)) -> Result<Vec<Section>> {
    for name in names {
        if !SECTIONS.iter().any(|section| section.0 == name) {
            let known: Vec<&str> = SECTIONS.iter().map(|section| section.0).collect();
            let remedy = format!("expected some of: {}", known.join(", "));
            return Err(reticent::Error::invalid("section", name, remedy).into());
        }
    }
    let wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    let mut sections = Vec::new();
    for &(name, title, measure) in SECTIONS.iter().filter(|section| wanted(section.0)) {
        progress(title);
        sections.push(Section { name, title, figures: measure()? });
    }
    Ok(sections)
}
