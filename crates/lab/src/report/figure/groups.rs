//! Groups of an SVG: what belongs to a panel, to its axes, to a line or to a name of the legend, for pages that hide a line or show a part of a panel.
//!
//! The drawing library has no groups, and no decimals. The ends of groups are drawn as outlines of rectangles, which no figure has otherwise, and so are the places of lines; they are replaced in the finished SVG.

use plotters::prelude::*;

use super::picture::{Area, say};

/// Contents of a group.
#[derive(Clone, Copy)]
pub(super) enum Holds {
    /// A panel, by its number.
    Panel(usize),
    /// The axes of a panel.
    Axes,
    /// A line with what belongs to it, by the number of its name.
    Series(usize),
    /// A name of the legend, by its number.
    Legend(usize),
}

type Drawn = std::result::Result<(), String>;

/// Draws what belongs together.
pub(super) fn group(area: &Area<'_>, holds: Holds, draw: impl FnOnce() -> Drawn) -> Drawn {
    let (kind, number) = match holds {
        Holds::Panel(number) => (1, number),
        Holds::Axes => (2, 0),
        Holds::Series(number) => (3, number),
        Holds::Legend(number) => (4, number),
    };
    mark(area, kind, number)?;
    draw()?;
    mark(area, 0, 0)
}

/// Marks the place of the shape of this number.
pub(super) fn shape_mark(area: &Area<'_>, number: usize) -> Drawn {
    mark(area, 5, number)
}

fn mark(area: &Area<'_>, kind: i32, number: usize) -> Drawn {
    // Relative to the area, which does not matter for a size.
    area.draw(&Rectangle::new([(0, 0), (kind, number as i32)], WHITE)).map_err(say)
}

/// The SVG with groups and shapes in place of their marks.
pub(super) fn grouped(svg: &str, shapes: &[String]) -> String {
    let mut written = String::with_capacity(svg.len());
    for line in svg.lines() {
        match element(line, shapes) {
            Some(element) => written.push_str(&element),
            None => written.push_str(line),
        }
        written.push('\n');
    }
    written
}

/// The beginning or the end of a group, or a shape, if this is its mark.
fn element(line: &str, shapes: &[String]) -> Option<String> {
    let rest = line.strip_prefix("<rect ").filter(|rest| rest.contains("fill=\"none\""))?;
    let size = |key: &str| rest.split_once(key)?.1.split_once('"').map(|(value, _)| value);
    let (kind, number) = (size("width=\"")?, size("height=\"")?);
    let key = match kind {
        "1" => "panel",
        "2" => return Some("<g data-axes=\"\">".into()),
        "3" => "series",
        "4" => "legend",
        "5" => {
            let shape = number.parse::<usize>().ok().and_then(|number| shapes.get(number));
            return Some(shape.map_or(String::new(), |shape| shape.trim_end().into()));
        }
        _ => return Some("</g>".into()),
    };
    Some(format!("<g data-{key}=\"{number}\">"))
}
