//! The figures of a summary: the headline measure, regret against rounds, and against the keys of a grid.

use super::{
    AlgorithmSummary, Estimate, Summary,
    drawing::{AxisScale, Facets, MOST_LINES, Spread},
    panels::{at_one_value, key_of_lines, thinned},
    sweep::{self, distinct},
};
use crate::{
    algorithm::Label,
    environment::offline::LOGGED,
    report::{
        estimate::stuck_words,
        figure::{Figure, Line, Panel, Scale, Series, draws_bars},
    },
};

/// The description of a regret that is estimated from a log.
const ESTIMATED: &str = " against the highest reward, estimated while learning";

/// Lines of one panel, at most, whose colours are in order: the rest are in the tables.
pub(super) const MOST_LINES_OF_PANEL: usize = 24;
/// Panels of one figure, at most, by default; and where `[figure]` says what panels are made by.
pub(super) const MOST_PANELS: usize = 6;
const MOST_PANELS_ASKED: usize = 24;
/// The share of the rounds from which lines are drawn where rounds are linear and regret is not: the first rounds would take most of the height.
const FIRST_SHOWN: f64 = 0.01;
/// Regrets that differ by this factor are drawn on a logarithmic axis.
const WIDE: f64 = 30.0;
/// With fewer trials the 95th percentile is little else than the worst one.
pub(super) const LEAST_FOR_PERCENTILE: usize = 20;
/// Thin lines or dots of one algorithm, at most.
pub(super) const MOST_TRIALS: usize = 64;
/// Names of lines that are left out, at most: a caption has room for this number.
const MOST_NAMES: usize = 12;

impl Summary {
    /// Every figure with the name of its file, the most important one first.
    pub(super) fn figures(&self) -> Vec<(String, Figure)> {
        let values = self.values().map(|figure| ("values".to_string(), figure));
        let mut figures: Vec<(String, Figure)> = values.into_iter().collect();
        if !self.is_offline() {
            figures.extend(sweep::figures(self));
        }
        if self.drawing.against.as_deref().is_none_or(|against| against == "round") {
            figures.push(("regret".to_string(), self.regret()));
        }
        figures
    }

    /// Caption: `words` say what is drawn, `left_out` what is not.
    pub(super) fn caption(&self, words: &str, left_out: &[String]) -> String {
        let trials = self.algorithms.iter().map(|one| one.final_regret.trials).max().unwrap_or(0);
        let several = if trials == 1 { "trial" } else { "trials" };
        let mut caption =
            format!("{trials} {several} of {} rounds, seed {}", self.rounds, self.seed);
        if !words.is_empty() {
            caption += &format!("; {words}");
        }
        if !left_out.is_empty() {
            let names = left_out.iter().take(MOST_NAMES).cloned().collect::<Vec<_>>().join("; ");
            let more = match left_out.len().saturating_sub(MOST_NAMES) {
                0 => String::new(),
                more => format!("; and {more} more"),
            };
            caption += &format!(". Not drawn (all rows are in results.csv): {names}{more}");
        }
        caption + &format!(". {}", crate::source::program())
    }

    /// Description of the lines of a figure. One or two trials have no spread.
    pub(super) fn words(&self, spread: Option<Spread>, panels: &[Panel]) -> String {
        let trials = self.algorithms.iter().map(|one| one.final_regret.trials).max().unwrap_or(0);
        let Some(spread) = spread.filter(|_| trials > 2) else { return String::new() };
        let bands = |panel: &Panel| panel.series.iter().filter(|one| !one.band.is_empty()).count();
        let words = match panels.iter().any(|panel| draws_bars(bands(panel))) {
            true => spread.words().replace("band", "bars"),
            false => spread.words().to_string(),
        };
        match spread {
            Spread::Trials if trials > MOST_TRIALS => format!("{words} (the first {MOST_TRIALS})"),
            _ => words,
        }
    }

    /// Panels of one figure, at most.
    pub(super) fn most_panels(&self) -> usize {
        if self.drawing.facets.is_some() { MOST_PANELS_ASKED } else { MOST_PANELS }
    }

    /// The figure with what `[figure]` says.
    pub(super) fn finished(&self, mut figure: Figure) -> Figure {
        figure.shows_title = self.drawing.title;
        figure.size = self.drawing.size;
        let points: Vec<(f64, f64)> =
            figure.series().flat_map(|line| &line.points).copied().collect();
        let wanted = |given: Option<AxisScale>, present, positive: bool| match given {
            // Nothing could be shown.
            Some(AxisScale::Log) if !positive => present,
            Some(given) => given.scale(),
            None => present,
        };
        let (x, y) = (self.drawing.x_scale, self.drawing.y_scale);
        figure.x.1 = wanted(x, figure.x.1, points.iter().any(|point| point.0 > 0.0));
        figure.y.1 = wanted(y, figure.y.1, points.iter().any(|point| point.1 > 0.0));
        figure
    }

