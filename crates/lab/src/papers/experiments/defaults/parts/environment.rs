//! People and rewards for a file of features: every part has effects of the size that estimates assume, drawn coordinate by coordinate.

use std::collections::VecDeque;

use reticent::{
    bandit::{Arms, CROSS, Curator, MAIN},
    features::{Encoding, Map, Part, PartKind, Report, Value},
    noise::Noise,
    release::ContributionSums,
};

use super::{
    Gained,
    files::{File, Plans},
};
use crate::{FastNoise, Result};

/// Actions of a decision.
const ACTIONS: usize = 10;
/// Decisions that every release is tried on.
const TRIED: usize = 400;
/// Distance of the mean reward from the middle of its range, as estimates assume it.
const MEAN: f64 = -0.5;

/// A decision: one row for each action.
type Rows = Vec<Vec<f64>>;

pub(super) struct FeatureEnvironment<'a> {
    plans: &'a Plans,
    /// theta*, for rewards in [-1, 1].
    truth: Vec<f64>,
    source: FastNoise,
}

impl<'a> FeatureEnvironment<'a> {
    pub fn new(plans: &'a Plans, seed: u64) -> Self {
        let mut source = FastNoise::seeded(1000 + seed);
        let features = &plans.features;
        let mut truth = vec![0.0; features.dimension()];
        for part in features.parts() {
            let size = match part.kind {
                PartKind::Context | PartKind::Action | PartKind::Match => MAIN,
                _ => CROSS,
            };
            let size = size / features.moment(part).sqrt() / part.weight;
            let place = part.offset..part.offset + part.cells;
            truth[place].iter_mut().for_each(|theta| *theta = size * source.standard_normal());
        }
        if let (Some(constant), Some(last)) = (features.constant(), truth.last_mut()) {
            *last = MEAN / constant;
        }
        FeatureEnvironment { plans, truth, source }
    }

    fn record(&mut self, features: &Map<Encoding>) -> Value {
        let mut value = |encoding: &Encoding| {
            let mut below = |count: usize| (self.source.uniform() * count as f64) as usize;
            match encoding {
                Encoding::Range(low, high) => {
                    Value::Number(low + (high - low) * self.source.uniform())
                }
                Encoding::Categories(words) => Value::Text(words[below(words.len())].clone()),
                Encoding::Hash { buckets } => Value::Integer(below(4 * *buckets as usize) as i128),
                Encoding::Cycle(period) => Value::Number(period * self.source.uniform()),
                Encoding::Bins(edges) => match below(edges.len() + 1) {
                    0 => Value::Number(edges[0] - 1.0),
                    place => Value::Number(edges[place - 1]),
                },
            }
        };
        Value::Record(
            features.iter().map(|(name, encoding)| (name.clone(), value(encoding))).collect(),
        )
    }

    fn rows(&mut self) -> Rows {
        let params = self.plans.features.params().clone();
        let context = self.record(&params.context);
        let actions: Vec<Value> = (0..ACTIONS).map(|_| self.record(&params.action)).collect();
        self.plans.features.rows(&context, &actions, &mut Report::default())
    }

    /// Gains at releases along the way, by part and, last, by all.
    pub fn play(mut self, file: &File) -> Result<Vec<Gained>> {
        let tried: Vec<Rows> = (0..TRIED).map(|_| self.rows()).collect();
        let mut curator = self.plans.learner.clone().curator(self.source.split()?);
        let mut waiting: VecDeque<ContributionSums> = VecDeque::new();
        let (mut curve, mut next) = (Vec::new(), 1.0_f64);
        for tick in 1..=file.ticks {
            let mut sums = curator.no_sums();
            for _ in 0..file.per_tick {
                let rows = self.rows();
                let arms = Arms::from_rows(self.plans.features.dimension(), &rows)?;
                let randomness = self.source.bits();
                let arm = curator.choose(&arms, randomness)?.arm;
                let mean = dot(&self.truth, &rows[arm]).clamp(-1.0, 1.0);
                let reward = f64::from(u8::from(self.source.uniform() < 0.5 * (1.0 + mean)));
                sums.add(&curator.contribution(&rows[arm], reward)?)?;
            }
            waiting.push_back(sums);
            let mut due = match waiting.len() as u64 > file.delay {
                true => waiting.pop_front().unwrap_or_else(|| curator.no_sums()),
                false => curator.no_sums(),
            };
            curator.tick(&mut due)?;
            if tick as f64 >= next || tick == file.ticks {
                next = (tick as f64 * 1.1).max(tick as f64 + 1.0).floor();
                curve.push(self.gained(&curator, &tried, tick * file.per_tick)?);
            }
        }
        Ok(curve)
    }

