//! The legend and the caption, below the panels of a figure.

use plotters::{
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

use super::{
    Figure, Line, Series,
    fonts::{FAMILY, width, wrapped},
    groups::{Holds, group},
    line::{Shapes, sample},
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
const SWATCH: i32 = 36;
/// The width of a sample of a line.
const SAMPLE: f64 = 30.0;
/// The colour of samples that stand for lines of several colours.
const PLAIN: usize = 3;
const COLUMN_GAP: i32 = 14;
/// The size of the caption, and the height of its lines.
pub(super) const SMALL: u32 = 11;
pub(super) const SMALL_LINE: i32 = 15;

/// A name of the legend.
pub(super) struct Entry {
    pub(super) name: String,
    /// A line as those that have the name.
    look: Series,
    lines: Vec<String>,
    /// Left, top, width and height below the panels.
    pub(super) place: [i32; 4],
}

impl Figure {
    /// The lines with a name, each name once; rows are labelled beside them instead.
    fn named(&self) -> Vec<&Series> {
        let mut named: Vec<&Series> = Vec::new();
        for series in self.series().filter(|series| !series.name.is_empty()) {
            let known = named.iter().any(|known| known.name == series.name);
            if series.line != Line::Interval && !known {
                named.push(series);
            }
        }
        named
    }

    /// The names of the legend, each with a line that looks like it: those of lines, and the roles of what belongs to them.
    fn explained(&self) -> Vec<(&str, Series)> {
        let bare = |series: &Series| {
            let Series { colour, ramp, line, .. } = *series;
            Series { colour, ramp, line, ..Series::default() }
        };
        // Values of a grid in panels of several algorithms have shades of several colours.
        let shared = |one: &Series| {
            self.series().any(|other| other.name == one.name && other.colour != one.colour)
        };
        let look = |one: &Series| match shared(one) {
            true => Series { colour: PLAIN, ..bare(one) },
            false => bare(one),
        };
        let mut entries: Vec<(&str, Series)> =
            self.named().into_iter().map(|series| (series.name.as_str(), look(series))).collect();
        let roles =
            self.series().filter(|series| series.name.is_empty() && !series.role.is_empty());
        for series in roles {
            if entries.iter().all(|(name, _)| *name != series.role) {
                entries.push((series.role, Series { colour: PLAIN, ramp: None, ..bare(series) }));
            }
        }
        entries
    }

    /// The number of a line's name in the legend. A line without a name belongs to one of its colour.
    pub(super) fn number(&self, series: &Series) -> Option<usize> {
        let alike = |one: &&Series| {
            !one.name.is_empty() && (one.colour, one.ramp) == (series.colour, series.ramp)
        };
        let name = match series.name.as_str() {
            "" => &self.series().find(alike)?.name,
            name => name,
        };
        self.named().iter().position(|known| known.name == *name)
    }

    /// The size of a name in the legend, and the height of one of its lines: less below a small figure.
    fn name_size(&self) -> (u32, i32) {
        if self.width() < SMALL_WIDTH { (SMALL, SMALL_LINE) } else { (NAME, NAME_LINE) }
    }

    fn row_gap(&self) -> i32 {
        if self.width() < SMALL_WIDTH { 0 } else { ROW_GAP }
    }

    /// The legend in columns; a name that is longer than its column has several lines.
    pub(super) fn legend(&self) -> Vec<Entry> {
        let (name, name_line) = self.name_size();
        let explained = self.explained();
        let all = self.width() as i32 - LEFT;
        let longest = explained.iter().map(|(words, _)| width(words, name)).max().unwrap_or(0);
        let column = SWATCH + longest as i32 + COLUMN_GAP;
        let columns = (all / column).clamp(1, MOST_COLUMNS as i32);
        let column = all / columns;
        let room = (column - SWATCH - COLUMN_GAP).max(40) as u32;
        let (mut entries, mut top) = (Vec::new(), 0);
        for row in explained.chunks(columns as usize) {
            let names: Vec<Vec<String>> =
                row.iter().map(|(words, _)| wrapped(words, name, room)).collect();
            let lines = names.iter().map(Vec::len).max().unwrap_or(1) as i32;
            for (place, ((words, look), lines)) in row.iter().zip(names).enumerate() {
                let left = LEFT + place as i32 * column;
                let widest = lines.iter().map(|line| width(line, name)).max().unwrap_or(0);
                let size = (SWATCH + widest as i32, name_line * lines.len() as i32);
                let place = [left, top, size.0, size.1];
                entries.push(Entry { name: words.to_string(), look: look.clone(), lines, place });
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
        let text = match self.caption.trim_end_matches('.') {
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

    pub(super) fn draw_below(
        &self,
        area: &Area<'_>,
        shapes: &Shapes,
    ) -> std::result::Result<(), String> {
        for (number, entry) in self.legend().into_iter().enumerate() {
            group(area, Holds::Legend(number), || entry.draw(area, shapes, self.name_size()))?;
        }
        draw_caption(area, self.caption_lines(), self.legend_height())
    }
}

impl Entry {
    fn draw(
        self,
        area: &Area<'_>,
        shapes: &Shapes,
        (name, name_line): (u32, i32),
    ) -> std::result::Result<(), String> {
        let Entry { look, lines, place: [x, y, ..], .. } = self;
        // A shape is placed in the whole drawing.
        let (across, down) = area.get_pixel_range();
        let at = (f64::from(across.start + x), f64::from(down.start + y + 9));
        shapes.draw(area, sample(&look, at, SAMPLE))?;
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
