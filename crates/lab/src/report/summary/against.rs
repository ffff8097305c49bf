//! The final regret against one key of a grid.

use super::{
    AlgorithmSummary, Estimate, Summary,
    drawing::{Facets, Spread},
    figures::{LEAST_FOR_PERCENTILE, MOST_TRIALS, panel_of, reference_name},
    sweep::{Group, distinct, groups, number},
};
use crate::{
    algorithm::Label,
    report::{
        estimate::stuck_words,
        figure::{Figure, Line, Panel, Scale, Series},
    },
};

/// The final regret against a key.
pub(super) fn against(summary: &Summary, key: &str) -> Option<Figure> {
    let drawn = summary.drawing.drawn(&summary.algorithms);
    let spread = summary.drawing.spread(&drawn);
    let all = groups(drawn.iter().copied(), &[key]);
    let (lines, single): (Vec<&Group<'_>>, Vec<_>) =
        all.iter().partition(|group| group.points.len() > 1);
    let firsts: Vec<&AlgorithmSummary> = lines.iter().map(|group| group.points[0]).collect();
    // An algorithm without the swept key is a horizontal reference line with its interval, unless it has a grid of its own.
    let keys = distinct(firsts.iter().flat_map(|first| &first.labels).map(|label| &label.key));
    let is_reference = |one: &&AlgorithmSummary| {
        number(one, key).is_none() && one.labels.iter().all(|label| keys.contains(&&label.key))
    };
    let references: Vec<&AlgorithmSummary> = drawn.iter().copied().filter(is_reference).collect();
    // Panels by the axis itself would have one point each.
    let facets = match summary.drawing.facets(&firsts, &references, Some(key)) {
        Facets::Key(by) if by == key => Facets::None,
        facets => facets,
    };
    let mut left_out: Vec<String> = single.iter().map(|group| group.name.clone()).collect();
    let mut panels: Vec<Panel> = Vec::new();
    let paint = Paint::new(summary, &lines, &references, facets, key);
    // Lines without the key of the panels stand in all of them.
    let mut everywhere = Vec::new();
    for group in &lines {
        let mut points: Vec<(f64, &AlgorithmSummary)> =
            group.points.iter().filter_map(|point| Some((number(point, key)?, *point))).collect();
        points.sort_by(|one, two| one.0.total_cmp(&two.0));
        let look = paint.line(group);
        // A name is the same in all panels.
        let alike = lines.iter().filter(|other| paint.line_name(other) == look.name);
        let alike = alike.flat_map(|other| &other.points).map(|point| &point.final_regret);
        let look = Series { name: format!("{}{}", look.name, stuck_words(alike)), ..look };
        let series = final_lines(&points, &look, spread);
        let Some(title) = panel_of(group.points[0], facets) else {
            everywhere.extend(series);
            continue;
        };
        match panels.iter().position(|panel| panel.title == title) {
            Some(place) => panels[place].series.extend(series),
            None if panels.len() == summary.most_panels() => left_out.push(group.name.clone()),
            None => panels.push(Panel { title, series }),
        }
    }
    if panels.is_empty() {
        panels.push(Panel::default());
    }
    panels.iter_mut().for_each(|panel| panel.series.extend(everywhere.iter().cloned()));
    let ends = |pick: fn(f64, f64) -> f64| {
        let lines = panels.iter().flat_map(|panel| &panel.series);
        lines.flat_map(|line| &line.points).map(|point| point.0).reduce(pick)
    };
    let (low, high) = (ends(f64::min)?, ends(f64::max)?);
    for reference in &references {
        let regret = &reference.final_regret;
        let (level, band) = match spread {
            Spread::Interval => (regret.mean, regret.band()),
            _ => (regret.median, (regret.percentile_5, regret.percentile_95)),
        };
        let look = paint.reference(reference);
        let alike = references.iter().filter(|other| reference_name(other, facets) == look.name);
        let stuck = stuck_words(alike.map(|other| &other.final_regret));
        let line = Series {
            name: format!("{}{stuck}", look.name),
            points: vec![(low, level), (high, level)],
            band: vec![band; 2],
            ..look
        };
        let title = panel_of(reference, facets);
        let own = |panel: &&mut Panel| match facets {
            Facets::Key(_) => title.as_ref().is_none_or(|title| *title == panel.title),
            _ => true,
        };
        panels.iter_mut().filter(own).for_each(|panel| panel.series.push(line.clone()));
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
    let mut words = summary.words(Some(spread), &panels);
    if spread == Spread::Trials && !references.is_empty() {
        words += "; dashed: median and 5 to 95 % of the trials";
    }
    let caption = summary.caption(&words, &left_out);
    Some(summary.finished(Figure { panels, caption, ..Figure::of(title, x, y, Vec::new()) }))
}

/// Names and colours of the lines of a figure: a name has the same colour in all panels.
struct Paint<'a> {
    summary: &'a Summary,
    facets: Facets<'a>,
    key: &'a str,
    /// The name of each line, with that of its algorithm.
    lines: Vec<(String, String)>,
    references: Vec<(String, String)>,
}

impl<'a> Paint<'a> {
    fn new(
        summary: &'a Summary,
        lines: &[&Group<'_>],
        references: &[&AlgorithmSummary],
        facets: Facets<'a>,
        key: &'a str,
    ) -> Self {
        let named = |one: &&AlgorithmSummary| (reference_name(one, facets), one.series.clone());
        let references = distinct(references.iter().map(named));
        let mut paint = Paint { summary, facets, key, lines: Vec::new(), references };
        let named = |group: &&Group<'_>| (paint.line_name(group), group.points[0].series.clone());
        paint.lines = distinct(lines.iter().map(named));
        paint
    }

    /// Coordinates that distinguish a line from the others: those in the grid, without the axis and the panel.
    fn line_name(&self, group: &Group<'_>) -> String {
        let first = group.points[0];
        let rest = first
            .labels
            .iter()
            .filter(|label| label.key != self.key && Facets::Key(&label.key) != self.facets);
        let rest = rest.map(|Label { key, value }| format!("{key} = {value}"));
        let rest = rest.collect::<Vec<_>>().join(", ");
        match self.facets {
            Facets::None => group.name.clone(),
            Facets::Algorithm if !rest.is_empty() => rest,
            _ if rest.is_empty() => first.series.clone(),
            _ => format!("{}, {rest}", first.series),
        }
    }

    fn line(&self, group: &Group<'_>) -> Series {
        let (name, first) = (self.line_name(group), group.points[0]);
        let alike = || self.lines.iter().filter(|(_, series)| *series == first.series);
        let place = alike().position(|(other, _)| *other == name).unwrap_or(0);
        self.summary.look(first, name, (place, alike().count()))
    }

    fn reference(&self, reference: &AlgorithmSummary) -> Series {
        let name = reference_name(reference, self.facets);
        self.summary.reference_look(reference, &name, &self.references)
    }
}

/// Final regrets at the measured points of one line.
fn final_lines(points: &[(f64, &AlgorithmSummary)], look: &Series, spread: Spread) -> Vec<Series> {
    let pick = |pick: fn(&Estimate) -> f64| -> Vec<(f64, f64)> {
        points.iter().map(|(x, point)| (*x, pick(&point.final_regret))).collect()
    };
    let bands = |ends: fn(&Estimate) -> (f64, f64)| -> Vec<(f64, f64)> {
        points.iter().map(|(_, point)| ends(&point.final_regret)).collect()
    };
    let beside =
        |role, line, points| Series { name: String::new(), role, line, points, ..look.clone() };
    let line = Line::Marked;
    match spread {
        Spread::Quantiles => {
            let (points, band) = (pick(|e| e.median), bands(|e| (e.percentile_5, e.percentile_95)));
            vec![Series { line, points, band, ..look.clone() }]
        }
        Spread::Trials => {
            let trials = points.iter().flat_map(|(x, point)| {
                point.final_regrets().into_iter().take(MOST_TRIALS).map(|regret| (*x, regret))
            });
            let dots = beside("one trial", Line::Dots, trials.collect());
            vec![dots, Series { line, points: pick(|e| e.median), ..look.clone() }]
        }
        Spread::Interval => {
            let (middle, band) = (pick(|e| e.mean), bands(Estimate::band));
            let mut series = vec![Series { line, points: middle, band, ..look.clone() }];
            if points.iter().all(|(_, point)| point.final_regret.trials > 2) {
                series.push(beside("median", Line::Dotted, pick(|e| e.median)));
            }
            let enough = |(_, point): &(f64, &AlgorithmSummary)| {
                point.final_regret.trials >= LEAST_FOR_PERCENTILE
            };
            if points.iter().all(enough) {
                series.push(beside("95th percentile", Line::Marks, pick(|e| e.percentile_95)));
            }
            series
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Experiment, report::summary::sweep::figures};

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
