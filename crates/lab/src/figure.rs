//! Figures: lines with bands on linear or logarithmic axes, as self-contained SVG and as PNG.
//!
//! Values are mapped to the plane here (a logarithmic axis draws `log10`), so that the drawing library only
//! ever sees plain coordinates.

use std::{path::Path, sync::Once};

use plotters::{
    coord::{
        Shift,
        ranged1d::{KeyPointHint, NoDefaultFormatting, ValueFormatter},
    },
    prelude::*,
    style::{FontStyle, register_font},
};

use crate::{Error, Result, report};

/// Whether an axis is linear or logarithmic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps are equal differences.
    Linear,
    /// Equal steps are equal ratios; values at or below zero are left out.
    Logarithmic,
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// What was measured.
    Solid,
    /// What theory says.
    Dashed,
}

/// One line of a figure.
#[derive(Debug, Clone)]
pub struct Series {
    /// What the legend calls it.
    pub name: String,
    /// Which colour of the palette, so that the same thing has the same colour in every figure.
    pub colour: usize,
    /// How pale, from 0 to 1: the points of one grid are shades of one colour.
    pub paleness: f64,
    /// Solid or dashed.
    pub line: Line,
    /// (x, y) in drawing order.
    pub points: Vec<(f64, f64)>,
    /// Half-width of a band around the line, one per point, or empty.
    pub band: Vec<f64>,
}

/// A figure with its words.
#[derive(Debug, Clone)]
pub struct Figure {
    /// Stands above the drawing.
    pub title: String,
    /// What runs to the right, and how.
    pub x: (String, Scale),
    /// What runs upwards, and how.
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
/// Names in one row of the legend at most, the width of a letter, and the height of a row.
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

/// Labels of an axis at most.
const MOST_TICKS: usize = 9;

impl Scale {
    fn place(self, value: f64) -> Option<f64> {
        let placed = match self {
            Scale::Linear => value,
            Scale::Logarithmic => value.log10(),
        };
        placed.is_finite().then_some(placed)
    }

    /// Where an axis from `low` to `high` has labels: round numbers, on a logarithmic axis decades, or 1, 2 and 5 of each where
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
        }
    }

    fn label(self, placed: f64) -> String {
        let value = match self {
            Scale::Linear => placed,
            Scale::Logarithmic => 10f64.powf(placed),
        };
        match value.abs() {
            size if size < 1e-9 && self == Scale::Linear => "0".into(),
            size if (1e-3..1e5).contains(&size) => {
                // Twelve digits hide what the logarithm lost.
                format!("{}", format!("{value:.11e}").parse::<f64>().unwrap_or(value))
            }
            _ => {
                let text = format!("{value:.1e}");
                text.replace(".0e", "e")
            }
        }
    }
}

/// An axis whose labels are ours.
#[derive(Clone)]
struct Axis {
    scale: Scale,
    range: (f64, f64),
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
        self.scale.label(*placed)
    }
}