    /// The colour of an algorithm, in all figures.
    pub(super) fn colour(&self, summary: &AlgorithmSummary) -> usize {
        let names = sweep::colours(&self.algorithms);
        names.iter().position(|name| *name == summary.series).unwrap_or(0)
    }

    /// The look of a dashed reference: `all` are the names of references, each with that of its algorithm.
    pub(super) fn reference_look(
        &self,
        one: &AlgorithmSummary,
        name: &str,
        all: &[(String, String)],
    ) -> Series {
        let alike: Vec<&String> =
            all.iter().filter(|(_, series)| *series == one.series).map(|(name, _)| name).collect();
        let place = alike.iter().position(|other| *other == name).unwrap_or(0);
        Series { line: Line::Dashed, ..self.look(one, name.to_string(), (place, alike.len())) }
    }

    /// The look of line number `place` of `of`, of one algorithm: its colour, in a shade if there are several.
    pub(super) fn look(
        &self,
        one: &AlgorithmSummary,
        name: String,
        (place, of): (usize, usize),
    ) -> Series {
        let ramp = (of > 1).then(|| place as f64 / (of - 1) as f64);
        Series { name, colour: self.colour(one), ramp, ..Series::default() }
    }

    /// The headline measure with the intervals of the table: a row for each algorithm.
    fn values(&self) -> Option<Figure> {
        let what = self.headline()?;
        let mut series = Vec::new();
        for (row, summary) in self.algorithms.iter().enumerate() {
            let (_, first) = summary.first()?;
            series.push(Series {
                name: summary.name.clone(),
                colour: self.colour(summary),
                line: Line::Interval,
                points: vec![(first.mean, -(row as f64))],
                band: first.interval_95.into_iter().collect(),
                ..Series::default()
            });
        }
        let logged = |summary: &AlgorithmSummary| summary.measure(LOGGED).map(|value| value.mean);
        let mut levels: Vec<f64> = self.algorithms.iter().filter_map(logged).collect();
        levels.dedup();
        if let [level] = levels[..] {
            let lowest = 0.5 - self.algorithms.len() as f64;
            series.push(Series {
                name: "what the log itself earned".into(),
                colour: 7,
                line: Line::Dashed,
                points: vec![(level, 0.5), (level, lowest)],
                ..Series::default()
            });
        }
        let title = format!("{}: {what}, 95 % intervals", self.name);
        let (x, y) = ((what.to_string(), Scale::Linear), (String::new(), Scale::Rows));
        let figure = Figure::of(title, x, y, series);
        let shows_title = self.drawing.title;
        let caption = self.caption("dot and bar: estimate and its 95 % interval", &[]);
        Some(Figure { caption, shows_title, ..figure })
    }

    /// Regret against rounds. Trials on a log differ in the learner's noise only and are not a sample, so that only their mean is drawn.
    fn regret(&self) -> Figure {
        let sampled = !self.is_offline();
        let drawn = self.drawing.drawn(&self.algorithms);
        let spread = sampled.then(|| self.drawing.spread(&drawn));
        let environment = drawn.iter().flat_map(|one| &one.environment).next();
        let given = self.drawing.facets.is_some();
        let (panels, left_out) = match (key_of_lines(&drawn), environment) {
            _ if given => self.apart(&drawn, spread, self.drawing.facets(&drawn, &[], None)),
            _ if drawn.len() <= MOST_LINES => self.apart(&drawn, spread, Facets::None),
            (Some(key), _) => self.by_key(&drawn, spread, key),
            (None, Some(label)) => self.apart(&drawn, spread, Facets::Key(&label.key)),
            (None, None) => self.in_parts(&drawn, spread),
        };
        let lines = panels.iter().flat_map(|panel| &panel.series);
        let last: Vec<f64> = lines.filter_map(|line| Some(line.points.last()?.1)).collect();
        let least = last.iter().copied().fold(f64::INFINITY, f64::min);
        let most = last.iter().copied().fold(0.0, f64::max);
        // A regret of zero cannot be shown on a logarithmic axis.
        let wide = least > 0.0 && most >= WIDE * least;
        let y = if wide { Scale::Logarithmic } else { Scale::Linear };
        let title = format!("{}: regret{}", self.name, if sampled { "" } else { ESTIMATED });
        let (x, y) = (("round".to_string(), Scale::Linear), ("regret".to_string(), y));
        let figure = Figure::of(title, x, y, Vec::new());
        let caption = self.caption(&self.words(spread, &panels), &left_out);
        let mut figure = self.finished(Figure { panels, caption, ..figure });
        if (figure.x.1, figure.y.1) == (Scale::Linear, Scale::Logarithmic) {
            let first = self.rounds as f64 * FIRST_SHOWN;
            let lines = figure.panels.iter_mut().flat_map(|panel| &mut panel.series);
            lines.for_each(|line| line.begin_at(first));
        }
        figure
    }

