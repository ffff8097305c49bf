//! `kind = "table"`: any CSV file with features and a class becomes a contextual bandit, one arm a class.
//!
//! Every round a line is drawn. The reward is 1 for its class and 0 for every other; regret counts mistakes. Arm k has the features
//!
//! ```text
//! (0, ..., x/|x| / sqrt 2, ..., 0, 1/sqrt 2),    x = (columns scaled to [-1, 1], 1) in block k
//! ```
//!
//! so that arms are as on the sphere of paper 0: of norm 1, with a constant they share, and everything that is known of those holds.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use reticent::{Error as CoreError, bandit::Arms, noise::Noise};
use serde::{Deserialize, Serialize};

use super::{Circumstances, Setting, setting::Played};
use crate::{
    Error, FastNoise, Result,
    contest::name_hash,
    csv::Table,
    environment::{Environment, SphereParams},
};

/// Classes, at most: a label with more is likely to be a number.
const MOST_CLASSES: usize = 100;

/// What `kind = "table"` takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableLines {
    /// The file, CSV with a line of names; relative to where the command is run.
    pub file: PathBuf,
    /// The column that holds the class; the last by default.
    #[serde(default)]
    pub label: Option<String>,
    /// The columns that are features, all numbers; all others by default.
    #[serde(default)]
    pub features: Option<Vec<String>>,
}

/// A file that has been read.
#[derive(Debug)]
pub(super) struct TableBandit {
    /// `x/|x|/sqrt 2` of every line, and its class.
    lines: Vec<(Vec<f64>, usize)>,
    classes: Vec<String>,
    hash: u64,
}

impl TableLines {
    /// What algorithms are told of the file, or what is wrong with it.
    pub(super) fn setting(&self, rounds: u64, circumstances: Circumstances) -> Result<Setting> {
        circumstances.of_a_file()?;
        let table = self.read()?;
        let block = table.lines.first().map_or(0, |(x, _)| x.len());
        let arms = table.classes.len();
        // Arms of the sphere's form.
        let form = SphereParams { dimension: arms * block + 1, arms, fresh_arms: true, norm: 1.0 };
        form.check()?;
        Ok(Setting {
            bounds: form.bounds(),
            problem: form.problem(),
            rounds,
            arms,
            blocks: None,
            uniform_gram: None,
            circumstances,
            world: Arc::new(Played {
                circumstances,
                remarks: vec![table.remark()],
                data_hash: table.hash,
                start: Box::new(move |seed| Ok(Box::new(table.start(seed)?))),
            }),
        })
    }

    /// Reads the file, or names what is wrong with it by line and column.
    pub(super) fn read(&self) -> Result<Arc<TableBandit>> {
        let path: &Path = &self.file;
        let text = std::fs::read_to_string(path).map_err(|error| Error::Unreadable {
            path: path.to_path_buf(),
            reason: error.to_string(),
        })?;
        let names = Table::columns(&text, path)?;
        let label = self.label.clone().or_else(|| names.last().cloned()).unwrap_or_default();
        let features = self
            .features
            .clone()
            .unwrap_or_else(|| names.into_iter().filter(|name| *name != label).collect());
        if features.is_empty() || features.contains(&label) {
            let remedy =
                format!("give at least one feature, and not {label:?}, which is the label");
            return Err(CoreError::invalid("features", format!("{features:?}"), remedy).into());
        }
        let words = Table::words(&text, path, &label)?;
        if let Some((line, _)) = words.iter().find(|(_, word)| word.is_empty()) {
            let reason = format!(
                "{}: line {line}: {label} is missing; fill it in, or leave the line out",
                path.display()
            );
            return Err(Error::Experiment { reason });
        }
        let mut classes: Vec<String> = words.iter().map(|(_, word)| word.clone()).collect();
        classes.sort();
        classes.dedup();
        if !(2..=MOST_CLASSES).contains(&classes.len()) {
            let remedy = format!(
                "{label:?} has {} different values: one arm is made of each, so give a column with 2 to {MOST_CLASSES}",
                classes.len()
            );
            return Err(CoreError::invalid("label", label, remedy).into());
        }
        let table = Table::numbers(&text, path, &features)?;
        let lines = scaled(&table.rows).into_iter().zip(&words).map(|(x, (_, word))| {
            let class = classes.binary_search(word).unwrap_or_default();
            (x, class)
        });
        Ok(Arc::new(TableBandit { lines: lines.collect(), hash: name_hash(&text), classes }))
    }
}

/// Every column onto [-1, 1] by its own range, a 1 behind them, and the whole to norm `1/sqrt 2`.
fn scaled(rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let width = rows.first().map_or(0, Vec::len);
    let range = |column: usize| {
        rows.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), row| {
            (low.min(row[column]), high.max(row[column]))
        })
    };
    let ranges: Vec<(f64, f64)> = (0..width).map(range).collect();
    let one = |row: &Vec<f64>| {
        let place = |(value, (low, high)): (&f64, &(f64, f64))| {
            // Halves first, so that no difference overflows; a column that never changes says nothing.
            let half = 0.5 * high - 0.5 * low;
            if half > 0.0 {
                ((0.5 * value - 0.5 * low) / half * 2.0 - 1.0).clamp(-1.0, 1.0)
            } else {
                0.0
            }
        };
        let mut x: Vec<f64> = row.iter().zip(&ranges).map(place).collect();
        x.push(1.0);
        let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        x.iter_mut().for_each(|x| *x *= 0.5_f64.sqrt() / norm);
        x
    };
    rows.iter().map(one).collect()
}

