//! One line of a panel, with its band and its marks.

use plotters::{prelude::*, style::ShapeStyle};

use super::{
    Line, Series,
    colours::colour,
    picture::say,
    range::{Placed, Ranges},
    scale::{Axis, Scale},
};

pub(super) type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;

type Drawn = std::result::Result<(), String>;

/// The size of a mark, in points from its middle.
const MARK: i32 = 4;

pub(super) fn draw_band(
    chart: &mut Chart<'_, '_>,
    series: &Series,
    points: &Placed,
    ranges: &Ranges,
    strength: f64,
) -> Drawn {
    if series.band.is_empty() {
        return Ok(());
    }
    let cut = |end: f64| end.clamp(ranges.y.0, ranges.y.1);
    let upper = points.iter().map(|p| (p.0, cut(p.3)));
    let outline = upper.chain(points.iter().rev().map(|p| (p.0, cut(p.2))));
    let band = Polygon::new(outline.collect::<Vec<_>>(), colour(series).mix(strength).filled());
    chart.draw_series([band]).map(drop).map_err(say)
}

pub(super) fn draw_line(
    chart: &mut Chart<'_, '_>,
    series: &Series,
    points: &Placed,
    x_scale: Scale,
) -> Drawn {
    let colour = colour(series);
    let places = || points.iter().map(|p| (p.0, p.1));
    let style = colour.stroke_width(2);
    let dashed = |chart: &mut Chart<'_, '_>, style: ShapeStyle, dash: u32, gap: u32| {
        let line = DashedLineSeries::new(places(), dash, gap, style);
        chart.draw_series(line).map(drop).map_err(say)
    };
    match series.line {
        Line::Solid => drop(chart.draw_series(LineSeries::new(places(), style)).map_err(say)?),
        Line::Marked => {
            chart.draw_series(LineSeries::new(places(), style)).map_err(say)?;
            let mark = |at| EmptyElement::at(at) + Polygon::new(mark(series), colour.filled());
            chart.draw_series(places().map(mark)).map_err(say)?;
        }
        Line::Thin => {
            let style = colour.mix(0.35).stroke_width(1);
            chart.draw_series(LineSeries::new(places(), style)).map_err(say)?;
        }
        Line::Dots => {
            // Dots of different lines stand beside each other.
            let aside = (4 * (series.colour % 4) as i32 - 6, 0);
            let dot = |at| EmptyElement::at(at) + Circle::new(aside, 2, colour.mix(0.45).filled());
            chart.draw_series(places().map(dot)).map_err(say)?;
        }
        Line::Dashed => dashed(chart, style, 7, 5)?,
        Line::Dotted => dashed(chart, colour.stroke_width(1), 2, 3)?,
        Line::Marks => {
            let mark = |at| TriangleMarker::new(at, 5, colour.filled());
            chart.draw_series(places().map(mark)).map_err(say)?;
        }
        Line::Interval => {
            let ends = series.band.iter().zip(points).filter_map(|(&(low, high), point)| {
                Some([(x_scale.place(low)?, point.1), (x_scale.place(high)?, point.1)])
            });
            let bar = |ends: [(f64, f64); 2]| PathElement::new(ends, style);
            chart.draw_series(ends.map(bar)).map_err(say)?;
            let dot = |at| Circle::new(at, 5, colour.filled());
            chart.draw_series(places().map(dot)).map_err(say)?;
        }
    }
    Ok(())
}

/// The corners of a line's mark around a point: another shape for each colour, for readers who do not see colours.
pub(super) fn mark(series: &Series) -> Vec<(i32, i32)> {
    let long = MARK * 13 / 10;
    match series.colour % 4 {
        // Nearly a circle.
        0 => (0..16)
            .map(|corner| f64::from(corner) * std::f64::consts::PI / 8.0)
            .map(|angle| {
                let at = |part: f64| (part * f64::from(MARK)).round() as i32;
                (at(angle.cos()), at(angle.sin()))
            })
            .collect(),
        1 => vec![(-MARK, -MARK), (MARK, -MARK), (MARK, MARK), (-MARK, MARK)],
        2 => vec![(0, -long), (long, 0), (0, long), (-long, 0)],
        _ => vec![(0, long), (long, -MARK), (-long, -MARK)],
    }
}