    /// All lines in one panel, with their theory.
    fn together(&self, drawn: &[&AlgorithmSummary], spread: Option<Spread>) -> Panel {
        let mut series: Vec<Series> = Vec::new();
        let theorems = sweep::distinct(
            drawn.iter().flat_map(|one| &one.bounds).map(|bound| bound.theorem.as_str()),
        );
        for summary in drawn {
            let alike: Vec<&str> = drawn
                .iter()
                .filter(|one| one.series == summary.series)
                .map(|one| one.name.as_str())
                .collect();
            let place = alike.iter().position(|name| *name == summary.name).unwrap_or(0);
            let name = format!("{}{}", summary.name, stuck_words([&summary.final_regret]));
            let look = self.look(summary, name, (place, alike.len()));
            series.extend(lines(summary, &look, spread, true));
            // The theory of many lines would fill the legend.
            let few = drawn.len() <= MOST_LINES;
            for (bound, points) in summary.bounds.iter().zip(&summary.bound_lines).filter(|_| few) {
                // One line for a bound that several algorithms share.
                let known = series.iter().any(|line| line.points == *points);
                if !points.is_empty() && !known {
                    let name = format!("{} ({})", bound.theorem, summary.name);
                    let number = theorems.iter().position(|one| *one == bound.theorem);
                    let line = Line::Theorem(number.unwrap_or(0));
                    let points = points.clone();
                    series.push(Series { name, line, points, band: Vec::new(), ..look.clone() });
                }
            }
        }
        Panel { title: String::new(), series }
    }

    /// A panel for each algorithm or for each value of a key, in which algorithms outside the grid are references, or one for all; and what is left out.
    fn apart(
        &self,
        drawn: &[&AlgorithmSummary],
        spread: Option<Spread>,
        facets: Facets<'_>,
    ) -> (Vec<Panel>, Vec<String>) {
        if drawn.iter().all(|one| panel_of(one, facets).is_none()) {
            return (vec![self.together(drawn, spread)], Vec::new());
        }
        let is_facet = |label: &&Label| Facets::Key(&label.key) == facets;
        let names = |cells: &[&AlgorithmSummary]| {
            distinct(cells.iter().map(|one| rest_of(one, facets))).len()
        };
        let keys = distinct(
            drawn
                .iter()
                .flat_map(|one| &one.labels)
                .filter(|label| !is_facet(label))
                .map(|l| &l.key),
        );
        // One key with many values is thinned below; of several, some have one value.
        let kept = key_of_lines(drawn).filter(|_| keys.len() > 1).unwrap_or_default();
        let too_many =
            |cells: &[&AlgorithmSummary]| keys.len() > 1 && names(cells) > MOST_LINES_OF_PANEL;
        let (drawn, mut left_out) = at_one_value(drawn.to_vec(), kept, too_many);
        let in_grid = |summary: &AlgorithmSummary| {
            summary.labels.iter().any(|label| Facets::Key(&label.key) != facets)
        };
        let (grid, references): (Vec<&AlgorithmSummary>, Vec<_>) =
            match drawn.iter().any(|summary| in_grid(summary)) {
                true => drawn.iter().partition(|summary| in_grid(summary)),
                // All lines are alike.
                false => drawn.iter().partition(|summary| panel_of(summary, facets).is_some()),
            };
        let mut titles = distinct(drawn.iter().filter_map(|one| panel_of(one, facets)));
        let names = distinct(grid.iter().map(|summary| rest_of(summary, facets)));
        let levels = distinct(
            references.iter().map(|one| (reference_name(one, facets), one.series.clone())),
        );
        let kept = thinned(&names);
        left_out.extend(titles.split_off(titles.len().min(self.most_panels())));
        left_out.extend(names.into_iter().filter(|name| !kept.contains(name)));
        let place = |names: &[String], name: &String| names.iter().position(|one| one == name);
        // A name counts the stuck trials of all panels.
        let grid_stuck = |name: &String| {
            let alike = grid.iter().filter(|one| rest_of(one, facets) == *name);
            stuck_words(alike.map(|one| &one.final_regret))
        };
        let level_stuck = |name: &String| {
            let alike = references.iter().filter(|one| reference_name(one, facets) == *name);
            stuck_words(alike.map(|one| &one.final_regret))
        };
        let panel = |title: String| {
            let own =
                |one: &&&AlgorithmSummary| panel_of(one, facets).is_none_or(|other| other == title);
            let mut series = Vec::new();
            for summary in grid.iter().filter(own) {
                let name = rest_of(summary, facets);
                let Some(place) = place(&kept, &name) else { continue };
                let name = format!("{name}{}", grid_stuck(&name));
                let look = self.look(summary, name, (place, kept.len()));
                series.extend(lines(summary, &look, spread, kept.len() <= 3));
            }
            for summary in references.iter().filter(own) {
                let name = reference_name(summary, facets);
                let look = self.reference_look(summary, &name, &levels);
                let look = Series { name: format!("{name}{}", level_stuck(&name)), ..look };
                series.extend(lines(summary, &look, spread, false));
            }
            Panel { title, series }
        };
        (titles.into_iter().map(panel).collect(), left_out)
    }
}

