//! A strict reader of CSV files: a line of column names, then numbers. Errors name line and column.
//!
//! [`Table`] holds a whole file; [`Rows`] reads a line at a time, so that a file may be larger than memory.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use reticent::{error::message, hash};

use crate::{Error, Result};

/// Columns by name, and one row for each person.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    pub(crate) names: Vec<String>,
    pub(crate) rows: Vec<Vec<f64>>,
}

/// The lines of a file, one at a time.
#[derive(Debug)]
pub(crate) struct Rows {
    path: PathBuf,
    reader: BufReader<File>,
    names: Vec<String>,
    line: String,
    number: usize,
    hash: u64,
}

impl Rows {
    /// Opens a file and reads its line of names.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| unreadable(path, &error))?;
        let mut rows = Rows {
            path: path.to_path_buf(),
            reader: BufReader::with_capacity(1 << 16, file),
            names: Vec::new(),
            line: String::new(),
            number: 0,
            hash: hash::EMPTY,
        };
        let Some(number) = rows.advance()? else {
            return Err(unusable(path, message("text", "missing", NAMES_FIRST)));
        };
        // Spreadsheets put a byte order mark in front.
        rows.names = names(rows.line.trim_start_matches('\u{feff}'), number, path)?;
        Ok(rows)
    }

    /// The names of all columns.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The index of a column.
    pub(crate) fn column(&self, name: &str) -> Result<usize> {
        place_of(&self.names, name, &self.path)
    }

    /// The next line that is not blank: its number and its cells, one for each name.
    pub(crate) fn next(&mut self) -> Result<Option<(usize, Vec<String>)>> {
        let Some(number) = self.advance()? else { return Ok(None) };
        let cells = cells(&self.line).ok_or_else(|| unclosed(&self.path, number))?;
        if cells.len() != self.names.len() {
            let (found, expected) = (cells.len(), self.names.len());
            return Err(unusable(&self.path, cells_of(number, found, expected)));
        }
        Ok(Some((number, cells)))
    }

    /// The hash of all that was read.
    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    fn advance(&mut self) -> Result<Option<usize>> {
        loop {
            self.line.clear();
            let read = self.reader.read_line(&mut self.line);
            let read = read.map_err(|error| unreadable(&self.path, &error))?;
            if read == 0 {
                return Ok(None);
            }
            self.hash = hash::extended(self.hash, self.line.as_bytes());
            self.number += 1;
            if !self.line.trim().is_empty() {
                self.line.truncate(self.line.trim_end_matches(['\r', '\n']).len());
                return Ok(Some(self.number));
            }
        }
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    Error::Unreadable { path: path.to_path_buf(), reason: error.to_string() }
}

/// The cells of a line, quoted or not; `None` if a quotation mark is never closed.
fn cells(line: &str) -> Option<Vec<String>> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.next_if_eq(&'"').is_some() => cells.last_mut()?.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            other => cells.last_mut()?.push(other),
        }
    }
    (!quoted).then(|| cells.iter().map(|cell| cell.trim().to_string()).collect())
}

pub(crate) fn unusable(path: &Path, reason: String) -> Error {
    Error::Experiment { reason: format!("{}, {reason}", path.display()) }
}

/// Remedy for a file without lines.
const NAMES_FIRST: &str = "expected a line with the columns' names, and the data below";

/// Message about a line with another number of cells than there are names.
fn cells_of(line: usize, found: usize, expected: usize) -> String {
    let remedy = format!("expected {expected}, one for each name");
    message(format!("line {line}"), format!("{found} cells"), remedy)
}

fn unclosed(path: &Path, line: usize) -> Error {
    let place = format!("line {line}");
    unusable(path, message(place, "an unclosed quotation mark", "close it"))
}

/// The columns' names, from the first line.
fn names(first: &str, number: usize, path: &Path) -> Result<Vec<String>> {
    let bad = |reason: String| unusable(path, reason);
    let names = cells(first).ok_or_else(|| unclosed(path, number))?;
    if let ([_], Some(separator)) = (&names[..], first.chars().find(|c| ";\t|".contains(*c))) {
        let found = format!("columns separated by {separator:?}");
        return Err(bad(message("separator", found, "expected commas")));
    }
    if names.iter().all(String::is_empty) {
        let place = format!("line {number}");
        return Err(bad(message(place, "no names", "put the columns' names there")));
    }
    if names.iter().all(|name| name.is_empty() || name.parse::<f64>().is_ok()) {
        return Err(bad(message("first line", "numbers", "put the columns' names there")));
    }
    Ok(names)
}

