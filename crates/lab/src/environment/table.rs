//! `kind = "table"`: any CSV file with features and a class becomes a contextual bandit, one arm a class.
//!
//! Every round a line is drawn, or the next one taken. The reward is 1 for its class and 0 for every other; regret counts mistakes. Arm k has the
//! features
//!
//! ```text
//! (x/|x| / sqrt 2, 1/sqrt 2),    x = (columns scaled to [-1, 1], 1)
//! ```
//!
//! in block k: parameters of its own (`parameters = "per_arm"`), or of its own for x and shared ones for the constant (`"hybrid"`). Learners
//! that know of no blocks, and `"dense"`, have `(0, ..., x/|x| / sqrt 2, ..., 0, 1/sqrt 2)`, as on the sphere of paper 0: of norm 1,
//! with a constant they share, and everything that is known of those holds.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use reticent::{
    Error as CoreError,
    bandit::Arms,
    error::message,
    features::{Fourier, Products},
    noise::Noise,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{bandit::BanditEnvironment, columns::Missing, modifiers::Modifiers};
use super::{
    bandit::{NOT_COVERED, TrialEnvironment},
    columns::{Columns, ColumnsToml},
    parameters::{Parameters, Shape},
    round_by_round::RoundByRound,
};
use crate::{
    FastNoise, Result,
    csv::{Rows, unusable},
    environment::Environment,
};

/// Classes, at most: a label with more is likely to be a number.
const MOST_CLASSES: usize = 100;

/// Keys of `kind = "table"`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableToml {
    /// The file, CSV with a line of names; relative to the file that names it.
    pub file: PathBuf,
    /// The column that holds the class; the last by default.
    pub label: Option<String>,
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
    /// Treatment of empty cells.
    #[serde(default)]
    pub missing: Missing,
    /// Products of the columns that are numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub products: Option<Products>,
    /// Random Fourier features of the columns that are numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fourier: Option<Fourier>,
    /// Order of the lines.
    #[serde(default)]
    pub order: Order,
    /// Parameters of classes.
    #[serde(default = "per_arm")]
    pub parameters: Parameters,
}

pub(crate) fn per_arm() -> Parameters {
    Parameters::PerArm
}

/// Order of the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Any, drawn with replacement: the file is held in memory, 8 bytes a feature.
    #[default]
    Drawn,
    /// The file's own, from the top again when it ends: memory does not grow with the file.
    File,
}

/// A file that has been read through once.
#[derive(Debug)]
struct TableBandit {
    path: PathBuf,
    columns: Columns,
    label: usize,
    classes: Vec<String>,
    order: Order,
    /// Lines: their features one after the other, and their classes.
    features: Vec<f64>,
    labels: Vec<u8>,
}

impl TableToml {
    /// Reads the file; an error names the line and the column.
    pub(crate) fn environment(
        &self,
        rounds: u64,
        modifiers: Modifiers,
    ) -> Result<BanditEnvironment> {
        modifiers.of_a_file()?;
        let path: &Path = &self.file;
        let mut rows = Rows::open(path)?;
        let last = rows.names().last().cloned().unwrap_or_default();
        let label = self.label.clone().unwrap_or(last);
        let place = rows.column(&label)?;
        let lines = ColumnsToml {
            features: self.features.as_deref(),
            ranges: &self.ranges,
            categories: &self.categories,
            hashes: &self.hashes,
            missing: self.missing,
            products: self.products.as_ref(),
            fourier: self.fourier.as_ref(),
        };
        let mut columns = Columns::new(&rows, path, lines, &[&label])?;
        Columns::all_known(&[&columns], lines)?;
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        while let Some((line, cells)) = rows.next()? {
            columns.widen(&cells, line)?;
            if cells[place].is_empty() {
                let field = format!("line {line}, {label}");
                let remedy = "fill it in, or leave the line out";
                return Err(unusable(path, message(field, "missing", remedy)));
            }
            if counts.len() > MOST_CLASSES {
                break;
            }
            *counts.entry(cells[place].clone()).or_default() += 1;
        }
        if !(2..=MOST_CLASSES).contains(&counts.len()) {
            let more = if counts.len() > MOST_CLASSES { " or more" } else { "" };
            let remedy = format!(
                "it has {} different values{more}, and one arm is made of each; expected a column with 2 to {MOST_CLASSES}",
                counts.len()
            );
            return Err(CoreError::invalid("label", label, remedy).into());
        }
        columns.settle()?;
        let lines: u64 = counts.values().sum();
        let mut protected = vec![NOT_COVERED.to_string()];
        protected.push(format!(
            "that the classes are {} is public",
            counts.keys().cloned().collect::<Vec<_>>().join(", ")
        ));
        protected.extend(columns.remarks());
        let mut remarks = vec![remark(&counts)];
        remarks.extend(columns.remarks());
        remarks.extend(columns.clipped());
        let hash = rows.hash();
        let classes: Vec<String> = counts.into_keys().collect();
        let table = TableBandit {
            path: path.to_path_buf(),
            columns,
            label: place,
            classes,
            order: self.order,
            features: Vec::new(),
            labels: Vec::new(),
        };
        let table = Arc::new(table.loaded()?);
        let arms = table.classes.len();
        let shape = Shape {
            features: table.features_of_an_arm(),
            blocks: arms,
            shared: 1,
            parameters: self.parameters,
        };
        let rewards = (0.0, 1.0);
        let trials = |modifiers| -> Arc<dyn TrialEnvironment> {
            Arc::new(RoundByRound {
                modifiers,
                remarks,
                data_hash: hash,
                headline: Some("accuracy"),
                start: Box::new(move |seed| Ok(Box::new(Lines::new(table.clone(), seed)?))),
            })
        };
        let environment = BanditEnvironment::of_a_file(
            shape, arms, rewards, rounds, modifiers, protected, trials,
        )?;
        Ok(BanditEnvironment { returns: Some(("line", lines as usize)), ..environment })
    }
}

