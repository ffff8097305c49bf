//! Logs that hold the features of every arm: columns `arm<action>_<i>`, i from 0, with a norm of at most 1 for each arm.

use std::{collections::BTreeMap, path::Path};

use reticent::error::message;

use super::log::number;
use crate::{
    Result,
    csv::{Rows, unusable},
};

/// Rounding of features that were divided by their bound.
const ROUNDING: f64 = 1e-9;

/// Columns of the features of each arm.
#[derive(Debug)]
pub(super) struct ArmColumns {
    dimension: usize,
    /// Columns of the features of each action, in the order of their names.
    places: BTreeMap<String, Vec<usize>>,
}

impl ArmColumns {
    /// The arms that a line of names has.
    pub(super) fn of(rows: &Rows, path: &Path) -> Result<Self> {
        let mut columns: BTreeMap<String, BTreeMap<usize, usize>> = BTreeMap::new();
        for (place, name) in rows.names().iter().enumerate() {
            if let Some((action, feature)) =
                name.strip_prefix("arm").and_then(|name| name.rsplit_once('_'))
                && let Ok(feature) = feature.parse()
            {
                columns.entry(action.into()).or_default().insert(feature, place);
            }
        }
        let dimension = columns.values().next().map_or(0, BTreeMap::len);
        let places: BTreeMap<String, Vec<usize>> = columns
            .into_iter()
            .filter(|(_, features)| features.keys().copied().eq(0..dimension))
            .map(|(action, features)| (action, features.into_values().collect()))
            .collect();
        let found = rows.names().iter().filter(|name| name.starts_with("arm")).count();
        if dimension == 0 || places.len() * dimension != found {
            let remedy = "expected, with arms_in_file, columns arm<action>_0, arm<action>_1, ... with as many features for every action";
            let columns = format!("{found} that begin with arm");
            return Err(unusable(path, message("columns", columns, remedy)));
        }
        Ok(ArmColumns { dimension, places })
    }

    /// Features of an arm.
    pub(super) fn dimension(&self) -> usize {
        self.dimension
    }

    /// Names of all actions, sorted.
    pub(super) fn actions(&self) -> impl Iterator<Item = &str> {
        self.places.keys().map(String::as_str)
    }

    /// Features of all arms, one after the other in the order of the actions' names, or what is wrong with them.
    pub(super) fn features(&self, cells: &[String]) -> std::result::Result<Vec<f64>, String> {
        let mut all = Vec::with_capacity(self.places.len() * self.dimension);
        for (action, places) in &self.places {
            for (feature, place) in places.iter().enumerate() {
                all.push(number(&cells[*place]).ok_or_else(|| {
                    let field = format!("arm{action}_{feature}");
                    message(field, format!("{:?}", cells[*place]), "expected a number")
                })?);
            }
            let square: f64 = all[all.len() - self.dimension..].iter().map(|x| x * x).sum();
            if square.sqrt() > 1.0 + ROUNDING {
                let norm = square.sqrt();
                let remedy = "divide features by their largest norm";
                return Err(message(format!("norm of arm{action}"), norm, remedy));
            }
        }
        Ok(all)
    }
}
