//! `kind = "records"`: people read from a file of numbers.
//!
//! One column is the label, the others are features, scaled as `scaling.rs` says, so that no gradient is longer than 1 for losses of slope
//! 1.
//!
//! A quarter of the people is held out; the others take part in an order drawn by the trial, in repeated passes until the rounds are over.
//! The competitor is the model that the same learner finds without privacy, in many passes over the whole file.

use std::path::PathBuf;

use reticent::{
    error::message,
    noise::Noise,
    online::{LinearModel, Loss, OnlineParams},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::scaling::{Ranges, Scaling};
use super::{Crowd, Person, Source};
use crate::{
    Error, FastNoise, Result, csv::Table, environment::columns::clipped_remark,
    play::trial::name_hash,
};

/// Passes over the file for the competitor.
const HINDSIGHT: usize = 40;

/// Keys of `kind = "records"`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordToml {
    /// The file.
    pub file: PathBuf,
    /// The column that holds labels; the last by default.
    pub label: Option<String>,
    /// The columns that are features; all others by default.
    pub features: Option<Vec<String>>,
    /// The loss. For classification, labels must be two numbers: the larger becomes 1, the other -1.
    pub loss: Loss,
    /// Public ranges of columns; values beyond are clipped. By default they are taken from the file, which the guarantee states as a
    /// condition.
    #[serde(default)]
    pub ranges: Ranges,
    /// A column that is neither feature nor label: people's own levels.
    #[serde(skip)]
    pub(crate) besides: Option<String>,
}

/// A file that has been read.
#[derive(Debug, Clone)]
pub(crate) struct Records {
    loss: Loss,
    scaling: Scaling,
    people: Vec<Person>,
    besides: Vec<f64>,
    /// Number of cells beyond their ranges, for the holder of the file.
    clipped: Option<String>,
    /// The hash of the file.
    hash: u64,
    /// The competitor; empty until it is needed.
    competitor: Vec<f64>,
}

impl Records {
    /// Adds the competitor that regret is measured against.
    pub(crate) fn in_hindsight(mut self) -> Result<Self> {
        self.competitor = hindsight(&self.people, self.loss, self.scaling.dimension())?;
        Ok(self)
    }

    pub(crate) fn people(&self) -> &[Person] {
        &self.people
    }

    pub(crate) fn scaling(&self) -> &Scaling {
        &self.scaling
    }

    /// The number of cells beyond their ranges; no guarantee covers this number.
    pub(crate) fn clipped(&self) -> Option<&String> {
        self.clipped.as_ref()
    }

    /// The column of people's own levels, if one was named.
    pub(crate) fn besides(&self) -> &[f64] {
        &self.besides
    }
}

impl RecordToml {
    /// Refuses more rounds than the order of people can be stored for.
    pub(crate) fn check_size(&self, rounds: u64) -> Result<()> {
        const MOST: u64 = 100_000_000;
        let remedy = format_args!(
            "the person of each round is drawn in advance and stored; expected at most {MOST}"
        );
        Ok(reticent::refuse_if(rounds > MOST, "rounds", rounds, remedy)?)
    }

    pub(crate) fn read(&self) -> Result<Records> {
        let text = std::fs::read_to_string(&self.file).map_err(|error| Error::Unreadable {
            path: self.file.clone(),
            reason: error.to_string(),
        })?;
        self.parse(&text)
    }

    fn parse(&self, text: &str) -> Result<Records> {
        let RecordToml { file, features, label, besides, .. } = self;
        let (features, label) = (features.as_deref(), label.as_deref());
        let table = Table::with_label(text, file, features, label, besides.as_deref())?;
        if table.rows.len() < 8 {
            let (file, found) = (self.file.display(), table.rows.len());
            let reason = message(format!("{file}, people"), found, "expected 8 or more");
            return Err(Error::Experiment { reason });
        }
        let scaling = Scaling::new(&table, self.loss, &self.ranges)?;
        let people: Vec<Person> = table.rows.iter().map(|row| scaling.person(row)).collect();
        let clipped = clipped_remark(&scaling.outside(&table.rows), file);
        let besides = match besides {
            None => Vec::new(),
            Some(name) => Table::column(text, file, name)?,
        };
        let (hash, competitor) = (name_hash(text), Vec::new());
        Ok(Records { loss: self.loss, scaling, people, besides, clipped, hash, competitor })
    }
}

/// A model learnt from all people without privacy.
fn hindsight(people: &[Person], loss: Loss, dimension: usize) -> Result<Vec<f64>> {
    let mut model = LinearModel::new(OnlineParams::new(dimension, 1.0).check()?.start(), loss);
    let mut order: Vec<&Person> = people.iter().collect();
    let mut noise = FastNoise::seeded(0);
    let mut competitor = vec![0.0; dimension];
    for pass in 0..HINDSIGHT {
        shuffle(&mut order, &mut noise);
        model.pass(order.iter().map(|(features, label)| (features, *label)))?;
        // The mean of the later iterates varies less than the last iterate.
        if pass >= HINDSIGHT / 2 {
            let share = 1.0 / (HINDSIGHT - HINDSIGHT / 2) as f64;
            let weights = model.learner().weights();
            competitor.iter_mut().zip(weights).for_each(|(u, w)| *u += share * w);
        }
    }
    Ok(competitor)
}

