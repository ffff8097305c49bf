//! The results of an experiment: a table, figures, a page and files.
//!
//! | file | contents |
//! | --- | --- |
//! | `drawing` | `[figure]` of an experiment's file: what is drawn, and how |
//! | `figures` | the headline measure, regret against rounds, and against the keys of a grid |
//! | `panels` | regret of many algorithms against rounds |
//! | `against` | the final regret against one key of a grid |
//! | [`sweep`] | figures and tables of a grid: against one key, and against two keys |
//! | `page` | the HTML page |
//! | `warnings` | warnings and notes |

use std::path::Path;

use reticent::{bandit::Outlook, privacy::Guarantee};
use serde::Serialize;

pub use crate::report::estimate::Estimate;
use crate::report::estimate::slope;
use crate::{
    Result,
    algorithm::{Bound, Cell, Certificate, Label, Side},
    environment::offline::EFFECTIVE_SIZE,
    play::trial::{COLD_RELEASES, Checkpoint, Measure, Trial},
    report::{estimate::stuck, html as report},
};

mod against;
mod drawing;
mod figures;
mod page;
mod panels;
pub mod sweep;
mod warnings;

pub use drawing::{AxisScale, FigureToml, Spread};

/// The results of one algorithm.
#[derive(Debug, Clone, Serialize)]
pub struct AlgorithmSummary {
    /// Its name in the report.
    pub name: String,
    /// Its coordinates in the grid.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Label>,
    /// The name that all points of its grid share.
    #[serde(skip)]
    pub series: String,
    /// The part of its coordinates that is the environment's; empty if there is one environment.
    #[serde(skip)]
    pub environment: Vec<Label>,
    /// Regret after the last round.
    pub final_regret: Estimate,
    /// The guarantee, if there is one; the weakest one if people have different levels.
    pub guarantee: Option<Guarantee>,
    /// Guarantees of individual people or agents.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub certificates: Vec<Certificate>,
    /// Remarks for the reader.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// The noise of its plan against the signal of its people, which `remarks` put in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outlook: Option<Outlook>,
    /// Theoretical bounds on the final regret.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<Bound>,
    /// Other measures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub measures: Vec<(&'static str, Estimate)>,
    /// The measure that tables and figures show first; the regret if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headline: Option<&'static str>,
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

/// The contents of `summary.json`.
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
    /// Choice and style of figures.
    #[serde(skip)]
    pub drawing: FigureToml,
    /// Errors of the trials that failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
    /// Rounds of a trial.
    pub rounds: u64,
    /// The seed.
    pub seed: u64,
    /// The version of this program.
    pub version: &'static str,
    /// The commit that the program is built from, with `changed` where its code is another one; absent if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<&'static str>,
}

impl AlgorithmSummary {
    /// The exponent with which regret grows, of each trial: least squares on logarithmic scales from this round on.
    pub fn growth(&self, from: u64) -> Estimate {
        let slope = |trial: &Trial| {
            let late = trial.curve.iter().filter(|c| c.round >= from && c.regret > 0.0);
            slope(&late.map(|c| (c.round as f64, c.regret)).collect::<Vec<_>>())
        };
        Estimate::of(&self.trials.iter().map(slope).collect::<Vec<_>>())
    }

