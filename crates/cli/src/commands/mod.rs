//! One file per subcommand.

use std::path::Path;

use reticent_lab::{Experiment, Kinds, Override};

use crate::error::Error;

pub mod audit;
pub mod bench;
pub mod certify;
pub mod demo;
pub mod learn;
pub mod merge;
pub mod plan;
pub mod privacy;
pub mod reproduce;
pub mod run;
mod run_loop;
pub mod schema;

/// The text of a file the user named.
fn read(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path)
        .map_err(|error| Error::Unreadable { path: path.to_path_buf(), reason: error.to_string() })
}

/// True if a file holds tables `[loop.<name>]`.
fn is_file_of_loops(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with("[loop."))
}

/// The experiment in a file the user named, with some keys overridden.
fn experiment(path: &Path, overrides: &[Override], kinds: &Kinds) -> Result<Experiment, Error> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let experiment = kinds.parse_in(folder, &read(path)?, overrides);
    let experiment = experiment.map_err(|error| Error::in_file(path, error))?;
    for warning in experiment.warnings() {
        crate::say!("warning: {}: {warning}", path.display());
    }
    Ok(experiment)
}
