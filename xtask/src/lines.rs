//! Lines of code, of doc comments and of tests of every room, and the tables that `cargo xtask rooms` prints.
//!
//! Blank lines and comments that are not documentation do not count. A test is an item or a module under `#[cfg(test)]`, with its documentation, and
//! everything in a package's folder `tests`. The source is formatted, so that an item ends where its indentation does.

use std::{
    fmt::Write as _,
    fs,
    iter::Sum,
    ops::Add,
    path::{Path, PathBuf},
};

use crate::rooms::{self, Uses, test_modules};

/// Folders of a package beside its sources, and what their lines are.
const BESIDE: [(&str, bool); 3] = [("tests", true), ("benches", true), ("examples", false)];

/// Numbers of lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    code: usize,
    docs: usize,
    tests: usize,
}

impl Add for Lines {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            code: self.code + other.code,
            docs: self.docs + other.docs,
            tests: self.tests + other.tests,
        }
    }
}

impl Sum for Lines {
    fn sum<I: Iterator<Item = Self>>(lines: I) -> Self {
        lines.fold(Self::default(), Add::add)
    }
}

/// A table for each package of a checkout, and the sums of all.
pub fn tables(checkout: &Path) -> Result<String, String> {
    let (mut text, mut all) = (String::new(), Vec::new());
    for package in packages(checkout)? {
        let (table, sum) = table(&package)?;
        let name = package.strip_prefix(checkout).unwrap_or(&package).display().to_string();
        let _ = writeln!(text, "{name}\n{table}");
        all.push((name, sum));
    }
    text += "all\n";
    text += &rows(&all, &Uses::new());
    Ok(text)
}

/// The packages of a checkout: those of `crates`, and others at its root.
pub fn packages(checkout: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for folder in [checkout.join("crates"), checkout.to_path_buf()] {
        let mut here = entries(&folder)?;
        here.retain(|path| path.join("Cargo.toml").exists() && path.join("src").exists());
        found.extend(here);
    }
    Ok(found)
}

/// The table of one package, and its sum.
fn table(package: &Path) -> Result<(String, Lines), String> {
    let source = package.join("src");
    let uses = rooms::read(&source)?;
    let mut counted = Vec::new();
    for room in uses.keys() {
        let path = rooms::path_of(room);
        let both = [source.join(format!("{path}.rs")), source.join(path)];
        let lines = both.iter().map(|path| below(path, false)).sum::<Result<Lines, _>>()?;
        counted.push((room.clone(), lines));
    }
    for name in ["lib.rs", "main.rs"] {
        let file = source.join(name);
        if file.exists() {
            counted.push((name.to_string(), below(&file, false)?));
        }
    }
    for (name, tests) in BESIDE {
        let lines = below(&package.join(name), tests)?;
        if lines != Lines::default() {
            counted.push((format!("{name}/"), lines));
        }
    }
    let mut text = rows(&counted, &uses);
    for group in rooms::cycles(&uses) {
        let _ = writeln!(text, "  CYCLE: {}", group.join(" <-> "));
    }
    Ok((text, counted.iter().map(|(_, lines)| *lines).sum()))
}

/// A line for each name, and one for the sum.
fn rows(counted: &[(String, Lines)], uses: &Uses) -> String {
    let width = counted.iter().map(|(name, _)| name.len()).max().unwrap_or(0).max(4);
    let mut text = format!("  {:width$}  {:>6} {:>6} {:>6}  uses\n", "", "code", "docs", "tests");
    let sum: Lines = counted.iter().map(|(_, lines)| *lines).sum();
    for (name, Lines { code, docs, tests }) in counted.iter().chain([&("sum".to_string(), sum)]) {
        let used: Vec<&str> = uses.get(name).into_iter().flatten().map(String::as_str).collect();
        let line = format!("  {name:width$}  {code:>6} {docs:>6} {tests:>6}  {}", used.join(" "));
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// Lines of all sources at or below a path; none if it does not exist.
fn below(path: &Path, tests: bool) -> Result<Lines, String> {
    if path.is_file() {
        let rust = path.extension().is_some_and(|extension| extension == "rs");
        return if rust { Ok(count(&read(path)?, tests)) } else { Ok(Lines::default()) };
    }
    if !path.exists() {
        return Ok(Lines::default());
    }
    let module = [path.join("mod.rs"), path.with_extension("rs"), path.join("lib.rs")];
    let module = module.iter().find(|file| file.exists());
    let under_test =
        module.map_or(Ok(Default::default()), |file| read(file).map(|text| test_modules(&text)))?;
    let lines = entries(path)?.into_iter().map(|entry| {
        let name = entry.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        below(&entry, tests || under_test.contains(&name))
    });
    lines.sum()
}

/// Lines of one file.
fn count(text: &str, tests: bool) -> Lines {
    let mut lines = Lines::default();
    // Indentation of the item under `#[cfg(test)]` that a line belongs to.
    let mut item: Option<usize> = None;
    for line in text.lines() {
        let bare = line.trim_start();
        let indentation = line.len() - bare.len();
        if item.is_none() && bare.starts_with("#[cfg(test)]") {
            item = Some(indentation);
        }
        match bare {
            "" => (),
            _ if bare.starts_with("///") || bare.starts_with("//!") => {
                *(if tests || item.is_some() { &mut lines.tests } else { &mut lines.docs }) += 1;
            }
            _ if bare.starts_with("//") => (),
            _ => *(if tests || item.is_some() { &mut lines.tests } else { &mut lines.code }) += 1,
        }
        let ends = bare.starts_with('}') || bare.ends_with(';') || bare.ends_with('}');
        if item == Some(indentation) && ends && !bare.starts_with('#') {
            item = None;
        }
    }
    lines
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    Ok(paths)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_code_documentation_or_tests() {
        let text = "\
//! About.

/// Adds.
fn add() {
    // A comment.
    act(); // another
}

#[cfg(test)]
use tests::helper;

#[cfg(test)]
mod tests {
    /// Of a test.
    #[test]
    fn one() {
        if true {
        }
    }
}

fn later() {}
";
        assert_eq!(count(text, false), Lines { code: 4, docs: 2, tests: 11 });
        assert_eq!(count(text, true), Lines { code: 0, docs: 0, tests: 17 });
    }

    fn texts_below(path: &Path) -> Vec<String> {
        match path.is_dir() {
            true => entries(path).unwrap().iter().flat_map(|entry| texts_below(entry)).collect(),
            false => vec![read(path).unwrap()],
        }
    }

    #[test]
    fn every_line_of_this_package_is_counted_once() {
        let package = crate::root().join("xtask");
        let (printed, sum) = table(&package).unwrap();
        let texts = texts_below(&package.join("src"));
        let counts = |line: &&str| {
            let bare = line.trim_start();
            let documents = bare.starts_with("///") || bare.starts_with("//!");
            documents || !(bare.is_empty() || bare.starts_with("//"))
        };
        let lines = texts.iter().flat_map(|text| text.lines()).filter(counts).count();
        assert_eq!(sum.code + sum.docs + sum.tests, lines);
        assert!(sum.code > sum.tests && sum.tests > 0 && sum.docs > 0, "{printed}");
    }
}
