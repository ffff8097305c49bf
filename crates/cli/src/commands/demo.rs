//! `reticent demo`: the main job for a newcomer.

use std::{fmt::Write, path::PathBuf};

use clap::Args;
use reticent_lab::demo;

use crate::{error::Error, report::Report};

/// A private running average, drawn, with its guarantee.
#[derive(Args)]
#[command(after_help = "Example: reticent demo --epsilon 0.5 --out results/demo")]
pub struct Arguments {
    /// Requested epsilon.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    epsilon: f64,
    /// Requested delta.
    #[arg(long, default_value_t = 1e-6, allow_negative_numbers = true)]
    delta: f64,
    /// How many people take part.
    #[arg(long, default_value_t = 20_000)]
    people: u64,
    /// Seed of the invented ratings (the noise has no seed).
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// Folder for report.html and the figures.
    #[arg(long, default_value = "results/demo")]
    out: PathBuf,
}

/// Runs the demonstration.
pub fn run(arguments: Arguments) -> Result<Report, Error> {
    let Arguments { epsilon, delta, people, seed, out } = arguments;
    let demo = demo::run(demo::Options { people, epsilon, delta, seed }, &out)?;
    let mut text = format!(
        "{people} people rate a service between -1 and 1; everybody sees the average so far.\n\
         Three curators, each asked for epsilon = {epsilon}, delta = {delta:e}:\n\n"
    );
    let header = demo::HEADER.map(String::from).to_vec();
    for row in std::iter::once(&header).chain(&demo.rows()) {
        let _ = writeln!(
            text,
            "  {:<30} {:>17} {:>21} {:>9} {:>7}",
            row[0], row[1], row[2], row[3], row[4]
        );
    }
    for run in &demo.runs {
        let _ = writeln!(text, "\n{}\n  {}", run.name, run.guarantee);
    }
    let _ = write!(text, "\nDrawn in {}", demo.folder.join("report.html").display());
    let warnings: Vec<String> = demo.runs[0].guarantee.warnings().to_vec();
    Ok(Report::new(text, &demo).warn(warnings))
}
