//! A map of values over two keys of a grid, as a picture and as the colours of a table.

use plotters::{
    coord::Shift,
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

use super::{
    draw::{Drawn, say, use_font},
    raster::{self, Drawing},
};
use crate::{Result, estimate::Estimate};

/// Final regrets over two keys of a grid.
#[derive(Debug)]
pub struct HeatMap {
    /// The algorithm, and its coordinates in the rest of the grid.
    pub title: String,
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
        let words = if share > 0.6 { "#fff" } else { "#222" };
        (colour(0.0), colour(114.0), colour(178.0), words)
    }

    /// Draws the map as SVG.
    pub fn svg(&self) -> Result<String> {
        raster::svg(self)
    }

    /// Draws the map as PNG.
    pub fn png(&self) -> Result<Vec<u8>> {
        raster::png(self)
    }
}

/// Width and height of a cell, and of what stands left of and above the cells.
const CELL: (i32, i32) = (112, 38);
const MARGIN: (i32, i32) = (110, 92);

impl Drawing for HeatMap {
    fn title(&self) -> &str {
        &self.title
    }

    fn size(&self) -> (u32, u32) {
        let letters = self.heading().chars().count() as i32;
        let width = (MARGIN.0 + CELL.0 * self.columns.len() as i32 + 16).max(24 + 9 * letters);
        (width as u32, (MARGIN.1 + CELL.1 * self.rows.len() as i32 + 16) as u32)
    }

    fn draw_on<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>, unit: u32) -> Drawn {
        use_font();
        area.fill(&WHITE).map_err(say)?;
        let write = |text: String, (x, y): (i32, i32), size: u32, colour: RGBColor| {
            let style = ("sans-serif", size * unit).into_font().color(&colour);
            let middle = style.pos(Pos::new(HPos::Center, VPos::Center));
            let at = (x * unit as i32, y * unit as i32);
            area.draw(&Text::new(text, at, middle)).map_err(say)
        };
        let width = self.size().0 as i32;
        write(self.heading(), (width / 2, 20), 17, BLACK)?;
        let across = MARGIN.0 + CELL.0 * self.columns.len() as i32 / 2;
        write(self.keys[1].clone(), (across, 50), 13, BLACK)?;
        write(self.keys[0].clone(), (MARGIN.0 / 2, MARGIN.1 - 18), 13, BLACK)?;
        for (column, value) in self.columns.iter().enumerate() {
            let x = MARGIN.0 + CELL.0 * column as i32 + CELL.0 / 2;
            write(value.to_string(), (x, MARGIN.1 - 18), 13, BLACK)?;
        }
        for (row, (value, cells)) in self.rows.iter().enumerate() {
            let y = MARGIN.1 + CELL.1 * row as i32;
            write(value.to_string(), (MARGIN.0 / 2, y + CELL.1 / 2), 13, BLACK)?;
            for (column, estimate) in cells.iter().enumerate() {
                let Some(estimate) = estimate else { continue };
                let x = MARGIN.0 + CELL.0 * column as i32;
                let (red, green, blue, words) = self.shade(estimate);
                let corner = |x: i32, y: i32| (x * unit as i32, y * unit as i32);
                let cell = [corner(x, y), corner(x + CELL.0, y + CELL.1)];
                let colour = RGBColor(red, green, blue);
                area.draw(&Rectangle::new(cell, colour.filled())).map_err(say)?;
                let text = format!("{:.1} ± {:.1}", estimate.mean, estimate.standard_error);
                let ink = if words == "#fff" { WHITE } else { RGBColor(34, 34, 34) };
                write(text, (x + CELL.0 / 2, y + CELL.1 / 2), 13, ink)?;
            }
        }
        area.present().map_err(say)
    }
}
