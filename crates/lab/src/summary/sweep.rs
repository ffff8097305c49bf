//! Figures and tables of a grid: final regret against one key, and against two keys.

use super::{AlgorithmSummary, Estimate};
use crate::{
    contest::Label,
    estimate::stuck_words,
    figure::{Figure, Line, Scale, Series},
    report::HeatMap,
};

/// The explanation of the lines in a figure of regret, for the axis label.
pub(crate) const EXPLAINED: &str =
    " (line and band: mean and its 95 % interval; dotted: median; triangle: 95th percentile)";

/// The largest number of keys that get a figure.
const MOST_FIGURES: usize = 6;

/// One figure for each key with several numbers: the final regret against it, a line for each of the other points.
pub fn figures(name: &str, algorithms: &[AlgorithmSummary]) -> Vec<(String, Figure)> {
    let keys = keys(algorithms);
    let drawn = keys.iter().take(MOST_FIGURES).filter_map(|key| {
        let figure = against(name, algorithms, key)?;
        Some((format!("regret-against-{key}"), figure))
    });
    drawn.collect()
}

/// For each pair of keys of one algorithm: a table with a row for each value of the first and a column for each of the second.
pub fn heat_maps(algorithms: &[AlgorithmSummary]) -> Vec<HeatMap> {
    let keys = keys(algorithms);
    let mut maps = Vec::new();
    for (i, rows) in keys.iter().enumerate() {
        for columns in &keys[i + 1..] {
            for group in groups(algorithms, &[rows, columns]) {
                maps.extend(HeatMap::new(rows, columns, &group));
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

impl HeatMap {
    fn new(rows: &str, columns: &str, group: &Group<'_>) -> Option<Self> {
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
        Some(HeatMap {
            title: group.name.clone(),
            keys: [rows.to_string(), columns.to_string()],
            rows: first.iter().map(line).collect(),
            columns: second.clone(),
        })
    }
}

/// The colours: an algorithm has the same colour in all figures, its index in this list.
pub(crate) fn colours(algorithms: &[AlgorithmSummary]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for summary in algorithms {
        if !names.contains(&summary.series.as_str()) {
            names.push(&summary.series);
        }
    }
    names
}

/// The paleness of line number `place` among `of` lines of one colour.
pub(crate) fn paleness(place: usize, of: usize) -> f64 {
    0.7 * place as f64 / of.max(1) as f64
}

/// Points of a grid that differ in some keys only.
struct Group<'a> {
    name: String,
    points: Vec<&'a AlgorithmSummary>,
}

fn number(summary: &AlgorithmSummary, key: &str) -> Option<f64> {
    let label = summary.labels.iter().find(|label| label.key == key)?;
    label.value.replace('_', "").parse().ok()
}

/// The keys that have two numbers or more, in the order of the file.
fn keys(algorithms: &[AlgorithmSummary]) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    for label in algorithms.iter().flat_map(|summary| &summary.labels) {
        if !keys.contains(&label.key) {
            keys.push(label.key.clone());
        }
    }
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
fn groups<'a>(algorithms: &'a [AlgorithmSummary], without: &[&str]) -> Vec<Group<'a>> {
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
        let name =
            std::iter::once(summary.series.clone()).chain(rest).collect::<Vec<_>>().join(", ");
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.points.push(summary),
            None => groups.push(Group { name, points: vec![summary] }),
        }
    }
    groups
}

