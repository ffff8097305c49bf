//! Figures: lines with bands on linear or logarithmic axes, or values with intervals in named rows, as self-contained SVG and as PNG.
//!
//! Values are mapped to the plane here (a logarithmic axis draws `log10`), so that the drawing library only gets plain coordinates.

use std::sync::Once;

use plotters::{
    coord::{
        Shift,
        ranged1d::{KeyPointHint, NoDefaultFormatting, ValueFormatter},
    },
    prelude::*,
    style::{FontStyle, register_font},
};

use crate::{Error, Result};

/// The scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps are equal differences.
    Linear,
    /// Equal steps are equal ratios; values at or below zero are left out.
    Logarithmic,
    /// Downwards, a row for each [`Line::Interval`] with its name: row i is at -i.
    Rows,
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Line {
    /// A solid line, for measurements.
    #[default]
    Solid,
    /// A dashed line, for theory or a reference level.
    Dashed,
    /// A thin line that belongs to another one.
    Dotted,
    /// A triangle at each point.
    Marks,
    /// A dot at each point with its band as a horizontal bar.
    Interval,
}

/// One line of a figure.
#[derive(Debug, Clone, Default)]
pub struct Series {
    /// The name in the legend or of the row; empty for a line that belongs to another one.
    pub name: String,
    /// The index of the colour, so that an algorithm has the same colour in every figure.
    pub colour: usize,
    /// How pale, from 0 to 1: the points of one grid are shades of one colour.
    pub paleness: f64,
    /// Solid or dashed.
    pub line: Line,
    /// (x, y) in drawing order.
    pub points: Vec<(f64, f64)>,
    /// Lower and upper end of a band around the line, one per point, or empty.
    pub band: Vec<(f64, f64)>,
}

/// A figure with its labels.
#[derive(Debug, Clone)]
pub struct Figure {
    /// The title.
    pub title: String,
    /// The label and scale of the horizontal axis.
    pub x: (String, Scale),
    /// The label and scale of the vertical axis.
    pub y: (String, Scale),
    /// The lines, in legend order.
    pub series: Vec<Series>,
}

// Okabe and Ito's palette: distinguishable for colour-blind readers and in print.
const COLOURS: [RGBColor; 9] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(120, 120, 120),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
    RGBColor(150, 110, 60),
];

const WIDTH: u32 = 860;
const HEIGHT: u32 = 450;
/// The largest number of names in one row of the legend, the width of a letter, and the height of a row.
const LEGEND_COLUMNS: usize = 3;
const LETTER: usize = 8;
const LEGEND_ROW: u32 = 24;

/// A colour of the palette; the tenth is the first one darker.
fn colour(series: &Series) -> RGBColor {
    let RGBColor(red, green, blue) = COLOURS[series.colour % COLOURS.len()];
    let dark = 0.55_f64.powi((series.colour / COLOURS.len()) as i32);
    let pale = series.paleness.clamp(0.0, 1.0);
    let shade = |part: u8| (255.0 - (255.0 - dark * f64::from(part)) * (1.0 - pale)) as u8;
    RGBColor(shade(red), shade(green), shade(blue))
}

/// The largest number of labels of an axis.
const MOST_TICKS: usize = 9;

impl Scale {
    fn place(self, value: f64) -> Option<f64> {
        let placed = match self {
            Scale::Linear | Scale::Rows => value,
            Scale::Logarithmic => value.log10(),
        };
        placed.is_finite().then_some(placed)
    }

