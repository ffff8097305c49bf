//! Places of values on the axes of a figure, and the ends of the axes.

use super::{
    Figure, Line, Series,
    scale::{MOST_TICKS, Scale},
};

/// (x, y, lower, upper) of each point of a line, as it is drawn.
pub(super) type Placed = Vec<(f64, f64, f64, f64)>;

/// Labels nearer than this part of the axis would touch.
const LEAST_GAP: f64 = 0.09;

/// The axes that all panels share.
pub(super) struct Ranges {
    pub(super) x: (f64, f64),
    pub(super) y: (f64, f64),
    /// Places of labels on the horizontal axis.
    pub(super) x_ticks: Vec<f64>,
    /// Tells whether a band goes beyond the vertical axis.
    pub(super) is_cut: bool,
}

impl Figure {
    /// The ranges of the axes, which are those of all lines together; nothing if there are no points.
    pub(super) fn ranges(&self) -> Option<Ranges> {
        let (x_scale, y_scale) = (self.x.1, self.y.1);
        let placed: Vec<Placed> =
            self.series().map(|series| place(series, x_scale, y_scale)).collect();
        let bars = self.series().filter(|series| series.line == Line::Interval);
        let bars = bars.flat_map(|series| &series.band).flat_map(|end| [end.0, end.1]);
        let marked = || self.series().zip(&placed).filter(|(one, _)| one.line == Line::Marked);
        let margin = match y_scale {
            Scale::Rows => 0.05,
            // Dots stand aside of their place.
            _ if self.series().any(|series| series.line == Line::Dots) => 0.06,
            // A mark is not cut by an axis.
            _ if marked().next().is_some() => 0.02,
            _ => 0.0,
        };
        let widths = placed.iter().flatten().map(|point| point.0);
        let widths: Vec<f64> = widths.chain(bars.filter_map(|end| x_scale.place(end))).collect();
        let x = range(widths.into_iter(), margin, x_scale)?;
        let y = match y_scale {
            Scale::Rows => (0.5 - self.rows().len() as f64, 0.5),
            _ => range_with_bands(&placed, y_scale)?,
        };
        // Few values that were measured are the labels themselves.
        let mut values: Vec<f64> =
            marked().flat_map(|(_, placed)| placed.iter().map(|point| point.0)).collect();
        values.sort_by(f64::total_cmp);
        values.dedup_by(|one, other| (*one - *other).abs() < 1e-9);
        let apart = |pair: &[f64]| pair[1] - pair[0] >= LEAST_GAP * (x.1 - x.0);
        let few = (2..=MOST_TICKS).contains(&values.len()) && values.windows(2).all(apart);
        let x_ticks = if few { values } else { x_scale.ticks(x) };
        let beyond = |end: f64| end < y.0 - 1e-9 || end > y.1 + 1e-9;
        let is_cut = y_scale != Scale::Rows
            && placed.iter().flatten().any(|point| beyond(point.2) || beyond(point.3));
        Some(Ranges { x, y, x_ticks, is_cut })
    }
}

/// (x, y, lower, upper) of each point that the scales can show. Where a logarithmic axis cannot show a lower end, it is minus infinity: the
/// band then runs to the edge of the drawing.
pub(super) fn place(series: &Series, x_scale: Scale, y_scale: Scale) -> Placed {
    let place = |(index, &(x, y)): (usize, &(f64, f64))| {
        let (x, placed) = (x_scale.place(x)?, y_scale.place(y)?);
        let band = series.band.get(index).filter(|_| series.line != Line::Interval);
        let (low, high) = band.copied().unwrap_or((y, y));
        let low = y_scale.place(low).unwrap_or(f64::NEG_INFINITY);
        Some((x, placed, low, y_scale.place(high)?))
    };
    series.points.iter().enumerate().filter_map(place).collect()
}

/// The range of the lines and their bands, as long as the lines keep a third of the height. Wider bands are cut at the edge of the drawing;
/// otherwise the wide bands of few trials would flatten the lines.
pub(super) fn range_with_bands(placed: &[Placed], scale: Scale) -> Option<(f64, f64)> {
    let all = || placed.iter().flatten();
    let ends = |values: &mut dyn Iterator<Item = f64>| {
        values.filter(|value| value.is_finite()).fold((f64::INFINITY, f64::NEG_INFINITY), widen)
    };
    let (low, high) = ends(&mut all().map(|point| point.1));
    let (lowest, highest) = ends(&mut all().flat_map(|point| [point.1, point.2, point.3]));
    if low > high {
        return None;
    }
    let (below, above, height) = (low - lowest, highest - high, high - low);
    // What one side does not need is the other's.
    let (below, above) = match below + above <= 2.0 * height || height == 0.0 {
        true => (below, above),
        false => {
            let room = |other: f64| height.max(2.0 * height - other);
            (below.min(room(above)), above.min(room(below)))
        }
    };
    range([low - below, high + above].into_iter(), 0.05, scale)
}

fn widen((low, high): (f64, f64), value: f64) -> (f64, f64) {
    (low.min(value), high.max(value))
}

/// Smallest and largest value, with a margin; one apart if they coincide. Where nothing is below zero, a linear axis is not either.
fn range(values: impl Iterator<Item = f64>, margin: f64, scale: Scale) -> Option<(f64, f64)> {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), widen);
    if low > high {
        return None;
    }
    let extra = if high > low { margin * (high - low) } else { 0.5 };
    let floor = if scale == Scale::Linear && low >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
    Some(((low - extra).max(floor), high + extra))
}
