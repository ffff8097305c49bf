//! `kind = "logged"`: learners are trained on a log of what somebody else did, and judged by it, without a single decision of their own.
//!
//! The log is a CSV file, one line a decision: features of the context, the action that was taken, with which probability (its propensity), and the
//! reward. Arms are made of contexts as in `table`, one block an action.
//!
//! **Training** (the first `rounds` lines, in the file's order) is by replay. The learner chooses; where its choice is the logged action, a coin
//! of probability `c/p` decides whether it sees the reward, c the least propensity. Every line is then seen with the same
//! probability c whatever the choice, so what the learner lives through has the law of a real run, only shorter (Li, Chu, Langford and Wang
//! 2011, for logs of uniform choices, where the coin always says yes; Dudik, Erhan, Langford and Li 2012). The average reward of those
//! rounds is the *replay* estimate: of the learner as it learns.
//!
//! **Evaluation** (all lines after that) is of the policy that has been learnt, frozen, bonus included: IPS, self-normalised and doubly robust,
//! see [`crate::offline`]. The reward model of the last is a ridge regression for each action, fitted to the training lines.
//!
//! The curve shows, after t lines, `t (highest reward - average reward of the rounds that were replayed)`.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use reticent::{Error as CoreError, bandit::Arms, noise::Noise};
use serde::{Deserialize, Serialize};

use super::{
    Circumstances, Missing, Setting, World,
    columns::{ColumnLines, Columns},
    reward_model::RewardModel,
};
use crate::{
    FastNoise, Result,
    contest::{Checkpoint, Measure, Trial, mix},
    csv::{Rows, unusable},
    offline::{Evaluation, Interval, Line, Mean},
    simulate::Player,
};

/// Propensities below this are warned of: one line may outweigh hundreds.
const SMALL: f64 = 0.01;
const MOST_ACTIONS: usize = 100;

/// What `kind = "logged"` takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoggedLines {
    /// The file, CSV with a line of names; relative to where the command is run.
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
    /// All actions, publicly known; by default those of the file.
    #[serde(default)]
    pub actions: Option<Vec<String>>,
    /// The least propensity, if the logging policy promises one; by default that of the file.
    #[serde(default)]
    pub least_propensity: Option<f64>,
    /// The columns that are features; all others by default.
    #[serde(default)]
    pub features: Option<Vec<String>>,
    /// The lowest and the highest number of a column, publicly known; by default what the file has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ranges: BTreeMap<String, (f64, f64)>,
    /// The words of a column, publicly known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub categories: BTreeMap<String, Vec<String>>,
    /// What is done about empty cells of features.
    #[serde(default)]
    pub missing: Missing,
}

