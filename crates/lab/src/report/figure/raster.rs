//! Pictures as points: the rectangles, circles, lines, polygons and text of our own SVGs, in Noto Sans.
//!
//! This reads the elements and attributes that this room and its drawing library write, not SVG in general. A letter that the font lacks is a box.

use tiny_skia::{
    FillRule, LineJoin, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, StrokeDash, Transform,
};
use ttf_parser::{GlyphId, OutlineBuilder};

use super::fonts::{FACE, is_silent};

/// The width and the height that an SVG states.
pub(super) fn size(svg: &str) -> Option<(f32, f32)> {
    let root = svg.split('<').find(|element| element.starts_with("svg "))?;
    Some((number(root, "width")?, number(root, "height")?))
}

/// Draws an SVG on points; `scale` points for each of its units.
pub(super) fn draw(svg: &str, scale: f32, points: &mut Pixmap) {
    let scale = Transform::from_scale(scale, scale);
    for element in svg.split('<') {
        let path = match element.split([' ', '>']).next() {
            Some("rect") => rectangle(element),
            Some("circle") => circle(element),
            Some("line") => line(element),
            Some("polyline") => polygon(element, false),
            Some("polygon") => polygon(element, true),
            Some("text") => text(element),
            _ => None,
        };
        if let Some(path) = path {
            let transform = scale.pre_concat(rotation(element));
            if let Some(paint) = paint(element, "fill") {
                points.fill_path(&path, &paint, FillRule::Winding, transform, None);
            }
            if let Some(paint) = paint(element, "stroke") {
                points.stroke_path(&path, &paint, &stroke(element), transform, None);
            }
        }
    }
}

fn attribute<'a>(element: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = element.split_once(&format!(" {key}=\""))?;
    rest.split('"').next()
}

fn number(element: &str, key: &str) -> Option<f32> {
    attribute(element, key)?.parse().ok()
}

fn numbers(list: &str) -> Vec<f32> {
    let words = list.split([' ', ',']).filter(|word| !word.is_empty());
    words.filter_map(|word| word.parse().ok()).collect()
}

fn rectangle(element: &str) -> Option<Path> {
    let [x, y, width, height] =
        ["x", "y", "width", "height"].map(|key| number(element, key).unwrap_or(0.0));
    Some(PathBuilder::from_rect(Rect::from_xywh(x, y, width, height)?))
}

fn circle(element: &str) -> Option<Path> {
    PathBuilder::from_circle(number(element, "cx")?, number(element, "cy")?, number(element, "r")?)
}

fn line(element: &str) -> Option<Path> {
    let mut path = PathBuilder::new();
    path.move_to(number(element, "x1")?, number(element, "y1")?);
    path.line_to(number(element, "x2")?, number(element, "y2")?);
    path.finish()
}

fn polygon(element: &str, closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (place, point) in numbers(attribute(element, "points")?).chunks_exact(2).enumerate() {
        match place {
            0 => path.move_to(point[0], point[1]),
            _ => path.line_to(point[0], point[1]),
        }
    }
    if closed {
        path.close();
    }
    path.finish()
}

/// The turn of a text: `rotate(270, 12, 220)`.
fn rotation(element: &str) -> Transform {
    let turn = attribute(element, "transform").and_then(|turn| turn.strip_prefix("rotate("));
    match numbers(turn.unwrap_or_default().trim_end_matches(')'))[..] {
        [degrees, x, y] => Transform::from_rotate_at(degrees, x, y),
        _ => Transform::identity(),
    }
}

/// The colour of a fill or a stroke; lines and text have no stroke, or no fill, unless they say so.
fn paint(element: &str, key: &str) -> Option<Paint<'static>> {
    let code = u32::from_str_radix(attribute(element, key)?.strip_prefix('#')?, 16).ok()?;
    let [_, red, green, blue] = code.to_be_bytes();
    let opacity = number(element, "opacity").unwrap_or(1.0).clamp(0.0, 1.0);
    let mut paint = Paint::default();
    paint.set_color_rgba8(red, green, blue, (255.0 * opacity).round() as u8);
    Some(paint)
}

fn stroke(element: &str) -> Stroke {
    let dash = attribute(element, "stroke-dasharray").map(numbers);
    let line_join = match attribute(element, "stroke-linejoin") {
        Some("round") => LineJoin::Round,
        _ => LineJoin::Miter,
    };
    Stroke {
        width: number(element, "stroke-width").unwrap_or(1.0),
        line_join,
        dash: dash.and_then(|dash| StrokeDash::new(dash, 0.0)),
        ..Stroke::default()
    }
}

/// The outlines of a text's letters, side by side from its anchor.
fn text(element: &str) -> Option<Path> {
    let (beginning, letters) = element.split_once('>')?;
    let signs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    let letters =
        signs.iter().fold(letters.trim().to_string(), |text, (from, to)| text.replace(from, to));
    let size = number(beginning, "font-size")?;
    let scale = size / f32::from(FACE.units_per_em());
    // Glyph 0 is the box.
    let glyphs: Vec<GlyphId> = letters
        .chars()
        .filter(|letter| !is_silent(*letter))
        .map(|letter| FACE.glyph_index(letter).unwrap_or(GlyphId(0)))
        .collect();
    let advance = |glyph: &GlyphId| scale * f32::from(FACE.glyph_hor_advance(*glyph).unwrap_or(0));
    let all: f32 = glyphs.iter().map(advance).sum();
    let before = match attribute(beginning, "text-anchor") {
        Some("middle") => all / 2.0,
        Some("end") => all,
        _ => 0.0,
    };
    let down = attribute(beginning, "dy").map_or(0.0, |dy| down(dy, size));
    let (x, y) = (number(beginning, "x")? - before, number(beginning, "y")? + down);
    let mut outline = Outline { path: PathBuilder::new(), x, y, scale };
    for glyph in glyphs {
        FACE.outline_glyph(glyph, &mut outline);
        outline.x += advance(&glyph);
    }
    outline.path.finish()
}