/// The index of a column that is used. Unused columns may have no name or a repeated name.
fn place_of(names: &[String], name: &str, path: &Path) -> Result<usize> {
    let mut places = (0..names.len()).filter(|&place| names[place] == name);
    let Some(place) = places.next() else {
        let all: Vec<&str> = names.iter().map(String::as_str).filter(|n| !n.is_empty()).collect();
        let remedy = format!("expected one of {}", all.join(", "));
        return Err(unusable(path, message("column", format!("{name:?}"), remedy)));
    };
    if name.is_empty() {
        let column = format!("column {}", place + 1);
        let remedy = "name the columns to use in `features`, and the label in `label`, or write the file with index=False";
        let found = "no name (an index, where pandas wrote the file)";
        return Err(unusable(path, message(column, found, remedy)));
    }
    if let Some(other) = places.next() {
        let (one, other) = (place + 1, other + 1);
        let columns = format!("columns {one} and {other}");
        let remedy = "give every column that is used a different name";
        return Err(unusable(path, message(columns, format!("{name:?} twice"), remedy)));
    }
    Ok(place)
}

/// The columns' names, and the numbered lines below them that are not blank.
fn header<'a>(
    text: &'a str,
    path: &Path,
) -> Result<(Vec<String>, impl Iterator<Item = (usize, &'a str)> + use<'a>)> {
    let bad = |reason: String| unusable(path, reason);
    // Spreadsheets put a byte order mark in front.
    let text = text.trim_start_matches('\u{feff}');
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let (number, first) =
        lines.next().ok_or_else(|| bad(message("text", "missing", NAMES_FIRST)))?;
    Ok((names(first, number, path)?, lines))
}

impl Table {
    /// The features, followed by the label. By default the label is the last column and the features are all others except `besides`.
    pub(crate) fn with_label(
        text: &str,
        path: &Path,
        features: Option<&[String]>,
        label: Option<&str>,
        besides: Option<&str>,
    ) -> Result<Self> {
        let bad = |reason: String| unusable(path, reason);
        let (names, _) = header(text, path)?;
        let mut names: Vec<String> =
            names.into_iter().filter(|name| Some(name.as_str()) != besides).collect();
        let label = match label {
            Some(label) => label.to_string(),
            None => names.last().cloned().unwrap_or_default(),
        };
        let mut wanted = match features {
            Some(features) => features.to_vec(),
            None => {
                names.retain(|name| *name != label);
                names
            }
        };
        if let Some(besides) = besides
            && (label == besides || wanted.iter().any(|name| name == besides))
        {
            let remedy = "it holds people's levels and cannot be a feature or the label: a level must not depend on the data it protects";
            return Err(bad(message("column", format!("{besides:?}"), remedy)));
        }
        if wanted.is_empty() || wanted.contains(&label) {
            let found = if wanted.is_empty() { "missing" } else { "the label among them" };
            let remedy = format!("expected at least one feature other than the label {label:?}");
            return Err(bad(message("features", found, remedy)));
        }
        if let Some(index) =
            (1..wanted.len()).find(|&index| wanted[..index].contains(&wanted[index]))
        {
            let found = format!("{:?} twice", wanted[index]);
            return Err(bad(message("features", found, "name it once")));
        }
        wanted.push(label);
        Table::parse(text, path, Some(&wanted), false)
    }

    /// One column, in which infinity is allowed.
    pub(crate) fn column(text: &str, path: &Path, name: &str) -> Result<Vec<f64>> {
        let table = Table::parse(text, path, Some(&[name.to_string()]), true)?;
        Ok(table.rows.into_iter().flatten().collect())
    }

    /// The `wanted` columns, in that order, or all of them. Columns that are not wanted may hold anything.
    fn parse(text: &str, path: &Path, wanted: Option<&[String]>, infinity: bool) -> Result<Self> {
        let bad = |reason: String| unusable(path, reason);
        let (all, lines) = header(text, path)?;
        let columns = wanted.unwrap_or(&all).iter().map(|name| place_of(&all, name, path));
        let columns: Vec<usize> = columns.collect::<Result<_>>()?;
        let mut rows = Vec::new();
        for (number, line) in lines {
            let cells = cells(line).ok_or_else(|| unclosed(path, number))?;
            if cells.len() != all.len() {
                let (found, expected) = (cells.len(), all.len());
                return Err(bad(cells_of(number, found, expected)));
            }
            let value = |&column: &usize| {
                let cell = &cells[column];
                // Infinity must be written as a word ("inf"): a number such as 1e999 is taken for a mistake.
                let spelt = || ["inf", "infinity"].contains(&cell.to_lowercase().as_str());
                let usable = |value: &f64| value.is_finite() || infinity && spelt();
                let number_of = cell.parse::<f64>().ok().filter(usable);
                number_of.ok_or_else(|| {
                    let field = format!("line {number}, {}", all[column]);
                    bad(if cell.is_empty() {
                        message(field, "missing", "fill it in, or leave the line out")
                    } else {
                        let remedy =
                            "expected finite numbers; or name the columns to use in `features`";
                        message(field, format!("{cell:?}"), remedy)
                    })
                })
            };
            rows.push(columns.iter().map(value).collect::<Result<Vec<f64>>>()?);
        }
        Ok(Table { names: columns.into_iter().map(|column| all[column].clone()).collect(), rows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, wanted: Option<&[&str]>) -> std::result::Result<Table, String> {
        let wanted = wanted.map(|names| names.iter().map(|n| n.to_string()).collect::<Vec<_>>());
        Table::parse(text, Path::new("people.csv"), wanted.as_deref(), false)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn quotes_marks_and_other_columns() {
        let text = "\u{feff}\"a, first\",name,y\r\n1,\"O\"\"Hara, J\",\"2.5\"\r\n\r\n-3e2,,4\r\n";
        let table = parse(text, Some(&["y", "a, first"])).unwrap();
        assert_eq!(table.names, ["y", "a, first"]);
        assert_eq!(table.rows, [[2.5, 1.0], [4.0, -300.0]]);
        let levels = Table::column("e,y\ninf,1\n0,2\n", Path::new("people.csv"), "e").unwrap();
        assert_eq!(levels, [f64::INFINITY, 0.0]);
    }

    #[test]
    fn unused_columns_need_no_unique_name() {
        // The format that pandas writes by default: first the index, without a name.
        let table = parse(",a,b,b,y\n0,1,x,x,2\n1,3,x,x,4\n", Some(&["a", "y"])).unwrap();
        assert_eq!(table.rows, [[1.0, 2.0], [3.0, 4.0]]);
        let path = Path::new("people.csv");
        let features = ["a".to_string()];
        let labelled =
            Table::with_label(",a,y\n0,1,2\n", path, Some(&features), None, None).unwrap();
        assert_eq!(labelled.names, ["a", "y"]);
        let error = Table::with_label(",a,y\n0,1,2\n", path, None, None, None).unwrap_err();
        assert!(error.to_string().contains("column 1: got no name"), "{error}");
    }

    #[test]
    fn errors_name_line_and_column() {
        let refuse = |text: &str, words: &[&str]| {
            let error = parse(text, None).unwrap_err();
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
            assert!(error.contains("people.csv"), "{error}");
        };
        refuse("", &["text: missing"]);
        refuse("a,y\n1,x\n", &["line 2", "y: got \"x\"", "features"]);
        refuse("a,y\n1,2\n\n,3\n", &["line 4", "a: missing"]);
        refuse("a,y\n1,2\n1\n", &["line 3", "1 cells; expected 2, one for each name"]);
        refuse("a,y\n1,NaN\n", &["line 2", "NaN"]);
        refuse("a,y\n1,1e999\n", &["line 2", "1e999"]);
        refuse("a,y\n1,\"2\n", &["line 2", "quotation mark"]);
        refuse("a,a\n1,2\n", &["columns 1 and 2", "different name"]);
        refuse(",a\n1,2\n", &["column 1: got no name", "pandas", "`features`"]);
        refuse(",\n1,2\n", &["line 1: got no names"]);
        refuse(",0,1\n0,1,2\n", &["first line: got numbers"]);
        refuse("1,2\n1,2\n", &["first line: got numbers"]);
        refuse("a;y\n1;2\n", &["commas"]);
        assert!(parse("a,y\n1,2\n", Some(&["z"])).unwrap_err().contains("expected one of a, y"));
    }
}
