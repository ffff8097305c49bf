//! Figures and tables of a grid: final regret against one key, and against two keys.

use super::{AlgorithmSummary, Summary, against::against};
use crate::{
    algorithm::Label,
    report::figure::{Figure, HeatMap},
};

/// The largest number of keys that get a figure.
const MOST_FIGURES: usize = 6;

/// One figure for each key with several numbers: the final regret against it, a line for each of the other points.
pub(super) fn figures(summary: &Summary) -> Vec<(String, Figure)> {
    let keys = keys(&summary.algorithms);
    let wanted = |key: &&String| {
        summary.drawing.against.as_deref().is_none_or(|against| against == key.as_str())
    };
    let drawn = keys.iter().filter(wanted).take(MOST_FIGURES).filter_map(|key| {
        let figure = against(summary, key)?;
        Some((format!("regret-against-{key}"), figure))
    });
    drawn.collect()
}

/// For each pair of keys of one algorithm: a table with a row for each value of the first and a column for each of the second, unless `[figure]` asks for one key.
pub(super) fn heat_maps(summary: &Summary) -> Vec<HeatMap> {
    let (keys, drawing) = (keys(&summary.algorithms), &summary.drawing);
    let drawn = |group: &&Group<'_>| {
        drawing.algorithms.is_empty() || drawing.algorithms.contains(&group.points[0].series)
    };
    let mut maps = Vec::new();
    // A figure against one key is not a map of two.
    if summary.is_offline() || drawing.against.is_some() {
        return maps;
    }
    for (i, rows) in keys.iter().enumerate() {
        for columns in &keys[i + 1..] {
            for group in groups(&summary.algorithms, &[rows, columns]).iter().filter(drawn) {
                maps.extend(summary.heat_map(rows, columns, group));
            }
        }
    }
    maps.truncate(MOST_FIGURES);
    maps
}

/// Final regrets as a table: a row for each algorithm, a column for each value of the grid's one key; `None` if it has more keys, or none.
pub fn table(algorithms: &[AlgorithmSummary]) -> Option<(Vec<String>, Vec<Vec<String>>)> {
    let [key] = &keys(algorithms)[..] else { return None };
    let mut values: Vec<f64> = algorithms.iter().filter_map(|point| number(point, key)).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let mut header = vec![format!("final regret by {key}")];
    header.extend(values.iter().map(f64::to_string));
    let mut rows: Vec<Vec<String>> = Vec::new();
    for summary in algorithms.iter().filter(|summary| number(summary, key).is_none()) {
        let level = format!("{:.0}", summary.final_regret.mean);
        rows.push(
            std::iter::once(summary.name.clone())
                .chain(values.iter().map(|_| level.clone()))
                .collect(),
        );
    }
    for group in groups(algorithms, &[key]) {
        let at = |value: &f64| {
            let point = group.points.iter().find(|point| number(point, key) == Some(*value));
            point.map_or(String::new(), |point| format!("{:.0}", point.final_regret.mean))
        };
        rows.push(std::iter::once(group.name.clone()).chain(values.iter().map(at)).collect());
    }
    Some((header, rows))
}

impl Summary {
    fn heat_map(&self, rows: &str, columns: &str, group: &Group<'_>) -> Option<HeatMap> {
        let values = |key: &str| {
            let mut all: Vec<f64> =
                group.points.iter().filter_map(|point| number(point, key)).collect();
            all.sort_by(f64::total_cmp);
            all.dedup();
            all
        };
        let (first, second) = (values(rows), values(columns));
        if first.len() < 2 || second.len() < 2 {
            return None;
        }
        let at = |row: f64, column: f64| {
            let here = |point: &&&AlgorithmSummary| {
                number(point, rows) == Some(row) && number(point, columns) == Some(column)
            };
            group.points.iter().find(here).map(|point| point.final_regret)
        };
        let line = |&row: &f64| (row, second.iter().map(|&column| at(row, column)).collect());
        let one = group.points.iter().all(|point| point.final_regret.trials == 1);
        let words = if one { "final regret" } else { "mean final regret ± its standard error" };
        Some(HeatMap {
            title: group.name.clone(),
            shows_title: self.drawing.title,
            caption: self.caption(
                &format!("{words}; the darker the worse, between the smallest and the largest"),
                &[],
            ),
            keys: [rows.to_string(), columns.to_string()],
            rows: first.iter().map(line).collect(),
            columns: second.clone(),
        })
    }
}

/// The colours: an algorithm has the same colour in all figures, its index in this list.
pub(crate) fn colours<'a>(
    algorithms: impl IntoIterator<Item = &'a AlgorithmSummary>,
) -> Vec<&'a str> {
    distinct(algorithms.into_iter().map(|summary| summary.series.as_str()))
}

/// The values, each once, in the order of their first occurrence.
pub(super) fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut known: Vec<T> = Vec::new();
    for value in values {
        if !known.contains(&value) {
            known.push(value);
        }
    }
    known
}

/// Points of a grid that differ in some keys only.
pub(super) struct Group<'a> {
    pub(super) name: String,
    pub(super) points: Vec<&'a AlgorithmSummary>,
}

pub(super) fn number(summary: &AlgorithmSummary, key: &str) -> Option<f64> {
    let label = summary.labels.iter().find(|label| label.key == key)?;
    label.value.replace('_', "").parse().ok()
}

/// The keys that have two numbers or more, in the order of the file.
fn keys(algorithms: &[AlgorithmSummary]) -> Vec<String> {
    let labels = algorithms.iter().flat_map(|summary| &summary.labels);
    let mut keys = distinct(labels.map(|label| label.key.clone()));
    keys.retain(|key| {
        let mut values: Vec<f64> =
            algorithms.iter().filter_map(|summary| number(summary, key)).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values.len() > 1
    });
    keys
}

/// The algorithms that have these keys, together where they agree in everything else.
pub(super) fn groups<'a>(
    algorithms: impl IntoIterator<Item = &'a AlgorithmSummary>,
    without: &[&str],
) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for summary in algorithms {
        if without.iter().any(|key| number(summary, key).is_none()) {
            continue;
        }
        let rest: Vec<String> = summary
            .labels
            .iter()
            .filter(|label| !without.contains(&label.key.as_str()))
            .map(|Label { key, value }| format!("{key} = {value}"))
            .collect();
        let rest = rest.join(", ");
        let name = match rest.as_str() {
            "" => summary.series.clone(),
            rest => format!("{}, {rest}", summary.series),
        };
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.points.push(summary),
            None => groups.push(Group { name, points: vec![summary] }),
        }
    }
    groups
}
