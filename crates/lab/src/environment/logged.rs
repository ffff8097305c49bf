//! `kind = "logged"`: learners are trained on a log of another policy's decisions, and judged by it, without a single decision of their own.
//!
//! The log is a CSV file, one line a decision: features of the context, the action that was taken, with which probability (its propensity), and the
//! reward. Arms are made of contexts as in `table`, one block of parameters an action.
//!
//! If actions are items with features of their own, `items` names a file of them, and an arm is made of the context and the item as in
//! `items`: the number of features does not grow with the number of items.
//!
//! With `arms_in_file` the log itself holds the features of every arm of every decision, as the `log` of a run does: columns `arm<action>_<i>`,
//! i from 0, of norm at most 1 an arm.
//!
//! **Training** (the first `rounds` lines, in the file's order) is on every line: the learner is offered the logged action only, so it takes it, and
//! sees the reward. Each line is one contribution of one person, whatever the learner would have done, so nothing about the learner decides
//! whose data are used, and its certificate is that of as many people. A learner with a confidence set explores less here than it would
//! by itself; what it can know is what the log explored.
//!
//! **Evaluation** (all lines after that) is of the policy that has been learnt, frozen, bonus included, on lines that it has not seen: judged on those it
//! was trained on, its estimates would be too high. IPS, self-normalised and doubly robust, with intervals that hold at any number of rewards:
//! see [`crate::environment::offline`]. The reward model of the last is a ridge regression for each action (or one for all items), fitted to the training
//! lines.
//!
//! The curve is by progressive validation: every training line is judged before it is learnt from, by what the policy of that moment would have
//! done; after t lines it shows `t (highest reward - self-normalised mean so far)`. It has no interval.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use reticent::{Error as CoreError, error::message, randomize::Bounds, schema::PositiveShare};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::{
    arm_columns::ArmColumns,
    log::{Log, Offered, number},
};
use super::{
    bandit::{BanditEnvironment, TrialEnvironment},
    columns::Missing,
    modifiers::Modifiers,
};
use super::{
    columns::{Columns, ColumnsToml},
    items::Named,
    parameters::Parameters,
};
use crate::{
    Result,
    csv::{Rows, unusable},
    environment::offline::{LEAST_EFFECTIVE_SIZE, Propensities},
    play::trial::mix,
};

mod arm_columns;
mod log;

/// Propensities below this are warned of: one line may outweigh hundreds.
const SMALL: f64 = 0.01;
/// Actions without features of their own, at most: each has a block of features.
const MOST_ACTIONS: usize = 100;

/// Keys of `kind = "logged"`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoggedToml {
    /// The file, CSV with a line of names; relative to the file that names it.
    pub file: PathBuf,
    /// The column of the action that was taken.
    #[serde(default = "action")]
    pub action: String,
    /// The column of the probability with which it was.
    #[serde(default = "propensity")]
    pub propensity: String,
    /// The column of the reward.
    #[serde(default = "reward")]
    pub reward: String,
    /// The lowest and the highest reward, publicly known.
    #[serde(default = "unit")]
    pub rewards: (f64, f64),
    /// All actions, publicly known; by default those of the file, or of `items`.
    pub actions: Option<Vec<String>>,
    /// A file with a line for each action: its name, and its features.
    pub items: Option<PathBuf>,
    /// The column of names in `items`.
    #[serde(default = "item")]
    pub item: String,
    /// The columns of `items` that are features; all others by default.
    pub item_features: Option<Vec<String>>,
    /// Tells whether features of arms are columns of the log, `arm<action>_<i>`.
    #[serde(default)]
    pub arms_in_file: bool,
    /// The least propensity, if the logging policy promises one; by default that of the file.
    #[schemars(with = "Option<PositiveShare>")]
    pub least_propensity: Option<f64>,
    /// Weights (1 over a propensity) above this count as this: estimates vary less, and are too low.
    #[schemars(range(min = 1))]
    pub clip_weights: Option<f64>,
    /// The columns that are features; all others by default.
    pub features: Option<Vec<String>>,
    /// The lowest and the highest number of a column, publicly known; by default what the file has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ranges: BTreeMap<String, (f64, f64)>,
    /// The words of a column, publicly known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub categories: BTreeMap<String, Vec<String>>,
    /// Columns of words without a list, each with the number of buckets that they are hashed into.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hashes: BTreeMap<String, u32>,
    /// Treatment of empty cells of features.
    #[serde(default)]
    pub missing: Missing,
    /// Parameters of actions: by default `per_arm`, and `dense` where they are items with features.
    #[serde(default)]
    pub parameters: Option<Parameters>,
}

