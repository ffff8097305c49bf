//! Parsing of TOML files with errors that name the line and suggest the nearest known word.

use reticent::error;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use crate::{Error, Result};

/// The default of whole numbers that are 1 where a file leaves them out.
pub(crate) fn one() -> u64 {
    1
}

/// The same of numbers.
pub(crate) fn unity() -> f64 {
    1.0
}

/// Deserialises a file; an error names the line and what is wrong with it.
///
/// ```
/// #[derive(serde::Deserialize)]
/// #[serde(deny_unknown_fields)]
/// struct Lines { horizon: u64 }
/// assert_eq!(reticent_lab::parse_lines::<Lines>("horizon = 3")?.horizon, 3);
/// let error = reticent_lab::parse_lines::<Lines>("\nhorison = 3").err().unwrap().to_string();
/// assert!(error.contains("line 2") && error.contains("did you mean `horizon`"));
/// # Ok::<(), reticent_lab::Error>(())
/// ```
pub fn parse_lines<T: DeserializeOwned>(text: &str) -> Result<T> {
    let lines = toml::from_str(text).map_err(|error| {
        let message = error.message().lines().next().unwrap_or_default();
        let at = error.span().map(|span| span.start.min(text.len()));
        // If the parser reports no position within a table, the value is searched below.
        let at = at.map(|at| match (mention(message), text.get(at..)) {
            (Some(value), Some(rest)) => rest.find(&value).map_or(at, |further| at + further),
            _ => at,
        });
        let key = at.and_then(|at| key_before(text, at));
        let reason = plain_words(key, message);
        Error::experiment(reason).at(at.map(|at| line_of(text, at)), "")
    })?;
    // From text, the parser silently truncates a list that is too long; from a table it does not.
    let table = toml::from_str::<toml::Table>(text).unwrap_or_default();
    match attempt::<T>(&table) {
        Ok(_) => Ok(lines),
        Err(message) => {
            let key = culprit::<T>(&table, &message).and_then(|path| path.last().cloned());
            let line = key.as_ref().and_then(|key| key_in(text, key));
            let reason = plain_words(key.as_deref(), &message);
            Err(Error::experiment(reason).at(line.map(|at| line_of(text, at)), ""))
        }
    }
}

/// Finds the assignment to a key: plain, in quotation marks, or as the first part of a path.
pub(crate) fn key_in(text: &str, key: &str) -> Option<usize> {
    let mut places = text.match_indices(key).map(|(at, _)| at);
    places.find(|&at| {
        let before = text[..at].chars().next_back();
        let after = &text[at + key.len()..];
        let after = after.strip_prefix(['"', '\'']).unwrap_or(after).trim_start();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
            && (after.starts_with('=') || after.starts_with('.'))
    })
}

/// The key of the value at this position, if it is on the same line.
fn key_before(text: &str, place: usize) -> Option<&str> {
    let before = text.get(..place)?;
    let (before, _) = before[before.rfind('\n').map_or(0, |end| end + 1)..].rsplit_once('=')?;
    let before = before.trim_end();
    let key = match before.strip_suffix('"') {
        Some(quoted) => quoted.rsplit('"').next(),
        None => before.rsplit(|c: char| !(c.is_alphanumeric() || "_-".contains(c))).next(),
    };
    key.filter(|key| !key.is_empty())
}

/// The value that a parser's message mentions, as written in a file.
pub(crate) fn mention(message: &str) -> Option<String> {
    let found =
        message.strip_prefix("invalid type: ").or(message.strip_prefix("invalid value: "))?;
    let (found, _) = found.rsplit_once(", expected ")?;
    match found.strip_prefix("string ") {
        Some(text) => Some(text.to_string()),
        None => found.split('`').nth(1).map(String::from),
    }
}

