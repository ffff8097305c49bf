//! The result of a command, as text and as JSON.

use std::io::Write;

use serde::Serialize;

use crate::error::Error;

/// A finished command's result.
pub struct Report {
    text: String,
    json: serde_json::Value,
    warnings: Vec<String>,
    notes: Vec<String>,
    failures: Vec<String>,
    violations: Vec<String>,
}

impl Report {
    /// `text` and `json` contain the same facts.
    pub fn new(text: impl Into<String>, json: &impl Serialize) -> Self {
        let json = serde_json::to_value(json).expect("results are plain data with string keys");
        Report {
            text: text.into(),
            json,
            warnings: Vec::new(),
            notes: Vec::new(),
            failures: Vec::new(),
            violations: Vec::new(),
        }
    }

    /// Adds warnings, which are printed on stderr after the result, one line each.
    pub fn warn(mut self, warnings: impl IntoIterator<Item = String>) -> Self {
        self.warnings.extend(warnings);
        self
    }

    /// Adds notes, which are printed on stderr after the warnings, one line each.
    pub fn note(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }

    /// Records parts of the work that failed while the rest was completed.
    pub fn fail(mut self, failures: impl IntoIterator<Item = String>) -> Self {
        self.failures.extend(failures);
        self
    }

    /// Records certificates that were refuted.
    pub fn refute(mut self, violations: impl IntoIterator<Item = String>) -> Self {
        self.violations.extend(violations);
        self
    }

    /// Writes the result to stdout; a pipe that was closed early is not an error.
    pub fn print(&self, json: bool) -> Result<(), Error> {
        let text = if json { self.json.to_string() } else { self.text.trim_end().to_string() };
        let mut out = std::io::stdout();
        let written = writeln!(out, "{text}").and_then(|()| out.flush());
        // After the result, so that it is not scrolled away by them.
        for warning in &self.warnings {
            crate::say!("warning: {}", in_one_line(warning));
        }
        for note in &self.notes {
            crate::say!("note: {}", in_one_line(note));
        }
        match written {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
            _ if !self.violations.is_empty() => Err(Error::Violated(self.violations.join(", "))),
            _ if self.failures.is_empty() => Ok(()),
            _ => Err(Error::Partly(self.failures.join("\n"))),
        }
    }
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
