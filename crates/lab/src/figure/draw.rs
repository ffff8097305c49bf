//! A figure on any drawing backend.

use std::sync::Once;

use plotters::{
    coord::Shift,
    prelude::*,
    style::{
        FontStyle, ShapeStyle, register_font,
        text_anchor::{HPos, Pos, VPos},
    },
};

use super::{
    Figure, Line, Panel, Series,
    raster::Drawing,
    scale::{Axis, MOST_TICKS, Scale},
};

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

// Viridis (van der Walt and Smith 2015) without its palest end: in order also where colours are not seen.
const RAMP: [RGBColor; 6] = [
    RGBColor(68, 1, 84),
    RGBColor(64, 67, 135),
    RGBColor(41, 120, 142),
    RGBColor(34, 167, 132),
    RGBColor(121, 209, 81),
    RGBColor(200, 190, 30),
];

pub(super) const WIDTH: u32 = 860;
pub(super) const HEIGHT: u32 = 450;
/// The height of one of several panels, and of the title.
const PANEL_HEIGHT: u32 = 240;
const TITLE: u32 = 34;
/// The largest number of names in one row of the legend, the width of a letter, and the height of a row.
const LEGEND_COLUMNS: usize = 6;
const LETTER: usize = 8;
pub(super) const LEGEND_ROW: u32 = 24;
/// The width of a letter of the caption, and the height of its lines.
const SMALL_LETTER: f64 = 5.9;
const CAPTION_LINE: u32 = 16;

/// The colour of a line; the tenth of the palette is the first one darker.
pub(super) fn colour(series: &Series) -> RGBColor {
    if let Some(place) = series.ramp {
        let place = place.clamp(0.0, 1.0) * (RAMP.len() - 1) as f64;
        let (from, share) = (place.floor() as usize, place.fract());
        let (RGBColor(a, b, c), RGBColor(d, e, f)) =
            (RAMP[from], RAMP[(from + 1).min(RAMP.len() - 1)]);
        let between = |a: u8, b: u8| (f64::from(a) + share * (f64::from(b) - f64::from(a))) as u8;
        return RGBColor(between(a, d), between(b, e), between(c, f));
    }
    let RGBColor(red, green, blue) = COLOURS[series.colour % COLOURS.len()];
    let dark = 0.55_f64.powi((series.colour / COLOURS.len()) as i32);
    let shade = |part: u8| (dark * f64::from(part)) as u8;
    RGBColor(shade(red), shade(green), shade(blue))
}

pub(super) type Drawn<T = ()> = std::result::Result<T, String>;