    /// The positions of labels on an axis from `low` to `high`: round numbers, on a logarithmic axis decades, or 1, 2 and 5 of each where
    /// there is room.
    fn ticks(self, (low, high): (f64, f64)) -> Vec<f64> {
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
                sizes.into_iter().find(fits).unwrap_or_default()
            }
            Scale::Rows => steps(1.0),
        }
    }

    fn label(self, placed: f64) -> String {
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

/// An axis with labels of our own.
#[derive(Clone)]
struct Axis {
    scale: Scale,
    range: (f64, f64),
    /// The names of the rows, if it has rows.
    names: Vec<String>,
}

impl Ranged for Axis {
    type ValueType = f64;
    type FormatOption = NoDefaultFormatting;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let share = (value - self.range.0) / (self.range.1 - self.range.0);
        from + (share * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.scale.ticks(self.range)
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

/// The drawing is rendered this many times larger than the PNG and averaged over squares, which gives smooth lines.
const OVERSAMPLING: u32 = 2;
/// Points of the PNG for each unit of the SVG, so that it is sharp in print.
const SHARPNESS: u32 = 2;

impl Figure {
    /// Draws the figure as SVG.
    pub fn svg(&self) -> Result<String> {
        let mut text = String::new();
        let area = SVGBackend::with_string(&mut text, self.size()).into_drawing_area();
        self.draw(&area, 1).map_err(|reason| self.error(reason))?;
        drop(area);
        Ok(text)
    }

    /// Draws the figure as PNG, twice as large.
    pub fn png(&self) -> Result<Vec<u8>> {
        let unit = SHARPNESS * OVERSAMPLING;
        let (width, height) = self.size();
        let mut pixels = vec![0; (3 * unit * width * unit * height) as usize];
        let size = (unit * width, unit * height);
        let area = BitMapBackend::with_buffer(&mut pixels, size).into_drawing_area();
        self.draw(&area, unit).map_err(|reason| self.error(reason))?;
        drop(area);
        let size = (SHARPNESS * width, SHARPNESS * height);
        encode(&shrink(&pixels, size), size).map_err(|error| self.error(error.to_string()))
    }

    fn error(&self, reason: String) -> Error {
        Error::Figure { title: self.title.clone(), reason }
    }

    /// The entries of the legend; rows are labelled beside them instead.
    fn legend(&self) -> impl Iterator<Item = &Series> {
        let explained = |series: &&Series| !series.name.is_empty() && series.line != Line::Interval;
        self.series.iter().filter(explained)
    }

    /// The names of the rows.
    fn rows(&self) -> Vec<String> {
        let rows = self.series.iter().filter(|series| series.line == Line::Interval);
        rows.map(|series| series.name.clone()).collect()
    }

    /// Names in one row of the legend.
    fn legend_columns(&self) -> usize {
        let longest = self.legend().map(|series| series.name.chars().count()).max();
        let room = 40 + LETTER * longest.unwrap_or(0);
        (WIDTH as usize / room.max(1)).clamp(1, LEGEND_COLUMNS)
    }

    fn size(&self) -> (u32, u32) {
        let rows = self.legend().count().div_ceil(self.legend_columns()) as u32;
        (WIDTH, self.height() + LEGEND_ROW * rows)
    }

    /// The height of the drawing without its legend; with rows it depends on their number.
    fn height(&self) -> u32 {
        match self.y.1 {
            Scale::Rows => 120 + 34 * self.rows().len() as u32,
            _ => HEIGHT,
        }
    }

    /// The width of the labels left of the vertical axis.
    fn label_area(&self) -> u32 {
        let longest = self.rows().iter().map(|name| name.chars().count()).max().unwrap_or(0);
        match self.y.1 {
            Scale::Rows => (20 + LETTER * longest).min(WIDTH as usize / 2) as u32,
            _ => 64,
        }
    }

    /// Draws on any backend; all sizes are multiplied by `unit`.
    fn draw<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        unit: u32,
    ) -> std::result::Result<(), String> {
        static FONT: Once = Once::new();
        FONT.call_once(|| {
            // Drawing reports an unreadable font by itself.
            let _ = register_font("sans-serif", FontStyle::Normal, notosans::REGULAR_TTF);
        });
        let say = |error: &dyn std::fmt::Display| error.to_string();
        let (x_scale, y_scale) = (self.x.1, self.y.1);
        let placed: Vec<Vec<(f64, f64, f64, f64)>> =
            self.series.iter().map(|series| place(series, x_scale, y_scale)).collect();
        let all = || placed.iter().flatten();
        let bars = || self.series.iter().filter(|series| series.line == Line::Interval);
        let bars = bars().flat_map(|series| &series.band).flat_map(|end| [end.0, end.1]);
        let margin = if y_scale == Scale::Rows { 0.05 } else { 0.0 };
        let widths = all().map(|point| point.0).chain(bars.filter_map(|end| x_scale.place(end)));
        let x_range = range(widths, margin).ok_or("it has no points")?;
        let y_range = match y_scale {
            Scale::Rows => (0.5 - self.rows().len() as f64, 0.5),
            _ => range_with_bands(&placed).ok_or("it has no points")?,
        };

        let columns = self.legend_columns();
        let at = |x: i32, y: i32| (x * unit as i32, y * unit as i32);
        area.fill(&WHITE).map_err(|e| say(&e))?;
        let (drawing, legend) = area.split_vertically(self.height() * unit);
        let mut chart = ChartBuilder::on(&drawing)
            .caption(&self.title, ("sans-serif", 20 * unit))
            .margin(12 * unit)
            .x_label_area_size(44 * unit)
            .y_label_area_size(self.label_area() * unit)
            .build_cartesian_2d(
                Axis { scale: x_scale, range: x_range, names: Vec::new() },
                Axis { scale: y_scale, range: y_range, names: self.rows() },
            )
            .map_err(|e| say(&e))?;
        chart
            .configure_mesh()
            .x_desc(&self.x.0)
            .y_desc(&self.y.0)
            .x_labels(MOST_TICKS)
            .y_labels(MOST_TICKS.max(self.rows().len()))
            .light_line_style(WHITE)
            .bold_line_style(RGBColor(225, 225, 225).stroke_width(unit))
            .axis_style(BLACK.stroke_width(unit))
            .label_style(("sans-serif", 14 * unit))
            .draw()
            .map_err(|e| say(&e))?;
        for (series, points) in self.series.iter().zip(&placed) {
            let colour = colour(series);
            if !series.band.is_empty() && series.line != Line::Interval {
                let cut = |end: f64| end.clamp(y_range.0, y_range.1);
                let outline = points
                    .iter()
                    .map(|p| (p.0, cut(p.3)))
                    .chain(points.iter().rev().map(|p| (p.0, cut(p.2))));
                chart
                    .draw_series([Polygon::new(
                        outline.collect::<Vec<_>>(),
                        colour.mix(0.18).filled(),
                    )])
                    .map_err(|e| say(&e))?;
            }
            let places = points.iter().map(|p| (p.0, p.1));
            let style = colour.stroke_width(2 * unit);
            match series.line {
                Line::Solid => {
                    chart.draw_series(LineSeries::new(places, style)).map_err(|e| say(&e))?;
                }
                Line::Dashed => {
                    chart
                        .draw_series(DashedLineSeries::new(places, 7 * unit, 5 * unit, style))
                        .map_err(|e| say(&e))?;
                }
                Line::Dotted => {
                    let style = colour.stroke_width(unit);
                    chart
                        .draw_series(DashedLineSeries::new(places, 2 * unit, 3 * unit, style))
                        .map_err(|e| say(&e))?;
                }
                Line::Marks => {
                    let mark = |at| TriangleMarker::new(at, 5 * unit, colour.filled());
                    chart.draw_series(places.map(mark)).map_err(|e| say(&e))?;
                }
                Line::Interval => {
                    let ends =
                        series.band.iter().zip(points).filter_map(|(&(low, high), point)| {
                            Some([(x_scale.place(low)?, point.1), (x_scale.place(high)?, point.1)])
                        });
                    let bar = |ends: [(f64, f64); 2]| PathElement::new(ends, style);
                    chart.draw_series(ends.map(bar)).map_err(|e| say(&e))?;
                    let dot = |at| Circle::new(at, 5 * unit, colour.filled());
                    chart.draw_series(places.map(dot)).map_err(|e| say(&e))?;
                }
            }
        }
        // The legend is below the drawing, where it hides nothing.
        for (index, series) in self.legend().enumerate() {
            let x = 16 + (index % columns) as i32 * (WIDTH as i32 / columns as i32);
            let y = (index / columns) as i32 * LEGEND_ROW as i32;
            let style = colour(series).stroke_width(3 * unit);
            let dashes: &[(i32, i32)] = match series.line {
                Line::Dashed => &[(0, 5), (8, 13), (16, 20)],
                _ => &[(0, 20)],
            };
            for (from, to) in dashes {
                legend
                    .draw(&PathElement::new([at(x + from, y + 10), at(x + to, y + 10)], style))
                    .map_err(|e| say(&e))?;
            }
            legend
                .draw(&Text::new(series.name.clone(), at(x + 26, y + 3), ("sans-serif", 14 * unit)))
                .map_err(|e| say(&e))?;
        }
        area.present().map_err(|e| say(&e))
    }
}

/// The mean of each square of points.
fn shrink(pixels: &[u8], (width, height): (u32, u32)) -> Vec<u8> {
    let (times, row) = (OVERSAMPLING as usize, (3 * OVERSAMPLING * width) as usize);
    let mut small = Vec::with_capacity((3 * width * height) as usize);
    for y in 0..height as usize {
        for x in 0..width as usize {
            for part in 0..3 {
                let at = |i: usize| {
                    pixels[(times * y + i / times) * row + 3 * (times * x + i % times) + part]
                };
                let sum: u32 = (0..times * times).map(|i| u32::from(at(i))).sum();
                small.push((sum / (times * times) as u32) as u8);
            }
        }
    }
    small
}

fn encode(
    pixels: &[u8],
    (width, height): (u32, u32),
) -> std::result::Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header()?.write_image_data(pixels)?;
    Ok(bytes)
}

/// (x, y, lower, upper) of each point that the scales can show. Where a logarithmic axis cannot show a lower end, it is minus infinity: the
/// band then runs to the edge of the drawing.
fn place(series: &Series, x_scale: Scale, y_scale: Scale) -> Vec<(f64, f64, f64, f64)> {
    let place = |(index, &(x, y)): (usize, &(f64, f64))| {
        let (x, placed) = (x_scale.place(x)?, y_scale.place(y)?);
        let band = series.band.get(index).filter(|_| series.line != Line::Interval);
        let (low, high) = band.copied().unwrap_or((y, y));
        let low = y_scale.place(low).unwrap_or(f64::NEG_INFINITY);
        Some((x, placed, low, y_scale.place(high)?))
    };
    series.points.iter().enumerate().filter_map(place).collect()
}

/// The range of the lines, extended for their bands by at most half that range. Wider bands are cut at the edge of the drawing; otherwise
/// the wide bands of few trials would flatten the lines.
fn range_with_bands(placed: &[Vec<(f64, f64, f64, f64)>]) -> Option<(f64, f64)> {
    let all = || placed.iter().flatten();
    let (low, high) = range(all().map(|point| point.1), 0.0)?;
    let room = 0.5 * (high - low).max(0.1);
    let ends = all().flat_map(|point| [point.1, point.2, point.3]);
    range(ends.map(|end| end.clamp(low - room, high + room)), 0.05)
}

/// Smallest and largest value, with a margin; one apart if they coincide.
fn range(values: impl Iterator<Item = f64>, margin: f64) -> Option<(f64, f64)> {
    let (low, high) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low > high {
        return None;
    }
    let extra = if high > low { margin * (high - low) } else { 0.5 };
    Some((low - extra, high + extra))
}

#[cfg(test)]
mod tests;
