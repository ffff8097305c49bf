//! The colours of lines.

use plotters::style::RGBColor;

use super::Series;

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

/// The part of a colour in the darkest of its shades, and of white in the lightest.
const SHADES: (f64, f64) = (0.45, 0.6);

/// The colour of a line: that of its algorithm, in one of its shades where it is a point of a grid. The tenth colour of the palette is the first one darker.
pub(super) fn colour(series: &Series) -> RGBColor {
    let RGBColor(red, green, blue) = COLOURS[series.colour % COLOURS.len()];
    let dark = 0.55_f64.powi((series.colour / COLOURS.len()) as i32);
    let part = |part: u8| {
        let full = dark * f64::from(part);
        let (darkest, lightest) = (SHADES.0 * full, full + SHADES.1 * (255.0 - full));
        match series.ramp {
            None => full as u8,
            Some(place) => (darkest + place.clamp(0.0, 1.0) * (lightest - darkest)) as u8,
        }
    };
    RGBColor(part(red), part(green), part(blue))
}

/// A line's colour as an SVG has it, in small letters.
pub(super) fn code(series: &Series) -> String {
    let RGBColor(red, green, blue) = colour(series);
    format!("#{red:02x}{green:02x}{blue:02x}")
}
