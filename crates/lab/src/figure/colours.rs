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

// Viridis (van der Walt and Smith 2015) without its ends: in order also where colours are not seen, away from black, and dark enough on white.
const RAMP: [RGBColor; 6] = [
    RGBColor(70, 60, 140),
    RGBColor(49, 104, 142),
    RGBColor(33, 145, 140),
    RGBColor(53, 170, 110),
    RGBColor(122, 200, 70),
    RGBColor(200, 200, 30),
];

/// The palette's colours that are far from those of the ramp: black, vermilion, purple and brown.
const OFF_RAMP: [usize; 4] = [7, 1, 4, 8];

/// The index of the colour of a reference beside lines on the ramp.
pub(crate) fn off_ramp(index: usize) -> usize {
    OFF_RAMP[index % OFF_RAMP.len()] + COLOURS.len() * (index / OFF_RAMP.len())
}

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
