//! What came of an experiment: a table, a figure, a page and files.

use std::path::Path;

use reticent::{privacy::Guarantee, special::incomplete_beta};
use serde::Serialize;

use crate::{
    Result,
    contest::{Bound, Certificate, Label, Side, Trial},
    experiment::Cell,
    figure::{Figure, Line, Scale, Series},
    report::{self, Report},
    sweep,
};

/// What came of one algorithm.
#[derive(Debug, Clone, Serialize)]
pub struct AlgorithmSummary {
    /// What the report calls it.
    pub name: String,
    /// Where in a grid it stands.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Label>,
    /// What all points of its grid have in common.
    #[serde(skip)]
    pub series: String,
    /// Regret after the last round.
    pub final_regret: Estimate,
    /// What may be promised, if anything; the weakest promise where people differ.
    pub guarantee: Option<Guarantee>,
    /// Promises to single people or agents.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub certificates: Vec<Certificate>,
    /// What a careful reader must know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// What theory says of the final regret.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<Bound>,
    /// Other things that were counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub measures: Vec<(&'static str, Estimate)>,
    /// Time of one round, environment included.
    pub nanoseconds_per_round: f64,
    /// (round, regret) over trials.
    #[serde(skip)]
    pub curve: Vec<(u64, Estimate)>,
    #[serde(skip)]
    bound_lines: Vec<Vec<(f64, f64)>>,
    #[serde(skip)]
    trials: Vec<Trial>,
}

/// A mean over trials.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Its standard error; zero for a single trial, where it is unknown.
    pub standard_error: f64,
    /// Over how many trials.
    pub trials: usize,
}

/// What `summary.json` holds.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// The experiment's name.
    pub name: String,
    /// The algorithms, in the experiment's order.
    pub algorithms: Vec<AlgorithmSummary>,
    /// The environment as given.
    pub environment: serde_json::Value,
    /// The file as run.
    #[serde(skip)]
    pub experiment: String,
    /// What went wrong in trials that are missing here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
    /// Rounds of a trial.
    pub rounds: u64,
    /// The seed.
    pub seed: u64,
    /// The version of this program.
    pub version: &'static str,
}

impl Estimate {
    /// Mean and standard error.
    pub fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let square: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        let standard_error = if values.len() > 1 { (square / (n - 1.0) / n).sqrt() } else { 0.0 };
        Estimate { mean, standard_error, trials: values.len() }
    }

    /// Half the width of the band around a line: the 95 % interval, which on a logarithmic axis must stay above zero.
    pub(crate) fn band(&self) -> f64 {
        self.half_width().unwrap_or(0.0).min(0.9 * self.mean.abs())
    }

    /// Half the width of the 95 % interval (Student's t); nobody knows it from a single trial.
    pub fn half_width(&self) -> Option<f64> {
        let degrees = self.trials.checked_sub(1).filter(|&degrees| degrees > 0)? as f64;
        // P(|T| > t) falls in t.
        let outside = |t: f64| incomplete_beta(0.5 * degrees, 0.5, degrees / (degrees + t * t));
        let (mut low, mut high) = (0.0, 16.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            *(if outside(middle) > 0.05 { &mut low } else { &mut high }) = middle;
        }
        Some(high * self.standard_error)
    }
}

impl AlgorithmSummary {
    pub(crate) fn new(cell: &Cell, trials: Vec<Trial>, time: f64) -> Self {
        let contestant = &*cell.contestant;
        let length = trials.iter().map(|trial| trial.curve.len()).min().unwrap_or(0);
        let at = |i: usize| {
            let regrets: Vec<f64> = trials.iter().map(|trial| trial.curve[i].regret).collect();
            (trials[0].curve[i].round, Estimate::of(&regrets))
        };
        let curve: Vec<(u64, Estimate)> = (0..length).map(at).collect();
        let (rounds, final_regret) = curve.last().copied().unwrap_or((0, Estimate::of(&[])));
        let whats = trials.first().map_or(&[][..], |trial| &trial.measures).iter();
        let measures = whats.map(|measure| {
            let of = |trial: &Trial| {
                trial.measures.iter().find(|m| m.what == measure.what).map(|m| m.value)
            };
            (measure.what, Estimate::of(&trials.iter().filter_map(of).collect::<Vec<_>>()))
        });
        let bounds = contestant.bounds(rounds);
        let mut bound_lines = vec![Vec::new(); bounds.len()];
        for &(round, _) in &curve {
            // Above what anybody could lose a bound says nothing, and would only stretch the axis.
            for (line, bound) in bound_lines.iter_mut().zip(contestant.bounds(round)) {
                if !bound.is_vacuous() {
                    line.push((round as f64, bound.value));
                }
            }
        }
        AlgorithmSummary {
            name: cell.name.clone(),
            labels: cell.labels.clone(),
            series: cell.series.clone(),
            final_regret,
            guarantee: contestant.guarantee().cloned(),
            certificates: contestant.certificates().to_vec(),
            remarks: contestant.remarks(),
            bounds,
            measures: measures.collect(),
            nanoseconds_per_round: time,
            curve,
            bound_lines,
            trials,
        }
    }