fn action() -> String {
    "action".into()
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

/// A log that has been read through once.
#[derive(Debug)]
struct Log {
    path: PathBuf,
    columns: Columns,
    /// Places of action, propensity and reward.
    places: [usize; 3],
    actions: Vec<String>,
    rewards: (f64, f64),
    least: f64,
    /// Lines to train on.
    rounds: u64,
    remarks: Vec<String>,
    hash: u64,
}

/// A line that has been understood.
struct Event {
    x: Vec<f64>,
    action: usize,
    propensity: f64,
    reward: f64,
}

impl LoggedLines {
    /// What algorithms are told of the log, or what is wrong with it by line and column.
    pub(super) fn setting(&self, rounds: u64, circumstances: Circumstances) -> Result<Setting> {
        if !circumstances.is_calm() {
            let remedy = "a log has its own: leave them out";
            return Err(CoreError::invalid("circumstances", "given", remedy).into());
        }
        let log = self.read(rounds)?;
        let (arms, dimension) =
            (log.actions.len(), log.actions.len() * (log.columns.width() + 1) + 1);
        let mut protected = vec![
            format!(
                "it covers what the learner releases of the contexts and rewards of the first {rounds} lines, of which it sees those where its choice is the logged action; to a curator the others are contributions of zero, elsewhere which lines these are is taken to be public, as propensities are everywhere"
            ),
            "curves, replay values, estimates, intervals and counts are made from the lines as they are, those of the first part too, and are not covered".into(),
        ];
        protected.extend(log.columns.remarks());
        let world = |_| -> Arc<dyn World> { Arc::new(log) };
        Setting::of_a_file(dimension, arms, self.rewards, rounds, circumstances, protected, world)
    }

    fn read(&self, rounds: u64) -> Result<Log> {
        let path: &Path = &self.file;
        if let Some(least) = self.least_propensity
            && !(least > 0.0 && least <= 1.0)
        {
            let remedy = "give the least probability the logging policy takes, above 0 and up to 1";
            return Err(CoreError::invalid("least_propensity", least, remedy).into());
        }
        let (low, high) = self.rewards;
        if !(low < high && low.is_finite() && high.is_finite()) {
            let remedy = "give the lowest reward first, below the highest";
            return Err(CoreError::invalid("rewards", format!("[{low}, {high}]"), remedy).into());
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
        let lines = ColumnLines {
            features: self.features.as_deref(),
            ranges: &self.ranges,
            categories: &self.categories,
            missing: self.missing,
        };
        let mut columns = Columns::new(&rows, path, lines, &names)?;
        Columns::all_known(&[&columns], lines)?;
        let bad = |line: usize, reason: String| unusable(path, format!("line {line}: {reason}"));
        let mut counts: BTreeMap<String, u64> =
            self.actions.iter().flatten().map(|action| (action.clone(), 0)).collect();
        let (mut count, mut least, mut small) = (0_u64, f64::INFINITY, 0_u64);
        while let Some((line, cells)) = rows.next()? {
            columns.widen(&cells, line)?;
            let [action, propensity, reward] = places.map(|place| cells[place].as_str());
            if action.is_empty() {
                return Err(bad(line, format!("{} is missing: fill it in", self.action)));
            }
            if !counts.contains_key(action) {
                if self.actions.is_some() {
                    let known = counts.keys().cloned().collect::<Vec<_>>().join(", ");
                    let what = format!("{} is {action:?}; actions are {known}", self.action);
                    return Err(bad(line, format!("{what}: correct the cell, or list it")));
                }
                if counts.len() >= MOST_ACTIONS {
                    let what = format!("more than {MOST_ACTIONS} different actions");
                    return Err(bad(line, format!("{what}: give a column with fewer")));
                }
            }
            *counts.entry(action.to_string()).or_default() += 1;
            let p = number(propensity).filter(|p| *p > 0.0 && *p <= 1.0).ok_or_else(|| {
                let what = format!("{} is {propensity:?}", self.propensity);
                let why =
                    "give the probability with which the action was taken, above 0 and at most 1";
                bad(line, format!("{what}: {why}"))
            })?;
            number(reward).filter(|r| (low..=high).contains(r)).ok_or_else(|| {
                let what = format!("{} is {reward:?}", self.reward);
                bad(line, format!("{what}: give a number from {low} to {high}, or other `rewards`"))
            })?;
            if let Some(promised) = self.least_propensity
                && p < promised
            {
                let what =
                    format!("{} is {p}, below least_propensity = {promised}", self.propensity);
                return Err(bad(line, format!("{what}: promise less")));
            }
            least = least.min(p);
            small += u64::from(p < SMALL);
            count += 1;
        }
        if counts.len() < 2 {
            return Err(unusable(path, "it has fewer than 2 actions: nothing to choose".into()));
        }
        if rounds.saturating_add(2) > count {
            let remedy = format!(
                "the log has {count} lines; the first `rounds` train and the rest evaluates, so give at most {}",
                count.saturating_sub(2)
            );
            return Err(CoreError::invalid("rounds", rounds, remedy).into());
        }
        columns.settle()?;
        let mut remarks = vec![format!(
            "{count} logged decisions: the first {rounds} train by replay, the other {} evaluate the policy learnt, frozen, with normal intervals of 95 %; trials differ in the learner's noise only, so +- between them is not an interval. Regret is against earning {high} every time, estimated by replay",
            count - rounds
        )];
        remarks.extend(columns.remarks());
        remarks.extend(columns.clipped());
        let absent: Vec<&str> =
            counts.iter().filter(|(_, n)| **n == 0).map(|(name, _)| name.as_str()).collect();
        if !absent.is_empty() {
            remarks.push(format!(
                "NO SUPPORT: the log never takes {}; what a policy would earn there is unknown, and every estimate counts it as 0 or as the model's guess",
                absent.join(", ")
            ));
        }
        if small > 0 {
            remarks.push(format!(
                "{small} propensities are below {SMALL}, the least is {least}: a single line may decide the estimates; look at the effective sample size"
            ));
        }
        if self.actions.is_none() || self.least_propensity.is_none() {
            let what = "actions and the least propensity";
            remarks
                .push(format!("{what} were taken from the log unless given: they must be public"));
        }
        Ok(Log {
            path: path.to_path_buf(),
            columns,
            places,
            actions: counts.into_keys().collect(),
            rewards: self.rewards,
            least: self.least_propensity.unwrap_or(least),
            rounds,
            remarks,
            hash: rows.hash(),
        })
    }
}

fn number(cell: &str) -> Option<f64> {
    cell.parse::<f64>().ok().filter(|value| value.is_finite())
}

impl Log {
    fn event(&self, cells: &[String], line: usize) -> Result<Event> {
        let changed = || {
            let reason = format!("line {line} is not what it was: the file has changed, run again");
            unusable(&self.path, reason)
        };
        let [action, propensity, reward] = self.places.map(|place| &cells[place]);
        Ok(Event {
            x: self.columns.features(cells, line)?,
            action: self.actions.binary_search(action).map_err(|_| changed())?,
            propensity: number(propensity).ok_or_else(changed)?,
            reward: number(reward).ok_or_else(changed)?,
        })
    }

    /// The arms of a context: one block an action.
    fn arms(&self, x: &[f64], arms: &mut Arms) -> Result<()> {
        let dimension = arms.dimension();
        for arm in 0..arms.count() {
            let mut features = vec![0.0; dimension];
            features[arm * x.len()..(arm + 1) * x.len()].copy_from_slice(x);
            features[dimension - 1] = 0.5_f64.sqrt();
            arms.set(arm, &features)?;
        }
        Ok(())
    }
}

impl World for Log {
    fn trial(
        &self,
        seed: u64,
        trial: u64,
        player: &mut dyn Player,
        checkpoints: &[u64],
    ) -> Result<Trial> {
        let mut coins = FastNoise::seeded(mix(seed, trial));
        let mut rows = Rows::open(&self.path)?;
        let width = self.columns.width() + 1;
        let mut arms = Arms::zeros(self.actions.len() * width + 1, self.actions.len())?;
        let mut model = RewardModel::new(self.actions.len(), width, self.rewards);
        let (mut replayed, mut evaluation) = (Mean::default(), Evaluation::default());
        let (mut curve, mut next) = (Vec::new(), checkpoints.iter().peekable());
        let (mut round, mut fitted) = (0, None);
        let mut chosen = vec![[0_u64; 2]; self.actions.len()];
        let gauge = crate::watch::Gauge::current();
        while let Some((line, cells)) = rows.next()? {
            gauge.reached(round.min(self.rounds))?;
            let event = self.event(&cells, line)?;
            self.arms(&event.x, &mut arms)?;
            round += 1;
            let choice = player.choose(&arms, round)?;
            if round <= self.rounds {
                model.add(event.action, &event.x, event.reward);
                let coin = coins.uniform() * event.propensity < self.least;
                if choice == event.action && coin {
                    replayed.add(event.reward);
                    player.observe(round, &arms.arm(choice), event.reward)?;
                } else {
                    player.pass(round)?;
                }
                if next.next_if(|checkpoint| **checkpoint == round).is_some() {
                    let (low, high) = self.rewards;
                    let mean = if replayed.count() > 0.0 { replayed.interval().value } else { low };
                    curve.push(Checkpoint { round, regret: round as f64 * (high - mean) });
                }
                continue;
            }
            let rewards = match &fitted {
                Some(rewards) => rewards,
                None => fitted.insert(model.fit()?),
            };
            player.dismiss(round);
            chosen[choice][0] += 1;
            chosen[event.action][1] += 1;
            let agrees = choice == event.action;
            evaluation.add(Line {
                weight: if agrees { 1.0 / event.propensity } else { 0.0 },
                reward: event.reward,
                predicted: rewards.predict(event.action, &event.x),
                predicted_of_policy: rewards.predict(choice, &event.x),
            });
        }
        // What the policy does where the evaluation lines never did: nobody can tell.
        let unseen: u64 = chosen.iter().filter(|[_, logged]| *logged == 0).map(|[n, _]| n).sum();
        Ok(Trial { curve, measures: measures(&replayed, &evaluation, unseen) })
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
    }

    fn data_hash(&self) -> u64 {
        self.hash
    }
}

fn measures(replayed: &Mean, evaluation: &Evaluation, unseen: u64) -> Vec<Measure> {
    let mut all = Vec::new();
    let mut add = |names: [&'static str; 3], Interval { value, low, high }: Interval| {
        let values = names.into_iter().zip([value, low, high]);
        all.extend(values.map(|(what, value)| Measure { what, value }));
    };
    add(["IPS value", "IPS value, 95 % low", "IPS value, 95 % high"], evaluation.ips());
    add(
        [
            "self-normalised value",
            "self-normalised value, 95 % low",
            "self-normalised value, 95 % high",
        ],
        evaluation.self_normalised(),
    );
    add(
        ["doubly robust value", "doubly robust value, 95 % low", "doubly robust value, 95 % high"],
        evaluation.doubly_robust(),
    );
    add(
        [
            "replay value, while learning",
            "replay value, while learning, 95 % low",
            "replay value, while learning, 95 % high",
        ],
        replayed.interval(),
    );
    add(["logged value", "logged value, 95 % low", "logged value, 95 % high"], evaluation.logged());
    let counts = [
        ("effective sample size", evaluation.effective_size()),
        ("largest weight", evaluation.largest_weight()),
        ("rounds replayed", replayed.count()),
        ("choices without support", unseen as f64),
    ];
    all.extend(counts.map(|(what, value)| Measure { what, value }));
    all
}

#[cfg(test)]
mod tests;
