//! A log that has been read through once, and what a trial on it is: see [`super`].

use std::path::PathBuf;

use reticent::{bandit::Arms, error::message};

use super::{
    super::{
        columns::Columns,
        items::{Arm, product},
        parameters::{Parameters, Shape},
        reward_model::RewardModel,
    },
    arm_columns::ArmColumns,
};
use crate::environment::bandit::TrialEnvironment;
use crate::{
    Result,
    csv::{Rows, unusable},
    environment::offline::{EFFECTIVE_SIZE, Evaluation, Interval, LOGGED, Line},
    play::{
        Learner,
        trial::{Checkpoint, Measure, Trial},
    },
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
    pub(super) offered: Offered,
    pub(super) rewards: (f64, f64),
    /// No weight is above it.
    pub(super) largest_weight: f64,
    /// Weights above it are possible, and count as it.
    pub(super) clips_weights: bool,
    /// Lines to train on.
    pub(super) rounds: u64,
    /// Parameters of actions, if the file says them.
    pub(super) parameters: Option<Parameters>,
    pub(super) remarks: Vec<String>,
    pub(super) hash: u64,
}

/// Parts of the arms of a decision.
#[derive(Debug)]
pub(super) enum Offered {
    /// The context, in one block an action.
    Blocks,
    /// Products of (1, context) with (item, 1), given for every action.
    Items(Vec<Vec<f64>>),
    /// Columns of the log.
    File(ArmColumns),
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
            let remedy = "the file has changed: run again";
            unusable(&self.path, message(format!("line {line}"), "another line", remedy))
        };
        let [action, propensity, reward] = self.places.map(|place| &cells[place]);
        let x = match (&self.context, &self.offered) {
            (_, Offered::File(columns)) => columns.features(cells).map_err(|_| changed())?,
            (Some(columns), Offered::Blocks) => columns.features(cells, line)?,
            (Some(columns), Offered::Items(_)) => {
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

    /// The form of arms.
    pub(super) fn shape(&self) -> Shape {
        let blocks = self.actions.len();
        match &self.offered {
            Offered::Blocks => Shape {
                features: self.width() + 1,
                blocks,
                shared: 1,
                parameters: self.parameters.unwrap_or(Parameters::PerArm),
            },
            Offered::Items(items) => {
                let item = items.first().map_or(0, Vec::len);
                Arm::of_items(self.parameters).shape(self.width(), item, blocks)
            }
            Offered::File(columns) => Shape {
                features: columns.dimension(),
                blocks: 1,
                shared: 0,
                parameters: Parameters::Dense,
            },
        }
    }

    /// The features of an action in a context.
    fn arm(&self, x: &[f64], action: usize) -> Vec<f64> {
        match &self.offered {
            Offered::Blocks => x.iter().copied().chain([0.5_f64.sqrt()]).collect(),
            Offered::Items(items) => Arm::of_items(self.parameters).features(x, &items[action]),
            Offered::File(columns) => {
                let d = columns.dimension();
                x[action * d..(action + 1) * d].to_vec()
            }
        }
    }

    /// The reward model: a regression for each action, or one for all where arms have features of their own.
    fn model(&self) -> RewardModel {
        match &self.offered {
            Offered::Blocks => RewardModel::new(self.actions.len(), self.width(), self.rewards),
            Offered::Items(items) => {
                let products = self.width() * items.first().map_or(0, Vec::len) + 1;
                RewardModel::new(1, products, self.rewards)
            }
            Offered::File(columns) => RewardModel::new(1, columns.dimension(), self.rewards),
        }
    }

    /// Regression of the model that an action belongs to, and its features.
    fn regressor(&self, x: &[f64], action: usize) -> (usize, Vec<f64>) {
        match &self.offered {
            Offered::Blocks => (action, x.to_vec()),
            Offered::Items(items) => (0, product(x, &items[action])),
            Offered::File(_) => (0, self.arm(x, action)),
        }
    }
}

/// Estimated earnings of the learner so far, each line judged by the policy of the moment before it was learnt from.
#[derive(Default)]
struct Progressive {
    weight: f64,
    weighted: f64,
}

impl TrialEnvironment for Log {
    fn asks_for_comparison(&self) -> bool {
        true
    }

    fn run(
        &self,
        _seed: u64,
        _trial: u64,
        learner: &mut dyn Learner,
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
        let gauge = crate::play::watch::Gauge::current();
        while let Some((line, cells)) = rows.next()? {
            gauge.reached(round.min(self.rounds))?;
            let Event { x, action, propensity, reward } = self.event(&cells, line)?;
            for arm in 0..arms.count() {
                arms.set(arm, &self.arm(&x, arm))?;
            }
            round += 1;
            let choice = learner.choose(&arms, round)?;
            // The evaluator asked, and the choice was not acted on.
            learner.dismiss(round);
            // The probability of every action under the policy of the moment: exact where it draws.
            let policy = match learner.probabilities(&arms)? {
                Some(probabilities) => probabilities,
                None => (0..arms.count()).map(|arm| f64::from(u8::from(arm == choice))).collect(),
            };
            let weight = (policy[action] / propensity).min(self.largest_weight);
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
                learner.choose(&offered, round)?;
                learner.observe_in_block(round, arms.block(action), &features, reward)?;
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
            let taken = policy.iter().enumerate().filter(|(_, probability)| **probability > 0.0);
            let predicted_of_policy = taken.map(|(arm, p)| p * predict(arm)).sum();
            let predicted = predict(action);
            evaluation.add(Line { weight, reward, predicted, predicted_of_policy });
        }
        // The log cannot tell the value of actions that its evaluation lines never took.
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
