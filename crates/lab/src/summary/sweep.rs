//! Figures and tables of a grid: final regret against one key, and against two keys.

use super::{
    AlgorithmSummary, Estimate, Summary,
    drawing::{Facets, Spread},
    figures::MOST_PANELS,
};
use crate::{
    contest::Label,
    estimate::stuck_words,
    figure::{Figure, HeatMap, Line, Panel, Scale, Series},
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

/// For each pair of keys of one algorithm: a table with a row for each value of the first and a column for each of the second. Those that `[figure]` asks for.
pub(super) fn heat_maps(summary: &Summary) -> Vec<HeatMap> {
    let (keys, drawing) = (keys(&summary.algorithms), &summary.drawing);
    let drawn = |group: &&Group<'_>| {
        drawing.algorithms.is_empty() || drawing.algorithms.contains(&group.points[0].series)
    };
    let mut maps = Vec::new();
    for (i, rows) in keys.iter().enumerate() {
        for columns in &keys[i + 1..] {
            let wanted = |against: &str| against == rows || against == columns;
            if summary.is_offline() || !drawing.against.as_deref().is_none_or(wanted) {
                continue;
            }
            for group in groups(&summary.algorithms, &[rows, columns]).iter().filter(drawn) {
                maps.extend(HeatMap::new(rows, columns, group));
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

/// Points of a grid that differ in some keys only.
struct Group<'a> {
    name: String,
    /// The name without that of the algorithm.
    rest: String,
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
fn groups<'a>(
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
            None => groups.push(Group { name, rest, points: vec![summary] }),
        }
    }
    groups
}

/// The final regret against a key.
fn against(summary: &Summary, key: &str) -> Option<Figure> {
    let drawn = summary.drawing.drawn(&summary.algorithms);
    let spread = match summary.drawing.spread(&drawn) {
        // Final regrets are single numbers: their quantiles show what lines would.
        Spread::Trials => Spread::Quantiles,
        other => other,
    };
    let all = groups(drawn.iter().copied(), &[key]);
    let facets = summary.drawing.facets(all.len(), &drawn, Some(key));
    // Panels by the axis itself would have one point each.
    let facets = if facets == Facets::Key(key) { Facets::None } else { facets };
    let mut panels: Vec<Panel> = Vec::new();
    for group in &all {
        let first = group.points[0];
        let (title, name) = match facets {
            Facets::None => (String::new(), group.name.clone()),
            Facets::Algorithm => {
                let name = if group.rest.is_empty() { &first.series } else { &group.rest };
                (first.series.clone(), name.clone())
            }
            Facets::Key(by) => {
                let value = first.labels.iter().find(|label| label.key == by);
                let value = value.map_or("-", |label| label.value.as_str());
                let own = format!(", {by} = {value}");
                (format!("{by} = {value}"), group.name.replace(&own, ""))
            }
        };
        let mut points: Vec<(f64, Estimate)> = group
            .points
            .iter()
            .filter_map(|point| Some((number(point, key)?, point.final_regret)))
            .collect();
        points.sort_by(|one, two| one.0.total_cmp(&two.0));
        if points.len() < 2 {
            continue;
        }
        let panel = match panels.iter().position(|panel| panel.title == title) {
            Some(place) => place,
            None if panels.len() == MOST_PANELS => continue,
            None => {
                panels.push(Panel { title, series: Vec::new() });
                panels.len() - 1
            }
        };
        let alike = all.iter().filter(|other| other.points[0].series == first.series);
        let (several, one_name) = (alike.count() > 1, colours(&summary.algorithms).len() == 1);
        let among = panels[panel].series.iter().filter(|line| !line.name.is_empty()).count();
        let colour = match several || one_name {
            // Lines of one algorithm have colours by their place.
            true => among,
            false => summary.colour(first),
        };
        let stuck = stuck_words(points.iter().map(|(_, e)| e));
        let look = Series { name: format!("{name}{stuck}"), colour, ..Series::default() };
        panels[panel].series.extend(final_lines(&points, &look, spread));
    }
    let ends = |pick: fn(f64, f64) -> f64| {
        let lines = panels.iter().flat_map(|panel| &panel.series);
        lines.flat_map(|line| &line.points).map(|point| point.0).reduce(pick)
    };
    let (low, high) = (ends(f64::min)?, ends(f64::max)?);
    // An algorithm without the swept key is a horizontal reference line with its interval.
    for reference in drawn.iter().filter(|reference| reference.labels.is_empty()) {
        let regret = &reference.final_regret;
        let (level, band) = match spread {
            Spread::Interval => (regret.mean, regret.band()),
            _ => (regret.median, (regret.percentile_5, regret.percentile_95)),
        };
        let line = Series {
            name: format!("{}{}", reference.name, stuck_words([regret])),
            colour: summary.colour(reference),
            line: Line::Dashed,
            points: vec![(low, level), (high, level)],
            band: vec![band; 2],
            ..Series::default()
        };
        panels.iter_mut().for_each(|panel| panel.series.push(line.clone()));
    }
    let all = || panels.iter().flat_map(|panel| &panel.series).flat_map(|line| &line.points);
    let scale = |values: Vec<f64>| {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if low > 0.0 && high >= 8.0 * low { Scale::Logarithmic } else { Scale::Linear }
    };
    let x = (key.to_string(), scale(all().map(|point| point.0).collect()));
    let y = ("final regret".to_string(), scale(all().map(|point| point.1).collect()));
    let title = format!("{}: final regret against {key}", summary.name);
    let caption = summary.caption(Some(spread), 0);
    Some(summary.finished(Figure { panels, caption, ..Figure::of(title, x, y, Vec::new()) }))
}

/// Final regrets at the measured points of one line.
fn final_lines(points: &[(f64, Estimate)], look: &Series, spread: Spread) -> Vec<Series> {
    let pick = |pick: fn(&Estimate) -> f64| -> Vec<(f64, f64)> {
        points.iter().map(|(x, e)| (*x, pick(e))).collect()
    };
    let line = Line::Marked;
    if spread != Spread::Interval {
        let band = points.iter().map(|(_, e)| (e.percentile_5, e.percentile_95)).collect();
        return vec![Series { line, points: pick(|e| e.median), band, ..look.clone() }];
    }
    let band = points.iter().map(|(_, e)| e.band()).collect();
    let mut series = vec![Series { line, points: pick(|e| e.mean), band, ..look.clone() }];
    if points.iter().all(|(_, e)| e.trials > 2) {
        let beside = |line, points| Series { name: String::new(), line, points, ..look.clone() };
        series.push(beside(Line::Dotted, pick(|e| e.median)));
        series.push(beside(Line::Marks, pick(|e| e.percentile_95)));
    }
    series
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
        let mut summary = summary;
        let names = |summary: &Summary| -> Vec<String> {
            let (_, figure) = figures(summary).remove(0);
            let names = figure.series().map(|line| line.name.clone());
            names.filter(|name| !name.is_empty()).collect()
        };
        for (algorithm, stuck) in summary.algorithms.iter_mut().zip([0, 0, 0]) {
            algorithm.final_regret.stuck_trials = Some(stuck);
        }
        assert!(names(&summary).iter().all(|name| !name.contains("stuck")));
        for (algorithm, stuck) in summary.algorithms.iter_mut().zip([1, 0, 2]) {
            algorithm.final_regret.stuck_trials = Some(stuck);
        }
        let names = names(&summary);
        assert_eq!(names.len(), 2, "{names:?}");
        // For both points of the line, and for the reference level.
        assert!(
            names[0].ends_with(", 2 of 6 stuck") && names[1].ends_with(", 1 of 3 stuck"),
            "{names:?}"
        );
    }
}