impl TableBandit {
    /// What the certificates rest on, and what chance would cost.
    pub(super) fn remark(&self) -> String {
        let mut counts = vec![0_usize; self.classes.len()];
        self.lines.iter().for_each(|(_, class)| counts[*class] += 1);
        let (commonest, count) =
            counts.iter().enumerate().max_by_key(|(_, n)| **n).unwrap_or((0, &0));
        format!(
            "{} lines, classes {}; always saying {:?} errs in {:.1} % of the rounds. The classes and the ranges of the columns were taken from the file: they must be public",
            self.lines.len(),
            self.classes.join(", "),
            self.classes[commonest],
            100.0 * (1.0 - *count as f64 / self.lines.len() as f64)
        )
    }

    /// One trial: lines are drawn anew, with replacement.
    pub(super) fn start(self: &Arc<Self>, seed: u64) -> Result<Lines> {
        let arms = self.classes.len();
        let dimension = arms * self.lines.first().map_or(0, |(x, _)| x.len()) + 1;
        Ok(Lines {
            table: self.clone(),
            noise: FastNoise::seeded(seed),
            arms: Arms::zeros(dimension, arms)?,
            means: vec![0.0; arms],
        })
    }
}

/// Lines of a file, one a round.
#[derive(Debug)]
pub(super) struct Lines {
    table: Arc<TableBandit>,
    noise: FastNoise,
    arms: Arms,
    means: Vec<f64>,
}

impl Environment for Lines {
    fn arms(&mut self) -> &Arms {
        let index = self.noise.below(self.table.lines.len() as u64) as usize;
        let (x, class) = &self.table.lines[index];
        let dimension = self.arms.dimension();
        for arm in 0..self.arms.count() {
            let mut features = vec![0.0; dimension];
            features[arm * x.len()..(arm + 1) * x.len()].copy_from_slice(x);
            features[dimension - 1] = 0.5_f64.sqrt();
            self.arms.set(arm, &features).expect("finite features of the agreed dimension");
            self.means[arm] = f64::from(u8::from(arm == *class));
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Experiment;

    fn file(name: &str, text: &str) -> PathBuf {
        let path =
            std::env::temp_dir().join(format!("reticent-table-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        path
    }

    fn run(path: &Path, more: &str, algorithms: &str) -> Result<Experiment> {
        Experiment::parse(&format!(
            "name = \"t\"\nrounds = 3000\ntrials = 2\n[environment]\nkind = \"table\"\nfile = {path:?}\n{more}\n{algorithms}"
        ))
    }

    #[test]
    fn a_file_of_classes_is_learnt_privately_and_not() {
        let mut text = String::from("width,colour,height,kind\n");
        for i in 0..600 {
            let (a, b) = ((i * 37 % 101) as f64 / 50.0, (i * 53 % 97) as f64);
            let kind = if a > 1.2 {
                "tall"
            } else if b > 60.0 {
                "round"
            } else {
                "flat"
            };
            text += &format!("{a},red,{b},{kind}\n");
        }
        let path = file("kinds.csv", &text);
        let algorithms = "[[algorithm]]\nkind = \"linucb\"\n[[algorithm]]\nkind = \"joint\"\nprivacy = { epsilon = 8.0, delta = 1e-5 }\n\
            [[algorithm]]\nkind = \"local\"\nprivacy = { epsilon = 1.0, delta = 1e-5 }\n";
        let experiment = run(&path, "features = [\"width\", \"height\"]", algorithms).unwrap();
        assert_ne!(experiment.contestants()[0].data_hash(), 0);
        let summary = experiment.simulate(|_, _| ()).unwrap();
        let regrets: Vec<f64> = summary.algorithms.iter().map(|a| a.final_regret.mean).collect();
        // Chance errs in two rounds of three; the data are not linear, so nobody gets near 0.
        assert!(regrets[0] < 900.0, "{regrets:?}");
        assert!(regrets[0] < regrets[1] && regrets[1] < 2000.0, "{regrets:?}");
        let remarks = experiment.contestants()[1].remarks().join(" ");
        assert!(remarks.contains("flat, round, tall") && remarks.contains("must be public"));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn what_cannot_be_a_bandit_is_named_by_line() {
        let linucb = "[[algorithm]]\nkind = \"linucb\"\n";
        let refuse = |name: &str, text: &str, more: &str, algorithms: &str, words: &[&str]| {
            let path = file(name, text);
            let error = run(&path, more, algorithms).err().unwrap().to_string();
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
            std::fs::remove_file(path).unwrap();
        };
        refuse("a.csv", "x,y\n1,a\nz,b\n", "", linucb, &["line 3", "x is \"z\""]);
        refuse("b.csv", "x,y\n1,a\n2,\n", "", linucb, &["line 3", "y is missing"]);
        refuse("c.csv", "x,y\n1,a\n2,a\n", "", linucb, &["1 different values"]);
        refuse("d.csv", "x,y\n1,a\n2\n", "", linucb, &["line 3", "1 cells for 2"]);
        refuse("e.csv", "x,y\n1,a\n2,b\n", "label = \"z\"", linucb, &["no column \"z\""]);
        let many: String = (0..200).map(|i| format!("{i},{i}.5\n")).collect();
        refuse("f.csv", &format!("x,y\n{many}"), "", linucb, &["200 different values"]);
        let known = "[[algorithm]]\nkind = \"local\"\nknown_gram_reports = 100\nprivacy = { epsilon = 1.0, delta = 1e-5 }";
        refuse("g.csv", "x,y\n1,a\n2,b\n", "", known, &["known_gram_reports", "nobody knows"]);
    }
}
