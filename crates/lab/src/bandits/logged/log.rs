//! A log that has been read through once, and what a trial on it is: see [`super`].

use std::path::PathBuf;

use reticent::bandit::Arms;

use super::super::{
    World,
    columns::Columns,
    items::{Arm, product},
    parameters::{Parameters, Shape},
    reward_model::RewardModel,
};
use crate::{
    Result,
    csv::{Rows, unusable},
    offline::{EFFECTIVE_SIZE, Evaluation, Interval, LOGGED, Line},
    simulate::Player,
    trial::{Checkpoint, Measure, Trial},
};

/// The estimate that stands first.
const HEADLINE: &str = "doubly robust value";

/// A log that has been read through once.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) path: PathBuf,
    /// Features of contexts; a log of items may have none.
    pub(super) context: Option<Columns>,
    /// Places of action, propensity and reward.
    pub(super) places: [usize; 3],
    /// Sorted.
    pub(super) actions: Vec<String>,
    /// (item, 1) of every action, where actions are items with features.
    pub(super) items: Option<Vec<Vec<f64>>>,
    pub(super) rewards: (f64, f64),
    /// No weight is above it.
    pub(super) largest_weight: f64,
    /// Weights above it are possible, and count as it.
    pub(super) clips_weights: bool,
    /// Lines to train on.
    pub(super) rounds: u64,
    /// Which parameters actions have, where it was said.
    pub(super) parameters: Option<Parameters>,
    pub(super) remarks: Vec<String>,
    pub(super) hash: u64,
}

/// A line that has been understood.
struct Event {
    x: Vec<f64>,
    action: usize,
    propensity: f64,
    reward: f64,
}

/// A finite number.
pub(super) fn number(cell: &str) -> Option<f64> {
    cell.parse::<f64>().ok().filter(|value| value.is_finite())
}

impl Log {
    fn event(&self, cells: &[String], line: usize) -> Result<Event> {
        let changed = || {
            let reason = format!("line {line} is not what it was: the file has changed, run again");
            unusable(&self.path, reason)
        };
        let [action, propensity, reward] = self.places.map(|place| &cells[place]);
        let x = match (&self.context, &self.items) {
            (Some(columns), None) => columns.features(cells, line)?,
            (Some(columns), Some(_)) => {
                std::iter::once(1.0).chain(columns.raw(cells, line)?).collect()
            }
            (None, _) => vec![1.0],
        };
        Ok(Event {
            x,
            action: self.actions.binary_search(action).map_err(|_| changed())?,
            propensity: number(propensity).ok_or_else(changed)?,
            reward: number(reward).ok_or_else(changed)?,
        })
    }

    /// Features of what is known of a context: x.
    fn width(&self) -> usize {
        self.context.as_ref().map_or(0, Columns::width) + 1
    }

    /// The form of arms: one block an action, or products with what the item is.
    pub(super) fn shape(&self) -> Shape {
        let blocks = self.actions.len();
        match &self.items {
            None => Shape {
                features: self.width() + 1,
                blocks,
                shared: 1,
                parameters: self.parameters.unwrap_or(Parameters::PerArm),
            },
            Some(items) => {
                let item = items.first().map_or(0, Vec::len);
                Arm::of_items(self.parameters).shape(self.width(), item, blocks)
            }
        }
    }

    /// The features of an action in a context.
    fn arm(&self, x: &[f64], action: usize) -> Vec<f64> {
        match &self.items {
            None => x.iter().copied().chain([0.5_f64.sqrt()]).collect(),
            Some(items) => Arm::of_items(self.parameters).features(x, &items[action]),
        }
    }

    /// The reward model: a regression for each action, or one for all items.
    fn model(&self) -> RewardModel {
        match &self.items {
            None => RewardModel::new(self.actions.len(), self.width(), self.rewards),
            Some(items) => {
                let products = self.width() * items.first().map_or(0, Vec::len) + 1;
                RewardModel::new(1, products, self.rewards)
            }
        }
    }

    /// Which regression of the model an action belongs to, and its features.
    fn regressor(&self, x: &[f64], action: usize) -> (usize, Vec<f64>) {
        match &self.items {
            None => (action, x.to_vec()),
            Some(items) => (0, product(x, &items[action])),
        }
    }
}

/// What the learner would have earned so far, each line judged by the policy of the moment before it was learnt from.
#[derive(Default)]
struct Progressive {
    weight: f64,
    weighted: f64,
}

