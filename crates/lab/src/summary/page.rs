//! The figures of a summary, and its HTML page.

use reticent::privacy::Guarantee;

use super::{AlgorithmSummary, Estimate, Summary, sweep};
use crate::{
    Result,
    estimate::stuck_words,
    figure::{Figure, Line, Scale, Series},
    offline::LOGGED,
    report::Report,
};

/// The description of a regret that is estimated from a log.
const ESTIMATED: &str = " against the highest reward, estimated while learning";

/// The text with a capital first letter.
fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

impl Summary {
    /// Every figure with the name of its file, the most important one first.
    pub(super) fn figures(&self) -> Vec<(String, Figure)> {
        let values = self.values().map(|figure| ("values".to_string(), figure));
        let mut figures: Vec<(String, Figure)> = values.into_iter().collect();
        if !self.is_offline() {
            figures.extend(sweep::figures(&self.name, &self.algorithms));
        }
        figures.push(("regret".to_string(), self.regret()));
        figures
    }

    /// The colour of an algorithm and its paleness: the points of one grid are shades of one colour.
    fn shade(&self, summary: &AlgorithmSummary) -> (usize, f64) {
        let names = sweep::colours(&self.algorithms);
        let colour = names.iter().position(|name| *name == summary.series).unwrap_or(0);
        let alike = || self.algorithms.iter().filter(|other| other.series == summary.series);
        let place = alike().position(|other| other.name == summary.name).unwrap_or(0);
        (colour, sweep::paleness(place, alike().count()))
    }

    /// The headline measure with the intervals of the table: a row for each algorithm.
    fn values(&self) -> Option<Figure> {
        let what = self.headline()?;
        let mut series = Vec::new();
        for (row, summary) in self.algorithms.iter().enumerate() {
            let ((_, first), (colour, paleness)) = (summary.first()?, self.shade(summary));
            series.push(Series {
                name: summary.name.clone(),
                colour,
                paleness,
                line: Line::Interval,
                points: vec![(first.mean, -(row as f64))],
                band: first.interval_95.into_iter().collect(),
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
        Some(Figure {
            title: format!("{}: {what}, 95 % intervals", self.name),
            x: (what.to_string(), Scale::Linear),
            y: (String::new(), Scale::Rows),
            series,
        })
    }

    /// Mean regret with the interval of the table, the median, and the 95th percentile of the last round. Trials on a log differ in the
    /// learner's noise only and are not a sample, so they have none of these.
    fn regret(&self) -> Figure {
        let sampled = !self.is_offline();
        let mut series: Vec<Series> = Vec::new();
        for summary in &self.algorithms {
            let (colour, paleness) = self.shade(summary);
            let line = |pick: fn(&Estimate) -> f64| -> Vec<(f64, f64)> {
                summary.curve.iter().map(|(round, e)| (*round as f64, pick(e))).collect()
            };
            series.push(Series {
                name: format!("{}{}", summary.name, stuck_words([&summary.final_regret])),
                colour,
                paleness,
                line: Line::Solid,
                points: line(|e| e.mean),
                band: summary.curve.iter().filter(|_| sampled).map(|(_, e)| e.band()).collect(),
            });
            if sampled && summary.final_regret.trials > 2 {
                let last = line(|e| e.percentile_95).pop();
                let beside =
                    [(Line::Dotted, line(|e| e.median)), (Line::Marks, last.into_iter().collect())];
                series.extend(beside.map(|(line, points)| Series {
                    name: String::new(),
                    colour,
                    paleness,
                    line,
                    points,
                    band: Vec::new(),
                }));
            }
            for (bound, points) in summary.bounds.iter().zip(&summary.bound_lines) {
                // One line for a bound that several algorithms share.
                let drawn = series.iter().any(|line| line.points == *points);
                if !points.is_empty() && !drawn {
                    let name = format!("{} ({})", bound.theorem, summary.name);
                    series.push(Series {
                        name,
                        colour,
                        paleness,
                        line: Line::Dashed,
                        points: points.clone(),
                        band: Vec::new(),
                    });
                }
            }
        }
        let nothing = series.iter().flat_map(|line| &line.points).all(|(_, regret)| *regret <= 0.0);
        Figure {
            title: format!("{}: regret{}", self.name, if sampled { "" } else { ESTIMATED }),
            x: (
                format!("round{}", if sampled { sweep::EXPLAINED } else { "" }),
                Scale::Logarithmic,
            ),
            // A regret of zero cannot be shown on a logarithmic axis.
            y: ("regret".into(), if nothing { Scale::Linear } else { Scale::Logarithmic }),
            series,
        }
    }

    pub(super) fn page(&self, figures: &[(String, Figure)]) -> Result<Report> {
        let mut page = Report::new(&self.name);
        for (_, figure) in figures {
            page.figure(figure)?;
        }
        for map in sweep::heat_maps(&self.algorithms).iter().filter(|_| !self.is_offline()) {
            page.heat_map(map);
        }
        if !self.failures.is_empty() {
            page.heading("Trials that failed, and are missing below");
            for failure in &self.failures {
                page.paragraph(failure);
            }
        }
        page.heading(self.headline().map_or("Final regret".into(), capital).as_str());
        let (header, rows) = self.table();
        page.table(&header.iter().map(String::as_str).collect::<Vec<_>>(), &rows);
        let details = self.details();
        if !details.is_empty() {
            page.heading("Theory and counters");
            page.table(&["algorithm", "what", "value"], &details);
        }
        page.heading("What is promised, and what it rests on");
        for summary in &self.algorithms {
            let sentence = match &summary.guarantee {
                Some(guarantee) => guarantee.to_string(),
                None => "no guarantee is stated".into(),
            };
            let mut text: String =
                summary.guarantee.as_ref().map(Guarantee::table).unwrap_or_default();
            for certificate in &summary.certificates {
                text.push_str(&format!("\n{}: {}\n", certificate.whom, certificate.guarantee));
            }
            for remark in &summary.remarks {
                text.push_str(&format!("\nnote: {remark}\n"));
            }
            page.details(&summary.name, &sentence, text.trim());
        }
        page.heading("The experiment, as run");
        page.preformatted(&self.experiment);
        Ok(page)
    }
}
