//! `log = "folder"`: the decisions of a run in the form that `kind = "logged"` reads, one file a trial.
//!
//! ```text
//! action, propensity, reward, arm0_0, arm0_1, ..., arm1_0, ...      features of every arm, divided by the feature bound
//! ```
//!
//! With blocks of parameters an arm's features have zeros for the blocks of others. The propensity is the exact probability of the action under the `thompson` rule, and 1 under rules that draw nothing. A decision whose
//! reward never came has no line. Beside the log stands an experiment that reads it.
//!
//! **A log is outside every certificate.** It holds people's features, actions and rewards as they are, under every trust model: the owner of
//! the log has the data. What is learnt from it by `kind = "logged"` has a certificate of its own; estimates made from it have none.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::File,
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
};

use reticent::{bandit::Arms, randomize::Bounds};

use super::BanditEnvironment;
use crate::{Error, Result, play::Learner};

/// Path of a trial's log in a folder.
fn file(folder: &Path, trial: u64) -> PathBuf {
    folder.join(format!("trial-{trial}.csv"))
}

/// Path of the experiment that reads the log of a trial; it is written last.
pub(super) fn experiment(folder: &Path, trial: u64) -> PathBuf {
    folder.join(format!("trial-{trial}.toml"))
}

/// Remark for a careful reader.
pub(super) fn remark(folder: &Path) -> String {
    format!(
        "its decisions are logged in {}, with features, actions and rewards as they are: the log is outside every certificate, protect it as the data",
        folder.display()
    )
}

fn refuse<T>(folder: &Path, remedy: &str) -> Result<T> {
    Err(reticent::Error::invalid("log", folder.display().to_string(), remedy).into())
}

/// The name that the experiment beside a log has.
fn title(learner: &str) -> String {
    format!("decisions of {learner}")
}

/// An error if decisions cannot be logged here, or would take the place of another learner's.
pub(super) fn possible(
    folder: &Path,
    name: &str,
    environment: &BanditEnvironment,
    trial: u64,
) -> Result<()> {
    if environment.modifiers.availability.is_some() {
        return refuse(folder, "arms come and go here, and a line has all of them: leave it out");
    }
    let Ok(text) = std::fs::read_to_string(experiment(folder, trial)) else { return Ok(()) };
    let table = toml::from_str::<toml::Table>(&text).unwrap_or_default();
    if table.get("name").and_then(toml::Value::as_str) == Some(&title(name)) {
        return Ok(());
    }
    let remedy = "it holds the log of another learner: give each algorithm, and each point of a grid, a folder of its own";
    refuse(folder, remedy)
}

/// A learner whose decisions are written down.
pub(super) struct DecisionLog<'a> {
    inner: &'a mut dyn Learner,
    bounds: Bounds,
    arms: usize,
    folder: PathBuf,
    trial: u64,
    title: String,
    out: BufWriter<File>,
    /// Features, action and propensity of decisions whose reward has not come.
    waiting: BTreeMap<u64, Waiting>,
    lines: u64,
    least_propensity: f64,
}

struct Waiting {
    action: usize,
    propensity: f64,
    features: String,
}

impl<'a> DecisionLog<'a> {
    /// Begins the log of a trial.
    pub(super) fn begin(
        inner: &'a mut dyn Learner,
        folder: &Path,
        name: &str,
        environment: &BanditEnvironment,
        trial: u64,
    ) -> Result<Self> {
        possible(folder, name, environment, trial)?;
        let path = file(folder, trial);
        let unwritable = |error| Error::unwritable(&path, error);
        std::fs::create_dir_all(folder).map_err(unwritable)?;
        // Without it the log is not finished.
        let beside = experiment(folder, trial);
        if beside.exists() {
            std::fs::remove_file(&beside).map_err(unwritable)?;
        }
        let (bounds, arms) = (environment.bounds, environment.arms);
        let mut out = BufWriter::new(File::create(&path).map_err(unwritable)?);
        let mut head = String::from("action,propensity,reward");
        for arm in 0..arms {
            (0..bounds.embedded().dimension).for_each(|i| head += &format!(",arm{arm}_{i}"));
        }
        writeln!(out, "{head}").map_err(unwritable)?;
        Ok(DecisionLog {
            inner,
            bounds,
            arms,
            folder: folder.to_path_buf(),
            trial,
            title: title(name),
            out,
            waiting: BTreeMap::new(),
            lines: 0,
            least_propensity: 1.0,
        })
    }