    pub(crate) fn new(cell: &Cell, trials: Vec<Trial>, time: f64) -> Self {
        let algorithm = &*cell.algorithm;
        let length = trials.iter().map(|trial| trial.curve.len()).min().unwrap_or(0);
        let at = |i: usize| {
            let regrets: Vec<f64> = trials.iter().map(|trial| trial.curve[i].regret).collect();
            (trials[0].curve[i].round, Estimate::of(&regrets))
        };
        let curve: Vec<(u64, Estimate)> = (0..length).map(at).collect();
        let (rounds, mut final_regret) = curve.last().copied().unwrap_or((0, Estimate::of(&[])));
        if trials.len() > 2 {
            let curves: Vec<&[Checkpoint]> = trials.iter().map(|trial| &trial.curve[..]).collect();
            final_regret.stuck_trials = Some(stuck(&curves).into_iter().filter(|s| *s).count());
        }
        let bounds = algorithm.bounds(rounds);
        let mut bound_lines = vec![Vec::new(); bounds.len()];
        for &(round, _) in &curve {
            // A bound above the largest possible regret is vacuous and would only stretch the axis.
            for (line, bound) in bound_lines.iter_mut().zip(algorithm.bounds(round)) {
                if !bound.is_vacuous() {
                    line.push((round as f64, bound.value));
                }
            }
        }
        AlgorithmSummary {
            name: cell.name.clone(),
            labels: cell.labels.clone(),
            series: cell.series.clone(),
            environment: cell.environment.clone(),
            final_regret,
            guarantee: algorithm.guarantee().cloned(),
            certificates: algorithm.card().certificates.clone(),
            remarks: algorithm.remarks(),
            outlook: algorithm.outlook(),
            bounds,
            measures: measures(&trials),
            headline: algorithm.headline(),
            nanoseconds_per_round: time,
            curve,
            bound_lines,
            trials,
        }
    }

    /// The measure of that name.
    pub fn measure(&self, what: &str) -> Option<Estimate> {
        self.measures.iter().find(|(other, _)| *other == what).map(|(_, estimate)| *estimate)
    }

    /// The measure of that name in each trial.
    pub(crate) fn values(&self, what: &str) -> Vec<f64> {
        let all = self.trials.iter().flat_map(|trial| &trial.measures);
        all.filter(|measure| measure.what == what).map(|measure| measure.value).collect()
    }

    /// The regret of each trial after its last round.
    pub(crate) fn final_regrets(&self) -> Vec<f64> {
        let last = |trial: &Trial| trial.curve.last().map_or(f64::NAN, |point| point.regret);
        self.trials.iter().map(last).collect()
    }

    /// The headline measure.
    fn first(&self) -> Option<(&'static str, Estimate)> {
        let what = self.headline?;
        Some((what, self.measure(what)?))
    }
}

/// Suffixes of the names of an interval's ends.
const LOW: &str = ", 95 % low";
const HIGH: &str = ", 95 % high";

/// Each measure over the trials. A measure with its own interval keeps it: from the lowest lower end to the highest upper end (see
/// [`crate::environment::offline`] for why not their means), and none unless every trial has one.
fn measures(trials: &[Trial]) -> Vec<(&'static str, Estimate)> {
    let whats = trials.first().map_or(&[][..], |trial| &trial.measures);
    let values = |what: &str| -> Vec<f64> {
        let all = trials.iter().flat_map(|trial| &trial.measures);
        all.filter(|measure| measure.what == what).map(|measure| measure.value).collect()
    };
    let is_end = |what: &str| what.ends_with(LOW) || what.ends_with(HIGH);
    let estimate = |what: &'static str| {
        let of = if Measure::is_share(what) { Estimate::of_shares } else { Estimate::of };
        let mut estimate = of(&values(what));
        let [lows, highs] = [LOW, HIGH].map(|end| values(&format!("{what}{end}")));
        if !lows.is_empty() {
            // `f64::min` ignores NaN, so NaN is checked separately.
            let known = lows.iter().chain(&highs).all(|end| end.is_finite());
            let low = lows.iter().copied().fold(f64::INFINITY, f64::min);
            let high = highs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            estimate.interval_95 = known.then_some((low, high));
        }
        (what, estimate)
    };
    // Shown where it happened.
    let shown = |what: &&str| *what != COLD_RELEASES || values(what).iter().any(|n| *n > 0.0);
    let whats = whats.iter().map(|measure| measure.what).filter(|what| !is_end(what));
    whats.filter(shown).map(estimate).collect()
}

/// A counter as text: whole numbers without decimals, small numbers not rounded to zero.
fn plain(value: f64) -> String {
    match value.abs() {
        size if size.is_nan() => "unknown".into(),
        size if size > 0.0 && !(1e-3..1e7).contains(&size) => format!("{value:.2e}"),
        _ if value.fract() == 0.0 => format!("{value}"),
        _ => format!("{value:.4}"),
    }
}

