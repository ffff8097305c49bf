//! `reticent reproduce`: the papers' experiments, with a verdict for every claim.

use std::{fmt::Write, path::PathBuf};

use clap::Args;
use reticent_lab::papers::{self, Extent};
use serde_json::json;

use crate::{error::Error, report::Report};

/// Runs the papers' experiments and says which of their claims hold.
#[derive(Args)]
#[command(after_help = "Example: reticent reproduce paper1/figure4 --quick")]
pub struct Arguments {
    /// A paper (paper1) or one of its experiments (paper1/figure4); without it, everything.
    experiment: Option<String>,
    /// Minutes in total; this is the default.
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// The papers' own scale.
    #[arg(long)]
    full: bool,
    /// Folder for the results.
    #[arg(long, default_value = "results/reproduce")]
    out: PathBuf,
}

/// Runs the experiments.
pub fn run(arguments: Arguments) -> Result<Report, Error> {
    let Arguments { experiment, quick: _, full, out } = arguments;
    let extent = if full { Extent::Full } else { Extent::Quick };
    let mut text = String::new();
    if extent == Extent::Quick {
        let words =
            "Quick: few trials and short horizons, so a verdict may differ from that of --full.";
        let _ = writeln!(text, "{words}\n");
    }
    let mut done = Vec::new();
    for experiment in papers::matching(experiment.as_deref())? {
        let _ = writeln!(text, "{}: {}", experiment.id, experiment.title);
        let reproduction =
            experiment.reproduce(extent, &out, &|line| crate::say!("{}: {line}", experiment.id))?;
        for claim in &reproduction.claims {
            let _ = writeln!(
                text,
                "  [{}] {}\n      measured {}\n      expected {}",
                claim.verdict.text(),
                claim.claim,
                claim.measured,
                claim.expected
            );
        }
        let (seconds, folder) = (reproduction.seconds, reproduction.folder.display());
        let _ = writeln!(text, "  {seconds:.1} s, files in {folder}\n");
        done.push(reproduction);
    }
    for (paper, page) in papers::pages(extent, &done) {
        let path = out.join(format!("{paper}.md"));
        std::fs::write(&path, page).map_err(|error| reticent_lab::Error::Unwritable {
            path: path.clone(),
            reason: error.to_string(),
        })?;
        let _ = writeln!(text, "{} has the page", path.display());
    }
    Ok(Report::new(text, &json!({ "experiments": done })))
}
