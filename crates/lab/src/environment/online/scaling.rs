//! Converts a row of a file to features in [-1, 1], a constant feature, and a label that the loss accepts.
//!
//! Ranges that are given are public, and values beyond them are clipped. A range that is not given is taken from the file and reveals
//! something about its people: [`Scaling::conditions`] says so. Features are divided by the square root of their number, so that no feature
//! vector is longer than 1.

use std::collections::BTreeMap;

use reticent::{Error as CoreError, online::Loss};
use serde::{Deserialize, Serialize};

use super::Person;
use crate::Result;
use crate::csv::Table;

/// Public ranges of columns, by name.
pub type Ranges = BTreeMap<String, (f64, f64)>;

/// A column, and its values that become -1 and 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Its name in the file.
    pub name: String,
    /// The value that becomes -1.
    pub low: f64,
    /// The value that becomes 1.
    pub high: f64,
    /// The range was given, not taken from the data.
    pub public: bool,
}

impl Column {
    /// The value on the scale from -1 to 1; 0 where the range is a point.
    fn scaled(&self, value: f64) -> f64 {
        // Halved first, so that a range of any size is finite.
        let half = 0.5 * self.high - 0.5 * self.low;
        let middle = 0.5 * self.high + 0.5 * self.low;
        if half > 0.0 { (value - middle) / half } else { 0.0 }
    }
}

/// The conversion of rows to features and labels.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scaling {
    /// The features, in the order of the model's coordinates; the constant comes last.
    pub(crate) features: Vec<Column>,
    /// The label's column and range: the two classes, or the range that becomes -1 to 1.
    pub(crate) label: Column,
    loss: Loss,
}

