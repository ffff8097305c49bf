//! `reticent merge`: folders of shards joined into one.

use std::path::Path;

use super::{Experiment, Job, Kinds, paths, store::Store};
use crate::{Error, Result, play::trial::Trial, report::summary::Summary};

impl Experiment {
    /// Joins the finished trials of `parts`, which ran shards of one experiment, and writes `folder`.
    pub fn merge(parts: &[impl AsRef<Path>], folder: &Path, kinds: &Kinds) -> Result<Summary> {
        let mut text: Option<String> = None;
        for part in parts {
            let path = part.as_ref().join("experiment.toml");
            let other = std::fs::read_to_string(&path).map_err(|error| Error::Unreadable {
                path: path.clone(),
                reason: error.to_string(),
            })?;
            if text.as_ref().is_some_and(|text| !is_same(text, &other)) {
                let remedy = "merge folders that ran the same file with the same --set";
                let value = path.display().to_string();
                return Err(reticent::Error::invalid("experiment.toml", value, remedy).into());
            }
            text = Some(other);
        }
        let text = text.ok_or_else(|| {
            reticent::Error::invalid("folders", 0, "expected the folders of the shards")
        })?;
        let experiment = kinds.parse(&text, &[])?;
        experiment.claim(folder)?;
        let store = Store::open(folder)?;
        for part in parts {
            store.absorb(part.as_ref())?;
        }
        drop(store);
        let store = Store::open(folder)?;
        let jobs = experiment.jobs(None);
        let stored = |&(cell, number): &Job| store.get(experiment.cells[cell].key, number).cloned();
        let results: Vec<Option<(Trial, f64)>> = jobs.iter().map(stored).collect();
        let missing = results.iter().filter(|result| result.is_none()).count();
        if missing > 0 {
            let remedy = format!(
                "expected all of them; `reticent run {} --out {}` computes the others",
                folder.join("experiment.toml").display(),
                folder.display()
            );
            let found = format!("{} of {}", jobs.len() - missing, jobs.len());
            return Err(reticent::Error::invalid("trials", found, remedy).into());
        }
        let summary = experiment.summary(&jobs, results);
        summary.write(folder)?;
        Ok(summary)
    }
}

/// True if two files as run differ at most in where their data are.
fn is_same(one: &str, other: &str) -> bool {
    let named = |text: &str| {
        let mut table = toml::from_str::<toml::Table>(text).ok()?;
        paths::all_names(&mut table);
        Some(table)
    };
    one == other || named(one).is_some_and(|one| Some(one) == named(other))
}