pub(super) fn say(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Draws text with a font that every machine has.
pub(super) fn use_font() {
    static FONT: Once = Once::new();
    FONT.call_once(|| {
        // Drawing reports an unreadable font by itself.
        let _ = register_font("sans-serif", FontStyle::Normal, notosans::REGULAR_TTF);
    });
}

/// (x, y, lower, upper) of each point of a line, as it is drawn.
pub(super) type Placed = Vec<(f64, f64, f64, f64)>;

/// What all panels share, and where they are.
pub(super) struct Frame {
    pub(super) x_range: (f64, f64),
    pub(super) y_range: (f64, f64),
    unit: u32,
    /// Left, top, right and bottom of each panel inside its axes.
    pub(super) areas: Vec<[i32; 4]>,
}

impl Figure {
    /// The entries of the legend, each once; rows are labelled beside them instead.
    pub(super) fn legend(&self) -> Vec<&Series> {
        let mut entries: Vec<&Series> = Vec::new();
        for series in self.series() {
            let explained = !series.name.is_empty() && series.line != Line::Interval;
            if explained && entries.iter().all(|known| known.name != series.name) {
                entries.push(series);
            }
        }
        entries
    }

    /// The names of the rows.
    fn rows(&self) -> Vec<String> {
        let rows = self.series().filter(|series| series.line == Line::Interval);
        rows.map(|series| series.name.clone()).collect()
    }

    /// Panels beside each other.
    fn columns(&self) -> u32 {
        match self.panels.len() {
            0 | 1 => 1,
            2 | 4 => 2,
            3 | 5..=9 => 3,
            _ => 4,
        }
    }

    fn width(&self) -> u32 {
        self.size.map_or(WIDTH, |(width, _)| width * self.columns())
    }

    /// Names in one row of the legend.
    fn legend_columns(&self) -> usize {
        let longest = self.legend().iter().map(|series| series.name.chars().count()).max();
        let room = 40 + LETTER * longest.unwrap_or(0);
        (self.width() as usize / room.max(1)).clamp(1, LEGEND_COLUMNS)
    }

    pub(super) fn size(&self) -> (u32, u32) {
        let legend = self.legend().len().div_ceil(self.legend_columns()) as u32;
        let caption = match self.caption_lines().len() as u32 {
            0 => 0,
            lines => CAPTION_LINE * lines + 8,
        };
        (self.width(), self.height() + LEGEND_ROW * legend + caption)
    }

    /// The height of the drawing without its legend; with rows it depends on their number.
    fn height(&self) -> u32 {
        let rows = (self.panels.len() as u32).div_ceil(self.columns()).max(1);
        let title = if self.shows_title { 0 } else { TITLE };
        match (self.y.1, self.size) {
            (Scale::Rows, _) => 120 + 34 * self.rows().len() as u32 - title,
            (_, Some((_, height))) => rows * height + TITLE - title,
            _ if rows == 1 && self.panels.len() <= 1 => HEIGHT - title,
            _ => rows * PANEL_HEIGHT + TITLE - title,
        }
    }

    /// The caption in lines that fit below the drawing.
    fn caption_lines(&self) -> Vec<String> {
        let most = ((self.width() - 24) as f64 / SMALL_LETTER) as usize;
        let mut lines: Vec<String> = Vec::new();
        for word in self.caption.split_whitespace() {
            match lines.last_mut().filter(|line| line.chars().count() + word.chars().count() < most)
            {
                Some(line) => {
                    line.push(' ');
                    line.push_str(word);
                }
                None => lines.push(word.into()),
            }
        }
        lines
    }

    /// The width of the labels left of the vertical axis.
    fn label_area(&self) -> u32 {
        let longest = self.rows().iter().map(|name| name.chars().count()).max().unwrap_or(0);
        match self.y.1 {
            Scale::Rows => (20 + LETTER * longest).min(self.width() as usize / 2) as u32,
            _ => 64,
        }
    }

    /// Draws on any backend; all sizes are multiplied by `unit`.
    pub(super) fn draw<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        unit: u32,
    ) -> Drawn<Frame> {
        use_font();
        let mut frame = self.frame(unit)?;
        area.fill(&WHITE).map_err(say)?;
        let (drawing, below) = area.split_vertically(self.height() * unit);
        let drawing = match self.shows_title {
            true => {
                let (title, rest) = drawing.split_vertically(TITLE * unit);
                let style = ("sans-serif", 20 * unit).into_font().color(&BLACK);
                let middle = Pos::new(HPos::Center, VPos::Center);
                let at = ((self.width() * unit / 2) as i32, (TITLE * unit / 2) as i32);
                title.draw(&Text::new(self.title.clone(), at, style.pos(middle))).map_err(say)?;
                rest
            }
            false => drawing,
        };
        let columns = self.columns() as usize;
        let places = drawing.split_evenly((self.panels.len().div_ceil(columns), columns));
        for (index, (panel, place)) in self.panels.iter().zip(&places).enumerate() {
            let is_last = index + columns >= self.panels.len();
            let inside = self.panel(panel, place, &frame, (index % columns == 0, is_last))?;
            frame.areas.push(inside);
        }
        self.below(&below, unit)?;
        area.present().map_err(say)?;
        Ok(frame)
    }

    /// The ranges of the axes, which are those of all lines together.
    fn frame(&self, unit: u32) -> Drawn<Frame> {
        let (x_scale, y_scale) = (self.x.1, self.y.1);
        let placed: Vec<Placed> =
            self.series().map(|series| place(series, x_scale, y_scale)).collect();
        let bars = self.series().filter(|series| series.line == Line::Interval);
        let bars = bars.flat_map(|series| &series.band).flat_map(|end| [end.0, end.1]);
        let marked = self.series().any(|series| series.line == Line::Marked);
        let margin = match (y_scale, marked) {
            (Scale::Rows, _) => 0.05,
            // A mark is not cut by an axis.
            (_, true) => 0.02,
            _ => 0.0,
        };
        let widths = placed.iter().flatten().map(|point| point.0);
        let widths = widths.chain(bars.filter_map(|end| x_scale.place(end)));
        let x_range = range(widths, margin).ok_or("it has no points")?;
        let y_range = match y_scale {
            Scale::Rows => (0.5 - self.rows().len() as f64, 0.5),
            _ => range_with_bands(&placed).ok_or("it has no points")?,
        };
        Ok(Frame { x_range, y_range, unit, areas: Vec::new() })
    }

    /// One panel, and where it is inside its axes. The labels of these stand at the left and at the bottom of all.
    fn panel<B: DrawingBackend>(
        &self,
        panel: &Panel,
        area: &DrawingArea<B, Shift>,
        frame: &Frame,
        (is_first, is_last): (bool, bool),
    ) -> Drawn<[i32; 4]> {
        let (unit, alone) = (frame.unit, self.panels.len() <= 1);
        let mut builder = ChartBuilder::on(area);
        if !panel.title.is_empty() {
            builder.caption(&panel.title, ("sans-serif", 15 * unit));
        }
        let (x, y) = if alone { (44, self.label_area()) } else { (38, 52) };
        let mut chart = builder
            .margin(if alone { 12 } else { 6 } * unit)
            .x_label_area_size(x * unit)
            .y_label_area_size(y * unit)
            .build_cartesian_2d(
                Axis { scale: self.x.1, range: frame.x_range, names: Vec::new() },
                Axis { scale: self.y.1, range: frame.y_range, names: self.rows() },
            )
            .map_err(say)?;
        let mut mesh = chart.configure_mesh();
        if alone || is_last {
            mesh.x_desc(&self.x.0);
        }
        if alone || is_first {
            mesh.y_desc(&self.y.0);
        }
        mesh.x_labels(MOST_TICKS)
            .y_labels(MOST_TICKS.max(self.rows().len()))
            .light_line_style(WHITE)
            .bold_line_style(RGBColor(225, 225, 225).stroke_width(unit))
            .axis_style(BLACK.stroke_width(unit))
            .label_style(("sans-serif", if alone { 14 } else { 12 } * unit))
            .draw()
            .map_err(say)?;
        // Bands first, so that none of them dulls a line; pale ones where there are many.
        let bands = panel.series.iter().filter(|series| !series.band.is_empty()).count();
        let strength = if bands > 3 { 0.09 } else { 0.18 };
        for series in panel.series.iter().filter(|series| series.line != Line::Interval) {
            draw_band(&mut chart, series, &place(series, self.x.1, self.y.1), frame, strength)?;
        }
        for series in &panel.series {
            draw_line(&mut chart, series, place(series, self.x.1, self.y.1), self.x.1, frame.unit)?;
        }
        let (across, down) = chart.plotting_area().get_pixel_range();
        Ok([across.start, down.start, across.end, down.end])
    }

    /// The legend and the caption, below the drawing, where they hide nothing.
    fn below<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>, unit: u32) -> Drawn {
        let (columns, legend) = (self.legend_columns(), self.legend());
        let at = |x: i32, y: i32| (x * unit as i32, y * unit as i32);
        for (index, series) in legend.iter().enumerate() {
            let x = 16 + (index % columns) as i32 * (self.width() as i32 / columns as i32);
            let y = (index / columns) as i32 * LEGEND_ROW as i32;
            let colour = colour(series);
            let dashes: &[(i32, i32)] = match series.line {
                Line::Dashed => &[(0, 5), (8, 13), (16, 20)],
                _ => &[(0, 20)],
            };
            for (from, to) in dashes {
                let ends = [at(x + from, y + 9), at(x + to, y + 9)];
                area.draw(&PathElement::new(ends, colour.stroke_width(3 * unit))).map_err(say)?;
            }
            if series.line == Line::Marked {
                let corners = mark(series.colour, 4 * unit as i32);
                let (x, y) = at(x + 10, y + 9);
                let corners: Vec<_> = corners.into_iter().map(|(a, b)| (x + a, y + b)).collect();
                area.draw(&Polygon::new(corners, colour.filled())).map_err(say)?;
            }
            let style = ("sans-serif", 14 * unit).into_font().color(&BLACK);
            let beside = style.pos(Pos::new(HPos::Left, VPos::Center));
            let text = Text::new(series.name.clone(), at(x + 26, y + 10), beside);
            area.draw(&text).map_err(say)?;
        }
        let top = LEGEND_ROW as i32 * legend.len().div_ceil(columns) as i32;
        let style = ("sans-serif", 11 * unit).into_font().color(&RGBColor(90, 90, 90));
        for (number, line) in self.caption_lines().into_iter().enumerate() {
            let y = top + CAPTION_LINE as i32 * number as i32;
            area.draw(&Text::new(line, at(16, y), style.clone())).map_err(say)?;
        }
        Ok(())
    }
}

