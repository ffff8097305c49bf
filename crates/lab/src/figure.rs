//! Figures: lines with bands on linear or logarithmic axes, as self-contained SVG.
//!
//! Values are mapped to the plane here (a logarithmic axis draws `log10`), so that the drawing library only
//! ever sees plain coordinates.

use plotters::prelude::*;

use crate::{Error, Result};

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

/// A colour of the palette; the tenth is the first one paler, the nineteenth the first one darker.
fn colour(index: usize) -> RGBColor {
    let RGBColor(red, green, blue) = COLOURS[index % COLOURS.len()];
    let shade = |part: u8| match index / COLOURS.len() % 3 {
        0 => part,
        1 => part + ((255 - part) as f64 * 0.5) as u8,
        _ => (f64::from(part) * 0.55) as u8,
    };
    RGBColor(shade(red), shade(green), shade(blue))
}

/// Whether a logarithmic axis spans too little for a label at every decade to be enough.
fn is_short(range: (f64, f64)) -> bool {
    range.1 - range.0 < 2.0
}

impl Scale {
    fn place(self, value: f64) -> Option<f64> {
        let placed = match self {
            Scale::Linear => value,
            Scale::Logarithmic => value.log10(),
        };
        placed.is_finite().then_some(placed)
    }

    /// How many labels an axis has room for; one per decade on a logarithmic one.
    fn labels(self, range: (f64, f64)) -> usize {
        match self {
            Scale::Linear => 11,
            Scale::Logarithmic if is_short(range) => 8,
            Scale::Logarithmic => (range.1 - range.0).ceil().max(2.0) as usize,
        }
    }

    fn label(self, placed: f64, range: (f64, f64)) -> String {
        match self {
            Scale::Linear if placed.abs() >= 1e4 => format!("{:.0}k", placed / 1e3),
            Scale::Linear if placed.abs() < 1e-9 => "0".into(),
            Scale::Linear => format!("{}", (placed * 1e6).round() / 1e6),
            Scale::Logarithmic if is_short(range) => two_digits(10f64.powf(placed)),
            Scale::Logarithmic if placed.fract().abs() > 1e-9 => String::new(),
            Scale::Logarithmic if (-3.0..5.0).contains(&placed) => {
                format!("{}", 10f64.powf(placed))
            }
            Scale::Logarithmic => format!("1e{placed:.0}"),
        }
    }
}

/// Two digits that count, without a trail of others.
fn two_digits(value: f64) -> String {
    if !(1e-3..1e6).contains(&value) {
        return format!("{value:.1e}");
    }
    let unit = 10f64.powf(value.log10().floor() - 1.0);
    let rounded = (value / unit).round() * unit;
    format!("{}", (rounded * 1e6).round() / 1e6)
}

impl Figure {
    /// Draws the figure.
    pub fn svg(&self) -> Result<String> {
        let mut text = String::new();
        self.draw(&mut text)
            .map_err(|reason| Error::Figure { title: self.title.clone(), reason })?;
        Ok(text)
    }

    fn draw(&self, text: &mut String) -> std::result::Result<(), String> {
        let say = |error: &dyn std::fmt::Display| error.to_string();
        let (x_scale, y_scale) = (self.x.1, self.y.1);
        let placed: Vec<Vec<(f64, f64, f64, f64)>> =
            self.series.iter().map(|series| place(series, x_scale, y_scale)).collect();
        let all = || placed.iter().flatten();
        let x_range = range(all().map(|point| point.0), 0.0).ok_or("it has no points")?;
        let y_range = range(all().flat_map(|point| [point.1, point.2, point.3]), 0.05)
            .ok_or("it has no points")?;

        let longest = self.series.iter().map(|series| series.name.chars().count()).max();
        let room = 40 + LETTER * longest.unwrap_or(0);
        let columns = (WIDTH as usize / room.max(1)).clamp(1, LEGEND_COLUMNS);
        let legend_height = LEGEND_ROW * self.series.len().div_ceil(columns) as u32;
        let size = (WIDTH, HEIGHT + legend_height);
        let area = SVGBackend::with_string(text, size).into_drawing_area();
        area.fill(&WHITE).map_err(|e| say(&e))?;
        let (drawing, legend) = area.split_vertically(HEIGHT);
        let mut chart = ChartBuilder::on(&drawing)
            .caption(&self.title, ("sans-serif", 20))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d(x_range.0..x_range.1, y_range.0..y_range.1)
            .map_err(|e| say(&e))?;
        chart
            .configure_mesh()
            .x_desc(&self.x.0)
            .y_desc(&self.y.0)
            .x_labels(x_scale.labels(x_range))
            .y_labels(y_scale.labels(y_range))
            .x_label_formatter(&|value| x_scale.label(*value, x_range))
            .y_label_formatter(&|value| y_scale.label(*value, y_range))
            .light_line_style(WHITE)
            .bold_line_style(RGBColor(225, 225, 225))
            .label_style(("sans-serif", 14))
            .draw()
            .map_err(|e| say(&e))?;
        for (series, points) in self.series.iter().zip(&placed) {
            let colour = colour(series.colour);
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
            let style = colour.stroke_width(2);
            match series.line {
                Line::Solid => {
                    chart.draw_series(LineSeries::new(places, style)).map_err(|e| say(&e))?;
                }
                Line::Dashed => {
                    chart
                        .draw_series(DashedLineSeries::new(places, 7, 5, style))
                        .map_err(|e| say(&e))?;
                }
            }
        }
        // The legend stands below the drawing, where it hides nothing.
        for (index, series) in self.series.iter().enumerate() {
            let x = 16 + (index % columns) as i32 * (WIDTH as i32 / columns as i32);
            let y = (index / columns) as i32 * LEGEND_ROW as i32;
            let style = colour(series.colour).stroke_width(3);
            let dashes: &[(i32, i32)] = match series.line {
                Line::Solid => &[(0, 20)],
                Line::Dashed => &[(0, 5), (8, 13), (16, 20)],
            };
            for (from, to) in dashes {
                legend
                    .draw(&PathElement::new([(x + from, y + 10), (x + to, y + 10)], style))
                    .map_err(|e| say(&e))?;
            }
            legend
                .draw(&Text::new(series.name.clone(), (x + 26, y + 3), ("sans-serif", 14)))
                .map_err(|e| say(&e))?;
        }
        area.present().map_err(|e| say(&e))
    }
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
    fn nothing_to_draw_is_an_error_and_odd_values_are_left_out() {
        assert!(matches!(figure(vec![]).svg(), Err(Error::Figure { .. })));
        assert!(matches!(
            figure(vec![(0.0, -1.0), (f64::NAN, 1.0)]).svg(),
            Err(Error::Figure { .. })
        ));
        assert!(figure(vec![(1.0, 1.0), (0.0, 1.0)]).svg().is_ok());
    }
}