fn action() -> String {
    "action".into()
}

fn item() -> String {
    "item".into()
}

fn propensity() -> String {
    "propensity".into()
}

fn reward() -> String {
    "reward".into()
}

fn unit() -> (f64, f64) {
    (0.0, 1.0)
}

impl LoggedToml {
    /// Reads the log; an error names the line and the column.
    pub(crate) fn environment(
        &self,
        rounds: u64,
        modifiers: Modifiers,
    ) -> Result<BanditEnvironment> {
        if !modifiers.is_calm() {
            let remedy = "a log has its own: leave them out";
            return Err(CoreError::invalid("modifiers", "a value", remedy).into());
        }
        let log = self.read(rounds)?;
        let (arms, shape) = (log.actions.len(), log.shape());
        let mut protected = vec![
            format!(
                "every one of the first {rounds} lines is one contribution, of its context, its action and its reward, and is learnt from whatever the learner would have done; a person with several lines takes part several times"
            ),
            "curves, estimates, intervals and counts are made from the lines as they are, those of the first part too, and are not covered".into(),
        ];
        protected.extend(log.context.iter().flat_map(Columns::remarks));
        let own = matches!(log.offered, Offered::File(_));
        let trials = |_| -> Arc<dyn TrialEnvironment> { Arc::new(log) };
        let environment = BanditEnvironment::of_a_file(
            shape,
            arms,
            self.rewards,
            rounds,
            modifiers,
            protected,
            trials,
        )?;
        // Nothing is known of arms in a file but that their norm is at most 1.
        let bounds = Bounds { rewards: self.rewards, ..Bounds::unit(shape.features) };
        Ok(if own { BanditEnvironment { bounds, ..environment } } else { environment })
    }