/// Mean regret of a random choice.
fn remark(counts: &BTreeMap<String, u64>) -> String {
    let lines: u64 = counts.values().sum();
    let commonest = counts.iter().max_by_key(|(_, count)| **count);
    let (word, count) = commonest.map_or(("", 0), |(word, count)| (word.as_str(), *count));
    let names: Vec<&str> = counts.keys().map(String::as_str).collect();
    format!(
        "{lines} lines, classes {}; always saying {word:?} errs in {:.1} % of the rounds. The classes were taken from the file: they must be public",
        names.join(", "),
        100.0 * (1.0 - count as f64 / lines as f64)
    )
}

impl TableBandit {
    fn features_of_an_arm(&self) -> usize {
        self.columns.width() + 2
    }

    /// The same with its lines in memory, where they are drawn.
    fn loaded(mut self) -> Result<Self> {
        if self.order == Order::Drawn {
            let mut rows = Rows::open(&self.path)?;
            while let Some((line, cells)) = rows.next()? {
                self.features.extend(self.columns.features(&cells, line)?);
                self.labels.push(self.class(&cells, line)? as u8);
            }
            self.features.shrink_to_fit();
        }
        Ok(self)
    }

    fn class(&self, cells: &[String], line: usize) -> Result<usize> {
        self.classes.binary_search(&cells[self.label]).map_err(|_| {
            let remedy = "the file has changed: run again";
            unusable(&self.path, message(format!("line {line}"), "a new class", remedy))
        })
    }
}

/// Lines of a file, one a round.
struct Lines {
    table: Arc<TableBandit>,
    noise: FastNoise,
    /// Index of the line.
    person: u64,
    /// Lines in the order of the file.
    rows: Option<Rows>,
    fault: Option<crate::Error>,
    arms: Arms,
    means: Vec<f64>,
}

impl Lines {
    fn new(table: Arc<TableBandit>, seed: u64) -> Result<Self> {
        let rows = match table.order {
            Order::Drawn => None,
            Order::File => Some(Rows::open(&table.path)?),
        };
        let mut arms = Arms::zeros(table.features_of_an_arm(), table.classes.len())?;
        arms.set_blocks(&Vec::from_iter(0..table.classes.len()))?;
        Ok(Lines {
            arms,
            means: vec![0.0; table.classes.len()],
            noise: FastNoise::seeded(seed),
            person: 0,
            table,
            rows,
            fault: None,
        })
    }

    /// The next line of the file, from the top again after the last.
    fn next(table: &TableBandit, rows: &mut Rows) -> Result<(u64, Vec<f64>, usize)> {
        let next = match rows.next()? {
            Some(next) => Some(next),
            None => {
                *rows = Rows::open(&table.path)?;
                rows.next()?
            }
        };
        let Some((line, cells)) = next else {
            return Err(unusable(
                &table.path,
                message("lines", "missing", "the file has changed: run again"),
            ));
        };
        Ok((line as u64, table.columns.features(&cells, line)?, table.class(&cells, line)?))
    }

    fn show(&mut self, x: &[f64], class: usize) {
        let features: Vec<f64> = x.iter().copied().chain([0.5_f64.sqrt()]).collect();
        for arm in 0..self.arms.count() {
            self.arms.set(arm, &features).expect("finite features of the agreed dimension");
            self.means[arm] = f64::from(u8::from(arm == class));
        }
    }
}

impl Environment for Lines {
    fn arms(&mut self) -> &Arms {
        let table = self.table.clone();
        match &mut self.rows {
            None => {
                let index = self.noise.below(table.labels.len() as u64) as usize;
                self.person = index as u64;
                let width = table.columns.width() + 1;
                let x = &table.features[index * width..(index + 1) * width];
                self.show(x, usize::from(table.labels[index]));
            }
            Some(rows) => match Self::next(&table, rows) {
                Ok((line, x, class)) => {
                    self.person = line;
                    self.show(&x, class);
                }
                Err(error) => self.fault = Some(error),
            },
        }
        &self.arms
    }

    fn means(&self) -> &[f64] {
        &self.means
    }

    fn best_mean(&self) -> f64 {
        1.0
    }

    fn reward(&mut self, arm: usize) -> f64 {
        self.means[arm]
    }

    fn person(&self) -> Option<u64> {
        Some(self.person)
    }

    fn fault(&mut self) -> Option<crate::Error> {
        self.fault.take()
    }
}

#[cfg(test)]
mod tests;
