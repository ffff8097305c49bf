//! One line of a panel, with its band and its marks, as SVG.
//!
//! The drawing library knows whole points only, which makes steps of a rising line. Lines are therefore written here, with decimals, in place of a mark that the library draws.

use std::{cell::RefCell, fmt::Write};

use plotters::prelude::*;

use super::{
    Line, Series,
    colours::code,
    groups::shape_mark,
    picture::Area,
    range::{Placed, Ranges},
    scale::{Axis, Scale},
};

pub(super) type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;

type Drawn = std::result::Result<(), String>;

/// The size of a mark, in points from its middle.
const MARK: f64 = 4.0;
/// Bands of one panel that are filled, at most: more of them would mix to grey, and are drawn as bars.
const MOST_FILLED: usize = 2;
/// Bars of a line in place of its band.
const BARS: usize = 8;

/// Shapes in SVG, each in place of one mark of the drawing.
#[derive(Default)]
pub(super) struct Shapes(RefCell<Vec<String>>);

impl Shapes {
    /// Draws a shape where the drawing has come to.
    pub(super) fn draw(&self, area: &Area<'_>, svg: String) -> Drawn {
        if svg.is_empty() {
            return Ok(());
        }
        let number = self.0.borrow().len();
        self.0.borrow_mut().push(svg);
        shape_mark(area, number)
    }

    pub(super) fn into_vec(self) -> Vec<String> {
        self.0.into_inner()
    }
}

/// Places of a panel's values in the drawing.
pub(super) struct Plane {
    /// Left and right end, bottom and top, in points.
    ends: ((f64, f64), (f64, f64)),
    x: (f64, f64),
    y: (f64, f64),
}

impl Plane {
    pub(super) fn of(chart: &Chart<'_, '_>, ranges: &Ranges) -> Self {
        let from = chart.backend_coord(&(ranges.x.0, ranges.y.0));
        let to = chart.backend_coord(&(ranges.x.1, ranges.y.1));
        let ends = |from: i32, to: i32| (f64::from(from), f64::from(to));
        Plane { ends: (ends(from.0, to.0), ends(from.1, to.1)), x: ranges.x, y: ranges.y }
    }

    fn across(&self, x: f64) -> f64 {
        let (left, right) = self.ends.0;
        left + (x - self.x.0) / (self.x.1 - self.x.0) * (right - left)
    }

    /// The height of a value; beyond the axis, that of its end.
    fn up(&self, y: f64) -> f64 {
        let (bottom, top) = self.ends.1;
        let y = y.clamp(self.y.0, self.y.1);
        bottom + (y - self.y.0) / (self.y.1 - self.y.0) * (top - bottom)
    }
}

/// The place of a band among those of its panel.
#[derive(Clone, Copy)]
pub(super) struct Rank {
    pub(super) number: usize,
    pub(super) of: usize,
}

/// True if this number of bands in one panel is drawn as bars.
pub(crate) fn draws_bars(bands: usize) -> bool {
    bands > MOST_FILLED
}

/// Points as an attribute of SVG.
fn listed(points: impl IntoIterator<Item = (f64, f64)>) -> String {
    let mut text = String::new();
    for (x, y) in points {
        let _ = write!(text, "{}{x:.2},{y:.2}", if text.is_empty() { "" } else { " " });
    }
    text
}

fn polyline(colour: &str, style: &str, points: impl IntoIterator<Item = (f64, f64)>) -> String {
    format!("<polyline fill=\"none\" stroke=\"{colour}\" {style} points=\"{}\"/>\n", listed(points))
}

/// The stroke of a line of this kind; none if it has no line.
fn stroke(line: Line) -> Option<String> {
    let dashed = |width: f64, dashes: &str| {
        format!("stroke-width=\"{width}\" stroke-dasharray=\"{dashes}\"")
    };
    // Different from each other, and from those of a reference.
    const THEOREMS: [&str; 4] = ["9 3 2 3", "2 3", "9 3 2 3 2 3", "4 2"];
    Some(match line {
        Line::Solid | Line::Marked | Line::Interval => {
            "stroke-width=\"2\" stroke-linejoin=\"round\"".into()
        }
        Line::Dashed => dashed(2.0, "7 5"),
        Line::Theorem(number) => dashed(1.5, THEOREMS[number % THEOREMS.len()]),
        Line::Dotted => dashed(1.0, "2 3"),
        Line::Thin => "stroke-width=\"1\" opacity=\"0.35\"".into(),
        Line::Dots | Line::Marks => return None,
    })
}

