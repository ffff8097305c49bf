//! From the cells of a line to features of norm `1/sqrt 2`: numbers, words, and cells that are empty.
//!
//! ```text
//! number    its range onto [-1, 1], and what lies outside is cut off
//! word      one feature for each of its listed words: 1 for the cell's, 0 for the others
//! x/|x| / sqrt 2,    x = (all of them, 1)
//! ```
//!
//! **What must be public.** Ranges and words shape everybody's features, so they must not come from the data that a guarantee protects. Words
//! are listed, always. Ranges are given; where one is not, it is taken from the file, and a remark says that it must be public.
//! An empty cell becomes the middle of the range or no word at all, constants that depend on nobody.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use reticent::Error as CoreError;
use serde::{Deserialize, Serialize};

use crate::{
    Result,
    csv::{Rows, unusable},
};

/// What is done about empty cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// The line is named.
    #[default]
    Refuse,
    /// A number is taken to lie in the middle of its range, a word to be none of those listed.
    Middle,
}

/// What an experiment says about columns.
#[derive(Debug, Clone, Copy)]
pub(super) struct ColumnsToml<'a> {
    pub(super) features: Option<&'a [String]>,
    pub(super) ranges: &'a BTreeMap<String, (f64, f64)>,
    pub(super) categories: &'a BTreeMap<String, Vec<String>>,
    pub(super) missing: Missing,
}

#[derive(Debug, Clone)]
enum Kind {
    /// `outside` counts the cells beyond a range that was given.
    Number {
        low: f64,
        high: f64,
        given: bool,
        outside: u64,
    },
    Word(Vec<String>),
}

#[derive(Debug, Clone)]
struct Column {
    place: usize,
    name: String,
    kind: Kind,
}

/// Turns lines of one file into features.
#[derive(Debug, Clone)]
pub(super) struct Columns {
    path: PathBuf,
    columns: Vec<Column>,
    missing: Missing,
    /// Columns that never change and were left out.
    dropped: Vec<String>,
}

impl Columns {
    /// The columns of a file, all but `besides` unless some are named. Ranges that are not given follow by [`Columns::widen`].
    pub(super) fn new(
        rows: &Rows,
        path: &Path,
        lines: ColumnsToml,
        besides: &[&str],
    ) -> Result<Self> {
        let all = rows.names().iter().filter(|name| !besides.contains(&name.as_str()));
        let wanted: Vec<String> = match lines.features {
            Some(features) => features.to_vec(),
            None => all.cloned().collect(),
        };
        let refuse = |remedy: String| {
            Err(CoreError::invalid("features", format!("{wanted:?}"), remedy).into())
        };
        if wanted.is_empty() {
            return refuse(format!("{} has no column left for a feature", path.display()));
        }
        if let Some(name) = wanted.iter().find(|name| besides.contains(&name.as_str())) {
            return refuse(format!("{name:?} has another meaning here: leave it out"));
        }
        let mut columns: Vec<Column> = Vec::new();
        for name in wanted.iter() {
            if columns.iter().any(|column| column.name == *name) {
                return refuse(format!("{name:?} is named twice"));
            }
            let kind = match (lines.categories.get(name), lines.ranges.get(name)) {
                (Some(_), Some(_)) => {
                    let remedy = "a column holds numbers or words: give its range or its words";
                    return Err(CoreError::invalid("ranges", name, remedy).into());
                }
                (Some(words), None) => {
                    let distinct = (1..words.len()).all(|i| !words[..i].contains(&words[i]));
                    if words.is_empty() || !distinct {
                        let remedy = format!("list the words of {name:?}, each once");
                        let value = format!("{words:?}");
                        return Err(CoreError::invalid("categories", value, remedy).into());
                    }
                    Kind::Word(words.clone())
                }
                (None, Some(&(low, high))) => {
                    if !(low < high && low.is_finite() && high.is_finite()) {
                        let remedy = format!("give the lowest and the highest {name:?}");
                        let value = format!("[{low}, {high}]");
                        return Err(CoreError::invalid("ranges", value, remedy).into());
                    }
                    Kind::Number { low, high, given: true, outside: 0 }
                }
                (None, None) => Kind::Number {
                    low: f64::INFINITY,
                    high: f64::NEG_INFINITY,
                    given: false,
                    outside: 0,
                },
            };
            columns.push(Column { place: rows.column(name)?, name: name.clone(), kind });
        }
        let (path, missing) = (path.to_path_buf(), lines.missing);
        Ok(Columns { path, columns, missing, dropped: Vec::new() })
    }

