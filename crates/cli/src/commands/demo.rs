//! `reticent demo`: a first example for newcomers.

use std::path::PathBuf;

use clap::Args;
use reticent_lab::{Experiment, Override, RunOptions, report::summary::sweep};

use super::run::table;
use crate::{error::Error, progress::watched, report::Report};

/// The cost of privacy under different trust models: a comparison of private bandits, with figures and a certificate.
#[derive(Args)]
#[command(
    after_help = "Example: reticent demo --set algorithm.privacy.delta=1e-7 --out results/demo"
)]
pub struct Arguments {
    /// Folder for the results.
    #[arg(long, default_value = "results/demo")]
    out: PathBuf,
    /// Another value for a key of the experiment, such as trials=8; may be given several times.
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<Override>,
}

/// Runs the demonstration.
pub fn run(Arguments { out, set }: Arguments) -> Result<Report, Error> {
    let experiment = Experiment::demo(&set)?;
    let outcome =
        watched(|watch| experiment.run_until(&out, RunOptions::default(), watch, |_, _| ()))?;
    let summary = outcome.summary.expect("every trial was asked for");
    let mut text =
        format!("{}: {} rounds, seed {}\n\n", summary.name, summary.rounds, summary.seed);
    match sweep::table(&summary.algorithms) {
        Some((header, rows)) => text.push_str(&table(&header, &rows)),
        None => return Ok(super::run::report(&summary, &out)),
    }
    let private = summary.algorithms.iter().filter(|algorithm| algorithm.guarantee.is_some());
    let count = private.clone().count();
    // Print the certificate from the middle of the first grid as an example.
    if let Some(example) = private.clone().nth(2).or_else(|| private.clone().next())
        && let Some(guarantee) = &example.guarantee
    {
        text.push_str(&format!("\nOne of {count} certificates, {}:\n\n", example.name));
        text.push_str(&guarantee.table());
    }
    text.push_str(&format!("\nThe others, and the curves: {}", out.join("report.html").display()));
    // The picture of the README.
    let picture = out.join("figures").join("regret-against-epsilon.png");
    if picture.exists() {
        text.push_str(&format!("\nWhat privacy costs, drawn: {}", picture.display()));
    }
    let warnings = experiment.warnings().iter().cloned().chain(summary.warnings());
    Ok(Report::new(text, &summary).warn(warnings))
}
