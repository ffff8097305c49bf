//! `reticent reproduce`: the papers' experiments, with a verdict for every claim.

use std::{fmt::Write, path::PathBuf};

use clap::Args;
use reticent_lab::{
    papers,
    papers::{Extent, PaperExperiment},
};
use serde_json::{Value, json};

use crate::{error::Error, report::Report};

/// Runs the papers' experiments and says which of their claims hold; lists them if none is named.
#[derive(Args)]
#[command(after_help = "Example: reticent reproduce paper1/figure4 --quick")]
pub struct Arguments {
    /// A paper (paper1) or one of its experiments (paper1/figure4); without it, the list.
    experiment: Option<String>,
    /// Run all experiments of all papers.
    #[arg(long, conflicts_with = "experiment")]
    all: bool,
    /// List the experiments with their times, and run none.
    #[arg(long, conflicts_with = "all")]
    list: bool,
    /// Few trials and short horizons, minutes in total; this is the default.
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// The papers' own scale.
    #[arg(long)]
    full: bool,
    /// Seed of the trials in place of the experiments' own: to see whether a verdict rests on the seed.
    #[arg(long)]
    seed: Option<u64>,
    /// Folder for the results.
    #[arg(long, default_value = "results/reproduce")]
    out: PathBuf,
}

/// Runs the experiments that are named, or lists them.
pub fn run(arguments: Arguments) -> Result<Report, Error> {
    let Arguments { experiment, all, list, quick: _, full, seed, out } = arguments;
    let found = papers::matching(experiment.as_deref())?;
    if list || (experiment.is_none() && !all) {
        return Ok(listed(&found));
    }
    let extent = if full { Extent::Full } else { Extent::Quick };
    let mut text = String::new();
    if extent == Extent::Quick {
        let words = "Quick: few trials and short horizons. A verdict names its trials, and may differ from that of --full.";
        let _ = writeln!(text, "{words}\n");
    }
    let mut done = Vec::new();
    for experiment in found {
        let _ = writeln!(text, "{}: {}", experiment.id, experiment.title);
        let reproduction = experiment
            .reproduce((extent, seed), &out, &|line| crate::say!("{}: {line}", experiment.id))?;
        let _ = writeln!(text, "{}", reproduction.text());
        done.push(reproduction);
    }
    for (paper, page) in papers::pages(extent, seed, &done) {
        let path = out.join(format!("{paper}.md"));
        std::fs::write(&path, page).map_err(|error| reticent_lab::Error::Unwritable {
            path: path.clone(),
            reason: error.to_string(),
        })?;
        let _ = writeln!(text, "{} has the page", path.display());
    }
    Ok(Report::new(text, &json!({ "experiments": done })))
}

/// The experiments with their titles and times.
fn listed(found: &[&PaperExperiment]) -> Report {
    let mut text = String::new();
    let width = found.iter().map(|experiment| experiment.id.len()).max().unwrap_or(0);
    for experiment in found {
        let (id, title) = (experiment.id, experiment.title);
        let _ = writeln!(text, "{id:width$}  {title} ({})", experiment.time());
    }
    text.push_str("\nTimes are about those of two cores. Run one by its name, a paper by its own (paper1), or all of them with --all.\n");
    let entry = |experiment: &&PaperExperiment| {
        let (quick, full) = experiment.seconds;
        json!({ "id": experiment.id, "title": experiment.title, "seconds": { "quick": quick, "full": full } })
    };
    let entries: Vec<Value> = found.iter().map(entry).collect();
    Report::new(text, &json!({ "experiments": entries }))
}