/// A drawing is made this much larger than its PNG, and each of its points is the mean of a square: lines without steps.
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

    /// Draws the figure into `folder/figures`, as `name.svg` and `name.png`.
    pub fn write(&self, folder: &Path, name: &str) -> Result<()> {
        report::write(folder, &format!("figures/{name}.svg"), self.svg()?)?;
        report::write(folder, &format!("figures/{name}.png"), self.png()?)
    }

    fn error(&self, reason: String) -> Error {
        Error::Figure { title: self.title.clone(), reason }
    }

    /// Names in one row of the legend.
    fn legend_columns(&self) -> usize {
        let longest = self.series.iter().map(|series| series.name.chars().count()).max();
        let room = 40 + LETTER * longest.unwrap_or(0);
        (WIDTH as usize / room.max(1)).clamp(1, LEGEND_COLUMNS)
    }

    fn size(&self) -> (u32, u32) {
        let rows = self.series.len().div_ceil(self.legend_columns()) as u32;
        (WIDTH, HEIGHT + LEGEND_ROW * rows)
    }

    /// Draws on anything; all sizes are in units of so many of its points.
    fn draw<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        unit: u32,
    ) -> std::result::Result<(), String> {
        static FONT: Once = Once::new();
        FONT.call_once(|| {
            // What an unreadable font would break is said by the drawing itself.
            let _ = register_font("sans-serif", FontStyle::Normal, notosans::REGULAR_TTF);
        });
        let say = |error: &dyn std::fmt::Display| error.to_string();
        let (x_scale, y_scale) = (self.x.1, self.y.1);
        let placed: Vec<Vec<(f64, f64, f64, f64)>> =
            self.series.iter().map(|series| place(series, x_scale, y_scale)).collect();
        let all = || placed.iter().flatten();
        let x_range = range(all().map(|point| point.0), 0.0).ok_or("it has no points")?;
        let y_range = range(all().flat_map(|point| [point.1, point.2, point.3]), 0.05)
            .ok_or("it has no points")?;

        let columns = self.legend_columns();
        let at = |x: i32, y: i32| (x * unit as i32, y * unit as i32);
        area.fill(&WHITE).map_err(|e| say(&e))?;
        let (drawing, legend) = area.split_vertically(HEIGHT * unit);
        let mut chart = ChartBuilder::on(&drawing)
            .caption(&self.title, ("sans-serif", 20 * unit))
            .margin(12 * unit)
            .x_label_area_size(44 * unit)
            .y_label_area_size(64 * unit)
            .build_cartesian_2d(
                Axis { scale: x_scale, range: x_range },
                Axis { scale: y_scale, range: y_range },
            )
            .map_err(|e| say(&e))?;
        chart
            .configure_mesh()
            .x_desc(&self.x.0)
            .y_desc(&self.y.0)
            .x_labels(MOST_TICKS)
            .y_labels(MOST_TICKS)
            .light_line_style(WHITE)
            .bold_line_style(RGBColor(225, 225, 225).stroke_width(unit))
            .axis_style(BLACK.stroke_width(unit))
            .label_style(("sans-serif", 14 * unit))
            .draw()
            .map_err(|e| say(&e))?;
        for (series, points) in self.series.iter().zip(&placed) {
            let colour = colour(series);
            if !series.band.is_empty() {
                let outline = points
                    .iter()
                    .map(|p| (p.0, p.3))
                    .chain(points.iter().rev().map(|p| (p.0, p.2)));
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
            }
        }
        // The legend stands below the drawing, where it hides nothing.
        for (index, series) in self.series.iter().enumerate() {
            let x = 16 + (index % columns) as i32 * (WIDTH as i32 / columns as i32);
            let y = (index / columns) as i32 * LEGEND_ROW as i32;
            let style = colour(series).stroke_width(3 * unit);
            let dashes: &[(i32, i32)] = match series.line {
                Line::Solid => &[(0, 20)],
                Line::Dashed => &[(0, 5), (8, 13), (16, 20)],
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

/// (x, y, lower, upper) of each point that the scales can show.
fn place(series: &Series, x_scale: Scale, y_scale: Scale) -> Vec<(f64, f64, f64, f64)> {
    let band = |index: usize| series.band.get(index).copied().unwrap_or(0.0);
    series
        .points
        .iter()
        .enumerate()
        .filter_map(|(index, &(x, y))| {
            let (x, y, half) = (x_scale.place(x)?, y, band(index));
            Some((x, y_scale.place(y)?, y_scale.place(y - half)?, y_scale.place(y + half)?))
        })
        .collect()
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
mod tests {
    use super::*;

    fn figure(points: Vec<(f64, f64)>) -> Figure {
        Figure {
            title: "noise".into(),
            x: ("round".into(), Scale::Logarithmic),
            y: ("deviation".into(), Scale::Logarithmic),
            series: vec![Series {
                name: "tree".into(),
                colour: 0,
                paleness: 0.0,
                line: Line::Solid,
                band: vec![0.1; points.len()],
                points,
            }],
        }
    }

    #[test]
    fn a_figure_shows_its_words_and_its_line() {
        let svg = figure(vec![(1.0, 2.0), (10.0, 3.0), (100.0, 4.0)]).svg().unwrap();
        for word in ["<svg", "noise", "round", "deviation", "tree", "polyline"] {
            assert!(svg.contains(word), "{word} is missing");
        }
    }

    #[test]
    fn axes_have_round_numbers() {
        let labels = |scale: Scale, low: f64, high: f64| -> String {
            let ticks = scale.ticks((low, high)).into_iter();
            ticks.map(|tick| scale.label(tick)).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(labels(Scale::Linear, 0.0, 1.0), "0 0.2 0.4 0.6 0.8 1");
        assert_eq!(labels(Scale::Linear, -3.0, 45_000.0), "0 10000 20000 30000 40000");
        let log = |low: f64, high: f64| labels(Scale::Logarithmic, low.log10(), high.log10());
        assert_eq!(log(0.25, 8.0), "0.5 1 2 5");
        assert_eq!(log(1.0, 1e5), "1 10 100 1000 10000 1e5");
        assert_eq!(log(0.9, 1e12), "1 100 10000 1e6 1e8 1e10 1e12");
    }

    #[test]
    fn a_picture_has_the_same_line_in_its_colour() {
        let bytes = figure(vec![(1.0, 2.0), (10.0, 3.0), (100.0, 4.0)]).png().unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), (2 * WIDTH, 2 * (HEIGHT + LEGEND_ROW)));
        let count = |colour: [u8; 3]| pixels.chunks(3).filter(|&p| p == colour).count();
        // The line is four points wide and crosses most of the drawing; words are dark; the rest is paper.
        assert!(count([0, 114, 178]) > 4 * WIDTH as usize, "{}", count([0, 114, 178]));
        assert!(count([0, 0, 0]) > 500 && count([255, 255, 255]) > pixels.len() / 3 / 2);
    }

    #[test]
    fn nothing_to_draw_is_an_error_and_odd_values_are_left_out() {
        assert!(matches!(figure(vec![]).svg(), Err(Error::Figure { .. })));
        assert!(matches!(
            figure(vec![(0.0, -1.0), (f64::NAN, 1.0)]).svg(),
            Err(Error::Figure { .. })
        ));
        assert!(figure(vec![(1.0, 1.0), (0.0, 1.0)]).svg().is_ok());
    }
}
