//! What stands below the panels of a figure, where it hides nothing: the legend and the caption.

use plotters::{
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

use super::{
    Figure, Line, Series,
    colours::colour,
    fonts::{FAMILY, width, wrapped},
    groups::{Holds, group},
    line::mark,
    picture::{Area, say},
};

/// The largest number of names in one row of the legend.
const MOST_COLUMNS: usize = 6;
/// The size of a name in the legend, the height of one of its lines, and the space between rows.
const NAME: u32 = 14;
const NAME_LINE: i32 = 16;
const ROW_GAP: i32 = 8;
/// Figures narrower than this have a legend in small print.
const SMALL_WIDTH: u32 = 480;
/// Left of the legend and the caption; from there to a name; and between columns.
const LEFT: i32 = 16;
const SWATCH: i32 = 26;
const COLUMN_GAP: i32 = 14;
/// The size of the caption, and the height of its lines.
pub(super) const SMALL: u32 = 11;
pub(super) const SMALL_LINE: i32 = 15;

/// A name of the legend.
pub(super) struct Entry<'a> {
    pub(super) series: &'a Series,
    lines: Vec<String>,
    /// Left, top, width and height below the panels.
    pub(super) place: [i32; 4],
}

impl Figure {
    /// The lines that the legend names, each once; rows are labelled beside them instead, and the line of a panel by its title.
    pub(super) fn explained(&self) -> Vec<&Series> {
        let mut entries: Vec<&Series> = Vec::new();
        for panel in &self.panels {
            for series in panel.series.iter().filter(|series| !series.name.is_empty()) {
                let explained = series.line != Line::Interval && series.name != panel.title;
                if explained && entries.iter().all(|known| known.name != series.name) {
                    entries.push(series);
                }
            }
        }
        entries
    }

    /// The number of a line's name in the legend. A line without a name belongs to one of its colour.
    pub(super) fn number(&self, series: &Series) -> Option<usize> {
        let own = |known: &&Series| match series.name.is_empty() {
            true => (known.colour, known.ramp) == (series.colour, series.ramp),
            false => known.name == series.name,
        };
        self.explained().iter().position(own)
    }

    /// The name of the only line, which stands in the caption in place of a legend.
    fn only(&self) -> Option<&str> {
        match self.explained()[..] {
            [series] if self.rows().is_empty() => Some(&series.name),
            _ => None,
        }
    }

    /// The size of a name in the legend, and the height of one of its lines: less below a small figure.
    fn name_size(&self) -> (u32, i32) {
        if self.width() < SMALL_WIDTH { (SMALL, SMALL_LINE) } else { (NAME, NAME_LINE) }
    }

    fn row_gap(&self) -> i32 {
        if self.width() < SMALL_WIDTH { 0 } else { ROW_GAP }
    }

    /// The legend in columns; a name that is longer than its column has several lines.
    pub(super) fn legend(&self) -> Vec<Entry<'_>> {
        if self.only().is_some() {
            return Vec::new();
        }
        let (name, name_line) = self.name_size();
        let explained = self.explained();
        let all = self.width() as i32 - LEFT;
        let longest = explained.iter().map(|series| width(&series.name, name)).max().unwrap_or(0);
        let column = SWATCH + longest as i32 + COLUMN_GAP;
        let columns = (all / column).clamp(1, MOST_COLUMNS as i32);
        let column = all / columns;
        let room = (column - SWATCH - COLUMN_GAP).max(40) as u32;
        let (mut entries, mut top) = (Vec::new(), 0);
        for row in explained.chunks(columns as usize) {
            let names: Vec<Vec<String>> =
                row.iter().map(|series| wrapped(&series.name, name, room)).collect();
            let lines = names.iter().map(Vec::len).max().unwrap_or(1) as i32;
            for (place, (series, lines)) in row.iter().copied().zip(names).enumerate() {
                let left = LEFT + place as i32 * column;
                let widest = lines.iter().map(|line| width(line, name)).max().unwrap_or(0);
                let size = (SWATCH + widest as i32, name_line * lines.len() as i32);
                entries.push(Entry { series, lines, place: [left, top, size.0, size.1] });
            }
            top += name_line * lines + self.row_gap();
        }
        entries
    }

    fn legend_height(&self) -> i32 {
        let bottom = self.legend().iter().map(|entry| entry.place[1] + entry.place[3]).max();
        bottom.map_or(0, |bottom| bottom + ROW_GAP)
    }

    /// The caption in lines, and what the drawing itself has to say.
    fn caption_lines(&self) -> Vec<String> {
        let cut = self.ranges().is_some_and(|ranges| ranges.is_cut);
        let end = if cut { " Bands that go beyond the axis are cut there." } else { "" };
        let only = match (self.only(), self.caption.is_empty()) {
            (Some(name), true) => name.to_string(),
            (Some(name), false) => format!("{name}: {}", self.caption),
            (None, _) => self.caption.clone(),
        };
        let text = match only.trim_end_matches('.') {
            "" => end.trim().to_string(),
            caption => format!("{caption}.{end}"),
        };
        wrapped(&text, SMALL, self.width() - 2 * LEFT as u32)
    }

    /// The height of all that stands below the panels.
    pub(super) fn height_below(&self) -> u32 {
        let caption = match self.caption_lines().len() as i32 {
            0 => 0,
            lines => SMALL_LINE * lines + 8,
        };
        (self.legend_height() + caption) as u32
    }

    pub(super) fn draw_below(&self, area: &Area<'_>) -> std::result::Result<(), String> {
        for (number, entry) in self.legend().into_iter().enumerate() {
            group(area, Holds::Legend(number), || entry.draw(area, self.name_size()))?;
        }
        draw_caption(area, self.caption_lines(), self.legend_height())
    }
}

impl Entry<'_> {
    fn draw(
        self,
        area: &Area<'_>,
        (name, name_line): (u32, i32),
    ) -> std::result::Result<(), String> {
        let Entry { series, lines, place: [x, y, ..] } = self;
        let colour = colour(series);
        let dashes: &[(i32, i32)] = match series.line {
            Line::Dashed => &[(0, 5), (8, 13), (16, 20)],
            _ => &[(0, 20)],
        };
        for (from, to) in dashes {
            let ends = [(x + from, y + 9), (x + to, y + 9)];
            area.draw(&PathElement::new(ends, colour.stroke_width(3))).map_err(say)?;
        }
        if series.line == Line::Marked {
            let corners = mark(series).into_iter().map(|(a, b)| (x + 10 + a, y + 9 + b));
            let mark = Polygon::new(corners.collect::<Vec<_>>(), colour.filled());
            area.draw(&mark).map_err(say)?;
        }
        let style = (FAMILY, name).into_font().color(&BLACK);
        let beside = style.pos(Pos::new(HPos::Left, VPos::Center));
        for (number, line) in (0..).zip(lines) {
            let at = (x + SWATCH, y + 9 + name_line * number);
            area.draw(&Text::new(line, at, beside.clone())).map_err(say)?;
        }
        Ok(())
    }
}

/// Small print below a drawing.
pub(super) fn draw_caption(
    area: &Area<'_>,
    lines: Vec<String>,
    top: i32,
) -> std::result::Result<(), String> {
    let style = (FAMILY, SMALL).into_font().color(&RGBColor(90, 90, 90));
    for (number, line) in (0..).zip(lines) {
        let at = (LEFT, top + SMALL_LINE * number);
        area.draw(&Text::new(line, at, style.clone())).map_err(say)?;
    }
    Ok(())
}
