//! Self-contained HTML reports: open offline, on a phone, in print.

use std::{fmt::Write, path::Path};

use crate::{Error, Result, estimate::Estimate, figure::Figure, summary::Format};

/// Final regrets over two keys of a grid.
#[derive(Debug)]
pub struct HeatMap {
    /// The algorithm, and its coordinates in the rest of the grid.
    pub title: String,
    /// The keys of rows and columns.
    pub keys: [String; 2],
    /// The values of the second key.
    pub columns: Vec<f64>,
    /// A value of the first key and the final regrets beside it.
    pub rows: Vec<(f64, Vec<Option<Estimate>>)>,
}

impl HeatMap {
    /// The smallest and the largest regret.
    pub fn range(&self) -> (f64, f64) {
        let all = self.rows.iter().flat_map(|(_, cells)| cells).flatten().map(|cell| cell.mean);
        all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), mean| {
            (low.min(mean), high.max(mean))
        })
    }
}

/// A page under construction.
#[derive(Debug)]
pub struct Report {
    title: String,
    body: String,
}

const STYLE: &str = "
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2rem; }
section { overflow-x: auto; } svg { width: 100%; min-width: 36rem; height: auto; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; } th, td { text-align: left; padding: .3rem .8rem; border-bottom: 1px solid #ddd; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
pre { background: #f6f6f6; padding: .8rem; overflow-x: auto; white-space: pre-wrap; }
details, details + p { margin: .6rem 0; } summary { cursor: pointer; }
footer { margin-top: 2rem; color: #666; font-size: .85rem; }
table.heat td { text-align: center; print-color-adjust: exact; }
@media (max-width: 45rem) { body { font-size: 14px; margin: 1rem auto; } svg { min-width: 0; } th, td { padding: .2rem .5rem; white-space: nowrap; } td.words { white-space: normal; min-width: 16rem; } }
@media print { body { margin: 0; max-width: none; } section { break-inside: avoid; } }
";

impl Report {
    /// An empty page.
    pub fn new(title: impl Into<String>) -> Self {
        Report { title: title.into(), body: String::new() }
    }

    /// A section heading.
    pub fn heading(&mut self, text: &str) {
        self.push(format_args!("<h2>{}</h2>\n", escape(text)));
    }

    /// A paragraph of plain text.
    pub fn paragraph(&mut self, text: &str) {
        self.push(format_args!("<p>{}</p>\n", escape(text)));
    }

    /// Text whose line breaks and spaces matter.
    pub fn preformatted(&mut self, text: &str) {
        self.push(format_args!("<pre>{}</pre>\n", escape(text)));
    }

    /// A name and a sentence, with expandable text below.
    pub fn details(&mut self, name: &str, sentence: &str, text: &str) {
        let (name, sentence) = (escape(name), escape(sentence));
        if text.is_empty() {
            return self.push(format_args!("<p><b>{name}</b>: {sentence}</p>\n"));
        }
        self.push(format_args!(
            "<details><summary><b>{name}</b>: {sentence}</summary>\n<pre>{}</pre></details>\n",
            escape(text)
        ));
    }

    /// A table; cells that read as numbers are set flush right.
    pub fn table(&mut self, header: &[&str], rows: &[Vec<String>]) {
        self.body.push_str("<div class=\"scroll\"><table>\n<tr>");
        for cell in header {
            self.push(format_args!("<th>{}</th>", escape(cell)));
        }
        self.body.push_str("</tr>\n");
        for row in rows {
            self.body.push_str("<tr>");
            for cell in row {
                let class = match cell {
                    cell if cell.parse::<f64>().is_ok() => " class=\"number\"",
                    cell if cell.len() > 40 => " class=\"words\"",
                    _ => "",
                };
                self.push(format_args!("<td{class}>{}</td>", escape(cell)));
            }
            self.body.push_str("</tr>\n");
        }
        self.body.push_str("</table></div>\n");
    }

    /// Final regrets over two keys of a grid: the darker the worse, on a logarithmic scale where all are positive.
    pub fn heat_map(&mut self, map: &HeatMap) {
        self.heading(&format!(
            "{}: final regret by {} and {}",
            map.title, map.keys[0], map.keys[1]
        ));
        let (low, high) = map.range();
        let place = |value: f64| if low > 0.0 { value.ln() } else { value };
        self.push(format_args!(
            "<div class=\"scroll\"><table class=\"heat\">\n<tr><th>{} \\ {}</th>",
            escape(&map.keys[0]),
            escape(&map.keys[1])
        ));
        for column in &map.columns {
            self.push(format_args!("<th>{column}</th>"));
        }
        self.body.push_str("</tr>\n");
        for (row, cells) in &map.rows {
            self.push(format_args!("<tr><th>{row}</th>"));
            for cell in cells {
                let Some(estimate) = cell else {
                    self.body.push_str("<td></td>");
                    continue;
                };
                let span = (place(high) - place(low)).max(f64::MIN_POSITIVE);
                let share = ((place(estimate.mean) - place(low)) / span).clamp(0.0, 1.0);
                // From white to the blue of the first line, with text in a readable colour.
                let colour = |full: f64| (255.0 - (255.0 - full) * share) as u8;
                let words = if share > 0.6 { "#fff" } else { "#222" };
                self.push(format_args!(
                    "<td style=\"background:rgb({},{},{});color:{words}\">{:.1} &plusmn; {:.1}</td>",
                    colour(0.0),
                    colour(114.0),
                    colour(178.0),
                    estimate.mean,
                    estimate.standard_error
                ));
            }
            self.body.push_str("</tr>\n");
        }
        self.body.push_str("</table></div>\n");
    }

    /// A drawing, inlined.
    pub fn figure(&mut self, figure: &Figure) -> Result<()> {
        let svg = figure.svg()?;
        self.push(format_args!(
            "<section role=\"img\" aria-label=\"{}\">\n{svg}\n</section>\n",
            escape(&figure.title)
        ));
        Ok(())
    }

    /// The whole page.
    pub fn html(&self) -> String {
        let title = escape(&self.title);
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{}\
             <footer>reticent {}</footer>\n</body>\n</html>\n",
            self.body,
            env!("CARGO_PKG_VERSION")
        )
    }

    fn push(&mut self, text: std::fmt::Arguments<'_>) {
        self.body.write_fmt(text).expect("writing to memory does not fail");
    }
}

impl Figure {
    /// Draws the figure into `folder/figures`, as `name.svg` and `name.png`.
    pub fn write(&self, folder: &Path, name: &str) -> Result<()> {
        self.write_as(folder, name, &[Format::Svg, Format::Png])
    }

    /// Draws the figure into `folder/figures` in these formats.
    pub fn write_as(&self, folder: &Path, name: &str, formats: &[Format]) -> Result<()> {
        for format in formats {
            match format {
                Format::Svg => write(folder, &format!("figures/{name}.svg"), self.svg()?)?,
                Format::Png => write(folder, &format!("figures/{name}.png"), self.png()?)?,
            }
        }
        Ok(())
    }
}

/// Writes `content` to `folder/name`, making the folder if need be.
pub fn write(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> Result<()> {
    let path = folder.join(name);
    let parent = path.parent().unwrap_or(folder);
    std::fs::create_dir_all(parent).map_err(|error| Error::unwritable(parent, error))?;
    std::fs::write(&path, content).map_err(|error| Error::unwritable(&path, error))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        let mut report = Report::new("a < b & \"c\"");
        report.paragraph("<script>alert(1)</script>");
        report.table(&["x"], &[vec!["1.5".into()], vec!["<td>".into()]]);
        let html = report.html();
        assert!(!html.contains("<script>") && !html.contains("<td><td>"), "{html}");
        assert!(html.contains("<td class=\"number\">1.5</td>"));
        assert!(html.contains("<title>a &lt; b &amp; &quot;c&quot;</title>"));
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let error = write(Path::new("/dev/null/nowhere"), "report.html", "").unwrap_err();
        assert!(error.to_string().contains("/dev/null/nowhere"), "{error}");
    }
}
