//! Figures: panels of lines with bands on linear or logarithmic axes, or values with intervals in named rows, as self-contained SVG and PNG.
//!
//! | file | contents |
//! | --- | --- |
//! | `scale`, `range` | scales of axes, where their labels stand, and how far they reach |
//! | `draw`, `line`, `below` | panels with their axes; lines; legend and caption |
//! | `groups` | which parts of an SVG belong together |
//! | `colours` | colours of lines |
//! | `fonts`, `direction` | the font, the width of text, line breaks; text from right to left |
//! | `heat` | a map of values over two keys |
//! | `picture`, `raster` | drawings as SVG, and the same SVG as PNG |
//! | `values` | the values of a figure with where they are drawn |
//!
//! Values are mapped to the plane here (a logarithmic axis draws `log10`): the drawing library draws axes and text, and lines are written with decimals. All panels of a figure have the same axes and one
//! legend.

mod below;
mod colours;
mod direction;
mod draw;
mod fonts;
mod groups;
mod heat;
mod line;
mod picture;
mod range;
mod raster;
mod scale;
#[cfg(test)]
mod tests;
mod values;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

pub(crate) use self::{direction::isolated, heat::in_words, line::draws_bars};
pub use self::{fonts::undrawable, heat::HeatMap, picture::Picture, scale::Scale};
use crate::Result;

/// Style of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Line {
    /// A solid line, for measurements.
    #[default]
    Solid,
    /// A solid line with a mark at each point, for measurements at few places.
    Marked,
    /// A dashed line, for a reference.
    Dashed,
    /// A line of dashes and dots, for theory: different numbers have different dashes.
    Theorem(usize),
    /// A thin line that belongs to another one.
    Dotted,
    /// A thin, pale line: one of many that belong to another one.
    Thin,
    /// A small, pale dot at each point: what a line summarises.
    Dots,
    /// A triangle at each point.
    Marks,
    /// A dot at each point with its band as a horizontal bar.
    Interval,
}

/// One line of a figure.
#[derive(Debug, Clone, Default)]
pub struct Series {
    /// The name in the legend or of the row; empty for a line that belongs to another one.
    pub name: String,
    /// Role of a line without a name beside the other one, for the legend: `median`.
    pub role: &'static str,
    /// The index of the colour, so that an algorithm has the same colour in every figure.
    pub colour: usize,
    /// Its place from 0 to 1 among the shades of its colour, from dark to light: values of one key of a grid are in order.
    pub ramp: Option<f64>,
    /// Solid or dashed.
    pub line: Line,
    /// (x, y) in drawing order.
    pub points: Vec<(f64, f64)>,
    /// Lower and upper end of a band around the line, one per point, or empty.
    pub band: Vec<(f64, f64)>,
}

impl Series {
    /// Leaves out the points before this x.
    pub(crate) fn begin_at(&mut self, first: f64) {
        let kept: Vec<bool> = self.points.iter().map(|point| point.0 >= first).collect();
        let mut of_points = kept.iter();
        self.points.retain(|_| *of_points.next().unwrap_or(&true));
        let mut of_band = kept.iter();
        self.band.retain(|_| *of_band.next().unwrap_or(&true));
    }
}

/// A format of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// For pages and for print, of any size.
    Svg,
    /// For slides and mail.
    Png,
}

impl<'de> Deserialize<'de> for Format {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "svg" => Ok(Format::Svg),
            "png" => Ok(Format::Png),
            "pdf" => Err(D::Error::custom(
                "got pdf; expected svg or png; convert the SVG, as with rsvg-convert -f pdf",
            )),
            other => Err(D::Error::unknown_variant(other, &["svg", "png"])),
        }
    }
}

/// Lines that are drawn together.
#[derive(Debug, Clone, Default)]
pub struct Panel {
    /// Property that its lines have in common; empty if there is one panel.
    pub title: String,
    /// The lines, in legend order.
    pub series: Vec<Series>,
}

/// A figure with its labels.
#[derive(Debug, Clone)]
pub struct Figure {
    /// The title.
    pub title: String,
    /// Tells whether the title is drawn: a paper has it in the caption.
    pub shows_title: bool,
    /// Source and meaning of the lines, in small print below.
    pub caption: String,
    /// The label and scale of the horizontal axis.
    pub x: (String, Scale),
    /// The label and scale of the vertical axis.
    pub y: (String, Scale),
    /// The panels, from left to right and downwards.
    pub panels: Vec<Panel>,
    /// Width and height of one panel with its axes, where the default does not suit.
    pub size: Option<(u32, u32)>,
}

impl Figure {
    /// A figure of one panel.
    pub fn of(title: String, x: (String, Scale), y: (String, Scale), series: Vec<Series>) -> Self {
        let panels = vec![Panel { title: String::new(), series }];
        Figure { title, shows_title: true, caption: String::new(), x, y, panels, size: None }
    }

    /// Draws the figure.
    pub fn picture(&self) -> Result<Picture> {
        self.drawn().map(|(picture, _)| picture)
    }

    /// The figure as SVG, and its values with where they are drawn: for pages that answer a pointer.
    pub fn with_values(&self) -> Result<(String, serde_json::Value)> {
        let (picture, frame) = self.drawn()?;
        Ok((picture.svg, self.values(&frame)))
    }

    fn drawn(&self) -> Result<(Picture, draw::Frame)> {
        let (mut picture, frame) =
            Picture::drawn(&self.title, self.size(), |area| self.draw(area))?;
        picture.svg = groups::grouped(&picture.svg, &frame.shapes);
        Ok((picture, frame))
    }

    /// All lines of all panels.
    pub fn series(&self) -> impl Iterator<Item = &Series> {
        self.panels.iter().flat_map(|panel| &panel.series)
    }
}
