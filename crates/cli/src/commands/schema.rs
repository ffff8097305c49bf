//! `reticent schema`: permitted contents of a file, as JSON Schema.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use reticent::schema::of;
use reticent_lab::{
    Experiment,
    algorithm::{online::LearnFile, safe::PlanFile},
};
use reticent_loops::config::ServiceFile;

use super::privacy::EventFile;
use crate::{error::Error, report::Report};

/// The JSON Schema of a kind of file, with which an editor completes and checks it.
#[derive(Args)]
#[command(
    after_help = "Example: reticent schema experiment --out experiment.schema.json\n\nThe file's first line names it to editors that use Taplo:\n  #:schema ./experiment.schema.json"
)]
pub struct Arguments {
    /// The kind of file.
    file: Kind,
    /// Path of the file that the schema is written to, in place of stdout.
    #[arg(long)]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// Input of `run`, `certify` and `audit`.
    Experiment,
    /// The loops of a service, which `reticent-server serve` reads.
    Loops,
    /// Input of `learn`.
    Learn,
    /// Input of `plan`.
    Plan,
    /// Input of `privacy account`.
    Events,
}

/// Prints or writes the schema.
pub fn run(arguments: Arguments) -> Result<Report, Error> {
    let schema = match arguments.file {
        Kind::Experiment => Experiment::schema(),
        Kind::Loops => of::<ServiceFile>("Loops of a service of reticent"),
        Kind::Learn => of::<LearnFile>("A file for reticent learn"),
        Kind::Plan => of::<PlanFile>("A file for reticent plan"),
        Kind::Events => of::<EventFile>("Events for reticent privacy account"),
    };
    let text = serde_json::to_string_pretty(&schema).expect("a schema is plain data");
    let Some(path) = arguments.out else { return Ok(Report::new(text, &schema)) };
    std::fs::write(&path, text + "\n").map_err(|error| reticent_lab::Error::Unwritable {
        path: path.clone(),
        reason: error.to_string(),
    })?;
    Ok(Report::new(format!("Written to {}", path.display()), &schema))
}
