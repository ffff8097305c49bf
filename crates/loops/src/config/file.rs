//! The file of loops as it is written, and its check.

use std::{collections::BTreeMap, path::Path};

use reticent::bandit::Rule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{LimitParams, LoopParams, Plan};
use crate::{Error, Result};

/// All loops of a service: `loops.toml`.
///
/// ```
/// use reticent_loops::config::ServiceFile;
/// let file = ServiceFile::parse(r#"
///     [loop.home]
///     privacy = { epsilon = 1.0, delta = 1e-6, visits = 10, per = "30 days" }
///     reward = { range = [0, 1], window = "30 minutes" }
///     [loop.home.action]
///     topic = { categories = ["news", "sport", "music"] }
/// "#)?;
/// assert_eq!(file.check()?[0].name(), "home");
/// # Ok::<(), reticent_loops::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["loop"]))]
pub struct ServiceFile {
    /// Loops by name.
    #[schemars(extend("propertyNames" = { "pattern": "^[a-z0-9_-]{1,64}$" }, "minProperties" = 1))]
    #[serde(rename = "loop", default)]
    pub loops: BTreeMap<String, LoopParams>,
    /// Limits on requests.
    #[serde(default)]
    pub limits: LimitParams,
}

impl ServiceFile {
    /// Reads a file's text.
    pub fn parse(text: &str) -> Result<Self> {
        let mut file: ServiceFile = toml::from_str(text).map_err(|error| {
            let mut remedy = format!("correct the file of loops: {}", error.to_string().trim());
            if error.message().contains("duplicate field `rule`") {
                remedy += "; `rule` and `explore` are two names of one key: give one of them";
            }
            Error::invalid("loops", "what cannot be read", remedy)
        })?;
        file.choose_rules(text);
        if file.loops.is_empty() {
            let remedy = "expected at least one, as a table [loop.<name>]";
            return Err(Error::invalid("loop", "missing", remedy));
        }
        Ok(file)
    }

    /// The rule of loops with fixed actions whose file names none: `episodes`, which lost less than the general default (`docs/papers/joint.md`).
    fn choose_rules(&mut self, text: &str) {
        let table = text.parse::<toml::Table>().unwrap_or_default();
        for (name, params) in self.loops.iter_mut().filter(|one| !one.1.fixed_action.is_empty()) {
            let learner = table.get("loop").and_then(|loops| loops.get(name)?.get("learner"));
            let named = |key| learner.is_some_and(|learner| learner.get(key).is_some());
            if !named("rule") && !named("explore") {
                params.learner.rule = Rule::EPISODES;
            }
        }
    }

    /// Calibrates every loop, in the order of their names, or says which field of which loop stands in the way.
    pub fn check(&self) -> Result<Vec<Plan>> {
        self.check_in(Path::new(""))
    }

    /// The same, with files that it names in this folder, which is that of the file of loops.
    pub fn check_in(&self, folder: &Path) -> Result<Vec<Plan>> {
        self.loops
            .iter()
            .map(|(name, params)| params.in_folder(name, folder)?.check(name))
            .collect()
    }
}

impl LoopParams {
    /// The same with the files that it names in this folder.
    fn in_folder(&self, name: &str, folder: &Path) -> Result<Self> {
        if self.warm_start_origin.is_some() {
            let remedy = "it is noted by the service itself: leave it out";
            return Err(Error::invalid(
                format!("loop.{name}.warm_start_origin"),
                "a value",
                remedy,
            ));
        }
        if self.continuation.is_some() {
            let remedy = "it is noted by the service itself: leave it out";
            return Err(Error::invalid(format!("loop.{name}.continuation"), "a value", remedy));
        }
        if let Some(file) = self.warm_start.as_ref().filter(|file| file.trim().is_empty()) {
            let remedy = "name a file, or leave it out";
            let field = format!("loop.{name}.warm_start");
            return Err(Error::invalid(field, format!("{file:?}"), remedy));
        }
        let in_folder = |file: &String| folder.join(file).display().to_string();
        Ok(LoopParams { warm_start: self.warm_start.as_ref().map(in_folder), ..self.clone() })
    }
}
