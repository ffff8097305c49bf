//! A loop of a service as an experiment: its learner on a log of decisions, before it is served or changed.

use std::{path::Path, sync::Arc};

use reticent::error::message;
use reticent_lab::{Experiment, Override};
use reticent_loops::config::{CentralPlan, Ledger, Plan, ServiceFile};
use serde_json::json;

use super::read;
use crate::error::Error;

/// Limits of what a run of a loop shows.
pub(super) const NOTE: &str = "the log holds people's data, and its certificate does not cover what is chosen by looking at this run; the loop's half-life and ticks, \
     which count time, are left out: a log has no clock";

/// The experiment of a loop on a log.
pub(super) fn experiment(
    path: &Path,
    log: Option<&Path>,
    name: Option<&str>,
    overrides: &[Override],
) -> Result<Experiment, Error> {
    let malformed = |reason: String| Error::Malformed { path: path.to_path_buf(), reason };
    let Some(log) = log else {
        return Err(malformed(message(
            "--log",
            "missing",
            "this is a file of loops; expected the decisions of one, as its export gives them as CSV",
        )));
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    let plans = ServiceFile::parse(&read(path)?).and_then(|file| file.check_in(folder));
    let plans = plans.map_err(|error| malformed(error.to_string()))?;
    let plans: Vec<&CentralPlan> =
        plans.iter().filter_map(Plan::central).map(Arc::as_ref).collect();
    let names: Vec<&str> = plans.iter().map(|plan| plan.name.as_str()).collect();
    let plan = match (name, &plans[..]) {
        (None, [only]) => only,
        (name, all) => {
            all.iter().find(|plan| Some(plan.name.as_str()) == name).ok_or_else(|| {
                let remedy = format!("expected one of {}", names.join(", "));
                malformed(message(
                    "--loop",
                    name.map_or("missing".into(), |name| format!("{name:?}")),
                    remedy,
                ))
            })?
        }
    };
    let decisions = read(log)?;
    check_log(log, &decisions)?;
    let lines = decisions.lines().count().saturating_sub(1);
    let text = toml::to_string(&lines_of(plan, log, lines))
        .map_err(|error| malformed(error.to_string()))?;
    Experiment::parse_with(&text, overrides).map_err(|error| Error::in_file(log, error))
}

/// Refuses a log that is no export as CSV. The reason repeats nothing of it, since its first line may be a person's row.
fn check_log(log: &Path, text: &str) -> Result<(), Error> {
    let first = text.trim_start_matches('\u{feff}').lines().next().unwrap_or("");
    if first.starts_with("action,propensity,reward,") {
        return Ok(());
    }
    let found = match first.trim_start().starts_with('{') {
        true => "lines of JSON",
        false => "a first line that is not action,propensity,reward,arm0_0,...",
    };
    let remedy = "export the decisions as CSV, from /v1/loops/LOOP/events/export?format=csv (with &actions=N where their numbers of actions differ)";
    Err(Error::Malformed { path: log.to_path_buf(), reason: message("text", found, remedy) })
}

/// The experiment as its file would have it.
fn lines_of(plan: &CentralPlan, log: &Path, lines: usize) -> serde_json::Value {
    let privacy = plan.params.privacy;
    let mut learner = json!({
        "kind": "joint",
        "name": format!("loop {}", plan.name),
        "privacy": { "epsilon": privacy.epsilon, "delta": privacy.delta },
    });
    // TOML has no nulls: what is not given has its default.
    let mut rule = json!(plan.params.learner.rule);
    for part in rule.as_object_mut().into_iter().flat_map(|rule| rule.values_mut()) {
        if let Some(fields) = part.as_object_mut() {
            fields.retain(|_, value| !value.is_null());
        }
    }
    learner["rule"] = rule;
    if let Ledger::Person { most, .. } = plan.ledger {
        learner["contributions_per_person"] = most.into();
    }
    json!({
        "name": format!("loop {} on a log", plan.name),
        "rounds": lines / 2,
        "environment": {
            "kind": "logged",
            "file": log,
            "arms_in_file": true,
            "rewards": plan.params.reward.range,
        },
        "algorithm": [{ "kind": "linucb", "name": "without privacy" }, learner],
    })
}
