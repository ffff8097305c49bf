//! `reticent certify`: the guarantee of each algorithm of an experiment.

use std::path::PathBuf;

use clap::Args;
use reticent_lab::{Override, certify::certify};

use super::experiment;
use crate::{error::Error, report::Report};

/// The guarantee of every algorithm of an experiment, as the accountant computes it, and the paper's claim.
#[derive(Args)]
#[command(after_help = "Example: reticent certify examples/joint.toml")]
pub struct Arguments {
    /// The experiment's TOML file; nothing is run.
    experiment: PathBuf,
    /// Another value for a key of the file, such as algorithm.privacy.epsilon=0.5; may be given several times.
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<Override>,
}

/// Prices every algorithm.
pub fn run(arguments: Arguments) -> Result<Report, Error> {
    let certificates = certify(&experiment(&arguments.experiment, &arguments.set)?);
    Ok(Report::new(certificates.table(), &certificates))
}
