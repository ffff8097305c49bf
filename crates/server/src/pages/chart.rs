//! Means over time with their intervals, as SVG that a style sheet colours.
//!
//! Scales are those of the means and of the last interval. Early intervals may be much wider than all means together, and are cut off at the frame.

use maud::{Markup, html};

use crate::{clock::Time, loops::Estimate};

/// A line with its band. A moment without a number interrupts both.
pub(super) struct Series {
    /// Name in the legend.
    pub name: &'static str,
    /// Its class in the style sheet.
    pub class: &'static str,
    /// Its numbers in the order of time.
    pub points: Vec<(Time, Option<Estimate>)>,
}

/// Content of a chart.
pub(super) struct Chart<'a> {
    /// Measured quantity and its unit, above the axis and for people who do not see the chart.
    pub title: &'a str,
    /// The lines.
    pub series: Vec<Series>,
    /// Numbers that cannot be left, such as the range of rewards.
    pub limits: Option<(f64, f64)>,
    /// A level that is marked, such as no lift.
    pub level: Option<f64>,
}

/// Edges of the plot, in pixels.
struct Area {
    width: f64,
    height: f64,
}

const LEFT: f64 = 46.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 40.0;

/// A linear map of a range to pixels.
#[derive(Clone, Copy)]
struct Scale {
    from: (f64, f64),
    to: (f64, f64),
}

impl Scale {
    /// The place of a value, at the frame if it lies outside.
    fn place(&self, value: f64) -> f64 {
        let share = (value - self.from.0) / (self.from.1 - self.from.0);
        self.to.0 + share.clamp(0.0, 1.0) * (self.to.1 - self.to.0)
    }
}

impl Chart<'_> {
    /// The chart twice, for wide and for narrow windows: scaling one would make its text too small to read. Nothing if there is no number yet.
    pub(super) fn markup(&self) -> Option<Markup> {
        let wide = self.svg(&Area { width: 760.0, height: 270.0 }, "wide")?;
        let narrow = self.svg(&Area { width: 350.0, height: 240.0 }, "narrow")?;
        Some(html! {
            figure.chart {
                figcaption {
                    span { (self.title) }
                    @for series in &self.series { span class={ "key " (series.class) } { (series.name) } }
                }
                (wide) (narrow)
            }
        })
    }

    fn svg(&self, area: &Area, class: &str) -> Option<Markup> {
        let (x, y) = (self.times(area)?, self.values(area)?);
        let values = value_ticks(y.from);
        let times = time_ticks(x.from, ((area.width - LEFT) / 95.0) as usize);
        let (right, foot) = (area.width - RIGHT, area.height - BOTTOM);
        Some(html! {
            svg class=(class) viewBox=(format!("0 0 {} {}", area.width, area.height)) role="img" aria-label=(self.title) {
                @for (value, label) in &values {
                    @let at = number(y.place(*value));
                    line.grid x1=(LEFT) x2=(right) y1=(at) y2=(at) {}
                    text x=(LEFT - 8.0) y=(number(y.place(*value) + 4.0)) text-anchor="end" { (label) }
                }
                @for (time, label) in &times {
                    @let at = number(x.place(*time));
                    line.tick x1=(at) x2=(at) y1=(foot) y2=(foot + 5.0) {}
                    text x=(number(x.place(*time).min(right - 24.0))) y=(foot + 19.0) text-anchor="middle" { (label) }
                }
                text x=(right) y=(area.height - 5.0) text-anchor="end" { "time (UTC)" }
                line.axis x1=(LEFT) x2=(right) y1=(foot) y2=(foot) {}
                @if let Some(level) = self.level.filter(|level| y.from.0 < *level && *level < y.from.1) {
                    @let at = number(y.place(level));
                    line.level x1=(LEFT) x2=(right) y1=(at) y2=(at) {}
                }
                @for series in &self.series {
                    g class=(series.class) {
                        @for run in runs(&series.points) { (self.run(&run, x, y)) }
                        @if let Some((time, Some(estimate))) = series.points.last() {
                            circle.last cx=(number(x.place(*time as f64))) cy=(number(y.place(estimate.value))) r="3" {}
                        }
                    }
                }
            }
        })
    }

    /// A line without interruption, and its band.
    fn run(&self, run: &[(Time, Estimate)], x: Scale, y: Scale) -> Markup {
        let place = |time: Time, value: f64| {
            format!("{},{}", number(x.place(time as f64)), number(y.place(value)))
        };
        let upper = run.iter().map(|(time, estimate)| place(*time, estimate.high));
        let lower = run.iter().rev().map(|(time, estimate)| place(*time, estimate.low));
        let band: Vec<String> = upper.chain(lower).collect();
        let line: Vec<String> =
            run.iter().map(|(time, estimate)| place(*time, estimate.value)).collect();
        html! {
            polygon.band points=(band.join(" ")) {}
            polyline.line points=(line.join(" ")) {}
        }
    }

    fn times(&self, area: &Area) -> Option<Scale> {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let times = || points().filter(|(_, estimate)| estimate.is_some()).map(|(time, _)| *time);
        let (first, last) = (times().min()?, times().max()?);
        // One moment alone stands at the end of a second.
        let first = first.min(last.saturating_sub(1000)) as f64;
        // Far from 1970 a millisecond is less than the rounding of a number.
        let last = (last as f64).max(first + 1.0 + 1e-12 * first);
        Some(Scale { from: (first, last), to: (LEFT, area.width - RIGHT) })
    }

    fn values(&self, area: &Area) -> Option<Scale> {
        let mut values = Vec::new();
        for series in &self.series {
            let estimates = || series.points.iter().filter_map(|(_, estimate)| *estimate);
            values.extend(estimates().map(|estimate| estimate.value));
            values
                .extend(estimates().next_back().into_iter().flat_map(|last| [last.low, last.high]));
        }
        values.retain(|value| value.is_finite());
        if values.is_empty() {
            return None;
        }
        values.extend(self.level);
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let pad = (0.08 * (high - low)).max(1e-6 * high.abs().max(low.abs())).max(1e-9);
        let (mut low, mut high) = (low - pad, high + pad);
        if let Some(limits) = self.limits {
            (low, high) = (low.max(limits.0), high.min(limits.1));
        }
        // All means at one end of their limits leave no room between the two.
        if high - low < 1e-9 {
            (low, high) = (low - 0.5, high + 0.5);
        }
        Some(Scale { from: (low, high), to: (area.height - BOTTOM, TOP) })
    }
}

