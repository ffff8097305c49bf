//! Grids: a list in place of a value runs every value of the list.
//!
//! The type of the table decides which lists are values (`levels = [1, 2]`) and which are grids (`epsilon = [1, 2]`): a grid is the
//! smallest set of lists that must be replaced by one of their entries before the table can be deserialised.

use serde::{Serialize, de::DeserializeOwned};
use toml::{Table, Value};

use super::document::{Document, Section};
use crate::{
    Error, Result,
    algorithm::Label,
    lines::{attempt, get, paths, set},
};

/// The largest number of lists in one table, because every subset of them may have to be tried.
const MOST_LISTS: usize = 10;
/// The largest number of points of one grid.
const MOST_POINTS: usize = 10_000;

/// One point of a grid.
pub(super) struct Point<T> {
    pub(super) value: T,
    pub(super) table: Table,
    pub(super) labels: Vec<Label>,
}

impl<T: Serialize> Point<T> {
    /// A point of a value that a program made: it has no lists.
    pub(super) fn of(value: T) -> Result<Self> {
        let table =
            Table::try_from(&value).map_err(|error| Error::experiment(error.to_string()))?;
        Ok(Point { value, table, labels: Vec::new() })
    }
}

/// Every point of the table's grid, the last list running fastest.
pub(super) fn expand<T: DeserializeOwned>(
    document: &Document,
    section: Section,
    table: &Table,
) -> Result<Vec<Point<T>>> {
    let lists = grid_lists::<T>(document, section, table)?;
    let mut points = vec![(table.clone(), Vec::new())];
    for path in &lists {
        let Some(Value::Array(entries)) = get(table, path) else { continue };
        let key = &path[path.len() - 1];
        if points.len() * entries.len() > MOST_POINTS {
            let remedy = format!("a grid has at most {MOST_POINTS} points: shorten a list");
            let error = reticent::Error::invalid("grid", points.len() * entries.len(), remedy);
            return Err(document.locate(error.into(), section, Some(key)));
        }
        let with = |(table, labels): &(Table, Vec<Label>), entry: &Value| {
            let (mut table, mut labels) = (table.clone(), labels.clone());
            set(&mut table, path, entry);
            labels.push(Label { key: key.clone(), value: plain(entry) });
            (table, labels)
        };
        points = points.iter().flat_map(|point| entries.iter().map(|e| with(point, e))).collect();
    }
    let typed = |(table, labels)| {
        let value = document.typed(section, &table)?;
        Ok(Point { value, table, labels })
    };
    points.into_iter().map(typed).collect()
}

/// The lists that are grids.
fn grid_lists<T: DeserializeOwned>(
    document: &Document,
    section: Section,
    table: &Table,
) -> Result<Vec<Vec<String>>> {
    let Err(message) = attempt::<T>(table) else { return Ok(Vec::new()) };
    let mut lists = paths(table);
    lists.retain(|path| {
        get(table, path).is_some_and(|v| v.as_array().is_some_and(|a| !a.is_empty()))
    });
    lists.truncate(MOST_LISTS);
    let mut subsets: Vec<u32> = (1..1_u32 << lists.len()).collect();
    subsets.sort_by_key(|subset| subset.count_ones());
    let chosen = |subset: u32| {
        lists.iter().enumerate().filter(move |(i, _)| subset >> i & 1 == 1).map(|(_, path)| path)
    };
    // The error that remains after the grids are replaced.
    let mut other = None;
    for &subset in &subsets {
        let mut first = table.clone();
        for path in chosen(subset) {
            if let Some(Value::Array(entries)) = get(table, path) {
                set(&mut first, path, &entries[0]);
            }
        }
        match attempt::<T>(&first) {
            Ok(_) => return Ok(chosen(subset).cloned().collect()),
            Err(message) if other.is_none() && !message.contains("sequence") => {
                other = Some((first, message));
            }
            Err(_) => {}
        }
    }
    // A list of the wrong length is no grid.
    let grid = message.contains("sequence") && !message.starts_with("invalid length");
    let (table, message) = match (other, grid) {
        (Some(other), true) => other,
        _ => (table.clone(), message),
    };
    Err(document.refusal::<T>(section, &table, &message))
}

/// A value as text without quotes.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