    /// Writes what is left, and the experiment that reads the log: its first half trains, the rest evaluates.
    pub(super) fn finish(mut self) -> Result<()> {
        let path = file(&self.folder, self.trial);
        self.out.flush().map_err(|error| Error::unwritable(&path, error))?;
        let (low, high) = self.bounds.rewards;
        let title = toml::Value::String(self.title);
        // Beside it.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let log = toml::Value::String(name.into_owned());
        let text = format!(
            "# Reads the log beside it, which holds people's data as they are and is outside every certificate.\n\
             name = {title}\nrounds = {}\n\n[environment]\nkind = \"logged\"\nfile = {log}\narms_in_file = true\n\
             rewards = [{low:?}, {high:?}]\nleast_propensity = {:?}\n\n[[algorithm]]\nkind = \"linucb\"\n",
            (self.lines / 2).max(1),
            self.least_propensity,
        );
        let beside = experiment(&self.folder, self.trial);
        std::fs::write(&beside, text).map_err(|error| Error::unwritable(&beside, error))
    }
}

impl Learner for DecisionLog<'_> {
    fn inner(&self) -> Option<&dyn Learner> {
        Some(self.inner)
    }

    fn inner_mut(&mut self) -> Option<&mut dyn Learner> {
        Some(self.inner)
    }

    fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize> {
        if arms.count() != self.arms {
            return refuse(
                &self.folder,
                "decision sets differ in size here, and a line has all arms: leave it out",
            );
        }
        let action = self.inner.choose(arms, round)?;
        let probabilities = self.inner.probabilities(arms)?;
        let propensity = probabilities.map_or(1.0, |of| of[action]);
        let mut features = String::new();
        for arm in 0..arms.count() {
            for x in self.bounds.structure.embed(arms.block(arm), &arms.arm(arm))? {
                write!(features, ",{}", x / self.bounds.feature_bound).expect("text has room");
            }
        }
        self.waiting.insert(round, Waiting { action, propensity, features });
        Ok(action)
    }

    fn observe(&mut self, round: u64, features: &[f64], reward: f64) -> Result<()> {
        self.observe_in_block(round, 0, features, reward)
    }

    fn observe_in_block(
        &mut self,
        round: u64,
        block: usize,
        features: &[f64],
        reward: f64,
    ) -> Result<()> {
        self.inner.observe_in_block(round, block, features, reward)?;
        let Some(Waiting { action, propensity, features }) = self.waiting.remove(&round) else {
            return Ok(());
        };
        let (low, high) = self.bounds.rewards;
        writeln!(self.out, "{action},{propensity},{}{features}", reward.clamp(low, high))
            .map_err(|error| Error::unwritable(&file(&self.folder, self.trial), error))?;
        self.lines += 1;
        self.least_propensity = self.least_propensity.min(propensity);
        Ok(())
    }

    fn dismiss(&mut self, round: u64) {
        self.waiting.remove(&round);
        self.inner.dismiss(round);
    }

    fn turn_away(&mut self, round: u64) -> Result<()> {
        self.waiting.remove(&round);
        self.inner.turn_away(round)
    }

    fn pass(&mut self, round: u64) -> Result<()> {
        self.waiting.remove(&round);
        self.inner.pass(round)
    }
}

#[cfg(test)]
mod tests;
