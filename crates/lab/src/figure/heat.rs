//! A map of values over two keys of a grid, as a picture and as the colours of a table.

use plotters::{
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

use super::{
    below::{SMALL, SMALL_LINE, draw_caption},
    fonts::{FAMILY, use_own, width, wrapped},
    picture::{Area, Picture, say},
};
use crate::{Result, estimate::Estimate};

/// Final regrets over two keys of a grid.
#[derive(Debug)]
pub struct HeatMap {
    /// The algorithm, and its coordinates in the rest of the grid.
    pub title: String,
    /// Whether the heading is drawn: a paper has it in the caption.
    pub shows_title: bool,
    /// What the numbers are and where they come from, in small print below.
    pub caption: String,
    /// The keys of rows and columns.
    pub keys: [String; 2],
    /// The values of the second key.
    pub columns: Vec<f64>,
    /// A value of the first key and the final regrets beside it.
    pub rows: Vec<(f64, Vec<Option<Estimate>>)>,
}

impl HeatMap {
    /// The smallest and the largest regret.
    fn range(&self) -> (f64, f64) {
        let all = self.rows.iter().flat_map(|(_, cells)| cells).flatten().map(|cell| cell.mean);
        all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), mean| {
            (low.min(mean), high.max(mean))
        })
    }

    /// What it shows.
    pub fn heading(&self) -> String {
        // A picture has room for so much of a name.
        let name: String = self.title.chars().take(80).collect();
        format!("{name}: final regret by {} and {}", self.keys[0], self.keys[1])
    }

    /// Red, green and blue of a cell, and the colour of its text: the darker the worse, on a logarithmic scale where all are positive.
    pub fn shade(&self, estimate: &Estimate) -> (u8, u8, u8, &'static str) {
        let (low, high) = self.range();
        let place = |value: f64| if low > 0.0 { value.ln() } else { value };
        let span = (place(high) - place(low)).max(f64::MIN_POSITIVE);
        let share = ((place(estimate.mean) - place(low)) / span).clamp(0.0, 1.0);
        // From white to the blue of the first line, with text in a readable colour.
        let colour = |full: f64| (255.0 - (255.0 - full) * share) as u8;
        let words = if share > 0.85 { "#fff" } else { "#222" };
        (colour(0.0), colour(114.0), colour(178.0), words)
    }

    /// Draws the map.
    pub fn picture(&self) -> Result<Picture> {
        let size = (self.width() as u32, (self.height() + self.caption_height()) as u32);
        Picture::drawn(&self.title, size, |area| self.draw(area)).map(|(picture, ())| picture)
    }

    fn width(&self) -> i32 {
        let cells = MARGIN.0 + CELL.0 * self.columns.len() as i32 + 16;
        let heading = if self.shows_title { width(&self.heading(), HEADING) } else { 0 };
        cells.max(24 + heading as i32).max(LEAST_WIDTH)
    }

    /// The height of what stands above the cells.
    fn top(&self) -> i32 {
        if self.shows_title { MARGIN.1 } else { MARGIN.1 - HEADING_LINE }
    }

    fn height(&self) -> i32 {
        self.top() + CELL.1 * self.rows.len() as i32 + 10
    }

    fn caption_lines(&self) -> Vec<String> {
        wrapped(&self.caption, SMALL, self.width() as u32 - 32)
    }

    fn caption_height(&self) -> i32 {
        SMALL_LINE * self.caption_lines().len() as i32 + 8
    }

    fn draw(&self, area: &Area<'_>) -> std::result::Result<(), String> {
        use_own();
        area.fill(&WHITE).map_err(say)?;
        let write = |text: String, at: (i32, i32), size: u32, colour: RGBColor| {
            let style = (FAMILY, size).into_font().color(&colour);
            let middle = style.pos(Pos::new(HPos::Center, VPos::Center));
            area.draw(&Text::new(text, at, middle)).map_err(say)
        };
        if self.shows_title {
            write(self.heading(), (self.width() / 2, 20), HEADING, BLACK)?;
        }
        let top = self.top();
        let across = MARGIN.0 + CELL.0 * self.columns.len() as i32 / 2;
        write(self.keys[1].clone(), (across, top - 42), 13, BLACK)?;
        write(self.keys[0].clone(), (MARGIN.0 / 2, top - 18), 13, BLACK)?;
        for (column, value) in self.columns.iter().enumerate() {
            let x = MARGIN.0 + CELL.0 * column as i32 + CELL.0 / 2;
            write(value.to_string(), (x, top - 18), 13, BLACK)?;
        }
        for (row, (value, cells)) in self.rows.iter().enumerate() {
            let y = top + CELL.1 * row as i32;
            write(value.to_string(), (MARGIN.0 / 2, y + CELL.1 / 2), 13, BLACK)?;
            for (column, estimate) in cells.iter().enumerate() {
                let Some(estimate) = estimate else { continue };
                let x = MARGIN.0 + CELL.0 * column as i32;
                let (red, green, blue, words) = self.shade(estimate);
                let cell = [(x, y), (x + CELL.0, y + CELL.1)];
                let colour = RGBColor(red, green, blue);
                area.draw(&Rectangle::new(cell, colour.filled())).map_err(say)?;
                let ink = if words == "#fff" { WHITE } else { RGBColor(34, 34, 34) };
                write(in_words(estimate), (x + CELL.0 / 2, y + CELL.1 / 2), 13, ink)?;
            }
        }
        draw_caption(area, self.caption_lines(), self.height())
    }
}

/// The contents of a cell: the mean and its standard error, which one trial has not.
pub(crate) fn in_words(estimate: &Estimate) -> String {
    match estimate.trials {
        1 => format!("{:.1}", estimate.mean),
        _ => format!("{:.1} ± {:.1}", estimate.mean, estimate.standard_error),
    }
}

/// Width and height of a cell, and of what stands left of and above the cells.
const CELL: (i32, i32) = (112, 38);
const MARGIN: (i32, i32) = (110, 92);
/// The size of the heading, and its height.
const HEADING: u32 = 17;
const HEADING_LINE: i32 = 32;
/// Below this the caption would have too many lines.
const LEAST_WIDTH: i32 = 480;