    /// The final regret of every trial.
    pub fn final_regrets(&self) -> Vec<f64> {
        self.trials.iter().filter_map(|trial| trial.curve.last()).map(|c| c.regret).collect()
    }
}

/// What the ends of an interval are called, behind the name of the estimate.
const LOW: &str = ", 95 % low";
const HIGH: &str = ", 95 % high";

/// A counter as one would write it: whole where it is, and small numbers not as zeros.
fn plain(value: f64) -> String {
    match value.abs() {
        size if size > 0.0 && !(1e-3..1e7).contains(&size) => format!("{value:.2e}"),
        _ if value.fract() == 0.0 => format!("{value}"),
        _ => format!("{value:.4}"),
    }
}

/// What the columns of [`Summary::rows`] are.
pub const HEADER: [&str; 7] = [
    "algorithm",
    "final regret",
    "standard error",
    "95 % interval",
    "epsilon",
    "delta",
    "ns a round",
];

impl Summary {
    /// The algorithm of that name.
    pub fn algorithm(&self, name: &str) -> Option<&AlgorithmSummary> {
        self.algorithms.iter().find(|algorithm| algorithm.name == name)
    }

    /// The comparison as rows of text.
    pub fn rows(&self) -> Vec<Vec<String>> {
        let row = |summary: &AlgorithmSummary| {
            let guarantee = summary.guarantee.as_ref();
            vec![
                summary.name.clone(),
                format!("{:.1}", summary.final_regret.mean),
                match summary.final_regret.trials {
                    1 => "one trial".into(),
                    _ => format!("{:.1}", summary.final_regret.standard_error),
                },
                summary.final_regret.half_width().map_or("-".into(), |half| {
                    let mean = summary.final_regret.mean;
                    format!("{:.1} to {:.1}", mean - half, mean + half)
                }),
                guarantee.map_or("none".into(), Guarantee::epsilon_text),
                guarantee.map_or("none".into(), |g| format!("{:e}", g.delta())),
                format!("{:.1}", summary.nanoseconds_per_round),
            ]
        };
        self.algorithms.iter().map(row).collect()
    }

