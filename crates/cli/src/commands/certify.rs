//! `reticent certify`: what each algorithm of an experiment may promise.

use std::{fmt::Write, path::PathBuf};

use clap::Args;
use reticent_lab::Override;
use serde_json::json;

use super::experiment;
use crate::{error::Error, report::Report};

/// The guarantee of every algorithm of an experiment: what holds exactly, and beside it the paper's claim.
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
    let experiment = experiment(&arguments.experiment, &arguments.set)?;
    let (mut text, mut algorithms) = (String::new(), Vec::new());
    for cell in experiment.cells() {
        let (name, contestant) = (&cell.name, &cell.contestant);
        let guarantee = contestant.guarantee();
        let _ = writeln!(text, "{name}");
        match guarantee {
            Some(guarantee) => {
                for line in guarantee.table().lines() {
                    let _ = writeln!(text, "  {line}");
                }
            }
            None => text.push_str("  no guarantee is stated\n"),
        }
        for certificate in contestant.certificates() {
            let _ = writeln!(text, "  {}: {}", certificate.whom, certificate.guarantee);
        }
        for remark in contestant.remarks() {
            let _ = writeln!(text, "  note: {remark}");
        }
        text.push('\n');
        let mut entry = json!({ "name": name, "guarantee": guarantee });
        if !contestant.certificates().is_empty() {
            entry["certificates"] = json!(contestant.certificates());
        }
        if !contestant.remarks().is_empty() {
            entry["remarks"] = json!(contestant.remarks());
        }
        algorithms.push(entry);
    }
    Ok(Report::new(text, &json!({ "algorithms": algorithms })))
}