fn against(name: &str, algorithms: &[AlgorithmSummary], key: &str) -> Option<Figure> {
    let mut series = Vec::new();
    let colour = |of: &str| colours(algorithms).iter().position(|name| *name == of).unwrap_or(0);
    let groups = groups(algorithms, &[key]);
    for group in &groups {
        let of = &group.points[0].series;
        let alike: Vec<&Group<'_>> =
            groups.iter().filter(|other| other.points[0].series == *of).collect();
        let place = alike.iter().position(|other| other.name == group.name).unwrap_or(0);
        let mut points: Vec<(f64, Estimate)> = group
            .points
            .iter()
            .filter_map(|summary| Some((number(summary, key)?, summary.final_regret)))
            .collect();
        points.sort_by(|one, two| one.0.total_cmp(&two.0));
        if points.len() > 1 {
            let of_trials = |pick: fn(&Estimate) -> f64| -> Vec<(f64, f64)> {
                points.iter().map(|(x, e)| (*x, pick(e))).collect()
            };
            let line = |name: String, line, points, band| Series {
                name,
                colour: colour(of),
                paleness: paleness(place, alike.len()),
                line,
                points,
                band,
            };
            let band = points.iter().map(|(_, e)| e.band()).collect();
            // The total over all points of the line; the table has the counts of single points.
            let stuck = stuck_words(points.iter().map(|(_, e)| e));
            let name = format!("{}{stuck}", group.name);
            series.push(line(name, Line::Solid, of_trials(|e| e.mean), band));
            if points.iter().all(|(_, e)| e.trials > 2) {
                let (median, worst) = (of_trials(|e| e.median), of_trials(|e| e.percentile_95));
                series.push(line(String::new(), Line::Dotted, median, Vec::new()));
                series.push(line(String::new(), Line::Marks, worst, Vec::new()));
            }
        }
    }
    // An algorithm without the swept key is drawn as a horizontal reference line.
    let ends = |pick: fn(f64, f64) -> f64| {
        series.iter().flat_map(|line| &line.points).map(|point| point.0).reduce(pick)
    };
    if let (Some(low), Some(high)) = (ends(f64::min), ends(f64::max)) {
        for summary in algorithms.iter().filter(|summary| summary.labels.is_empty()) {
            let mean = summary.final_regret.mean;
            let stuck = stuck_words([&summary.final_regret]);
            series.push(Series {
                name: format!("{}{stuck}", summary.name),
                colour: colour(&summary.series),
                line: Line::Dashed,
                points: vec![(low, mean), (high, mean)],
                ..Series::default()
            });
        }
    }
    let all = || series.iter().flat_map(|line| &line.points);
    let scale = |values: &dyn Fn() -> Vec<f64>| {
        let values = values();
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if low > 0.0 && high >= 8.0 * low { Scale::Logarithmic } else { Scale::Linear }
    };
    let x = scale(&|| all().map(|point| point.0).collect());
    let y = scale(&|| all().map(|point| point.1).collect());
    (!series.is_empty()).then(|| Figure {
        title: format!("{name}: final regret against {key}"),
        x: (format!("{key}{EXPLAINED}"), x),
        y: ("final regret".into(), y),
        series,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Experiment;

    #[test]
    fn the_figure_of_a_grid_counts_stuck_trials() {
        let text = r#"
            name = "grid"
            rounds = 100
            trials = 3
            environment = { kind = "sphere", dimension = 3, arms = 5 }
            [[algorithm]]
            kind = "linucb"
            [[algorithm]]
            kind = "joint"
            privacy = { epsilon = [1.0, 2.0], delta = 1e-6 }
        "#;
        let folder = std::env::temp_dir().join(format!("reticent-sweep-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let summary = Experiment::parse(text).unwrap().run(&folder, |_, _| ()).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let mut algorithms = summary.algorithms;
        let names = |algorithms: &[AlgorithmSummary]| -> Vec<String> {
            let (_, figure) = figures("grid", algorithms).remove(0);
            figure
                .series
                .into_iter()
                .map(|line| line.name)
                .filter(|name| !name.is_empty())
                .collect()
        };
        for (algorithm, stuck) in algorithms.iter_mut().zip([0, 0, 0]) {
            algorithm.final_regret.stuck_trials = Some(stuck);
        }
        assert!(names(&algorithms).iter().all(|name| !name.contains("stuck")));
        for (algorithm, stuck) in algorithms.iter_mut().zip([1, 0, 2]) {
            algorithm.final_regret.stuck_trials = Some(stuck);
        }
        let names = names(&algorithms);
        assert_eq!(names.len(), 2, "{names:?}");
        // For both points of the line, and for the reference level.
        assert!(
            names[0].ends_with(", 2 of 6 stuck") && names[1].ends_with(", 1 of 3 stuck"),
            "{names:?}"
        );
    }
}
