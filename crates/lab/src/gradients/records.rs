//! `kind = "records"`: people read from a file of numbers.
//!
//! The file is CSV with a line of names; one column is the label, the others are features. Features are scaled to [-1, 1] by
//! ranges that must be public: those of the file are used, and the guarantee says so. A feature that is always 1 is added, and features
//! are divided by the square root of their number, so that nobody's gradient is longer than 1 for losses of slope 1.
//!
//! A quarter of the people is held out; the others come in an order drawn by the trial, again and again until the rounds are
//! over. The competitor is what the same learner finds in hindsight without privacy, on many passes.

use std::path::PathBuf;

use reticent::{
    Error as CoreError,
    noise::Noise,
    online::{LinearModel, Loss, OnlineParams},
};
use serde::{Deserialize, Serialize};

use super::{Crowd, Person, Source};
use crate::{Error, FastNoise, Result};

/// Passes the competitor in hindsight is given.
const HINDSIGHT: usize = 40;

/// What `kind = "records"` takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordLines {
    /// The file.
    pub file: PathBuf,
    /// The column that holds labels; the last by default.
    #[serde(default)]
    pub label: Option<String>,
    /// What people lose. For classes labels must be two numbers: the larger becomes 1, the other -1.
    pub loss: Loss,
}

/// A file that has been read.
#[derive(Debug, Clone)]
pub(super) struct Records {
    loss: Loss,
    dimension: usize,
    people: Vec<Person>,
}

impl RecordLines {
    pub(super) fn read(&self) -> Result<Records> {
        let text = std::fs::read_to_string(&self.file).map_err(|error| Error::Unreadable {
            path: self.file.clone(),
            reason: error.to_string(),
        })?;
        self.parse(&text)
    }

    fn parse(&self, text: &str) -> Result<Records> {
        let bad = |reason: String| Error::Experiment {
            reason: format!("{}: {reason}", self.file.display()),
        };
        let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        let (_, header) = lines.next().ok_or_else(|| bad("it is empty".into()))?;
        let names: Vec<&str> =
            header.split(',').map(|name| name.trim().trim_matches('"')).collect();
        if names.len() < 2 {
            return Err(bad("give at least one feature and a label, separated by commas".into()));
        }
        let label = match &self.label {
            None => names.len() - 1,
            Some(wanted) => names.iter().position(|name| name == wanted).ok_or_else(|| {
                bad(format!("there is no column {wanted:?}: give one of {}", names.join(", ")))
            })?,
        };
        let mut rows: Vec<Vec<f64>> = Vec::new();
        for (number, line) in lines {
            let row = line
                .split(',')
                .map(|cell| cell.trim().parse::<f64>().ok().filter(|value| value.is_finite()))
                .collect::<Option<Vec<f64>>>()
                .ok_or_else(|| {
                    bad(format!("line {number} holds something other than finite numbers"))
                })?;
            if row.len() != names.len() {
                let found = row.len();
                return Err(bad(format!(
                    "line {number} has {found} cells for {} names",
                    names.len()
                )));
            }
            rows.push(row);
        }
        if rows.len() < 8 {
            return Err(bad(format!("{} people are too few: give 8 or more", rows.len())));
        }
        let labels = self.labels(rows.iter().map(|row| row[label]).collect())?;
        let features: Vec<usize> = (0..names.len()).filter(|&column| column != label).collect();
        let dimension = features.len() + 1;
        let unit = 1.0 / (dimension as f64).sqrt();
        let ranges: Vec<(f64, f64)> = features
            .iter()
            .map(|&column| {
                rows.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), row| {
                    (low.min(row[column]), high.max(row[column]))
                })
            })
            .collect();
        let person = |(row, label): (&Vec<f64>, f64)| -> Person {
            let scaled =
                features.iter().zip(&ranges).enumerate().map(|(j, (&column, &(low, high)))| {
                    let middle = 0.5 * (low + high);
                    let half = 0.5 * (high - low);
                    (j, if half > 0.0 { unit * (row[column] - middle) / half } else { 0.0 })
                });
            let constant = (features.len(), unit);
            (scaled.filter(|&(_, x)| x != 0.0).chain([constant]).collect(), label)
        };
        let people = rows.iter().zip(labels).map(person).collect();
        Ok(Records { loss: self.loss, dimension, people })
    }

    /// Labels as the loss wants them: classes as -1 and 1, others centred and scaled to deviation 1.
    fn labels(&self, labels: Vec<f64>) -> Result<Vec<f64>> {
        if self.loss.classifies() {
            let (low, high) = labels
                .iter()
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &x| (l.min(x), h.max(x)));
            if low == high || labels.iter().any(|&label| label != low && label != high) {
                let remedy = "a loss of classes needs labels of exactly two values";
                return Err(CoreError::invalid("label", format!("{low} to {high}"), remedy).into());
            }
            return Ok(labels.iter().map(|&x| if x == high { 1.0 } else { -1.0 }).collect());
        }
        let n = labels.len() as f64;
        let mean = labels.iter().sum::<f64>() / n;
        let deviation = (labels.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
        if deviation == 0.0 {
            return Err(CoreError::invalid("label", mean, "all labels are the same").into());
        }
        Ok(labels.iter().map(|x| (x - mean) / deviation).collect())
    }
}

