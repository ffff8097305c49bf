//! Text in several fonts: in place of each text with letters that Noto Sans lacks, a text for each run of letters that one font has, side by side.
//!
//! The library that shapes text does it font by font for the whole of a text, and puts the results together by their positions, which are others in writing systems
//! whose letters join. A text of one font is shaped rightly.

use std::sync::Arc;

use resvg::usvg::{
    self, Group, Node,
    fontdb::{Database, ID},
};
use rustybuzz::Script;

use super::{
    clusters::{Lacking, lacking, script_of},
    direction::directs,
    fonts::{draws, family_of, other_font, own_font, tree_with},
};

/// Letters that one font has; without one, they are in Noto Sans, or nowhere. Those of another font have one script, as the shaper takes all for those of the first.
struct Run {
    font: Option<ID>,
    script: Option<Script>,
    /// As it stands in the SVG.
    text: String,
}

/// The SVG with texts of one font each. The drawing library writes the beginning of a text, its letters and its end on three lines.
pub(super) fn in_runs(svg: &str, fonts: &Arc<Database>) -> Result<String, usvg::Error> {
    let (mut written, mut lines) = (String::new(), svg.lines());
    while let Some(line) = lines.next() {
        let runs = match line.starts_with("<text ") {
            true => runs(lines.next().unwrap_or_default(), fonts),
            false => Vec::new(),
        };
        if runs.is_empty() {
            written.push_str(line);
            written.push('\n');
            continue;
        }
        // Its end.
        lines.next();
        let number = |key| attribute(line, key).and_then(|value| value.parse::<f32>().ok());
        let size = number("font-size").unwrap_or(12.0);
        let y = number("y").unwrap_or(0.0) + attribute(line, "dy").map_or(0.0, |dy| down(dy, size));
        let lacking: Vec<Lacking> = runs.iter().map(|run| run.lacking(size, fonts)).collect();
        let mut widths = widths(&runs, size, fonts)?;
        widths.iter_mut().zip(&lacking).for_each(|(width, lacking)| *width += lacking.all);
        let all: f32 = widths.iter().sum();
        let mut x = number("x").unwrap_or(0.0)
            - match attribute(line, "text-anchor") {
                Some("middle") => all / 2.0,
                Some("end") => all,
                _ => 0.0,
            };
        for ((run, width), lacking) in runs.iter().zip(widths).zip(lacking) {
            let beginning = with(line, "text-anchor", "start");
            let beginning = with(&beginning, "x", &x.to_string());
            // The library moves only the first letter of a text from right to left.
            let beginning = with(&with(&beginning, "y", &y.to_string()), "dy", "0");
            written.push_str(&run.element(&beginning, &lacking.before));
            x += width;
        }
    }
    Ok(written)
}

/// Letters of a run, at most: the shaper fails on a syllable of more than 256.
const MOST_LETTERS: usize = 200;

/// The runs of a text; spaces between runs of one font belong to it.
fn runs(text: &str, fonts: &Database) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    // Runs stand side by side and need no signs of direction.
    for letter in text.chars().filter(|letter| !directs(*letter)) {
        let before = runs.last().and_then(|run| run.font);
        let font = match before {
            Some(font) if joins(letter) || letter.is_whitespace() => Some(font),
            _ => {
                let other = other_font(letter, fonts);
                let same = before.filter(|font| other.is_some() && draws(fonts, *font, letter));
                same.or(other)
            }
        };
        let script = font.and_then(|_| script_of(letter));
        let is_of = |run: &Run| script.is_none() || run.script.is_none() || run.script == script;
        let is_short = |run: &Run| run.text.chars().count() < MOST_LETTERS;
        match runs.last_mut().filter(|run| run.font == font && is_of(run) && is_short(run)) {
            Some(run) => {
                run.text.push(letter);
                run.script = run.script.or(script);
            }
            None => {
                // Spaces before other letters are theirs.
                let spaces = match runs.last_mut() {
                    Some(run) => run.text.split_off(run.text.trim_end().len()),
                    None => String::new(),
                };
                runs.push(Run { font, script, text: format!("{spaces}{letter}") });
            }
        }
    }
    runs
}

/// Whether a letter only says how those beside it are joined or shown.
pub(super) fn joins(letter: char) -> bool {
    matches!(letter, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

impl Run {
    /// A text that begins as `beginning`, in the run's font, with these distances before its letters.
    fn element(&self, beginning: &str, before: &[f32]) -> String {
        let mut beginning = beginning.trim_end_matches('>').to_string();
        if let Some(font) = self.font {
            beginning = with(&beginning, "font-family", &family_of(font));
        }
        if !before.is_empty() {
            let before: Vec<String> = before.iter().map(f32::to_string).collect();
            beginning += &format!(" dx=\"{}\"", before.join(" "));
        }
        format!("{beginning} xml:space=\"preserve\">{}</text>\n", self.text)
    }

    /// What the clusters of its letters lack.
    fn lacking(&self, size: f32, fonts: &Database) -> Lacking {
        let signs =
            [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
        let text = signs.iter().fold(self.text.clone(), |text, (from, to)| text.replace(from, to));
        let font = self.font.or_else(|| own_font(fonts));
        font.map_or_else(Lacking::default, |font| lacking(&text, size, font, fonts))
    }
}

/// How far down a text is moved, as the library that shapes it counts: an `ex` is half the size of the font.
fn down(dy: &str, size: f32) -> f32 {
    let units = [("ex", size / 2.0), ("em", size), ("", 1.0)];
    let moved =
        |(unit, length): (&str, f32)| Some(length * dy.strip_suffix(unit)?.parse::<f32>().ok()?);
    units.into_iter().find_map(moved).unwrap_or(0.0)
}

/// How far each run reaches, as the library counts.
fn widths(runs: &[Run], size: f32, fonts: &Arc<Database>) -> Result<Vec<f32>, usvg::Error> {
    let mut svg =
        String::from("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9\" height=\"9\">");
    for (number, run) in runs.iter().enumerate() {
        let beginning =
            format!("<text id=\"{number}\" font-size=\"{size}\" font-family=\"sans-serif\">");
        svg.push_str(&run.element(&beginning, &[]));
    }
    svg.push_str("</svg>");
    let tree = tree_with(&svg, fonts)?;
    let width = |number: usize| width_of(tree.root(), &number.to_string()).unwrap_or(0.0);
    Ok((0..runs.len()).map(width).collect())
}

fn width_of(group: &Group, id: &str) -> Option<f32> {
    group.children().iter().find_map(|node| match node {
        Node::Text(text) if text.id() == id => Some(text.bounding_box().width()),
        Node::Group(group) => width_of(group, id),
        _ => None,
    })
}

/// Where the value of an attribute begins and ends.
fn place(element: &str, key: &str) -> Option<(usize, usize)> {
    let key = format!(" {key}=\"");
    let from = element.find(&key)? + key.len();
    Some((from, from + element[from..].find('"')?))
}

fn attribute<'a>(element: &'a str, key: &str) -> Option<&'a str> {
    place(element, key).map(|(from, to)| &element[from..to])
}

/// The element with another value of an attribute that it has.
fn with(element: &str, key: &str, value: &str) -> String {
    match place(element, key) {
        Some((from, to)) => format!("{}{value}{}", &element[..from], &element[to..]),
        None => element.to_string(),
    }
}
