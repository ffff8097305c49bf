//! `reticent merge`: the shards of one sweep as one folder.

use std::path::PathBuf;

use clap::Args;
use reticent_lab::{Experiment, Kinds};

use super::run::report;
use crate::{error::Error, report::Report};

/// Joins folders of `reticent run --shard`: the same results.csv as one run, byte for byte.
#[derive(Args)]
#[command(after_help = "Example: reticent merge results/part1 results/part2 --out results/whole")]
pub struct Arguments {
    /// The folders of the shards.
    #[arg(required = true)]
    folders: Vec<PathBuf>,
    /// Folder for the whole.
    #[arg(long, default_value = "results/merged")]
    out: PathBuf,
}

/// Merges them.
pub fn run(arguments: Arguments, kinds: &Kinds) -> Result<Report, Error> {
    let summary = Experiment::merge(&arguments.folders, &arguments.out, kinds)?;
    Ok(report(&summary, &arguments.out))
}
