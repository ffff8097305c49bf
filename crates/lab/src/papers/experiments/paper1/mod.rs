//! Shariff and Sheffet, "Differentially Private Contextual Linear Bandits" (2018), Appendix D, as its authors ran it.
//!
//! Experiments have the constants of the authors' program ([`crate::papers::constants::joint`]), and each claim states the authors' figure, read off their
//! plots, beside ours. They made about 100, 35 and 30 runs of Experiments 1, 2 and 3; ours are fewer, as [`Extent`] says.
//!
//! | file | contents |
//! | --- | --- |
//! | `dimension` | Experiment 1: a decision set (Figure 1), regret over time and against the dimension (Figures 2 and 3) |
//! | `variants` | Experiment 2: regret over time of the private variants (Figure 4) |
//! | `shifts` | Experiment 3: regret against the shift of the regulariser (Figure 5) |

mod dimension;
mod shifts;
mod variants;

use reticent::bandit::Rule;

use super::{Claim, Extent, Judgement, Stage};
use crate::{
    Result,
    algorithm::bandit::{Algorithm, Bandits, Budget, EnvironmentToml, JointToml, LinUcbToml},
    environment::GapParams,
    experiment::ExperimentToml,
    papers::constants::joint::{JointMode, PublishedNoise},
    report::{
        figure::Figure,
        html as report,
        html::Report,
        summary::{Estimate, Summary},
    },
};

pub use dimension::experiment1;
pub use shifts::figure5;
pub use variants::figure4;

type Experiment = ExperimentToml<EnvironmentToml, Algorithm>;

/// The paper's budget.
const BUDGET: Budget = Budget { epsilon: 1.0, delta: 0.1 };

/// Rounds of Experiments 2 and 3.
fn horizon(extent: Extent) -> u64 {
    match extent {
        Extent::Quick => 1_000_000,
        Extent::Full => 50_000_000,
    }
}

/// Their environment.
fn environment(gap: f64) -> GapParams {
    GapParams { gap, ..GapParams::new(5, 25) }
}

/// A variant with the authors' constants.
fn published(name: &str, mechanism: PublishedNoise, minimum: Option<f64>) -> JointToml {
    JointToml {
        name: Some(name.into()),
        mode: JointMode::Paper,
        mechanism: mechanism.into(),
        minimum,
        ..JointToml::new(BUDGET)
    }
}

/// LinUCB with the regulariser rho and alpha = 1/n.
fn not_private(name: &str, rho: f64, rounds: u64) -> LinUcbToml {
    LinUcbToml {
        rule: Some(Rule::CERTIFIED.with_failure_probability(1.0 / rounds as f64)),
        regularizer: Some(rho),
        ..LinUcbToml::named(name)
    }
}

impl Stage<'_> {
    fn simulate(&self, experiment: Experiment, folder: &str) -> Result<Summary> {
        (self.progress)(&experiment.name);
        let checked = experiment.check::<Bandits>()?;
        checked.run(&self.folder.join(folder), |_, _| ())
    }

    /// Writes a figure and a page with it and a table.
    fn show(
        &self,
        figure: &Figure,
        stem: &str,
        header: &[&str],
        rows: &[Vec<String>],
    ) -> Result<()> {
        figure.write(self.folder, stem)?;
        let mut page = Report::new(&figure.title);
        page.figure(figure)?;
        page.table(header, rows);
        report::write(self.folder, &format!("{stem}.html"), page.html())
    }
}

/// The estimate of an algorithm's final regret.
fn regret(summary: &Summary, name: &str) -> Estimate {
    summary.algorithm(name).map_or(Estimate::of(&[]), |algorithm| algorithm.final_regret)
}

fn text(estimate: Estimate) -> String {
    format!("{:.0} +- {:.0}", estimate.mean, estimate.standard_error)
}
