//! Groups of an SVG: what belongs to a panel, to its axes, to a line or to a name of the legend, for pages that hide a line or show a part of a panel.
//!
//! The drawing library has no groups. Their ends are drawn as outlines of rectangles, which no figure has otherwise, and replaced in the finished SVG.

use plotters::prelude::*;

use super::picture::{Area, say};

/// What a group holds.
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
    let mark = |kind: i32, number: usize| {
        area.draw(&Rectangle::new([(0, 0), (kind, number as i32)], WHITE)).map_err(say)
    };
    mark(kind, number)?;
    draw()?;
    mark(0, 0)
}

/// The SVG with groups in place of their marks.
pub(super) fn grouped(svg: &str) -> String {
    let mut written = String::with_capacity(svg.len());
    for line in svg.lines() {
        match element(line) {
            Some(element) => written.push_str(&element),
            None => written.push_str(line),
        }
        written.push('\n');
    }
    written
}

/// The beginning or the end of a group, if this is its mark.
fn element(line: &str) -> Option<String> {
    let rest = line.strip_prefix("<rect ").filter(|rest| rest.contains("fill=\"none\""))?;
    let size = |key: &str| rest.split_once(key)?.1.split_once('"').map(|(value, _)| value);
    let (kind, number) = (size("width=\"")?, size("height=\"")?);
    let key = match kind {
        "1" => "panel",
        "2" => return Some("<g data-axes=\"\">".into()),
        "3" => "series",
        "4" => "legend",
        _ => return Some("</g>".into()),
    };
    Some(format!("<g data-{key}=\"{number}\">"))
}