/// Shuffles in place (Fisher and Yates).
fn shuffle<T>(items: &mut [T], noise: &mut FastNoise) {
    for i in (1..items.len()).rev() {
        items.swap(i, noise.below(i as u64 + 1) as usize);
    }
}

impl Source for Records {
    fn dimension(&self) -> usize {
        self.scaling.dimension()
    }

    fn loss(&self) -> Loss {
        self.loss
    }

    fn gradient_bound(&self) -> f64 {
        1.0
    }

    fn l1_bound(&self) -> f64 {
        (self.dimension() as f64).sqrt()
    }

    fn coordinate_bound(&self) -> f64 {
        self.scaling.unit()
    }

    fn population(&self, rounds: u64) -> u64 {
        rounds.min((self.people.len() - self.people.len() / 4) as u64)
    }

    fn conditions(&self) -> Vec<String> {
        self.scaling.conditions()
    }

    fn remarks(&self) -> Vec<String> {
        self.clipped.iter().cloned().collect()
    }

    fn data_hash(&self) -> u64 {
        self.hash
    }

    fn crowd(&self, rounds: u64, seed: u64) -> Result<Crowd> {
        let mut noise = FastNoise::seeded(seed);
        let mut all = self.people.clone();
        shuffle(&mut all, &mut noise);
        let held_out = all.split_off(all.len() - all.len() / 4);
        all.truncate(self.population(rounds) as usize);
        // Everybody takes part once in each pass, in a new order.
        let mut order: Vec<usize> = (0..all.len()).collect();
        let mut who = Vec::with_capacity(rounds as usize);
        while (who.len() as u64) < rounds {
            shuffle(&mut order, &mut noise);
            let left = rounds as usize - who.len();
            who.extend(order.iter().take(left));
        }
        Ok(Crowd { people: all, who, competitor: self.competitor.clone(), held_out })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(loss: Loss) -> RecordToml {
        let file = "people.csv".into();
        let (label, features, besides) = (None, None, None);
        RecordToml { file, label, features, loss, ranges: Ranges::new(), besides }
    }

    fn table(rows: usize) -> String {
        let row = |i: usize| format!("{},{},{}\n", i, (i * i) % 7, i % 2);
        std::iter::once("a,b,y\n".to_string()).chain((0..rows).map(row)).collect()
    }

    #[test]
    fn features_are_scaled_and_everybody_comes_once_a_pass() {
        for loss in [Loss::Logistic, Loss::Hinge, Loss::Absolute, Loss::Squared] {
            let records = lines(loss).parse(&table(20)).unwrap().in_hindsight().unwrap();
            assert_eq!(records.dimension(), 3);
            for (features, label) in &records.people {
                let square: f64 = features.iter().map(|(_, x)| x * x).sum();
                assert!(square <= 1.0 + 1e-12 && label.abs() == 1.0);
            }
            let crowd = records.crowd(40, 1).unwrap();
            assert_eq!((crowd.people.len(), crowd.held_out.len(), crowd.who.len()), (15, 5, 40));
            for pass in crowd.who[..30].chunks(15) {
                let mut pass = pass.to_vec();
                pass.sort_unstable();
                assert!(pass.into_iter().eq(0..15));
            }
            assert_eq!((records.population(40), records.takes_part(40)), (15, 3));
            assert_eq!((records.population(4), records.takes_part(4)), (4, 1));
        }
    }

    #[test]
    fn values_beyond_given_ranges_are_counted() {
        let ranges = Ranges::from([("a".to_string(), (0.0, 9.5)), ("y".to_string(), (0.0, 1.0))]);
        let given = RecordToml { ranges, ..lines(Loss::Hinge) }.parse(&table(20)).unwrap();
        let remark = given.clipped().unwrap();
        assert!(
            remark.contains("10 of a outside [0, 9.5]") && remark.contains("holder"),
            "{remark}"
        );
        assert!(!remark.contains("of b") && !remark.contains("of y"), "{remark}");
        assert!(
            given.remarks().contains(remark) && !given.conditions().join(" ").contains("outside")
        );
        assert!(lines(Loss::Hinge).parse(&table(20)).unwrap().clipped().is_none());
        let error = lines(Loss::Hinge).check_size(1 << 50).unwrap_err().to_string();
        assert!(error.contains("rounds: got"), "{error}");
    }

    #[test]
    fn files_of_too_few_people_and_unknown_columns_are_named() {
        let reason = |lines: RecordToml| lines.parse(&table(9)).unwrap_err().to_string();
        let few = lines(Loss::Hinge).parse(&table(3)).unwrap_err().to_string();
        assert!(few.contains("people: got 3; expected 8 or more"));
        let other = RecordToml { label: Some("z".into()), ..lines(Loss::Hinge) };
        assert!(reason(other).contains("a, b, y"));
        let features = Some(vec!["a".into(), "y".into()]);
        assert!(reason(RecordToml { features, ..lines(Loss::Hinge) }).contains("label"));
        let features = Some(vec!["b".to_string()]);
        let records = RecordToml { features, ..lines(Loss::Hinge) }.parse(&table(9)).unwrap();
        assert_eq!(records.dimension(), 2);
    }
}