/// A bound as text.
fn rounded(value: f64) -> String {
    match value.abs() {
        size if size != 0.0 && !(0.01..1e7).contains(&size) => format!("{value:.2e}"),
        size if size >= 1000.0 => format!("{value:.0}"),
        _ => format!("{value:.2}"),
    }
}

/// An interval as text.
fn interval(estimate: &Estimate, write: impl Fn(f64) -> String) -> String {
    estimate
        .interval_95
        .map_or("-".into(), |(low, high)| format!("{} to {}", write(low), write(high)))
}

impl Summary {
    /// The algorithm of that name.
    pub fn algorithm(&self, name: &str) -> Option<&AlgorithmSummary> {
        self.algorithms.iter().find(|algorithm| algorithm.name == name)
    }

    /// The headline measure, if all algorithms have the same one.
    fn headline(&self) -> Option<&'static str> {
        let mut all = self.algorithms.iter().map(|algorithm| algorithm.first().map(|f| f.0));
        let first = all.next()??;
        all.all(|other| other == Some(first)).then_some(first)
    }

    /// Tells whether the regret is itself an estimate from a log and therefore not compared.
    fn is_offline(&self) -> bool {
        self.algorithms.iter().any(|algorithm| algorithm.measure(EFFECTIVE_SIZE).is_some())
    }

    /// The comparison as text: the column names, and a row for each algorithm.
    pub fn table(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let (headline, offline) = (self.headline(), self.is_offline());
        let mut header: Vec<&str> = vec!["algorithm"];
        header.extend(headline.iter().flat_map(|what| [*what, "95 % interval"]));
        if offline {
            header.push("effective n");
        } else {
            header.extend(["final regret", "standard error", "95 % interval"]);
            header.extend(["median", "95th percentile", "stuck"]);
        }
        header.extend(["epsilon", "delta", "ns a round"]);
        let row = |summary: &AlgorithmSummary| {
            let (guarantee, regret) = (summary.guarantee.as_ref(), &summary.final_regret);
            let mut row = vec![summary.name.clone()];
            if let Some((_, first)) = headline.and(summary.first()) {
                row.extend([plain(first.mean), interval(&first, plain)]);
            }
            let short = |value: f64| format!("{value:.1}");
            if offline {
                let size = summary.measure(EFFECTIVE_SIZE);
                row.push(size.map_or("-".into(), |size| format!("{:.0}", size.mean)));
            } else {
                row.push(short(regret.mean));
                row.push(match regret.trials {
                    1 => "one trial".into(),
                    _ => short(regret.standard_error),
                });
                row.extend([interval(regret, short), short(regret.median)]);
                row.push(short(regret.percentile_95));
                let stuck = |stuck: usize| format!("{stuck} of {}", regret.trials);
                row.push(regret.stuck_trials.map_or("-".into(), stuck));
            }
            row.push(guarantee.map_or("none".into(), Guarantee::epsilon_text));
            row.push(guarantee.map_or("none".into(), |g| format!("{:e}", g.delta())));
            row.push(short(summary.nanoseconds_per_round));
            row
        };
        let header = header.into_iter().map(String::from).collect();
        (header, self.algorithms.iter().map(row).collect())
    }

    /// Theoretical bounds and other measures as rows of text: algorithm, name, value.
    pub fn details(&self) -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        for summary in &self.algorithms {
            for bound in &summary.bounds {
                let side = if bound.side == Side::Upper { "at most" } else { "at least" };
                let vacuous = if bound.is_vacuous() {
                    format!(" (vacuous: no learner can lose more than {})", rounded(bound.trivial))
                } else {
                    String::new()
                };
                let value = format!("{side} {}{vacuous}", rounded(bound.value));
                rows.push(vec![summary.name.clone(), bound.theorem.clone(), value]);
            }
            let headline = self.headline();
            for (what, estimate) in summary.measures.iter().filter(|m| Some(m.0) != headline) {
                let own = summary.trials.iter().flat_map(|trial| &trial.measures);
                let own = own.filter(|measure| measure.what.strip_suffix(LOW) == Some(*what));
                let value = match (own.count() > 0, estimate.interval_95) {
                    (true, Some((low, high))) => {
                        let [value, low, high] = [estimate.mean, low, high].map(plain);
                        format!("{value}, 95 % from {low} to {high}")
                    }
                    (true, None) => format!("{}, no interval", plain(estimate.mean)),
                    _ if estimate.standard_error == 0.0 => plain(estimate.mean),
                    _ => format!("{} +- {}", plain(estimate.mean), plain(estimate.standard_error)),
                };
                rows.push(vec![summary.name.clone(), (*what).to_string(), value]);
            }
            if self.is_offline() {
                let what = "regret against the highest reward, estimated while learning";
                let value = plain(summary.final_regret.mean.round());
                rows.push(vec![summary.name.clone(), what.into(), value]);
            }
        }
        rows
    }

    /// Writes the folder of results.
    pub fn write(&self, folder: &Path) -> Result<()> {
        report::write(folder, "experiment.toml", &self.experiment)?;
        let json = serde_json::to_string_pretty(self).expect("results are plain data");
        report::write(folder, "summary.json", json)?;
        report::write(folder, "results.csv", self.csv())?;
        let figures = self.figures();
        let mut pictures = Vec::new();
        for (name, figure) in &figures {
            pictures.push((name.clone(), figure.picture()?));
        }
        for (number, map) in sweep::heat_maps(self).iter().enumerate() {
            let name = format!("{}-by-{}-{}", map.keys[0], map.keys[1], number + 1);
            pictures.push((name, map.picture()?));
        }
        report::write_pictures(folder, &pictures, &self.drawing.format)?;
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_of_trials_are_joined_and_not_averaged() {
        let trial = |value: f64, low: f64, high: f64| {
            let names = ["value", "value, 95 % low", "value, 95 % high", "count"];
            let measures = names.into_iter().zip([value, low, high, 1.0]);
            let measures = measures.map(|(what, value)| Measure { what, value }).collect();
            Trial { curve: Vec::new(), measures }
        };
        let two = [trial(0.2, 0.1, 0.4), trial(0.4, 0.3, 0.5)];
        let found = measures(&two);
        assert_eq!(found.iter().map(|(what, _)| *what).collect::<Vec<_>>(), ["value", "count"]);
        assert!((found[0].1.mean - 0.3).abs() < 1e-15);
        assert_eq!(found[0].1.interval_95, Some((0.1, 0.5)));
        // One trial without an interval leaves none for all.
        let [first, second] = two;
        let found = measures(&[first, second, trial(0.1, f64::NAN, f64::NAN)]);
        assert_eq!(found[0].1.interval_95, None);
        assert_eq!(plain(f64::NAN), "unknown");
    }

    #[test]
    fn cold_releases_are_shown_where_there_were_any() {
        let trial = |releases| Trial {
            curve: Vec::new(),
            measures: vec![Measure::cold_releases(releases)],
        };
        assert!(measures(&[trial(0), trial(0)]).is_empty());
        let found = measures(&[trial(0), trial(3)]);
        assert_eq!((found[0].0, found[0].1.mean), (COLD_RELEASES, 1.5));
    }

    #[test]
    fn the_interval_of_an_accuracy_ends_at_1() {
        let of = |what: &'static str| {
            let trial =
                |value| Trial { curve: Vec::new(), measures: vec![Measure { what, value }] };
            measures(&[0.5, 0.99, 0.99].map(trial))[0].1.interval_95.unwrap().1
        };
        for share in ["accuracy", "accuracy on people held out", "values clipped, share of rounds"]
        {
            assert!((0.95..1.0).contains(&of(share)), "{share}");
        }
        assert!(of("mean reward") > 1.0, "its upper end is not bounded");
    }
}
