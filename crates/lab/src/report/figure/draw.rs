//! A figure: its title, and its panels with their axes.

use plotters::{
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

use super::{
    Figure, Line, Panel, Series,
    fonts::{FAMILY, use_own, width, wrapped},
    groups::{Holds, group},
    line::{Plane, Rank, Shapes, band, line},
    picture::{Area, say},
    range::{Ranges, place},
    scale::{Axis, MOST_TICKS, Scale},
};

pub(super) const WIDTH: u32 = 860;
pub(super) const HEIGHT: u32 = 450;
/// The height of one of several panels without its title.
const PANEL_HEIGHT: u32 = 240;
/// The width of the labels left of the axis of one of several panels.
const PANEL_LABELS: u32 = 52;
/// Sizes of the title and of those of panels, and the heights of their lines.
const TITLE: u32 = 20;
const TITLE_LINE: u32 = 24;
const PANEL_TITLE: u32 = 15;
const PANEL_TITLE_LINE: u32 = 18;
/// Between labels of an axis.
const LABEL_GAP: u32 = 4;
/// Panels beside each other are not wider than this together, so that their text can be read on a page.
const MOST_WIDTH: u32 = 1000;

type Drawn<T = ()> = std::result::Result<T, String>;

/// The axes, and where the panels are.
pub(super) struct Frame {
    pub(super) ranges: Ranges,
    /// Left, top, right and bottom of each panel inside its axes.
    pub(super) areas: Vec<[i32; 4]>,
    /// Lines with their bands and marks, in place of their marks in the drawing.
    pub(super) shapes: Vec<String>,
}

impl Figure {
    /// The names of the rows, which panels share.
    pub(super) fn rows(&self) -> Vec<String> {
        let rows = |panel: &Panel| {
            let rows = panel.series.iter().filter(|series| series.line == Line::Interval);
            rows.map(|series| series.name.clone()).collect::<Vec<_>>()
        };
        self.panels.iter().map(rows).max_by_key(Vec::len).unwrap_or_default()
    }

    /// Panels beside each other.
    fn columns(&self) -> u32 {
        let columns = match self.panels.len() {
            0 | 1 => 1,
            2 | 4 => 2,
            3 | 5..=9 => 3,
            _ => 4,
        };
        self.size.map_or(columns, |(width, _)| columns.min(MOST_WIDTH / width).max(1))
    }

    pub(super) fn width(&self) -> u32 {
        self.size.map_or(WIDTH, |(width, _)| width * self.columns())
    }

    pub(super) fn size(&self) -> (u32, u32) {
        (self.width(), self.height() + self.height_below())
    }

    /// The title in lines.
    fn title_lines(&self) -> Vec<String> {
        let shown = if self.shows_title { self.title.as_str() } else { "" };
        wrapped(shown, TITLE, self.width() - 24)
    }

    fn title_height(&self) -> u32 {
        match self.title_lines().len() as u32 {
            0 => 0,
            lines => 10 + TITLE_LINE * lines,
        }
    }

    /// The lines of a panel's title.
    fn panel_title(&self, panel: &Panel) -> Vec<String> {
        // It stands above the axis, right of the labels.
        let room = (self.width() / self.columns()).saturating_sub(PANEL_LABELS + 12).max(40);
        wrapped(&panel.title, PANEL_TITLE, room)
    }

    /// The height of the titles of panels, which is the same for all.
    fn panel_title_height(&self) -> u32 {
        let lines = self.panels.iter().map(|panel| self.panel_title(panel).len()).max();
        match lines.unwrap_or(0) as u32 {
            0 => 0,
            lines => 6 + PANEL_TITLE_LINE * lines,
        }
    }

    /// The height of the drawing without what stands below; with rows it depends on their number.
    pub(super) fn height(&self) -> u32 {
        let rows = (self.panels.len() as u32).div_ceil(self.columns()).max(1);
        let panel = match (self.y.1, self.size) {
            (Scale::Rows, _) => 86 + 34 * self.rows().len() as u32,
            (_, Some((_, height))) => height,
            _ if self.panels.len() <= 1 => HEIGHT - 10 - TITLE_LINE,
            _ => PANEL_HEIGHT,
        };
        self.title_height() + rows * (panel + self.panel_title_height())
    }

    /// The width of the labels left of the vertical axis.
    fn label_area(&self) -> u32 {
        let longest = self.rows().iter().map(|name| width(name, 14)).max().unwrap_or(0);
        match self.y.1 {
            Scale::Rows => (20 + longest).min(self.width() * 3 / 5),
            _ => 64,
        }
    }

    /// Draws everything.
    pub(super) fn draw(&self, area: &Area<'_>) -> Drawn<Frame> {
        use_own();
        let ranges = self.ranges().ok_or("it has no points")?;
        let (mut areas, shapes) = (Vec::new(), Shapes::default());
        area.fill(&WHITE).map_err(say)?;
        let (drawing, below) = area.split_vertically(self.height());
        let (title, drawing) = drawing.split_vertically(self.title_height());
        let middle = self.width() as i32 / 2;
        centred(&title, self.title_lines(), (TITLE, TITLE_LINE), middle)?;
        let columns = self.columns() as usize;
        let places = drawing.split_evenly((self.panels.len().div_ceil(columns), columns));
        for (index, (panel, place)) in self.panels.iter().zip(&places).enumerate() {
            let is_last = index + columns >= self.panels.len();
            group(place, Holds::Panel(index), || {
                let ends = (index % columns == 0, is_last);
                areas.push(self.panel(panel, place, (&ranges, &shapes), ends)?);
                Ok(())
            })?;
        }
        self.draw_below(&below, &shapes)?;
        Ok(Frame { ranges, areas, shapes: shapes.into_vec() })
    }

    /// One panel, and where it is inside its axes. The labels of these stand at the left and at the bottom of all.
    fn panel(
        &self,
        panel: &Panel,
        area: &Area<'_>,
        (ranges, shapes): (&Ranges, &Shapes),
        (is_first, is_last): (bool, bool),
    ) -> Drawn<[i32; 4]> {
        let alone = self.panels.len() <= 1;
        let (x, y) = if alone { (44, self.label_area()) } else { (38, PANEL_LABELS) };
        let (title, area) = area.split_vertically(self.panel_title_height());
        let (panel_width, _) = area.dim_in_pixel();
        // Above the middle of the axis.
        let middle = (panel_width + y) as i32 / 2;
        let lines = self.panel_title(panel);
        centred(&title, lines, (PANEL_TITLE, PANEL_TITLE_LINE), middle)?;
        let letters = if alone { 14 } else { 12 };
        let margin = if alone { 12 } else { 6 };
        let right = self.overhang(ranges, letters).max(margin);
        let (_, panel_height) = area.dim_in_pixel();
        let across = f64::from(panel_width.saturating_sub(margin + right + y));
        let down = f64::from(panel_height.saturating_sub(2 * margin + x));
        let x_ticks = self.x.1.uncrowded(&ranges.x_ticks, ranges.x, across, |tick| {
            f64::from(width(&self.x.1.label(tick), letters) + LABEL_GAP)
        });
        let y_ticks = self.y.1.ticks(ranges.y);
        let y_ticks = match self.y.1 {
            // Each row has its name.
            Scale::Rows => y_ticks,
            scale => scale.uncrowded(&y_ticks, ranges.y, down, |_| f64::from(letters + 2)),
        };
        let mut chart = ChartBuilder::on(&area)
            .margin(margin)
            .margin_right(right)
            .x_label_area_size(x)
            .y_label_area_size(y)
            .build_cartesian_2d(
                Axis { scale: self.x.1, range: ranges.x, ticks: x_ticks, names: Vec::new() },
                Axis { scale: self.y.1, range: ranges.y, ticks: y_ticks, names: self.rows() },
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
            .light_line_style(TRANSPARENT)
            .bold_line_style(RGBColor(225, 225, 225).stroke_width(1))
            .axis_style(BLACK.stroke_width(1))
            .label_style((FAMILY, letters));
        group(&area, Holds::Axes, || mesh.draw().map_err(say))?;
        // Bands first, so that none of them dulls a line.
        let plane = Plane::of(&chart, ranges);
        let has_band = |one: &&Series| !one.band.is_empty() && one.line != Line::Interval;
        let of = panel.series.iter().filter(has_band).count();
        for (number, series) in panel.series.iter().filter(has_band).enumerate() {
            let placed = place(series, self.x.1, self.y.1);
            let drawn = band(series, &placed, &plane, Rank { number, of });
            self.in_group(&area, series, || shapes.draw(&area, drawn))?;
        }
        for series in &panel.series {
            let drawn = line(series, &place(series, self.x.1, self.y.1), &plane, self.x.1);
            self.in_group(&area, series, || shapes.draw(&area, drawn))?;
        }
        let (across, down) = chart.plotting_area().get_pixel_range();
        Ok([across.start, down.start, across.end, down.end])
    }

    /// Draws in the group of the line's name, if the legend has it.
    fn in_group(&self, area: &Area<'_>, series: &Series, draw: impl FnOnce() -> Drawn) -> Drawn {
        match self.number(series) {
            Some(number) => group(area, Holds::Series(number), draw),
            None => draw(),
        }
    }

    /// Overhang of the last label of the horizontal axis.
    fn overhang(&self, ranges: &Ranges, letters: u32) -> u32 {
        let Some(last) = ranges.x_ticks.last() else { return 0 };
        let from_end = (ranges.x.1 - last) / (ranges.x.1 - ranges.x.0);
        let room = (from_end * f64::from(self.width() / self.columns())) as u32;
        (width(&self.x.1.label(*last), letters) / 2 + 2).saturating_sub(room)
    }
}

/// Lines of text below each other, around a middle.
fn centred(area: &Area<'_>, lines: Vec<String>, (size, height): (u32, u32), middle: i32) -> Drawn {
    let style = (FAMILY, size).into_font().color(&BLACK);
    let style = style.pos(Pos::new(HPos::Center, VPos::Center));
    for (number, line) in (0..).zip(lines) {
        let at = (middle, 5 + (height * number + height / 2) as i32);
        area.draw(&Text::new(line, at, style.clone())).map_err(say)?;
    }
    Ok(())
}