/// The parser's message about the value of `key`, without the names of Rust types.
///
/// ```text
/// invalid type: string "ten", expected u64     rounds: got "ten"; expected a whole number of 0 or more
/// missing field `rounds`                       rounds: missing; add it
/// unknown field `horison`, expected `horizon`  horison: got an unknown key; expected `horizon`; did you mean `horizon`?
/// unknown variant `tre`, expected `tree`       mechanism: got `tre`; expected `tree`; did you mean `tree`?
/// ```
pub(crate) fn plain_words(key: Option<&str>, message: &str) -> String {
    if let Some(field) = message.strip_prefix("missing field ") {
        return error::message(field.trim_matches('`'), "missing", "add it");
    }
    let subject = key.unwrap_or("value");
    if let Some((found, known)) = unknown("unknown variant `", message) {
        return error::message(subject, format!("`{found}`"), with_suggestion(found, known));
    }
    if let Some((field, known)) = unknown("unknown field `", message) {
        return error::message(field, "an unknown key", with_suggestion(field, known));
    }
    let lengths =
        message.strip_prefix("invalid length ").and_then(|rest| rest.split_once(", expected "));
    if let Some((length, wanted)) = lengths {
        let remedy = format!("expected {}", kind(wanted));
        return error::message(subject, format!("{length} values"), remedy);
    }
    let types = message.strip_prefix("invalid type: ").or(message.strip_prefix("invalid value: "));
    match types.and_then(|rest| rest.rsplit_once(", expected ")) {
        Some((found, wanted)) => {
            let found = match found {
                "sequence" => "a list".to_string(),
                "map" => "a table".to_string(),
                "unit variant" => "a name alone".to_string(),
                other => mention(message).unwrap_or_else(|| other.to_string()),
            };
            let (wanted, whole) = (kind(wanted), kind(wanted).starts_with("a whole number"));
            // The parser reads 1e3 as a float.
            let remedy = match found.parse::<f64>() {
                Ok(value) if whole && value.fract() == 0.0 && (0.0..1e15).contains(&value) => {
                    format!("; write it as {value}")
                }
                _ => String::new(),
            };
            error::message(subject, found, format!("expected {wanted}{remedy}"))
        }
        // A message of this program begins with the value, or names another field.
        None if message.starts_with("got ") => format!("{subject}: {message}"),
        None if message.contains(": got ") => format!("{subject}, {message}"),
        None => error::message(subject, "what cannot be read", message),
    }
}

/// The unknown word of a parser's message, and what is known in its place: `expected one of ...`.
fn unknown<'a>(begin: &str, message: &'a str) -> Option<(&'a str, &'a str)> {
    let (word, known) = message.strip_prefix(begin)?.split_once('`')?;
    Some((word, known.trim_start_matches(", ")))
}

/// The type that a parser expects, in plain words.
fn kind(expected: &str) -> String {
    let list =
        expected.strip_prefix("a tuple of size ").or(expected.strip_prefix("an array of length "));
    // The parser's message for a list that is too long.
    let list = list
        .or(expected.strip_suffix(" elements in sequence"))
        .or(expected.strip_suffix(" elements in array"));
    if let Some(count) = list {
        return format!("a list of {count} values in square brackets");
    }
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number of 0 or more",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a string" | "string" | "path string" => "text in quotation marks",
        "a sequence" => "a list in square brackets",
        "a map" | "map" => "a table, such as { key = value }",
        "string or map" | "string only" => {
            "a name in quotation marks, or a table such as { name = { key = value } }"
        }
        "struct variant" => "a table with its keys, such as { name = { key = value } }",
        other if other.contains("tagged enum") => {
            "a table with a kind, such as { kind = \"name\" }"
        }
        other if other.starts_with("struct ") => "a table, such as { key = value }",
        other => other,
    }
    .to_string()
}

/// The line number of a position in a text, from 1.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// The words that are known, as `expected one of ...`, with the one that was most likely meant.
pub(crate) fn with_suggestion(word: &str, known: &str) -> String {
    match nearest(word, known.split('`').skip(1).step_by(2)) {
        Some(nearest) => format!("{known}; did you mean `{nearest}`?"),
        None if known.is_empty() => "leave it out".to_string(),
        None => known.to_string(),
    }
}

/// The word that a misspelt one most likely means.
fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let close = known.map(|other| (distance(word, other), other)).min()?;
    (close.0 <= 1 + word.chars().count() / 3).then_some(close.1)
}

/// Levenshtein's distance.
fn distance(one: &str, two: &str) -> usize {
    let two: Vec<char> = two.chars().collect();
    let mut row: Vec<usize> = (0..=two.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in two.iter().enumerate() {
            let substituted = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[two.len()]
}

/// Deserialises a table; the error is the parser's message.
pub(crate) fn attempt<T: DeserializeOwned>(table: &Table) -> std::result::Result<T, String> {
    Value::Table(table.clone()).try_into().map_err(|error: toml::de::Error| {
        error.message().lines().next().unwrap_or_default().to_string()
    })
}

/// The paths of all values; the values of a table come before the table itself.
pub(crate) fn paths(table: &Table) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for (key, value) in table {
        if let Value::Table(inner) = value {
            all.extend(paths(inner).into_iter().map(|mut path| {
                path.insert(0, key.clone());
                path
            }));
        }
        all.push(vec![key.clone()]);
    }
    all
}

/// The path of the value that the parser refused without naming its position: a value that the message mentions and whose removal changes
/// the message. A removal after which a key is missing is the last choice, because a missing key may be reported before the wrong value is
/// read.
pub(crate) fn culprit<T: DeserializeOwned>(table: &Table, message: &str) -> Option<Vec<String>> {
    let mentioned = mention(message);
    let mentions = |path: &Vec<String>| {
        let value = get(table, path);
        let entry = |value: &Value| Some(&value.to_string()) == mentioned.as_ref();
        let mut entries = value.and_then(Value::as_array).into_iter().flatten();
        value.is_some_and(entry) || entries.any(entry)
    };
    let rank = |path: &Vec<String>| {
        let mut without = table.clone();
        remove(&mut without, path);
        let other = attempt::<T>(&without).err().unwrap_or_default();
        let missed = other.starts_with("missing field") && other.contains(&path[path.len() - 1]);
        (other != message).then_some((mentioned.is_some() && !mentions(path), missed))
    };
    let ranked = paths(table).into_iter().filter(|path| path[0] != "kind");
    let ranked = ranked.filter_map(|path| rank(&path).map(|rank| (rank, path)));
    ranked.min_by_key(|(rank, _)| *rank).map(|(_, path)| path)
}

/// The value at a path of keys.
pub(crate) fn get<'a>(table: &'a Table, path: &[String]) -> Option<&'a Value> {
    let (last, inner) = path.split_last()?;
    let mut table = table;
    for key in inner {
        table = table.get(key)?.as_table()?;
    }
    table.get(last)
}

