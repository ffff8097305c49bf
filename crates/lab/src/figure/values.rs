//! The values of a figure with where they are drawn, for a page that answers a pointer.

use serde_json::{Value, json};

use super::{
    Figure, Line, Panel, Series,
    draw::{Frame, colour},
    scale::Scale,
};

impl Figure {
    /// Axes, and the lines of each panel by name and colour. What is not in the legend belongs to a line that is.
    pub(super) fn values(&self, frame: &Frame) -> Value {
        let axis = |(label, scale): &(String, Scale), (from, to): (f64, f64)| json!({ "label": label, "log": *scale == Scale::Logarithmic, "from": from, "to": to });
        let panel = |(panel, area): (&Panel, &[i32; 4])| {
            let lines = panel.series.iter().filter(|series| !series.name.is_empty());
            json!({ "box": area, "series": lines.map(line).collect::<Vec<_>>() })
        };
        let panels: Vec<Value> = self.panels.iter().zip(&frame.areas).map(panel).collect();
        json!({ "x": axis(&self.x, frame.x_range), "y": axis(&self.y, frame.y_range), "panels": panels })
    }
}

fn line(series: &Series) -> Value {
    let plotters::style::RGBColor(red, green, blue) = colour(series);
    let colour = format!("#{red:02x}{green:02x}{blue:02x}");
    // Rows are read from the labels beside them.
    let points = series.points.iter().filter(|_| series.line != Line::Interval);
    let points: Vec<Value> = points
        .filter(|(x, y)| x.is_finite() && y.is_finite())
        .map(|(x, y)| json!([x, y]))
        .collect();
    json!({ "name": series.name, "colour": colour, "points": points })
}