    fn gained(
        &mut self,
        curator: &Curator<FastNoise>,
        tried: &[Rows],
        events: u64,
    ) -> Result<Gained> {
        let features = &self.plans.features;
        let deciding: Vec<&Part> = features.parts().iter().filter(decides).collect();
        let (truth, learnt) =
            (effects(self.plans, &self.truth), effects(self.plans, curator.policy().theta()));
        let mut at = Gained {
            events,
            gained: vec![0.0; deciding.len() + 1],
            possible: vec![0.0; deciding.len() + 1],
        };
        for rows in tried {
            for (place, part) in deciding.iter().enumerate() {
                let of = part.offset..part.offset + part.cells;
                let by = |theta: &[f64]| -> Vec<f64> {
                    rows.iter().map(|row| dot(&theta[of.clone()], &row[of.clone()])).collect()
                };
                let chosen = best(&by(&learnt), &mut self.source);
                at.count(place, &by(&truth), chosen);
            }
            let truth: Vec<f64> = rows.iter().map(|row| dot(&self.truth, row)).collect();
            let chosen = curator
                .choose(&Arms::from_rows(features.dimension(), rows)?, self.source.bits())?
                .arm;
            at.count(deciding.len(), &truth, chosen);
        }
        Ok(at)
    }
}

impl Gained {
    fn count(&mut self, place: usize, truth: &[f64], chosen: usize) {
        let mean = truth.iter().sum::<f64>() / truth.len() as f64;
        self.gained[place] += truth[chosen] - mean;
        self.possible[place] += truth.iter().copied().fold(f64::MIN, f64::max) - mean;
    }
}

fn decides(part: &&Part) -> bool {
    !matches!(part.kind, PartKind::Context | PartKind::Constant)
}

/// Parameters that give the same scores up to what all actions share, with the mean of a cross over the words of the context moved to the feature of the action: without
/// this, scores do not distinguish the parts.
fn effects(plans: &Plans, theta: &[f64]) -> Vec<f64> {
    let (mut theta, features) = (theta.to_vec(), &plans.features);
    for cross in features.parts().iter().filter(|part| part.kind == PartKind::Cross) {
        let [left, right] = cross.name.split('*').collect::<Vec<_>>()[..] else { continue };
        let one_hot =
            !matches!(features.params().context[left], Encoding::Range(..) | Encoding::Cycle(_));
        let main = features.parts().iter().find(|part| part.name == format!("action.{right}"));
        let Some(main) = main.filter(|_| one_hot) else { continue };
        let words = cross.cells / main.cells;
        for action in 0..main.cells {
            let cells: Vec<usize> =
                (0..words).map(|word| cross.offset + word * main.cells + action).collect();
            let mean = cells.iter().map(|cell| theta[*cell]).sum::<f64>() / words as f64;
            cells.iter().for_each(|cell| theta[*cell] -= mean);
            theta[main.offset + action] += mean * cross.weight / main.weight;
        }
    }
    theta
}

/// The place of the largest score, one of several by chance.
fn best(scores: &[f64], source: &mut FastNoise) -> usize {
    let largest = scores.iter().copied().fold(f64::MIN, f64::max);
    let places: Vec<usize> = (0..scores.len()).filter(|place| scores[*place] == largest).collect();
    places[((source.uniform() * places.len() as f64) as usize).min(places.len() - 1)]
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(x, y)| x * y).sum()
}
