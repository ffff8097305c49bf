//! Drawings as SVG, and the same SVG as PNG.

use plotters::{coord::Shift, prelude::*};
use tiny_skia::Pixmap;

use super::{Format, direction::isolated, raster};
use crate::{Error, Result};

/// Area on which figures are drawn.
pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A drawing that is finished.
#[derive(Debug, Clone)]
pub struct Picture {
    title: String,
    /// The drawing as SVG.
    pub svg: String,
}

/// Points of the PNG for each unit of the SVG, so that it is sharp in print.
const SHARPNESS: f32 = 2.0;

/// Points of a PNG, at most: 440 MiB of memory.
const MOST_POINTS: f32 = 110e6;

impl Picture {
    /// Draws on an area of this size.
    pub(super) fn drawn<T>(
        title: &str,
        size: (u32, u32),
        draw: impl FnOnce(&Area<'_>) -> std::result::Result<T, String>,
    ) -> Result<(Self, T)> {
        let mut svg = String::new();
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        let result = draw(&area).and_then(|result| area.present().map(|()| result).map_err(say));
        drop(area);
        let result = result.map_err(|reason| Error::Figure { title: title.into(), reason })?;
        Ok((Picture { title: title.into(), svg: finished(&svg, title) }, result))
    }

    /// The contents of its file.
    pub fn contents(&self, format: Format) -> Result<Vec<u8>> {
        match format {
            Format::Svg => Ok(self.svg.clone().into_bytes()),
            Format::Png => self.png(),
        }
    }

    /// The picture as PNG, twice as large.
    pub fn png(&self) -> Result<Vec<u8>> {
        let size = raster::size(&self.svg).ok_or_else(|| self.failed("no size"))?;
        let (width, height) = (SHARPNESS * size.0, SHARPNESS * size.1);
        if width * height > MOST_POINTS {
            return Err(self.failed(format!(
                "{width} x {height} points; expected at most {MOST_POINTS:e} for a PNG; give a smaller size, or svg alone"
            )));
        }
        let mut points =
            Pixmap::new(width as u32, height as u32).ok_or_else(|| self.failed("no size"))?;
        raster::draw(&self.svg, SHARPNESS, &mut points);
        points.encode_png().map_err(|error| self.failed(error))
    }

    fn failed(&self, reason: impl std::fmt::Display) -> Error {
        Error::Figure { title: self.title.clone(), reason: reason.to_string() }
    }
}

/// The SVG with its title for readers who do not see it, and with text of both directions kept apart.
fn finished(svg: &str, title: &str) -> String {
    let title = title.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
    let svg = svg.replacen("<svg ", &format!("<svg role=\"img\" aria-label=\"{title}\" "), 1);
    let (mut written, mut is_text) = (String::with_capacity(svg.len()), false);
    for line in svg.lines() {
        written += &if is_text { isolated(line) } else { line.into() };
        written.push('\n');
        is_text = line.starts_with("<text ");
    }
    written
}

pub(super) fn say(error: impl std::fmt::Display) -> String {
    error.to_string()
}
