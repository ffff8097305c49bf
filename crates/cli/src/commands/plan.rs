//! `reticent plan`: the cost of safety and privacy, computed before anything runs.

use std::path::{Path, PathBuf};

use clap::Args;
use reticent_lab::algorithm::safe::{PlanFile, plan_text};

use super::read;
use crate::{error::Error, report::Report};

/// Sharpness, bounds and the unimprovable privacy vector of a safe set.
#[derive(Args)]
#[command(after_help = "Example: reticent plan examples/plan.toml")]
pub struct Arguments {
    /// A TOML file: safe_set, objective, dimension, bounds, horizon, sigma or privacy, levels, budget.
    plan: PathBuf,
}

/// Makes the plan.
pub fn run(arguments: Arguments) -> Result<Report, Error> {
    let named = |error| Error::in_file(&arguments.plan, error);
    let file = PlanFile::parse(&read(&arguments.plan)?).map_err(named)?;
    let file = file.beside(arguments.plan.parent().unwrap_or(Path::new("")));
    let plan = file.plan().map_err(named)?;
    let vacuous = plan.vacuous.then(|| {
        "the regret bound is vacuous at this horizon: doing nothing is better".to_string()
    });
    Ok(Report::new(plan_text(&file, &plan), &plan).warn(vacuous))
}