    fn read(&self, rounds: u64) -> Result<Log> {
        let path: &Path = &self.file;
        if let Some(least) = self.least_propensity
            && !(least > 0.0 && least <= 1.0)
        {
            let remedy =
                "expected the least probability the logging policy takes, above 0 and up to 1";
            return Err(CoreError::invalid("least_propensity", least, remedy).into());
        }
        let (low, high) = self.rewards;
        if !(low < high && low.is_finite() && high.is_finite()) {
            let remedy = "expected the lowest reward first, below the highest";
            return Err(CoreError::invalid("rewards", format!("[{low}, {high}]"), remedy).into());
        }
        if let Some(most) = self.clip_weights
            && !(most >= 1.0 && most.is_finite())
        {
            let remedy = "weights are 1 over a propensity; expected the largest to keep, 1 or more";
            return Err(CoreError::invalid("clip_weights", most, remedy).into());
        }
        let mut rows = Rows::open(path)?;
        let names = [&self.action, &self.propensity, &self.reward].map(String::as_str);
        let mut places = [0; 3];
        for (place, name) in places.iter_mut().zip(names) {
            *place = rows.column(name)?;
        }
        if places[0] == places[1] || places[1] == places[2] || places[0] == places[2] {
            let remedy = "action, propensity and reward are three columns: name each once";
            return Err(CoreError::invalid("action", names.join(", "), remedy).into());
        }
        let lines = |features| ColumnsToml {
            features,
            ranges: &self.ranges,
            categories: &self.categories,
            hashes: &self.hashes,
            missing: self.missing,
            products: None,
            fourier: None,
        };
        let given = self.features.is_some() || self.item_features.is_some() || self.items.is_some();
        let described =
            !self.ranges.is_empty() || !self.categories.is_empty() || !self.hashes.is_empty();
        let why = "features are those of the arms in the log (arms_in_file)";
        crate::lines::nothing_is_ignored(&[
            ("features", self.arms_in_file && (given || described), why),
            ("actions", self.arms_in_file && self.actions.is_some(), why),
        ])?;
        let own = self.arms_in_file.then(|| ArmColumns::of(&rows, path)).transpose()?;
        let items = match &self.items {
            Some(path) => {
                Some(Named::read(path, &self.item, lines(self.item_features.as_deref()))?)
            }
            None => None,
        };
        // A log of items needs no other features.
        let features = self.features.as_deref();
        let bare = features.map_or(rows.names().len() == names.len(), <[String]>::is_empty);
        let mut context = match &items {
            _ if own.is_some() => None,
            Some(_) if bare => None,
            _ => Some(Columns::new(&rows, path, lines(features), &names)?),
        };
        let of_items = items.iter().map(|items| &items.columns);
        let files: Vec<&Columns> = of_items.chain(&context).collect();
        Columns::all_known(&files, lines(None))?;
        let known = match &own {
            Some(own) => Some(own.actions().map(String::from).collect()),
            None => self.known_actions(items.as_ref())?,
        };
        let bad = |line: usize, reason: String| unusable(path, format!("line {line}, {reason}"));
        let mut counts: BTreeMap<String, u64> =
            known.iter().flatten().map(|action| (action.clone(), 0)).collect();
        let (mut count, mut least, mut small) = (0_u64, f64::INFINITY, 0_u64);
        let mut propensities = Propensities::default();
        while let Some((line, cells)) = rows.next()? {
            if let Some(columns) = &mut context {
                columns.widen(&cells, line)?;
            }
            if let Some(own) = &own {
                own.features(&cells).map_err(|reason| bad(line, reason))?;
            }
            let [action, propensity, reward] = places.map(|place| cells[place].as_str());
            if action.is_empty() {
                return Err(bad(line, message(&self.action, "missing", "fill it in")));
            }
            if !counts.contains_key(action) {
                if known.is_some() {
                    let some: Vec<&str> = counts.keys().take(10).map(String::as_str).collect();
                    let more = if counts.len() > some.len() { ", ..." } else { "" };
                    let remedy = format!(
                        "actions are {}{more}: correct the cell, or list it",
                        some.join(", ")
                    );
                    let found = format!("{action:?}");
                    return Err(bad(line, message(&self.action, found, remedy)));
                }
                if counts.len() >= MOST_ACTIONS {
                    let found = format!("more than {MOST_ACTIONS} different actions");
                    let remedy = "expected a column with fewer";
                    return Err(bad(line, message(&self.action, found, remedy)));
                }
            }
            *counts.entry(action.to_string()).or_default() += 1;
            let p = number(propensity).filter(|p| *p > 0.0 && *p <= 1.0).ok_or_else(|| {
                let remedy =
                    "expected the probability with which the action was taken, above 0 and at most 1";
                bad(line, message(&self.propensity, format!("{propensity:?}"), remedy))
            })?;
            number(reward).filter(|r| (low..=high).contains(r)).ok_or_else(|| {
                let remedy = format!("expected a number from {low} to {high}, or other `rewards`");
                bad(line, message(&self.reward, format!("{reward:?}"), remedy))
            })?;
            if let Some(promised) = self.least_propensity
                && p < promised
            {
                let remedy =
                    format!("expected at least least_propensity = {promised}; promise less");
                return Err(bad(line, message(&self.propensity, p, remedy)));
            }
            propensities.add(action, p);
            least = least.min(p);
            small += u64::from(p < SMALL);
            count += 1;
        }
        if counts.len() < 2 {
            return Err(unusable(
                path,
                message(
                    "actions",
                    "fewer than 2",
                    "there is nothing to choose; expected 2 or more",
                ),
            ));
        }
        if rounds.saturating_add(2) > count {
            let remedy = format!(
                "the log has {count} lines; the first `rounds` train and the rest evaluates; expected at most {}",
                count.saturating_sub(2)
            );
            return Err(CoreError::invalid("rounds", rounds, remedy).into());
        }
        if let Some(columns) = &mut context {
            columns.settle()?;
        }
        let mut remarks = vec![format!(
            "{count} logged decisions: the first {rounds} train, all of them, by offering the logged action only; the other {} estimate what the policy learnt, frozen, would earn. Intervals of 95 % hold at any number of rewards, if lines are independent draws and propensities are right; none is given below an effective sample size of {LEAST_EFFECTIVE_SIZE}, or where no one law explains the lines. Trials differ in the learner's noise only; the interval stated holds their mean, from the lowest to the highest end of theirs",
            count - rounds
        )];
        let of_items = items.iter().map(|items| &items.columns);
        for columns in of_items.chain(&context) {
            remarks.extend(columns.remarks());
            remarks.extend(columns.clipped());
        }
        if let Some(most) = self.clip_weights {
            remarks.push(format!(
                "weights above {most} count as {most} (clip_weights): estimates are biased; intervals are wider for it, and hold for what the policy earns"
            ));
        }
        let absent: Vec<&str> =
            counts.iter().filter(|(_, n)| **n == 0).map(|(name, _)| name.as_str()).collect();
        if !absent.is_empty() {
            remarks.push(format!(
                "NO SUPPORT: the log never takes {}; what a policy would earn there is unknown, and every estimate counts it as 0 or as the model's guess",
                absent.join(", ")
            ));
        }
        remarks.extend(propensities.warnings());
        if small > 0 {
            remarks.push(format!(
                "{small} propensities are below {SMALL}, the least is {least}: a single line may decide the estimates; look at the effective sample size, or give clip_weights"
            ));
        }
        if known.is_none() || self.least_propensity.is_none() {
            let what = "actions and the least propensity";
            remarks
                .push(format!("{what} were taken from the log unless given: they must be public, and intervals rest on no action having been less likely"));
        }
        let least = self.least_propensity.unwrap_or(least);
        let actions: Vec<String> = counts.into_keys().collect();
        let hash = items.as_ref().map_or(rows.hash(), |items| mix(rows.hash(), items.hash));
        let of_item = |items: &Named, action: &String| -> Vec<f64> {
            items.features[action].iter().copied().chain([1.0]).collect()
        };
        Ok(Log {
            path: path.to_path_buf(),
            context,
            places,
            offered: match (items, own) {
                (_, Some(own)) => Offered::File(own),
                (Some(items), _) => {
                    Offered::Items(actions.iter().map(|action| of_item(&items, action)).collect())
                }
                (None, None) => Offered::Blocks,
            },
            actions,
            rewards: self.rewards,
            largest_weight: self.clip_weights.unwrap_or(f64::INFINITY).min(1.0 / least),
            clips_weights: self.clip_weights.is_some_and(|most| most < 1.0 / least),
            rounds,
            parameters: self.parameters,
            remarks,
            hash,
        })
    }

    /// The actions that are known before the log is read: those listed, or all items.
    fn known_actions(&self, items: Option<&Named>) -> Result<Option<Vec<String>>> {
        let Some(items) = items else { return Ok(self.actions.clone()) };
        let Some(actions) = &self.actions else {
            return Ok(Some(items.features.keys().cloned().collect()));
        };
        match actions.iter().find(|action| !items.features.contains_key(*action)) {
            None => Ok(Some(actions.clone())),
            Some(action) => {
                let remedy = "it has no line in `items`: add one, or leave it out";
                Err(CoreError::invalid("actions", action, remedy).into())
            }
        }
    }
}

#[cfg(test)]
mod tests;