/// A band: filled, or as bars where a panel has several.
pub(super) fn band(series: &Series, points: &Placed, plane: &Plane, rank: Rank) -> String {
    let colour = code(series);
    let placed: Vec<(f64, f64, f64)> =
        points.iter().map(|p| (plane.across(p.0), plane.up(p.2), plane.up(p.3))).collect();
    if !draws_bars(rank.of) {
        let upper = placed.iter().map(|p| (p.0, p.2));
        let outline = upper.chain(placed.iter().rev().map(|p| (p.0, p.1)));
        return format!(
            "<polygon opacity=\"0.18\" fill=\"{colour}\" stroke=\"none\" points=\"{}\"/>\n",
            listed(outline)
        );
    }
    let bars: Vec<(f64, f64, f64)> = match series.line {
        // Those of the points, a little aside of those of other lines.
        Line::Marked => {
            let aside = 2.5 * (rank.number as f64 - 0.5 * (rank.of - 1) as f64);
            placed.iter().map(|p| (p.0 + aside, p.1, p.2)).collect()
        }
        // A level has one.
        Line::Dashed if placed.len() == 2 => placed
            .last()
            .map(|p| (p.0 - 4.0 - 5.0 * rank.number as f64, p.1, p.2))
            .into_iter()
            .collect(),
        _ => staggered(&placed, rank),
    };
    let bar = |(x, low, high): &(f64, f64, f64)| {
        let ends = [
            (x - 2.0, *high),
            (x + 2.0, *high),
            (*x, *high),
            (*x, *low),
            (x - 2.0, *low),
            (x + 2.0, *low),
        ];
        polyline(&colour, "stroke-width=\"1\"", ends)
    };
    bars.iter().map(bar).collect()
}

/// Bars at equal distances, none at the place of another line's.
fn staggered(placed: &[(f64, f64, f64)], rank: Rank) -> Vec<(f64, f64, f64)> {
    let (Some(first), Some(last)) = (placed.first(), placed.last()) else { return Vec::new() };
    let width = last.0 - first.0;
    let at = |bar: usize| {
        let share = (rank.number as f64 + 0.5) / rank.of as f64;
        let x = first.0 + (bar as f64 + share) / BARS as f64 * width;
        let (before, after) =
            placed.windows(2).map(|pair| (pair[0], pair[1])).find(|(_, after)| after.0 >= x)?;
        let share = if after.0 > before.0 { (x - before.0) / (after.0 - before.0) } else { 0.0 };
        let between = |one: f64, other: f64| one + share * (other - one);
        Some((x, between(before.1, after.1), between(before.2, after.2)))
    };
    (0..BARS).filter_map(at).collect()
}

/// A line with its marks.
pub(super) fn line(series: &Series, points: &Placed, plane: &Plane, x_scale: Scale) -> String {
    let colour = code(series);
    let places = || points.iter().map(|p| (plane.across(p.0), plane.up(p.1)));
    let stroke = stroke(series.line).unwrap_or_default();
    match series.line {
        Line::Marked => {
            let marks = places().map(|at| mark(series, &colour, at));
            polyline(&colour, &stroke, places()) + &marks.collect::<String>()
        }
        Line::Dots => {
            // Dots of different lines stand beside each other.
            let aside = 4.0 * (series.colour % 4) as f64 - 6.0;
            places().map(|(x, y)| circle(&colour, (x + aside, y), 2.0, 0.45)).collect()
        }
        Line::Marks => places().map(|at| triangle(&colour, at)).collect(),
        Line::Interval => {
            let ends = series.band.iter().zip(points).filter_map(|(&(low, high), point)| {
                let at = |x: f64| Some((plane.across(x_scale.place(x)?), plane.up(point.1)));
                Some([at(low)?, at(high)?])
            });
            let bars = ends.map(|ends| polyline(&colour, &stroke, ends)).collect::<String>();
            bars + &places().map(|at| circle(&colour, at, 5.0, 1.0)).collect::<String>()
        }
        _ => polyline(&colour, &stroke, places()),
    }
}

/// A sample of a line for the legend: from `at` to the right over this width.
pub(super) fn sample(series: &Series, (x, y): (f64, f64), width: f64) -> String {
    let colour = code(series);
    let middle = (x + 0.5 * width, y);
    let line = stroke(series.line)
        .map(|stroke| polyline(&colour, &stroke, [(x, y), (x + width, y)]))
        .unwrap_or_default();
    line + &match series.line {
        Line::Marked => mark(series, &colour, middle),
        Line::Marks => triangle(&colour, middle),
        Line::Dots => circle(&colour, middle, 2.0, 0.45),
        _ => String::new(),
    }
}

fn circle(colour: &str, (x, y): (f64, f64), radius: f64, opacity: f64) -> String {
    format!(
        "<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"{radius}\" opacity=\"{opacity}\" fill=\"{colour}\" stroke=\"none\"/>\n"
    )
}

fn filled(colour: &str, (x, y): (f64, f64), corners: &[(f64, f64)]) -> String {
    let points = listed(corners.iter().map(|(a, b)| (x + a, y + b)));
    format!("<polygon fill=\"{colour}\" stroke=\"none\" points=\"{points}\"/>\n")
}

fn triangle(colour: &str, at: (f64, f64)) -> String {
    filled(colour, at, &[(0.0, -5.0), (5.0, 4.0), (-5.0, 4.0)])
}

/// A line's mark: another shape for each colour, for readers who do not see colours.
fn mark(series: &Series, colour: &str, at: (f64, f64)) -> String {
    let long = 1.3 * MARK;
    match series.colour % 4 {
        0 => circle(colour, at, MARK, 1.0),
        1 => filled(colour, at, &[(-MARK, -MARK), (MARK, -MARK), (MARK, MARK), (-MARK, MARK)]),
        2 => filled(colour, at, &[(0.0, -long), (long, 0.0), (0.0, long), (-long, 0.0)]),
        _ => filled(colour, at, &[(0.0, long), (long, -MARK), (-long, -MARK)]),
    }
}