/// Runs of moments that have a number.
fn runs(points: &[(Time, Option<Estimate>)]) -> Vec<Vec<(Time, Estimate)>> {
    let runs = points.split(|(_, estimate)| estimate.is_none());
    runs.map(|run| run.iter().filter_map(|(time, estimate)| Some((*time, (*estimate)?))).collect())
        .filter(|run: &Vec<_>| !run.is_empty())
        .collect()
}

/// A coordinate with one digit after the point.
fn number(value: f64) -> String {
    format!("{value:.1}")
}

/// About five round values in a range, with their labels.
fn value_ticks((low, high): (f64, f64)) -> Vec<(f64, String)> {
    let rough = (high - low) / 4.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|unit| unit * power)
        .find(|step| *step >= rough * 0.7);
    let step = step.unwrap_or(10.0 * power);
    let digits = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
    let first = (low / step).ceil();
    let count = ((high / step).floor() - first).clamp(0.0, 12.0) as usize;
    (0..=count)
        .map(|index| (first + index as f64) * step)
        // -0 is written as 0.
        .map(|value| (value, format!("{:.digits$}", value + 0.0)))
        .filter(|(value, _)| (low..=high).contains(value))
        .collect()
}

/// Round moments in a range of milliseconds, at most `most`, with their labels.
fn time_ticks((first, last): (f64, f64), most: usize) -> Vec<(f64, String)> {
    const STEPS: [u64; 21] = [
        1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200,
        86_400, 604_800, 2_592_000, 31_536_000,
    ];
    let fits = |step: &&u64| (last - first) / (**step as f64 * 1000.0) <= most.max(1) as f64;
    let step = STEPS.iter().find(fits).copied().unwrap_or(315_360_000);
    let milliseconds = step as f64 * 1000.0;
    let from = (first / milliseconds).ceil() as u64;
    let until = (last / milliseconds).floor() as u64;
    (from..=until.min(from.saturating_add(50)))
        .map(|index| {
            let seconds = index.saturating_mul(step);
            (seconds as f64 * 1000.0, time_label(seconds, step))
        })
        .collect()
}

fn time_label(seconds: u64, step: u64) -> String {
    let text = super::layout::date_time(seconds.saturating_mul(1000));
    let part = match step {
        0..60 => text.get(11..19),
        60..86_400 => text.get(11..16),
        _ => text.get(0..10),
    };
    part.unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn estimate(value: f64, margin: f64) -> Option<Estimate> {
        Some(Estimate { value, low: value - margin, high: value + margin })
    }

    fn chart(points: Vec<(Time, Option<Estimate>)>) -> Option<String> {
        let series = vec![Series { name: "policy", class: "policy", points }];
        let chart = Chart { title: "mean reward", series, limits: Some((0.0, 1.0)), level: None };
        chart.markup().map(Markup::into_string)
    }

    #[test]
    fn ticks_are_round() {
        let labels = |range| -> Vec<String> {
            value_ticks(range).into_iter().map(|(_, label)| label).collect()
        };
        assert_eq!(labels((0.0, 1.0)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels((-0.013, 0.021)), ["-0.01", "0.00", "0.01", "0.02"]);
        let times: Vec<String> =
            time_ticks((0.0, 60_000.0), 7).into_iter().map(|(_, label)| label).collect();
        assert_eq!(
            times,
            ["00:00:00", "00:00:10", "00:00:20", "00:00:30", "00:00:40", "00:00:50", "00:01:00"]
        );
        assert_eq!(time_label(86_400 * 31, 604_800), "1970-02-01");
    }

    #[test]
    fn a_moment_without_a_number_interrupts_the_line() {
        assert_eq!(chart(vec![(1000, None)]), None);
        let page =
            chart(vec![(1000, estimate(0.2, 0.1)), (2000, None), (3000, estimate(0.3, 0.1))])
                .unwrap();
        assert_eq!(page.matches("polyline").count(), 2 * 2 * 2);
        assert!(page.contains("time (UTC)") && page.contains("00:00:03"));
    }

    proptest! {
        #[test]
        fn every_history_is_drawn_within_the_frame(
            values in proptest::collection::vec((0_u64..u64::MAX, -1e9_f64..1e9, 0.0_f64..1e9), 1..40),
        ) {
            let points = values.into_iter().map(|(time, value, margin)| (time, estimate(value, margin))).collect();
            let page = chart(points).unwrap();
            prop_assert!(!page.contains("NaN") && !page.contains("inf"));
            for part in page.split("points=\"").skip(1) {
                let list = part.split('"').next().unwrap_or_default();
                for place in list.split(' ') {
                    let (x, y) = place.split_once(',').unwrap();
                    let (x, y): (f64, f64) = (x.parse().unwrap(), y.parse().unwrap());
                    prop_assert!((0.0..=760.0).contains(&x) && (0.0..=270.0).contains(&y));
                }
            }
        }
    }
}
