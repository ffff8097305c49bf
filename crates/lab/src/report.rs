//! Self-contained HTML reports: open offline, on a phone, in print.

use std::{fmt::Write, path::Path};

use crate::{
    Error, Result,
    figure::{Figure, Format, HeatMap},
};

/// A page under construction.
#[derive(Debug)]
pub struct Report {
    title: String,
    body: String,
}

/// Light and dark, wide and narrow, on screen and in print.
const STYLE: &str = include_str!("report/report.css");

/// Makes figures answer a pointer: values, hidden lines, zoom. Without it they are pictures.
const SCRIPT: &str = include_str!("report/report.js");

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
        self.heading(&map.heading());
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
                let (red, green, blue, words) = map.shade(estimate);
                self.push(format_args!(
                    "<td style=\"background:rgb({red},{green},{blue});color:{words}\">{:.1} &plusmn; {:.1}</td>",
                    estimate.mean, estimate.standard_error
                ));
            }
            self.body.push_str("</tr>\n");
        }
        self.body.push_str("</table></div>\n");
    }

    /// What a reader wants to know first: names and sentences.
    pub fn answers(&mut self, answers: &[(&str, String)]) {
        self.body.push_str("<dl class=\"answers\">\n");
        for (name, sentence) in answers {
            self.push(format_args!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(sentence)));
        }
        self.body.push_str("</dl>\n");
    }

    /// A drawing, inlined, with its values for whoever points at it.
    pub fn figure(&mut self, figure: &Figure) -> Result<()> {
        let (svg, values) = figure.with_values()?;
        // Nothing in it can end the element.
        let values = values.to_string().replace('<', "\\u003c");
        self.push(format_args!(
            "<section class=\"figure\" role=\"group\" aria-label=\"{}\">\n{svg}\n<script type=\"application/json\">{values}</script>\n</section>\n",
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
             <footer>reticent {}</footer>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
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
        write_picture(folder, name, formats, || self.svg(), || self.png())
    }
}

/// Writes a picture into `folder/figures` in these formats.
pub fn write_picture(
    folder: &Path,
    name: &str,
    formats: &[Format],
    svg: impl Fn() -> Result<String>,
    png: impl Fn() -> Result<Vec<u8>>,
) -> Result<()> {
    for format in formats {
        match format {
            Format::Svg => write(folder, &format!("figures/{name}.svg"), svg()?)?,
            Format::Png => write(folder, &format!("figures/{name}.png"), png()?)?,
        }
    }
    Ok(())
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
        assert!(!html.contains("<script>alert") && !html.contains("<td><td>"), "{html}");
        assert!(html.contains("<td class=\"number\">1.5</td>"));
        assert!(html.contains("<title>a &lt; b &amp; &quot;c&quot;</title>"));
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let error = write(Path::new("/dev/null/nowhere"), "report.html", "").unwrap_err();
        assert!(error.to_string().contains("/dev/null/nowhere"), "{error}");
    }
}
