//! The values of a figure with where they are drawn, for a page that answers a pointer.

use serde_json::{Value, json};

use super::{Figure, Line, Panel, Series, below::Entry, colours::code, draw::Frame, scale::Scale};

impl Figure {
    /// Axes, the lines of each panel by name, colour and number, and where the legend has their names, in the order of the numbers.
    pub(super) fn values(&self, frame: &Frame) -> Value {
        let axis = |(label, scale): &(String, Scale), (from, to): (f64, f64)| json!({ "label": label, "log": *scale == Scale::Logarithmic, "rows": *scale == Scale::Rows, "from": from, "to": to });
        let panel = |(panel, area): (&Panel, &[i32; 4])| {
            let lines = panel.series.iter().filter(|series| !series.name.is_empty());
            json!({ "box": area, "series": lines.map(|series| self.line(series)).collect::<Vec<_>>() })
        };
        let panels: Vec<Value> = self.panels.iter().zip(&frame.areas).map(panel).collect();
        let top = self.height() as i32;
        let entry = |Entry { name, place: [x, y, width, height], .. }: Entry| json!({ "name": name, "box": [x, top + y, width, height] });
        let legend: Vec<Value> = self.legend().into_iter().map(entry).collect();
        let (x, y) = (axis(&self.x, frame.ranges.x), axis(&self.y, frame.ranges.y));
        json!({ "x": x, "y": y, "panels": panels, "legend": legend })
    }

    fn line(&self, series: &Series) -> Value {
        // Rows are read from the labels beside them.
        let points = series.points.iter().filter(|_| series.line != Line::Interval);
        let points: Vec<Value> = points
            .filter(|(x, y)| x.is_finite() && y.is_finite())
            .map(|(x, y)| json!([x, y]))
            .collect();
        let number = self.number(series);
        json!({ "name": series.name, "colour": code(series), "series": number, "points": points })
    }
}
