//! From the cells of a line to features of norm `1/sqrt 2`: numbers, words, and cells that are empty.
//!
//! ```text
//! x/|x| / sqrt 2,    x = (every cell encoded, 1)
//! ```
//!
//! With `products` or `fourier` x is the vector of core's rule for all columns with these maps of the numbers, and 1.
//!
//! Cells are encoded by core's rule ([`reticent::features`]): a number's range onto [-1, 1], and a feature for each listed word. A served loop
//! encodes every record; an experiment refuses lines with words that are not listed and, by default, empty cells, because the owner
//! of the file can mend it.
//!
//! **What must be public.** Ranges and words shape every person's features, so they must not come from the data that a guarantee protects. Words
//! are listed, always. Ranges are given; where one is not, it is taken from the file, and a remark says that it must be public.
//! An empty cell becomes the middle of the range or no word at all, constants that depend on no person's data.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use reticent::{
    Error as CoreError,
    error::message,
    features::{
        Encoder, Encoding, FeaturesParams, FeaturesPlan, Fourier, Outcome, Products, Report, Value,
        number,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Result,
    csv::{Rows, unusable},
};

/// Treatment of empty cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// The line is named.
    #[default]
    Refuse,
    /// A number is taken to lie in the middle of its range, a word to be none of those listed.
    Middle,
}

/// Keys of an experiment about columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ColumnsToml<'a> {
    pub(crate) features: Option<&'a [String]>,
    pub(crate) ranges: &'a BTreeMap<String, (f64, f64)>,
    pub(crate) categories: &'a BTreeMap<String, Vec<String>>,
    pub(crate) hashes: &'a BTreeMap<String, u32>,
    pub(crate) missing: Missing,
    pub(crate) products: Option<&'a Products>,
    pub(crate) fourier: Option<&'a Fourier>,
}

#[derive(Debug, Clone)]
struct Column {
    place: usize,
    name: String,
    /// Encoder of the cells; there is none for a range that is taken from the file before the whole file was seen.
    encoder: Option<Encoder>,
    /// The range so far, where it is taken from the file.
    taken: Option<(f64, f64)>,
    /// Cells beyond a range that was given.
    outside: u64,
}

/// Turns lines of one file into features.
#[derive(Debug, Clone)]
pub(crate) struct Columns {
    path: PathBuf,
    columns: Vec<Column>,
    missing: Missing,
    /// Columns that never change and were left out.
    dropped: Vec<String>,
    /// Products and Fourier features, and the rule with them once the whole file was seen.
    maps: (Option<Products>, Option<Fourier>),
    rule: Option<FeaturesPlan>,
}

