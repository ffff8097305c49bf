//! Scales of axes, and where their labels stand.

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

/// The scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps are equal differences.
    Linear,
    /// Equal steps are equal ratios; values at or below zero are left out.
    Logarithmic,
    /// Downwards, a row for each [`super::Line::Interval`] with its name: row i is at -i.
    Rows,
}

/// The largest number of labels of an axis.
pub(super) const MOST_TICKS: usize = 9;

impl Scale {
    pub(super) fn place(self, value: f64) -> Option<f64> {
        let placed = match self {
            Scale::Linear | Scale::Rows => value,
            Scale::Logarithmic => value.log10(),
        };
        placed.is_finite().then_some(placed)
    }

    /// The positions of labels on an axis from `low` to `high`: round numbers, on a logarithmic axis decades, or 1, 2 and 5 of each where
    /// there is room, and a number near each end.
    pub(super) fn ticks(self, (low, high): (f64, f64)) -> Vec<f64> {
        let steps = |step: f64| {
            let (first, last) =
                ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
            (first..=last).map(move |i| step * i as f64).collect::<Vec<f64>>()
        };
        let fits = |ticks: &Vec<f64>| ticks.len() <= MOST_TICKS;
        match self {
            Scale::Linear => {
                let size = 10f64.powf((high - low).log10().floor() - 1.0);
                let sizes = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0].map(|times| steps(times * size));
                sizes.into_iter().find(fits).unwrap_or_default()
            }
            Scale::Logarithmic => {
                let decades = (low.floor() as i64..=high.ceil() as i64).map(|decade| decade as f64);
                let fine = decades
                    .flat_map(|decade| [1.0, 2.0, 5.0].map(|times: f64| decade + times.log10()));
                let fine: Vec<f64> =
                    fine.filter(|tick| (low - 1e-9..=high + 1e-9).contains(tick)).collect();
                let sizes = std::iter::once(fine).chain((1..).map(|step| steps(f64::from(step))));
                with_ends(sizes.into_iter().find(fits).unwrap_or_default(), (low, high))
            }
            Scale::Rows => steps(1.0),
        }
    }

    pub(super) fn label(self, placed: f64) -> String {
        let value = match self {
            Scale::Linear | Scale::Rows => placed,
            Scale::Logarithmic => 10f64.powf(placed),
        };
        match value.abs() {
            size if size < 1e-9 && self == Scale::Linear => "0".into(),
            size if (1e-3..1e5).contains(&size) => {
                // Twelve digits hide the rounding error of the logarithm.
                format!("{}", format!("{value:.11e}").parse::<f64>().unwrap_or(value))
            }
            _ => {
                let text = format!("{value:.1e}");
                text.replace(".0e", "e")
            }
        }
    }
}

/// Labels further from the end of a logarithmic axis than this part of it leave room for another one.
const ROOM_FOR_END: f64 = 0.12;

/// The labels of a logarithmic axis, with the numbers of one digit that are nearest to its ends, where these are far from any label.
fn with_ends(mut ticks: Vec<f64>, (low, high): (f64, f64)) -> Vec<f64> {
    let digits = |exponent: f64| {
        let decade = exponent.floor();
        (1..=9).map(move |digit| decade + f64::from(digit).log10())
    };
    let room = ROOM_FOR_END * (high - low);
    let last = digits(high).rfind(|end| *end <= high + 1e-9);
    if let Some(end) = last.filter(|end| ticks.last().is_none_or(|tick| end - tick > room)) {
        ticks.push(end);
    }
    let first = digits(low).find(|end| *end >= low - 1e-9);
    if let Some(end) = first.filter(|end| ticks.first().is_none_or(|tick| tick - end > room)) {
        ticks.insert(0, end);
    }
    ticks
}

impl Scale {
    /// The labels that do not touch those before them, on an axis of this number of points: `room` is what a label needs of it. Where a logarithmic axis has no room for all, it has its
    /// decades.
    pub(super) fn uncrowded(
        self,
        ticks: &[f64],
        (low, high): (f64, f64),
        points: f64,
        room: impl Fn(f64) -> f64,
    ) -> Vec<f64> {
        let apart = |ticks: &[f64]| {
            let (mut kept, mut end) = (Vec::new(), f64::NEG_INFINITY);
            for &tick in ticks {
                let (at, half) = ((tick - low) / (high - low) * points, room(tick) / 2.0);
                if at - half >= end {
                    kept.push(tick);
                    end = at + half;
                }
            }
            kept
        };
        let is_decade = |tick: &f64| (tick - tick.round()).abs() < 1e-9;
        let decades: Vec<f64> = ticks.iter().copied().filter(is_decade).collect();
        let kept = apart(ticks);
        match self == Scale::Logarithmic && kept.len() < ticks.len() && decades.len() > 1 {
            true => apart(&decades),
            false => kept,
        }
    }
}

/// An axis with labels of our own.
#[derive(Clone)]
pub(super) struct Axis {
    pub(super) scale: Scale,
    pub(super) range: (f64, f64),
    /// Places of its labels.
    pub(super) ticks: Vec<f64>,
    /// The names of the rows, if it has rows.
    pub(super) names: Vec<String>,
}

impl Ranged for Axis {
    type ValueType = f64;
    type FormatOption = NoDefaultFormatting;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let share = (value - self.range.0) / (self.range.1 - self.range.0);
        from + (share * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.range.0..self.range.1
    }
}

impl ValueFormatter<f64> for Axis {
    fn format(placed: &f64) -> String {
        placed.to_string()
    }

    fn format_ext(&self, placed: &f64) -> String {
        let name = || self.names.get((-placed).round() as usize).cloned().unwrap_or_default();
        if self.scale == Scale::Rows { name() } else { self.scale.label(*placed) }
    }
}
