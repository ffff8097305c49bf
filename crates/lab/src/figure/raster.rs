//! Drawings as SVG, and as points: averaged from a larger drawing, and written as PNG.

use plotters::{coord::Shift, prelude::*};

use crate::{Error, Result};

/// Something that is drawn on any backend; all sizes are multiplied by `unit`.
pub(super) trait Drawing {
    fn title(&self) -> &str;
    fn size(&self) -> (u32, u32);
    fn draw_on<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        unit: u32,
    ) -> std::result::Result<(), String>;
}

/// What is told of a drawing that failed.
pub(super) fn failed(drawing: &impl Drawing, reason: impl std::fmt::Display) -> Error {
    Error::Figure { title: drawing.title().into(), reason: reason.to_string() }
}

/// A drawing as SVG.
pub(super) fn svg(drawing: &impl Drawing) -> Result<String> {
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, drawing.size()).into_drawing_area();
    drawing.draw_on(&area, 1).map_err(|reason| failed(drawing, reason))?;
    drop(area);
    Ok(text)
}

/// A drawing as PNG, twice as large.
pub(super) fn png(drawing: &impl Drawing) -> Result<Vec<u8>> {
    let unit = SHARPNESS * OVERSAMPLING;
    let (width, height) = drawing.size();
    let points = (unit as usize * width as usize).saturating_mul(unit as usize * height as usize);
    if points > MOST_POINTS {
        return Err(failed(
            drawing,
            format!(
                "{width} x {height} is too large for a picture: give a smaller size, or svg alone"
            ),
        ));
    }
    let mut pixels = vec![0; 3 * points];
    let size = (unit * width, unit * height);
    let area = BitMapBackend::with_buffer(&mut pixels, size).into_drawing_area();
    drawing.draw_on(&area, unit).map_err(|reason| failed(drawing, reason))?;
    drop(area);
    let size = (SHARPNESS * width, SHARPNESS * height);
    encode(&shrink(&pixels, size), size).map_err(|error| failed(drawing, error))
}

/// The drawing is rendered this many times larger than the PNG and averaged over squares, which gives smooth lines.
const OVERSAMPLING: u32 = 2;

/// Points of the PNG for each unit of the SVG, so that it is sharp in print.
const SHARPNESS: u32 = 2;

/// Points of a drawing before they are averaged, at most: 300 MiB.
const MOST_POINTS: usize = 100_000_000;

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