impl Columns {
    /// The columns of a file, all but `besides` unless some are named. Ranges that are not given follow by [`Columns::widen`].
    pub(crate) fn new(
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
            let range = lines.ranges.get(name).map(|&(low, high)| Encoding::Range(low, high));
            let words = lines.categories.get(name).cloned().map(Encoding::Categories);
            let hash = lines.hashes.get(name).map(|&buckets| Encoding::Hash { buckets });
            let mut given = [range, words, hash].into_iter().flatten();
            let encoding = given.next();
            if given.next().is_some() {
                let remedy =
                    "a column has one meaning: give its range, its words, or its number of buckets";
                return Err(CoreError::invalid("features", name, remedy).into());
            }
            columns.push(Column {
                place: rows.column(name)?,
                name: name.clone(),
                taken: encoding.is_none().then_some((f64::INFINITY, f64::NEG_INFINITY)),
                encoder: encoding.map(|encoding| encoding.check(name)).transpose()?,
                outside: 0,
            });
        }
        let (path, missing) = (path.to_path_buf(), lines.missing);
        let maps = (lines.products.cloned(), lines.fourier.cloned());
        Ok(Columns { path, columns, missing, dropped: Vec::new(), maps, rule: None })
    }

    /// Refuses ranges and words of columns that no file has.
    pub(crate) fn all_known(files: &[&Columns], lines: ColumnsToml) -> Result<()> {
        let known = |name: &String| {
            files.iter().any(|file| {
                file.columns.iter().any(|column| column.name == *name)
                    || file.dropped.contains(name)
            })
        };
        for (field, mut names) in [
            ("ranges", lines.ranges.keys().collect::<Vec<_>>()),
            ("categories", lines.categories.keys().collect()),
            ("hashes", lines.hashes.keys().collect()),
        ] {
            names.retain(|name| !known(name));
            if let Some(name) = names.first() {
                let remedy = "no feature has this name: correct it, or leave it out";
                return Err(CoreError::invalid(field, *name, remedy).into());
            }
        }
        Ok(())
    }

    /// Refuses a cell that a file should not have.
    fn accept(&self, column: &Column, cell: &str, line: usize, outcome: Outcome) -> Result<()> {
        let name = &column.name;
        let words = match column.encoder.as_ref().map(Encoder::encoding) {
            Some(Encoding::Categories(words)) => Some(words.join(", ")),
            _ => None,
        };
        let what = if cell.is_empty() { "missing".into() } else { format!("{cell:?}") };
        let remedy = match (outcome, words) {
            (Outcome::Known | Outcome::Clipped, _) => return Ok(()),
            (Outcome::Missing, _) if self.missing == Missing::Middle => return Ok(()),
            (_, Some(words)) => format!("its categories are {words}: correct the cell, or list it"),
            (Outcome::Missing, None) => {
                "fill it in, leave the line out, or give missing = \"middle\"".into()
            }
            _ => "expected finite numbers; list its words in `categories`, hash them by `hashes`, or name the columns to use in `features`".into(),
        };
        Err(unusable(&self.path, message(format!("line {line}, {name}"), what, remedy)))
    }

    /// Checks a line, widens the ranges that are not given so that they hold it, and counts cells outside the others.
    pub(crate) fn widen(&mut self, cells: &[String], line: usize) -> Result<()> {
        for index in 0..self.columns.len() {
            let column = &self.columns[index];
            let cell = &cells[column.place];
            let value = number(cell);
            let outcome = match &column.encoder {
                Some(encoder) => encoder.encode_text(cell).outcome,
                None if cell.is_empty() || value.is_some_and(f64::is_nan) => Outcome::Missing,
                None if value.is_some_and(f64::is_finite) => Outcome::Known,
                None => Outcome::Mistyped,
            };
            self.accept(column, cell, line, outcome)?;
            let column = &mut self.columns[index];
            column.outside += u64::from(outcome == Outcome::Clipped);
            if let (Some((low, high)), Some(value), Outcome::Known) =
                (&mut column.taken, value, outcome)
            {
                (*low, *high) = (low.min(value), high.max(value));
            }
        }
        Ok(())
    }

    /// Leaves out columns that never change, once the whole file was seen: they say nothing, and noise would be paid for them.
    pub(crate) fn settle(&mut self) -> Result<()> {
        let constant = |column: &Column| column.taken.is_some_and(|(low, high)| low >= high);
        self.dropped =
            self.columns.iter().filter(|c| constant(c)).map(|c| c.name.clone()).collect();
        self.columns.retain(|column| !constant(column));
        if self.columns.is_empty() {
            let found = format!("{}, which never change", self.dropped.join(", "));
            let remedy = "expected a feature that differs between lines";
            return Err(unusable(&self.path, message("features", found, remedy)));
        }
        for column in &mut self.columns {
            if let Some((low, high)) = column.taken {
                column.encoder = Some(Encoding::Range(low, high).check(&column.name)?);
            }
        }
        if self.maps != (None, None) {
            let encoding = |column: &Column| {
                Some((column.name.clone(), column.encoder.as_ref()?.encoding().clone()))
            };
            let mut params =
                FeaturesParams::new(self.columns.iter().filter_map(encoding), std::iter::empty());
            params.constant = false;
            (params.products, params.fourier) = self.maps.clone();
            self.rule = Some(params.check()?);
        }
        Ok(())
    }

    /// Features of a line before they are scaled: all but the 1 at the end.
    pub(crate) fn raw(&self, cells: &[String], line: usize) -> Result<Vec<f64>> {
        let mut x = vec![0.0; self.plain_width()];
        let mut offset = 0;
        for column in &self.columns {
            let encoder = column.encoder.as_ref().expect("the file was read through");
            let cell = &cells[column.place];
            let coordinate = encoder.encode_text(cell);
            self.accept(column, cell, line, coordinate.outcome)?;
            if let Some((index, value)) = coordinate.entry {
                x[offset + index] = value;
            }
            offset += encoder.dimension();
        }
        let Some(rule) = &self.rule else { return Ok(x) };
        let cell = |column: &Column| (column.name.clone(), cells[column.place].clone());
        let context = Value::from_iter(self.columns.iter().map(cell));
        Ok(rule.vector(&context, &Value::Missing, &mut Report::default()))
    }

    /// A line as `x/|x| / sqrt 2`.
    pub(crate) fn features(&self, cells: &[String], line: usize) -> Result<Vec<f64>> {
        let mut x = self.raw(cells, line)?;
        x.push(1.0);
        scale(&mut x);
        Ok(x)
    }

    /// Number of features of a line, without the 1.
    pub(crate) fn width(&self) -> usize {
        self.rule.as_ref().map_or_else(|| self.plain_width(), FeaturesPlan::dimension)
    }

    /// The same without products and Fourier features.
    fn plain_width(&self) -> usize {
        let one = |column: &Column| column.encoder.as_ref().map_or(1, Encoder::dimension);
        self.columns.iter().map(one).sum()
    }

    /// Number of cells outside their ranges, for the holder of the file: a count of its lines, which no guarantee covers. It is a
    /// remark and never a condition of a certificate.
    pub(crate) fn clipped(&self) -> Option<String> {
        let count = |column: &Column| match column.encoder.as_ref()?.encoding() {
            Encoding::Range(low, high) if column.outside > 0 => {
                Some(format!("{} of {} outside [{low}, {high}]", column.outside, column.name))
            }
            _ => None,
        };
        let counts: Vec<String> = self.columns.iter().filter_map(count).collect();
        clipped_remark(&counts, &self.path)
    }

    /// Remarks on ranges that must be public, and on cells that were left out.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let taken = |column: &&Column| column.taken.is_some();
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

/// Remark for the holder of a file on cells outside given ranges, such as `3 of age outside [0, 100]`.
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
pub(crate) fn scale(x: &mut [f64]) {
    let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    x.iter_mut().for_each(|x| *x *= 0.5_f64.sqrt() / norm);
}