/// Shuffles in place (Fisher and Yates).
fn shuffle<T>(items: &mut [T], noise: &mut FastNoise) {
    for i in (1..items.len()).rev() {
        items.swap(i, noise.below(i as u64 + 1) as usize);
    }
}

impl Source for Records {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn loss(&self) -> Loss {
        self.loss
    }

    fn gradient_bound(&self) -> f64 {
        1.0
    }

    fn l1_bound(&self) -> f64 {
        (self.dimension as f64).sqrt()
    }

    fn coordinate_bound(&self) -> f64 {
        1.0 / (self.dimension as f64).sqrt()
    }

    fn takes_part(&self, rounds: u64) -> u64 {
        rounds.div_ceil((self.people.len() - self.people.len() / 4) as u64)
    }

    fn crowd(&self, rounds: u64, seed: u64) -> Result<Crowd> {
        let mut noise = FastNoise::seeded(seed);
        let mut all = self.people.clone();
        shuffle(&mut all, &mut noise);
        let held_out = all.split_off(all.len() - all.len() / 4);
        let learner = OnlineParams::new(self.dimension, self.gradient_bound()).check()?.start();
        let mut hindsight = LinearModel::new(learner, self.loss);
        let mut competitor = vec![0.0; self.dimension];
        for pass in 0..HINDSIGHT {
            hindsight.pass(all.iter().map(|(features, label)| (features, *label)))?;
            // The mean of the later iterates is steadier than the last.
            if pass >= HINDSIGHT / 2 {
                let weights = hindsight.learner().weights();
                let share = 1.0 / (HINDSIGHT - HINDSIGHT / 2) as f64;
                competitor.iter_mut().zip(weights).for_each(|(u, w)| *u += share * w);
            }
        }
        let mut people = Vec::with_capacity(rounds as usize);
        while (people.len() as u64) < rounds {
            shuffle(&mut all, &mut noise);
            let left = rounds as usize - people.len();
            people.extend(all.iter().take(left).cloned());
        }
        Ok(Crowd { people, competitor, held_out })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(loss: Loss) -> RecordLines {
        RecordLines { file: "people.csv".into(), label: None, loss }
    }

    fn table(rows: usize) -> String {
        let row = |i: usize| format!("{},{},{}\n", i, (i * i) % 7, i % 2);
        std::iter::once("a,b,y\n".to_string()).chain((0..rows).map(row)).collect()
    }

    #[test]
    fn features_are_scaled_and_nobody_is_longer_than_one() {
        let records = lines(Loss::Logistic).parse(&table(20)).unwrap();
        assert_eq!(records.dimension, 3);
        for (features, label) in &records.people {
            let square: f64 = features.iter().map(|(_, x)| x * x).sum();
            assert!(square <= 1.0 + 1e-12 && label.abs() == 1.0);
        }
        let crowd = records.crowd(40, 1).unwrap();
        assert_eq!((crowd.people.len(), crowd.held_out.len()), (40, 5));
        assert_eq!(records.takes_part(40), 3);
    }

    #[test]
    fn bad_files_are_named_by_line() {
        let reason = |text: &str, loss| lines(loss).parse(text).unwrap_err().to_string();
        assert!(reason("", Loss::Hinge).contains("empty"));
        assert!(reason("a,y\n1,x\n", Loss::Hinge).contains("line 2"));
        assert!(reason("a,y\n1,2\n1\n", Loss::Hinge).contains("line 3"));
        assert!(reason(&table(3), Loss::Hinge).contains("too few"));
        assert!(reason("a,y\n1,NaN\n", Loss::Absolute).contains("line 2"));
        let three = table(9).replace(",0\n", ",2\n").replacen(",1\n", ",5\n", 1);
        assert!(reason(&three, Loss::Hinge).contains("two values"));
        let other = RecordLines { label: Some("z".into()), ..lines(Loss::Hinge) };
        assert!(other.parse(&table(9)).unwrap_err().to_string().contains("a, b, y"));
    }
}
