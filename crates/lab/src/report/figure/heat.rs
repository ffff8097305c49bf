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
use crate::{Result, report::estimate::Estimate};

/// Final regrets over two keys of a grid.
#[derive(Debug)]
pub struct HeatMap {
    /// The algorithm, and its coordinates in the rest of the grid.
    pub title: String,
    /// Tells whether the heading is drawn: a paper has it in the caption.
    pub shows_title: bool,
    /// Source and meaning of the numbers, in small print below.
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
    pub fn range(&self) -> (f64, f64) {
        let all = self.rows.iter().flat_map(|(_, cells)| cells).flatten().map(|cell| cell.mean);
        all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), mean| {
            (low.min(mean), high.max(mean))
        })
    }

    /// Subject of the figure.
    pub fn heading(&self) -> String {
        // A picture has room for so much of a name.
        let name: String = self.title.chars().take(80).collect();
        format!("{name}: final regret by {} and {}", self.keys[0], self.keys[1])
    }

    /// Red, green and blue of a cell, and the colour of its text: the darker the worse, on a logarithmic scale where all are positive.
    pub fn shade(&self, estimate: &Estimate) -> (u8, u8, u8, &'static str) {
        let (low, high) = self.range();
        let place = |value: f64| if self.is_logarithmic() { value.ln() } else { value };
        let span = (place(high) - place(low)).max(f64::MIN_POSITIVE);
        let share = ((place(estimate.mean) - place(low)) / span).clamp(0.0, 1.0);
        let (red, green, blue) = colour(share);
        (red, green, blue, if share > 0.85 { "#fff" } else { "#222" })
    }

    fn is_logarithmic(&self) -> bool {
        self.range().0 > 0.0
    }

    /// The scale of the colours, in words.
    pub fn scale_words(&self) -> &'static str {
        if self.is_logarithmic() { "on a logarithmic scale" } else { "on a linear scale" }
    }

    /// The colours from the smallest to the largest regret, in equal steps of the scale.
    pub fn bar(&self) -> [(u8, u8, u8); BAR_STEPS] {
        std::array::from_fn(|step| colour(step as f64 / (BAR_STEPS - 1) as f64))
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
        self.top() + CELL.1 * self.rows.len() as i32 + BAR_LINE
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
        self.draw_bar(area)?;
        draw_caption(area, self.caption_lines(), self.height())
    }

    /// The colours, with the regrets at their ends.
    fn draw_bar(&self, area: &Area<'_>) -> std::result::Result<(), String> {
        let (low, high) = self.range();
        let (left, top) = (MARGIN.0, self.height() - BAR_LINE + 10);
        let (wide, bottom) = (BAR_WIDTH / BAR_STEPS as i32, top + 12);
        for (step, (red, green, blue)) in (0..).zip(self.bar()) {
            let ends = [(left + wide * step, top), (left + wide * (step + 1), bottom)];
            let colour = RGBColor(red, green, blue);
            area.draw(&Rectangle::new(ends, colour.filled())).map_err(say)?;
        }
        let right = left + wide * BAR_STEPS as i32;
        area.draw(&Rectangle::new([(left, top), (right, bottom)], RGBColor(160, 160, 160)))
            .map_err(say)?;
        let words = (format!("{low:.1}"), format!("{high:.1}, {}", self.scale_words()));
        let style = (FAMILY, 13).into_font().color(&BLACK);
        for (text, x, side) in [(words.0, left - 6, HPos::Right), (words.1, right + 6, HPos::Left)]
        {
            let style = style.clone().pos(Pos::new(side, VPos::Center));
            area.draw(&Text::new(text, (x, top + 6), style)).map_err(say)?;
        }
        Ok(())
    }
}

/// From white to the blue of the first line.
fn colour(share: f64) -> (u8, u8, u8) {
    let part = |full: f64| (255.0 - (255.0 - full) * share) as u8;
    (part(0.0), part(114.0), part(178.0))
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
/// The steps and the width of the bar of colours, and the height of its line.
const BAR_STEPS: usize = 32;
const BAR_WIDTH: i32 = 192;
const BAR_LINE: i32 = 34;
/// The size of the heading, and its height.
const HEADING: u32 = 17;
const HEADING_LINE: i32 = 32;
/// Below this the caption would have too many lines.
const LEAST_WIDTH: i32 = 480;