/// Sets the value at a path of keys, making the tables on the way.
pub(crate) fn set(table: &mut Table, path: &[String], value: &Value) {
    let Some((last, inner)) = path.split_last() else { return };
    let mut table = table;
    for key in inner {
        let next = table.entry(key.clone()).or_insert_with(|| Value::Table(Table::new()));
        if !next.is_table() {
            *next = Value::Table(Table::new());
        }
        let Value::Table(inner) = next else { return };
        table = inner;
    }
    table.insert(last.clone(), value.clone());
}

/// Removes the value at a path of keys, if it is there.
fn remove(table: &mut Table, path: &[String]) {
    let Some((last, inner)) = path.split_last() else { return };
    let mut table = table;
    for key in inner {
        let Some(Value::Table(inner)) = table.get_mut(key) else { return };
        table = inner;
    }
    table.remove(last);
}

/// An error if a key was given that has no effect: it is refused, not passed over.
pub(crate) fn nothing_is_ignored(keys: &[(&'static str, bool, &str)]) -> Result<()> {
    match keys.iter().find(|(_, given, _)| *given) {
        None => Ok(()),
        Some((field, _, why)) => {
            let remedy = format!("{why}: leave it out");
            Err(reticent::Error::invalid(field, "a value", remedy).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "it is read from text, and only errors are looked at")]
    struct Lines {
        #[serde(default)]
        count: u64,
        #[serde(default)]
        level: f64,
        #[serde(default)]
        names: Vec<String>,
        range: Option<(f64, f64)>,
        #[serde(default)]
        yes: bool,
        #[serde(default)]
        event: Vec<Event>,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    #[allow(dead_code, reason = "it is read from text, and only errors are looked at")]
    enum Event {
        Gaussian { sigma: f64, sensitivity: f64 },
    }

    #[test]
    fn no_type_of_this_program_is_named() {
        for (text, words) in [
            ("count = \"ten\"", "line 1, count: got \"ten\"; expected a whole number of 0 or more"),
            ("\ncount = -1", "line 2, count: got -1; expected a whole number of 0 or more"),
            (
                "count = 1e3",
                "count: got 1000.0; expected a whole number of 0 or more; write it as 1000",
            ),
            ("count = 1.5", "count: got 1.5; expected a whole number of 0 or more"),
            ("level = true", "level: got true; expected a number"),
            ("level = [1.0]", "level: got a list; expected a number"),
            ("names = 3", "names: got 3; expected a list in square brackets"),
            ("names = [\"a\", 3]", "names: got 3; expected text in quotation marks"),
            ("names = [\"range\"]\nrange = [0, 1, 2]", "line 2, range: got "),
            ("range = [0]", "range: got 1 values; expected a list of 2 values"),
            ("yes = \"no\"", "yes: got \"no\"; expected true or false"),
            ("event = [3]", "event: got 3; expected a "),
            (
                "[[event]]\nkind = \"gaussian\"\nsigma = \"x\"\nsensitivity = 1.0",
                "line 3, sigma: got \"x\"; expected a number",
            ),
            ("[[event]]\nkind = \"gaussian\"\nsigma = 1.0", "sensitivity: missing; add it"),
            ("[[event]]\nkind = \"gausian\"", "got `gausian`; expected `gaussian`; did you mean"),
            ("counts = 3", "line 1, counts: got an unknown key; expected one of "),
        ] {
            let error = parse_lines::<Lines>(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text:?}: {error}");
            for foreign in ["u64", "f64", "variant", "struct", "sequence", "tuple", "invalid type"]
            {
                assert!(!error.contains(foreign), "{text:?}: {error}");
            }
        }
    }
}
