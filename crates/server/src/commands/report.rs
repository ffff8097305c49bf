//! The result of a command, as text and as JSON.

use std::io::Write;

use serde::Serialize;

use super::error::Error;

/// A finished command's result.
pub(super) struct Report {
    text: String,
    json: serde_json::Value,
    warnings: Vec<String>,
    notes: Vec<String>,
}

impl Report {
    /// `text` and `json` contain the same facts.
    pub(super) fn new(text: impl Into<String>, json: &impl Serialize) -> Self {
        let json = serde_json::to_value(json).expect("results are plain data with string keys");
        Report { text: text.into(), json, warnings: Vec::new(), notes: Vec::new() }
    }

    /// Adds warnings, which are printed on stderr after the result, one line each.
    pub(super) fn warn(mut self, warnings: impl IntoIterator<Item = String>) -> Self {
        self.warnings.extend(warnings);
        self
    }

    /// Adds notes, which are printed on stderr after the warnings, one line each.
    pub(super) fn note(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }

    /// Writes the result to stdout; a pipe that was closed early is not an error.
    pub(super) fn print(&self, json: bool) -> Result<(), Error> {
        let text = if json { self.json.to_string() } else { self.text.trim_end().to_string() };
        let mut out = std::io::stdout();
        let written = writeln!(out, "{text}").and_then(|()| out.flush());
        // After the result, so that it is not scrolled away by them.
        for (kind, lines) in [("warning", &self.warnings), ("note", &self.notes)] {
            for line in lines {
                say!("{kind}: {}", line.split_whitespace().collect::<Vec<_>>().join(" "));
            }
        }
        match written {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(()),
        }
    }
}