    /// Refuses ranges and words of columns that no file has.
    pub(super) fn all_known(files: &[&Columns], lines: ColumnsToml) -> Result<()> {
        let known = |name: &String| {
            files.iter().any(|file| {
                file.columns.iter().any(|column| column.name == *name)
                    || file.dropped.contains(name)
            })
        };
        for (field, mut names) in [
            ("ranges", lines.ranges.keys().collect::<Vec<_>>()),
            ("categories", lines.categories.keys().collect()),
        ] {
            names.retain(|name| !known(name));
            if let Some(name) = names.first() {
                let remedy = "no feature has this name: correct it, or leave it out";
                return Err(CoreError::invalid(field, *name, remedy).into());
            }
        }
        Ok(())
    }

    fn number(&self, column: &Column, cell: &str, line: usize) -> Result<Option<f64>> {
        let name = &column.name;
        let bad = |reason: String| Err(unusable(&self.path, format!("line {line}: {reason}")));
        match cell.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Some(value)),
            _ if cell.is_empty() && self.missing == Missing::Middle => Ok(None),
            _ if cell.is_empty() => bad(format!(
                "{name} is missing; fill it in, leave the line out, or give missing = \"middle\""
            )),
            _ => bad(format!(
                "{name} is {cell:?}; give finite numbers, list its words in `categories`, or name the columns to use in `features`"
            )),
        }
    }

    /// Checks a line, widens the ranges that nobody gave so that they hold it, and counts cells outside the others.
    pub(super) fn widen(&mut self, cells: &[String], line: usize) -> Result<()> {
        for index in 0..self.columns.len() {
            let column = &self.columns[index];
            match &column.kind {
                Kind::Word(_) => {
                    self.word(column, &cells[column.place], line)?;
                }
                Kind::Number { .. } => {
                    let value = self.number(column, &cells[column.place], line)?;
                    match (value, &mut self.columns[index].kind) {
                        (Some(value), Kind::Number { low, high, given: true, outside }) => {
                            *outside += u64::from(!(*low..=*high).contains(&value));
                        }
                        (Some(value), Kind::Number { low, high, .. }) => {
                            (*low, *high) = (low.min(value), high.max(value));
                        }
                        _ => {}
                    }
                }
            }
        }
        Ok(())
    }

    fn word(&self, column: &Column, cell: &str, line: usize) -> Result<Option<usize>> {
        let Kind::Word(words) = &column.kind else { return Ok(None) };
        if cell.is_empty() && self.missing == Missing::Middle {
            return Ok(None);
        }
        match words.iter().position(|word| word == cell) {
            Some(index) => Ok(Some(index)),
            None => {
                let (name, list) = (&column.name, words.join(", "));
                let what = if cell.is_empty() { "missing".into() } else { format!("{cell:?}") };
                let reason = format!(
                    "line {line}: {name} is {what}; its categories are {list}: correct the cell, or list it"
                );
                Err(unusable(&self.path, reason))
            }
        }
    }

    /// Leaves out columns that never change, once the whole file was seen: they say nothing, and noise would be paid for them.
    pub(super) fn settle(&mut self) -> Result<()> {
        let constant = |column: &Column| matches!(column.kind, Kind::Number { low, high, given: false, .. } if low >= high);
        self.dropped =
            self.columns.iter().filter(|c| constant(c)).map(|c| c.name.clone()).collect();
        self.columns.retain(|column| !constant(column));
        if self.columns.is_empty() {
            let reason = format!("no feature ever changes: {}", self.dropped.join(", "));
            return Err(unusable(&self.path, reason));
        }
        Ok(())
    }

    /// Features of a line before they are scaled: all but the 1 at the end.
    pub(super) fn raw(&self, cells: &[String], line: usize) -> Result<Vec<f64>> {
        let mut x = Vec::with_capacity(self.width());
        for column in &self.columns {
            match &column.kind {
                Kind::Word(words) => {
                    let index = self.word(column, &cells[column.place], line)?;
                    x.extend((0..words.len()).map(|k| f64::from(u8::from(Some(k) == index))));
                }
                Kind::Number { low, high, .. } => {
                    let value = self.number(column, &cells[column.place], line)?;
                    // Halves first, so that no difference overflows.
                    let half = 0.5 * high - 0.5 * low;
                    x.push(value.map_or(0.0, |value| {
                        ((0.5 * value - 0.5 * low) / half * 2.0 - 1.0).clamp(-1.0, 1.0)
                    }));
                }
            }
        }
        Ok(x)
    }

    /// A line as `x/|x| / sqrt 2`.
    pub(super) fn features(&self, cells: &[String], line: usize) -> Result<Vec<f64>> {
        let mut x = self.raw(cells, line)?;
        x.push(1.0);
        scale(&mut x);
        Ok(x)
    }

    /// How many features a line has, without the 1.
    pub(super) fn width(&self) -> usize {
        let one = |column: &Column| match &column.kind {
            Kind::Word(words) => words.len(),
            Kind::Number { .. } => 1,
        };
        self.columns.iter().map(one).sum()
    }

    /// How many cells lie outside their ranges, for whoever holds the file: a count of its lines, which no guarantee covers. It is a
    /// remark and never a condition of a certificate.
    pub(super) fn clipped(&self) -> Option<String> {
        let count = |column: &Column| match column.kind {
            Kind::Number { outside, low, high, .. } if outside > 0 => {
                Some(format!("{outside} of {} outside [{low}, {high}]", column.name))
            }
            _ => None,
        };
        let counts: Vec<String> = self.columns.iter().filter_map(count).collect();
        clipped_remark(&counts, &self.path)
    }

    /// What must be public, and what was left out.
    pub(super) fn remarks(&self) -> Vec<String> {
        let taken = |column: &&Column| matches!(column.kind, Kind::Number { given: false, .. });
        let names = |column: &Column| column.name.clone();
        let taken: Vec<String> = self.columns.iter().filter(taken).map(names).collect();
        let mut remarks = Vec::new();
        if !taken.is_empty() {
            remarks.push(format!(
                "the ranges of {} were taken from {}: they must be public; give them in [environment.ranges]",
                taken.join(", "),
                self.path.display()
            ));
        }
        if !self.dropped.is_empty() {
            let (names, path) = (self.dropped.join(", "), self.path.display());
            remarks.push(format!(
                "columns of {path} that never change were left out: {names}; that they never do must be public"
            ));
        }
        remarks
    }
}

/// What whoever holds a file is told of its cells outside given ranges, such as `3 of age outside [0, 100]`.
pub(crate) fn clipped_remark(counts: &[String], path: &Path) -> Option<String> {
    (!counts.is_empty()).then(|| {
        format!(
            "for the holder of the data, not covered by the certificate: cells of {} were cut off at the ends of their ranges: {}; if these are many, give wider public ranges",
            path.display(),
            counts.join(", ")
        )
    })
}

/// To norm `1/sqrt 2`.
pub(super) fn scale(x: &mut [f64]) {
    let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    x.iter_mut().for_each(|x| *x *= 0.5_f64.sqrt() / norm);
}