impl World for Log {
    fn trial(
        &self,
        _seed: u64,
        _trial: u64,
        player: &mut dyn Player,
        checkpoints: &[u64],
    ) -> Result<Trial> {
        let mut rows = Rows::open(&self.path)?;
        let Shape { features: n, blocks, .. } = self.shape();
        let mut arms = Arms::zeros(n, self.actions.len())?;
        let mut offered = Arms::zeros(n, 1)?;
        if blocks > 1 {
            arms.set_blocks(&Vec::from_iter(0..blocks))?;
        }
        let mut model = self.model();
        let mut progressive = Progressive::default();
        let mut evaluation = match self.clips_weights {
            true => Evaluation::clipping(self.rewards, self.largest_weight),
            false => Evaluation::new(self.rewards, self.largest_weight),
        };
        let (mut curve, mut next) = (Vec::new(), checkpoints.iter().peekable());
        let (mut round, mut fitted) = (0, None);
        let mut chosen = vec![[0_u64; 2]; self.actions.len()];
        let gauge = crate::watch::Gauge::current();
        while let Some((line, cells)) = rows.next()? {
            gauge.reached(round.min(self.rounds))?;
            let Event { x, action, propensity, reward } = self.event(&cells, line)?;
            for arm in 0..arms.count() {
                arms.set(arm, &self.arm(&x, arm))?;
            }
            round += 1;
            let choice = player.choose(&arms, round)?;
            // That question was the evaluator's: nobody acted on the answer.
            player.dismiss(round);
            let agrees = choice == action;
            let weight = if agrees { (1.0 / propensity).min(self.largest_weight) } else { 0.0 };
            if round <= self.rounds {
                progressive.weight += weight;
                progressive.weighted += weight * reward;
                let (regression, features) = self.regressor(&x, action);
                model.add(regression, &features, reward);
                // The learner is offered what was done, and learns from what came of it.
                let features = arms.arm(action);
                offered.set(0, &features)?;
                if blocks > 1 {
                    offered.set_blocks(&[action])?;
                }
                player.choose(&offered, round)?;
                player.observe_in_block(round, arms.block(action), &features, reward)?;
                if next.next_if(|checkpoint| **checkpoint == round).is_some() {
                    let (low, high) = self.rewards;
                    let Progressive { weight, weighted } = progressive;
                    let mean = if weight > 0.0 { weighted / weight } else { low };
                    curve.push(Checkpoint { round, regret: round as f64 * (high - mean) });
                }
                continue;
            }
            let rewards = match &fitted {
                Some(rewards) => rewards,
                None => fitted.insert(model.fit()?),
            };
            chosen[choice][0] += 1;
            chosen[action][1] += 1;
            let predict = |action: usize| {
                let (regression, features) = self.regressor(&x, action);
                rewards.predict(regression, &features)
            };
            let (predicted, predicted_of_policy) = (predict(action), predict(choice));
            evaluation.add(Line { weight, reward, predicted, predicted_of_policy });
        }
        // What the policy does where the evaluation lines never did: nobody can tell.
        let unseen: u64 = chosen.iter().filter(|[_, logged]| *logged == 0).map(|[n, _]| n).sum();
        Ok(Trial { curve, measures: measures(&evaluation, self.rounds, unseen) })
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
    }

    fn headline(&self) -> Option<&'static str> {
        Some(HEADLINE)
    }

    fn data_hash(&self) -> u64 {
        self.hash
    }
}

fn measures(evaluation: &Evaluation, rounds: u64, unseen: u64) -> Vec<Measure> {
    let mut all = Vec::new();
    let mut add = |names: [&'static str; 3], Interval { value, ends }: Interval| {
        let (low, high) = ends.unwrap_or((f64::NAN, f64::NAN));
        let values = names.into_iter().zip([value, low, high]);
        all.extend(values.map(|(what, value)| Measure { what, value }));
    };
    let robust = evaluation.doubly_robust();
    add([HEADLINE, "doubly robust value, 95 % low", "doubly robust value, 95 % high"], robust);
    add(
        [
            "self-normalised value",
            "self-normalised value, 95 % low",
            "self-normalised value, 95 % high",
        ],
        evaluation.self_normalised(),
    );
    add(["IPS value", "IPS value, 95 % low", "IPS value, 95 % high"], evaluation.ips());
    add([LOGGED, "logged value, 95 % low", "logged value, 95 % high"], evaluation.logged());
    let counts = [
        (EFFECTIVE_SIZE, evaluation.effective_size()),
        ("largest weight", evaluation.largest_weight()),
        ("lines learnt from", rounds as f64),
        ("choices without support", unseen as f64),
    ];
    all.extend(counts.map(|(what, value)| Measure { what, value }));
    all
}