impl Drawing for Figure {
    fn title(&self) -> &str {
        &self.title
    }

    fn size(&self) -> (u32, u32) {
        Figure::size(self)
    }

    fn draw_on<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>, unit: u32) -> Drawn {
        self.draw(area, unit).map(drop)
    }
}

type Chart<'a, B> = ChartContext<'a, B, Cartesian2d<Axis, Axis>>;

fn draw_band<B: DrawingBackend>(
    chart: &mut Chart<'_, B>,
    series: &Series,
    points: &Placed,
    frame: &Frame,
    strength: f64,
) -> Drawn {
    if series.band.is_empty() {
        return Ok(());
    }
    let cut = |end: f64| end.clamp(frame.y_range.0, frame.y_range.1);
    let upper = points.iter().map(|p| (p.0, cut(p.3)));
    let outline = upper.chain(points.iter().rev().map(|p| (p.0, cut(p.2))));
    let band = Polygon::new(outline.collect::<Vec<_>>(), colour(series).mix(strength).filled());
    chart.draw_series([band]).map(drop).map_err(say)
}

fn draw_line<B: DrawingBackend>(
    chart: &mut Chart<'_, B>,
    series: &Series,
    points: Placed,
    x_scale: Scale,
    unit: u32,
) -> Drawn {
    let colour = colour(series);
    let places = || points.iter().map(|p| (p.0, p.1));
    let style = colour.stroke_width(2 * unit);
    let dashed = |chart: &mut Chart<'_, B>, style: ShapeStyle, dash: u32, gap: u32| {
        let line = DashedLineSeries::new(places(), dash * unit, gap * unit, style);
        chart.draw_series(line).map(drop).map_err(say)
    };
    match series.line {
        Line::Solid => drop(chart.draw_series(LineSeries::new(places(), style)).map_err(say)?),
        Line::Marked => {
            chart.draw_series(LineSeries::new(places(), style)).map_err(say)?;
            let mark = |at| {
                let corners = mark(series.colour, 4 * unit as i32);
                EmptyElement::at(at) + Polygon::new(corners, colour.filled())
            };
            chart.draw_series(places().map(mark)).map_err(say)?;
        }
        Line::Thin => {
            let style = colour.mix(0.35).stroke_width(unit);
            chart.draw_series(LineSeries::new(places(), style)).map_err(say)?;
        }
        Line::Dashed => dashed(chart, style, 7, 5)?,
        Line::Dotted => dashed(chart, colour.stroke_width(unit), 2, 3)?,
        Line::Marks => {
            let mark = |at| TriangleMarker::new(at, 5 * unit, colour.filled());
            chart.draw_series(places().map(mark)).map_err(say)?;
        }
        Line::Interval => {
            let ends = series.band.iter().zip(&points).filter_map(|(&(low, high), point)| {
                Some([(x_scale.place(low)?, point.1), (x_scale.place(high)?, point.1)])
            });
            let bar = |ends: [(f64, f64); 2]| PathElement::new(ends, style);
            chart.draw_series(ends.map(bar)).map_err(say)?;
            let dot = |at| Circle::new(at, 5 * unit, colour.filled());
            chart.draw_series(places().map(dot)).map_err(say)?;
        }
    }
    Ok(())
}

/// The corners of a mark around a point: another shape for each colour, for readers who do not see colours.
fn mark(colour: usize, size: i32) -> Vec<(i32, i32)> {
    let long = size * 13 / 10;
    match colour % 4 {
        // Nearly a circle.
        0 => (0..16)
            .map(|corner| f64::from(corner) * std::f64::consts::PI / 8.0)
            .map(|angle| {
                (
                    (angle.cos() * f64::from(size)).round() as i32,
                    (angle.sin() * f64::from(size)).round() as i32,
                )
            })
            .collect(),
        1 => vec![(-size, -size), (size, -size), (size, size), (-size, size)],
        2 => vec![(0, -long), (long, 0), (0, long), (-long, 0)],
        _ => vec![(0, long), (long, -size), (-long, -size)],
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

/// The range of the lines, extended for their bands by at most half that range. Wider bands are cut at the edge of the drawing; otherwise
/// the wide bands of few trials would flatten the lines.
pub(super) fn range_with_bands(placed: &[Placed]) -> Option<(f64, f64)> {
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
    let extra = match high > low {
        true if margin > 0.0 => margin * (high - low),
        true => 0.0,
        false => 0.5,
    };
    Some((low - extra, high + extra))
}
