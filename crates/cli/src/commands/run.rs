//! `reticent run`: an experiment from a file.

use std::{fmt::Write, path::PathBuf};

use clap::Args;
use reticent_lab::{Experiment, summary};

use super::read;
use crate::{error::Error, report::Report};

/// Runs an experiment: a table, figures and a report.
#[derive(Args)]
#[command(after_help = "Example: reticent run examples/joint.toml --out results/joint")]
pub struct Arguments {
    /// A TOML file: name, rounds, trials, seed, [environment], [[algorithm]].
    experiment: PathBuf,
    /// Folder for the results.
    #[arg(long, default_value = "results/run")]
    out: PathBuf,
}

/// Runs the experiment.
pub fn run(arguments: Arguments) -> Result<Report, Error> {
    let experiment = Experiment::parse(&read(&arguments.experiment)?)?;
    let summary =
        experiment.run(&arguments.out, |done, all| eprintln!("{done} of {all} trials"))?;
    let mut text = String::new();
    let header = summary::HEADER.map(String::from).to_vec();
    for row in std::iter::once(&header).chain(&summary.rows()) {
        let _ = writeln!(
            text,
            "{:<44} {:>14} {:>14} {:>9} {:>7} {:>10}",
            row[0], row[1], row[2], row[3], row[4], row[5]
        );
    }
    for row in summary.details() {
        let _ = writeln!(text, "{}: {} {}", row[0], row[1], row[2]);
    }
    let _ = write!(text, "\nDrawn in {}", arguments.out.join("report.html").display());
    Ok(Report::new(text, &summary).warn(summary.warnings()))
}