impl Scaling {
    /// For a table whose last column is the label.
    pub(crate) fn new(table: &Table, loss: Loss, ranges: &Ranges) -> Result<Self> {
        if let Some(name) = ranges.keys().find(|name| !table.names.contains(name)) {
            let remedy = format!("expected ranges of {}", table.names.join(", "));
            return Err(CoreError::invalid("ranges", name, remedy).into());
        }
        for (name, &(low, high)) in ranges {
            if !(low.is_finite() && high.is_finite() && low < high) {
                let value = format!("{name} = [{low}, {high}]");
                let remedy = "expected two finite numbers, the smaller first";
                return Err(CoreError::invalid("ranges", value, remedy).into());
            }
        }
        let column = |index: usize| {
            let name = table.names[index].clone();
            let given = ranges.get(&name).copied();
            let values = table.rows.iter().map(|row| row[index]);
            let found = || {
                values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high): (f64, f64), value| {
                    (low.min(value), high.max(value))
                })
            };
            let (low, high) = given.unwrap_or_else(found);
            Column { name, low, high, public: given.is_some() }
        };
        let last = table.names.len() - 1;
        let label = column(last);
        if label.low == label.high {
            return Err(CoreError::invalid("label", label.low, "all labels are the same").into());
        }
        let strange = |row: &&Vec<f64>| row[last] != label.low && row[last] != label.high;
        if let (true, Some(row)) = (loss.classifies(), table.rows.iter().find(strange)) {
            let remedy = format!(
                "a loss of classes needs labels of exactly two values, here {} and {}",
                label.low, label.high
            );
            return Err(CoreError::invalid("label", row[last], remedy).into());
        }
        Ok(Scaling { features: (0..last).map(column).collect(), label, loss })
    }

    /// The number of features, with the constant.
    pub(crate) fn dimension(&self) -> usize {
        self.features.len() + 1
    }

    /// The largest absolute value of a coordinate.
    pub(crate) fn unit(&self) -> f64 {
        1.0 / (self.dimension() as f64).sqrt()
    }

    /// The features and label of a row; the features have norm at most 1.
    pub(crate) fn person(&self, row: &[f64]) -> Person {
        let unit = self.unit();
        let feature = |(index, (column, &value)): (usize, (&Column, &f64))| {
            (index, unit * column.scaled(value).clamp(-1.0, 1.0))
        };
        let features = self.features.iter().zip(row).enumerate().map(feature);
        let constant = (self.features.len(), unit);
        let label = self.label.scaled(row[self.features.len()]).clamp(-1.0, 1.0);
        let label = if self.loss.classifies() { label.signum() } else { label };
        (features.filter(|&(_, x)| x != 0.0).chain([constant]).collect(), label)
    }

    /// Cells beyond ranges that were given, by column, such as `3 of age outside [0, 100]`.
    pub(crate) fn outside(&self, rows: &[Vec<f64>]) -> Vec<String> {
        let count = |(index, column): (usize, &Column)| {
            let range = column.low..=column.high;
            let outside = rows.iter().filter(|row| !range.contains(&row[index])).count();
            let Column { name, low, high, .. } = column;
            (outside > 0).then(|| format!("{outside} of {name} outside [{low}, {high}]"))
        };
        self.features.iter().chain([&self.label]).enumerate().filter_map(count).collect()
    }

    /// Columns whose range was taken from the data.
    fn taken(&self) -> Vec<&str> {
        // This includes classes: a class may occur for one person only.
        let columns = self.features.iter().chain([&self.label]).filter(|column| !column.public);
        columns.map(|column| column.name.as_str()).collect()
    }

    /// Refuses ranges taken from people who ask for privacy: a published range reveals the data of the people at its ends.
    pub(crate) fn check_public(&self) -> Result<()> {
        match self.taken().first() {
            None => Ok(()),
            Some(name) => {
                let remedy = format!(
                    "expected the public range of {name}: a range taken from the file would reveal its people's data"
                );
                Err(CoreError::invalid("ranges", "incomplete", remedy).into())
            }
        }
    }

    /// Conditions of a guarantee besides those of its randomiser.
    pub(crate) fn conditions(&self) -> Vec<String> {
        let taken = self.taken();
        if taken.is_empty() {
            return Vec::new();
        }
        vec![format!(
            "the ranges of {} were taken from the data, not protected: they must be public, or be given in `ranges`",
            taken.join(", ")
        )]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[[f64; 3]]) -> Table {
        let names = ["a", "b", "y"].map(String::from).to_vec();
        Table { names, rows: rows.iter().map(|row| row.to_vec()).collect() }
    }

    #[test]
    fn given_ranges_clip_and_ranges_taken_from_data_are_a_condition() {
        let table = table(&[[0.0, 5.0, 1.0], [10.0, 5.0, 3.0], [4.0, 5.0, 2.0]]);
        let taken = Scaling::new(&table, Loss::Absolute, &Ranges::new()).unwrap();
        assert!(taken.conditions()[0].contains("a, b, y"));
        let unit = 1.0 / 3f64.sqrt();
        assert_eq!(taken.person(&table.rows[1]), (vec![(0, unit), (2, unit)], 1.0));
        let ranges: Ranges = [("a", (0.0, 4.0)), ("b", (0.0, 10.0)), ("y", (-1.0, 1.0))]
            .map(|(n, r)| (n.to_string(), r))
            .into();
        let given = Scaling::new(&table, Loss::Absolute, &ranges).unwrap();
        assert!(given.conditions().is_empty());
        // 10 and the label of 3 lie beyond their ranges.
        assert_eq!(given.person(&table.rows[1]), (vec![(0, unit), (2, unit)], 1.0));
        for row in [[f64::MAX, -f64::MAX, 1e300], [0.0, 0.0, 0.0]] {
            let square: f64 = given.person(&row).0.iter().map(|(_, x)| x * x).sum();
            assert!(square <= 1.0 + 1e-12);
        }
    }

    #[test]
    fn bad_labels_and_ranges_are_named() {
        let reason = |loss, ranges: &[(&str, (f64, f64))], rows: &[[f64; 3]]| {
            let ranges: Ranges =
                ranges.iter().map(|&(name, range)| (name.to_string(), range)).collect();
            Scaling::new(&table(rows), loss, &ranges).unwrap_err().to_string()
        };
        let rows = [[0.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 0.5]];
        assert!(reason(Loss::Hinge, &[], &rows).contains("exactly two values"));
        assert!(reason(Loss::Absolute, &[], &rows[..1]).contains("the same"));
        assert!(reason(Loss::Absolute, &[("z", (0.0, 1.0))], &rows).contains("a, b, y"));
        assert!(reason(Loss::Absolute, &[("a", (1.0, 0.0))], &rows).contains("smaller first"));
        assert!(reason(Loss::Absolute, &[("a", (0.0, f64::NAN))], &rows).contains("smaller first"));
    }
}
