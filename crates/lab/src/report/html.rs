//! Self-contained HTML reports: open offline, on a phone, in print.

use std::{fmt::Write, path::Path};

use reticent::hash::of_bytes_128;

use crate::{
    Error, Result,
    report::figure::{Figure, Format, HeatMap, Picture, in_words, isolated},
};

/// A page under construction.
#[derive(Debug)]
pub struct Report {
    title: String,
    body: String,
}

/// Light and dark, wide and narrow, on screen and in print.
const STYLE: &str = include_str!("report.css");

/// Makes figures answer a pointer and fingers: values, hidden lines, zoom. Without it they are pictures.
const SCRIPT: &str = include_str!("report.js");

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
        self.push(format_args!("<pre>{}</pre>\n", escaped(text)));
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
        self.body.push_str("<div class=\"scroll\"><table>\n<thead><tr>");
        for cell in header {
            self.push(format_args!("<th>{}</th>", escape(cell)));
        }
        self.body.push_str("</tr></thead>\n<tbody>\n");
        for row in rows {
            self.body.push_str("<tr>");
            for cell in row {
                let class = match cell {
                    cell if cell.parse::<f64>().is_ok() => " class=\"number\"",
                    cell if cell.chars().count() > 44 => " class=\"words\"",
                    _ => "",
                };
                self.push(format_args!("<td{class}>{}</td>", escape(cell)));
            }
            self.body.push_str("</tr>\n");
        }
        self.body.push_str("</tbody></table></div>\n");
    }

    /// Final regrets over two keys of a grid: the darker the worse, on a logarithmic scale where all are positive.
    pub fn heat_map(&mut self, map: &HeatMap) {
        self.body.push_str("<section>\n");
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
                    "<td style=\"background:rgb({red},{green},{blue});color:{words}\">{}</td>",
                    in_words(estimate)
                ));
            }
            self.body.push_str("</tr>\n");
        }
        self.body.push_str("</table></div>\n");
        let ((low, high), steps) =
            (map.range(), map.bar().map(|(r, g, b)| format!("rgb({r},{g},{b})")));
        self.push(format_args!(
            "<p class=\"caption\">final regret {low:.1}<span class=\"bar\" style=\"background:linear-gradient(to right,{})\"></span>{high:.1}, {}</p>\n",
            steps.join(","),
            map.scale_words()
        ));
        self.push(format_args!("<p class=\"caption\">{}</p>\n</section>\n", escape(&map.caption)));
    }

    /// Summary for the reader: names and sentences.
    pub fn answers(&mut self, answers: &[(String, String)]) {
        self.body.push_str("<dl class=\"answers\">\n");
        for (name, sentence) in answers {
            self.push(format_args!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(sentence)));
        }
        self.body.push_str("</dl>\n");
    }

    /// A drawing, inlined, with its values for a reader who points at it.
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
             <footer>{}</footer>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
            self.body,
            crate::source::program()
        )
    }

    fn push(&mut self, text: std::fmt::Arguments<'_>) {
        self.body.write_fmt(text).expect("writing to memory does not fail");
    }
}

impl Figure {
    /// Draws the figure into `folder/figures`, as `name.svg` and `name.png`.
    pub fn write(&self, folder: &Path, name: &str) -> Result<()> {
        let picture = self.picture()?;
        for format in [Format::Svg, Format::Png] {
            write(folder, &file(name, format), picture.contents(format)?)?;
        }
        Ok(())
    }
}

fn file(name: &str, format: Format) -> String {
    let ending = match format {
        Format::Svg => "svg",
        Format::Png => "png",
    };
    format!("figures/{name}.{ending}")
}

/// The list of the pictures that [`write_pictures`] wrote: a hash of its contents and a path on each line.
const WRITTEN: &str = "figures/written.txt";

/// Writes pictures with their names into `folder/figures` in these formats. Pictures that an earlier call wrote and this one does not are removed, unless they were changed since.
pub fn write_pictures(
    folder: &Path,
    pictures: &[(String, Picture)],
    formats: &[Format],
) -> Result<()> {
    let mut written: Vec<(u128, String)> = Vec::new();
    for (name, picture) in pictures {
        for format in formats {
            let (file, contents) = (file(name, *format), picture.contents(*format)?);
            write(folder, &file, &contents)?;
            written.push((of_bytes_128(&contents), file));
        }
    }
    let earlier = std::fs::read_to_string(folder.join(WRITTEN)).unwrap_or_default();
    for (hash, file) in earlier.lines().filter_map(|line| line.split_once(' ')) {
        let path = folder.join(file);
        let in_folder = Path::new(file).parent() == Some(Path::new("figures"));
        let is_new = written.iter().any(|(_, other)| other == file);
        let is_own = || {
            let contents = std::fs::read(&path).ok();
            contents.is_some_and(|contents| format!("{:032x}", of_bytes_128(&contents)) == hash)
        };
        if in_folder && !is_new && is_own() {
            std::fs::remove_file(&path).map_err(|error| Error::unwritable(&path, error))?;
        }
    }
    let list: String = written.iter().map(|(hash, file)| format!("{hash:032x} {file}\n")).collect();
    write(folder, WRITTEN, list)
}

/// Writes `content` to `folder/name`, making the folder if need be.
pub fn write(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> Result<()> {
    let path = folder.join(name);
    let parent = path.parent().unwrap_or(folder);
    std::fs::create_dir_all(parent).map_err(|error| Error::unwritable(parent, error))?;
    std::fs::write(&path, content).map_err(|error| Error::unwritable(&path, error))
}

/// Text of a page; words from right to left are by themselves.
fn escape(text: &str) -> String {
    escaped(&isolated(text))
}

/// Text as it is.
fn escaped(text: &str) -> String {
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

    #[test]
    fn only_pictures_of_an_earlier_call_are_removed() {
        let folder = std::env::temp_dir().join(format!("reticent-pictures-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let line = crate::report::figure::Series {
            points: vec![(1.0, 2.0), (3.0, 4.0)],
            ..Default::default()
        };
        let axis = || ("x".to_string(), crate::report::figure::Scale::Linear);
        let drawn = Figure::of("a line".into(), axis(), axis(), vec![line]).picture().unwrap();
        let named = |names: &[&str]| -> Vec<(String, Picture)> {
            names.iter().map(|name| (name.to_string(), drawn.clone())).collect()
        };
        let has = |name: &str| folder.join("figures").join(name).exists();
        write_pictures(&folder, &named(&["one", "two"]), &[Format::Svg, Format::Png]).unwrap();
        assert!(has("one.svg") && has("one.png") && has("two.svg") && has("two.png"));
        // A user's own picture, one that a user has changed, and a list that names what is not a picture.
        write(&folder, "figures/three.svg", "mine").unwrap();
        write(&folder, "figures/two.png", "changed").unwrap();
        write(&folder, "kept.txt", "kept").unwrap();
        let mut list = std::fs::read_to_string(folder.join(WRITTEN)).unwrap();
        list += &format!("{:032x} figures/../kept.txt\n", of_bytes_128(b"kept"));
        list += &format!("{:032x} kept.txt\n", of_bytes_128(b"kept"));
        write(&folder, WRITTEN, list).unwrap();
        write_pictures(&folder, &named(&["one"]), &[Format::Svg]).unwrap();
        assert!(has("one.svg") && !has("one.png") && !has("two.svg"));
        assert!(has("two.png") && has("three.svg") && folder.join("kept.txt").exists());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