/// The distance by which a text is moved down; an `ex` is half the size of the font.
fn down(dy: &str, size: f32) -> f32 {
    let units = [("ex", size / 2.0), ("em", size), ("", 1.0)];
    let moved =
        |(unit, length): (&str, f32)| Some(length * dy.strip_suffix(unit)?.parse::<f32>().ok()?);
    units.into_iter().find_map(moved).unwrap_or(0.0)
}

/// The outline of glyphs at a place; a font's heights grow upwards.
struct Outline {
    path: PathBuilder,
    x: f32,
    y: f32,
    scale: f32,
}

impl Outline {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + self.scale * x, self.y - self.scale * y)
    }
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The columns and rows, from the first to the last, of the points that an element changes.
    fn place(element: &str) -> Option<[u32; 4]> {
        let mut points = Pixmap::new(200, 100).unwrap();
        draw(element, 2.0, &mut points);
        let drawn = points.pixels().iter().zip(0_u32..).filter(|(point, _)| point.alpha() > 0);
        drawn.map(|(_, index)| (index % 200, index / 200)).fold(None, |found, (x, y)| {
            let [left, top, right, bottom] = found.unwrap_or([x, y, x, y]);
            Some([left.min(x), top.min(y), right.max(x), bottom.max(y)])
        })
    }

    #[test]
    fn shapes_are_where_they_say() {
        let rect =
            "<rect x=\"10\" y=\"5\" width=\"20\" height=\"10\" fill=\"#FF0000\" stroke=\"none\"/>";
        assert_eq!(place(rect), Some([20, 10, 59, 29]));
        let line = "<line opacity=\"1\" stroke=\"#00FF00\" stroke-width=\"2\" x1=\"10\" y1=\"20\" x2=\"40\" y2=\"20\"/>";
        assert_eq!(place(line), Some([20, 38, 79, 41]));
        let circle = "<circle cx=\"50\" cy=\"25\" r=\"5\" opacity=\"0.45\" fill=\"#0000FF\" stroke=\"none\"/>";
        assert_eq!(place(circle), Some([90, 40, 109, 59]));
        let hidden = "<polyline fill=\"none\" stroke=\"none\" points=\"1,1 50,50\"/>";
        assert_eq!(place(hidden), None);
        let band = "<polygon fill=\"#123456\" stroke=\"none\" points=\"10,10 20,10 20,20 10,20\"/>";
        assert_eq!(place(band), Some([20, 20, 39, 39]));
    }

    #[test]
    fn dashes_have_gaps() {
        let drawn = |dashes: &str| {
            let mut points = Pixmap::new(200, 100).unwrap();
            let line = format!(
                "<polyline fill=\"none\" stroke=\"#000000\" stroke-width=\"2\"{dashes} points=\"0,10 100,10\"/>"
            );
            draw(&line, 2.0, &mut points);
            points.pixels().iter().filter(|point| point.alpha() > 128).count()
        };
        let (whole, half) = (drawn(""), drawn(" stroke-dasharray=\"5 5\""));
        assert!(half.abs_diff(whole / 2) < 20, "{half} of {whole}");
    }

    #[test]
    fn text_stands_around_its_anchor_and_turns() {
        let text = |anchor: &str, more: &str, letters: &str| {
            place(&format!("<text x=\"50\" y=\"25\" dy=\"0.5ex\" text-anchor=\"{anchor}\" font-size=\"10\" fill=\"#000000\"{more}>\n{letters}\n</text>")).unwrap()
        };
        let [left, top, right, bottom] = text("middle", "", "Regret");
        assert!((left + right).abs_diff(200) < 5 && right - left > 50, "{left} {right}");
        // The base line is a quarter of the size below y.
        assert!(top < 48 && (55..62).contains(&bottom), "{top} {bottom}");
        assert!(text("end", "", "Regret")[2] <= 101 && text("start", "", "Regret")[0] >= 99);
        let turned = text("middle", " transform=\"rotate(270, 50, 25)\"", "Regret");
        assert!(turned[3] - turned[1] > 50 && turned[2] - turned[0] < 30, "{turned:?}");
        // An entity is one letter, a letter that the font lacks a box, and a sign without a shape nothing.
        let width = |letters: &str| text("start", "", letters)[2];
        assert_eq!(width("&amp;H"), width("&amp;\u{200d}H"));
        assert!(width("&amp;") < width("&amp;H") && width("\u{10fffd}") > 101);
    }

    #[test]
    fn the_size_is_that_of_the_root() {
        let svg = "<svg role=\"img\" aria-label=\"a > b\" width=\"860\" height=\"569\" viewBox=\"0 0 860 569\">\n<rect width=\"1\" height=\"2\"/></svg>";
        assert_eq!(size(svg), Some((860.0, 569.0)));
    }
}