/// The panel of an algorithm; none if it has not the key, or is no point of a grid.
pub(super) fn panel_of(summary: &AlgorithmSummary, facets: Facets<'_>) -> Option<String> {
    match facets {
        Facets::None => None,
        Facets::Algorithm => (!summary.labels.is_empty()).then(|| summary.series.clone()),
        Facets::Key(key) => {
            let label = summary.labels.iter().find(|label| label.key == key)?;
            Some(format!("{key} = {}", label.value))
        }
    }
}

/// The name of a reference: without the panel that it stands in.
pub(super) fn reference_name(summary: &AlgorithmSummary, facets: Facets<'_>) -> String {
    match (facets, panel_of(summary, facets)) {
        (Facets::Key(_), Some(_)) => rest_of(summary, facets),
        _ => summary.name.clone(),
    }
}

/// Coordinates that distinguish a line from the others of its panel.
fn rest_of(summary: &AlgorithmSummary, facets: Facets<'_>) -> String {
    let rest = summary.labels.iter().filter(|label| Facets::Key(&label.key) != facets);
    let rest = rest.map(|Label { key, value }| format!("{key} = {value}"));
    match facets {
        Facets::Key(_) => std::iter::once(summary.series.clone()).chain(rest).collect::<Vec<_>>(),
        _ => rest.collect(),
    }
    .join(", ")
}

/// The lines of one algorithm against rounds: `look` has its name and colour; `full` ones have the median and the 95th percentile beside the mean, where there are trials enough.
pub(super) fn lines(
    summary: &AlgorithmSummary,
    look: &Series,
    spread: Option<Spread>,
    full: bool,
) -> Vec<Series> {
    let line = |pick: fn(&Estimate) -> f64| -> Vec<(f64, f64)> {
        summary.curve.iter().map(|(round, e)| (*round as f64, pick(e))).collect()
    };
    let band = |ends: fn(&Estimate) -> (f64, f64)| -> Vec<(f64, f64)> {
        summary.curve.iter().map(|(_, e)| ends(e)).collect()
    };
    let beside =
        |role, line, points| Series { name: String::new(), role, line, points, ..look.clone() };
    let several = summary.final_regret.trials > 2;
    match spread {
        None => vec![Series { points: line(|e| e.mean), ..look.clone() }],
        Some(Spread::Interval) => {
            let (points, band) = (line(|e| e.mean), band(Estimate::band));
            let mut series = vec![Series { points, band, ..look.clone() }];
            if full && several {
                series.push(beside("median", Line::Dotted, line(|e| e.median)));
                let last = line(|e| e.percentile_95).pop();
                let last = last.filter(|_| summary.final_regret.trials >= LEAST_FOR_PERCENTILE);
                series.extend(last.map(|last| beside("95th percentile", Line::Marks, vec![last])));
            }
            series
        }
        Some(Spread::Quantiles) => {
            let (points, band) = (line(|e| e.median), band(|e| (e.percentile_5, e.percentile_95)));
            vec![Series { points, band, ..look.clone() }]
        }
        Some(Spread::Trials) => {
            let trials = summary.trials.iter().take(MOST_TRIALS).map(|trial| {
                let points = trial.curve.iter().map(|point| (point.round as f64, point.regret));
                beside("one trial", Line::Thin, points.collect())
            });
            let own = Series { points: line(|e| e.median), ..look.clone() };
            trials.chain([own]).collect()
        }
    }
}

#[cfg(test)]
mod tests;