    /// What theory and the other counters say, as rows of text: algorithm, what, value.
    pub fn details(&self) -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        for summary in &self.algorithms {
            for bound in &summary.bounds {
                let side = if bound.side == Side::Upper { "at most" } else { "at least" };
                let vacuous = if bound.is_vacuous() {
                    format!(" (vacuous: nobody can lose more than {:.3e})", bound.trivial)
                } else {
                    String::new()
                };
                let value = format!("{side} {:.4e}{vacuous}", bound.value);
                rows.push(vec![summary.name.clone(), bound.theorem.clone(), value]);
            }
            for (what, estimate) in &summary.measures {
                // An interval's ends stand behind the estimate they belong to.
                let end = |end: &str| {
                    let is = |(other, _): &&(&str, Estimate)| {
                        other.strip_suffix(end).is_some_and(|of| of == *what)
                    };
                    summary.measures.iter().find(is).map(|(_, estimate)| estimate.mean)
                };
                if what.ends_with(LOW) || what.ends_with(HIGH) {
                    continue;
                }
                if let (Some(low), Some(high)) = (end(LOW), end(HIGH)) {
                    let (value, low, high) = (plain(estimate.mean), plain(low), plain(high));
                    let value = format!("{value}, 95 % from {low} to {high}");
                    rows.push(vec![summary.name.clone(), (*what).to_string(), value]);
                    continue;
                }
                let value = match estimate.standard_error {
                    0.0 => plain(estimate.mean),
                    error => format!("{} +- {}", plain(estimate.mean), plain(error)),
                };
                rows.push(vec![summary.name.clone(), (*what).to_string(), value]);
            }
        }
        rows
    }

    /// What nobody should overlook.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for summary in &self.algorithms {
            let of = summary.guarantee.iter().flat_map(|guarantee| guarantee.warnings());
            // That a simulation protects nobody is said in every report; here it would be said of every line.
            let of = of.filter(|warning| !warning.starts_with("simulation"));
            warnings.extend(of.map(|warning| format!("{}: {warning}", summary.name)));
            let violated = summary
                .measures
                .iter()
                .find(|(what, e)| *what == "safety violations" && e.mean > 0.0);
            if let Some((_, violations)) = violated {
                warnings.push(format!(
                    "{}: UNSAFE: {} violations a trial; do not deploy these settings",
                    summary.name, violations.mean
                ));
            }
        }
        warnings
    }

    /// What a careful reader should know besides: each remark once, however many points of a grid share it.
    pub fn notes(&self) -> Vec<String> {
        let mut notes: Vec<(String, Vec<&str>)> = Vec::new();
        for summary in &self.algorithms {
            for remark in &summary.remarks {
                match notes.iter_mut().find(|(text, _)| text == remark) {
                    Some((_, whose)) if whose.contains(&summary.series.as_str()) => {}
                    Some((_, whose)) => whose.push(&summary.series),
                    None => notes.push((remark.clone(), vec![&summary.series])),
                }
            }
        }
        notes.into_iter().map(|(text, whose)| format!("{}: {text}", whose.join("; "))).collect()
    }

    /// Writes the folder of results.
    pub fn write(&self, folder: &Path) -> Result<()> {
        report::write(folder, "experiment.toml", &self.experiment)?;
        let json = serde_json::to_string_pretty(self).expect("results are plain data");
        report::write(folder, "summary.json", json)?;
        report::write(folder, "results.csv", self.csv())?;
        let mut figures = sweep::figures(&self.name, &self.algorithms);
        figures.push(("regret".to_string(), self.figure()));
        for (name, figure) in &figures {
            figure.write(folder, name)?;
        }
        report::write(folder, "report.html", self.page(&figures)?.html())
    }

    fn csv(&self) -> String {
        let mut text = String::from("algorithm,trial,round,regret\n");
        for summary in &self.algorithms {
            let name = summary.name.replace('"', "\"\"");
            for (number, trial) in summary.trials.iter().enumerate() {
                for point in &trial.curve {
                    text.push_str(&format!(
                        "\"{name}\",{number},{},{}\n",
                        point.round, point.regret
                    ));
                }
            }
        }
        text
    }

    fn figure(&self) -> Figure {
        let mut series: Vec<Series> = Vec::new();
        // The points of one grid are shades of one colour.
        let names = sweep::colours(&self.algorithms);
        for summary in &self.algorithms {
            let colour = names.iter().position(|name| *name == summary.series).unwrap_or(0);
            let alike = || self.algorithms.iter().filter(|other| other.series == summary.series);
            let place = alike().position(|other| other.name == summary.name).unwrap_or(0);
            let paleness = sweep::paleness(place, alike().count());
            let points = summary.curve.iter().map(|(round, e)| (*round as f64, e.mean));
            let band = summary.curve.iter().map(|(_, e)| e.band());
            series.push(Series {
                name: summary.name.clone(),
                colour,
                paleness,
                line: Line::Solid,
                points: points.collect(),
                band: band.collect(),
            });
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
            title: format!("{}: regret, 95 % intervals", self.name),
            x: ("round".into(), Scale::Logarithmic),
            // Somebody who never errs has no place on a logarithmic axis.
            y: ("regret".into(), if nothing { Scale::Linear } else { Scale::Logarithmic }),
            series,
        }
    }

    fn page(&self, figures: &[(String, Figure)]) -> Result<Report> {
        let mut page = Report::new(&self.name);
        for (_, figure) in figures {
            page.figure(figure)?;
        }
        for map in sweep::heat_maps(&self.algorithms) {
            page.heat_map(&map);
        }
        if !self.failures.is_empty() {
            page.heading("Trials that failed, and are missing below");
            for failure in &self.failures {
                page.paragraph(failure);
            }
        }
        page.heading("Final regret");
        page.table(&HEADER, &self.rows());
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
